# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Change single operators and numbers of the package, and count the changes that tests notice.

    python benchmarks/mutants.py [--count N] [--seed N] [--tree CHECKOUT] [FOLDER ...]

A sample of all possible changes of some folders of the package is drawn by the seed. Each is made
in a temporary copy of the checkout, where the tests of that folder run until one fails or takes
too long. Some changes alter nothing that a test could see: compare shares of two checkouts.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from copy import copy
from itertools import permutations
import os
from pathlib import Path
import random
import resource
import shutil
import subprocess
import sys
from tempfile import TemporaryDirectory
from typing import Any

COMPILERS = {'compiled', 'unlocked', 'allocating', 'subroutine', 'shared'}
PAIRS = ('Lt LtE', 'Gt GtE', 'Eq NotEq', 'Is IsNot', 'In NotIn', 'Add Sub', 'Mult Div', 'And Or')
EACH_WAY = [each for pair in PAIRS for each in permutations(pair.split())]
OTHER: dict[Any, Any] = {getattr(ast, one): getattr(ast, other) for one, other in EACH_WAY}
PYTEST = ('-m', 'pytest', '-qx', '-p', 'no:cacheprovider')
TIMES = 3.0  # Processor time of tests at most, over that of all tests of all folders.


Mutant = tuple[Path, int, slice, str, bool]
"""File, line, stretch of its bytes, what replaces it, and whether loops may have changed."""


def changes_of(node: Any) -> Iterator[tuple[Any, str]]:  # noqa: ANN401 - any node of a tree
    """Yield expressions at a node, and what may stand in their place."""
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            yield node, repr(not value if isinstance(value, bool) else value + 1)
        case ast.Compare(ops=[op]) | ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in OTHER:
            new: Any = copy(node)
            new.op = OTHER[type(op)]()
            new.ops = [new.op]
            yield node, ast.unparse(new)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node, ast.unparse(node.operand)
        case ast.If(test=test) | ast.IfExp(test=test) if not isinstance(test, ast.UnaryOp):
            yield test, f'not ({ast.unparse(test)})'


def mutants_of(tree: Path, path: Path) -> Iterator[Mutant]:
    lines = path.read_bytes().splitlines(keepends=True)

    def walk(node: Any, inside: Any) -> Iterator[Mutant]:  # noqa: ANN401 - as above
        if isinstance(node, ast.JoinedStr) or getattr(node, 'arg', '') == 'strict':
            return
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and inside is None:
            inside = node
        # A constant of a module may be part of a loop that another module compiles.
        loop = inside is None or any(ast.unparse(e) in COMPILERS for e in inside.decorator_list)
        for at, new in changes_of(node):
            begin = sum(map(len, lines[: at.lineno - 1])) + at.col_offset
            end = sum(map(len, lines[: at.end_lineno - 1])) + at.end_col_offset
            if 'TYPE_CHECKING' not in new:
                where = path.relative_to(tree), at.lineno, slice(begin, end)
                yield (*where, f'({new})', loop)
        for name, value in ast.iter_fields(node):
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, ast.AST) and name not in {
                    'annotation',
                    'returns',
                    'decorator_list',
                }:
                    yield from walk(each, inside)

    yield from walk(ast.parse(b''.join(lines)), None)


class Bench:
    """A copy of a checkout in which tests run, and the code that was compiled for it."""

    def __init__(self, tree: Path, folder: Path) -> None:
        self.copy, self._cache, self._kept = folder / 'copy', folder / 'cache', folder / 'kept'
        shutil.copytree(tree, self.copy, ignore=shutil.ignore_patterns('.*', '__pycache__'))
        self._usual_s = 0.0

    def usual(self, folder: str) -> None:
        """Run the tests of a folder as they are; the first ones compile loops."""
        if self._python(10_000, *PYTEST, f'test/{folder}'):
            sys.exit(f'test/{folder} fails without any change')
        self._usual_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        for each in self._cache.glob('*/*'):
            shutil.copytree(each, self._kept, dirs_exist_ok=True)

    def catches(self, mutant: Mutant) -> bool:
        """Return whether a test fails with a change."""
        name, _, stretch, new, compiled = mutant
        path, folder = self.copy / name, name.parent.name
        old = path.read_bytes()
        path.write_bytes(old[: stretch.start] + new.encode() + old[stretch.stop :])
        shutil.rmtree(self._cache, ignore_errors=True)
        if not compiled:
            # A folder appears for these sources, and what is compiled is as it was.
            self._python(600, '-c', 'import two_manifold_ros.compilation')
            for each in self._cache.glob('*/*'):
                shutil.copytree(self._kept, each, dirs_exist_ok=True)
        tests = f'test/{folder}/test_{path.name}', f'test/{folder}'
        present = [each for each in tests if (self.copy / each).exists()]
        found = self._python(TIMES * self._usual_s, *PYTEST, *present) != 0
        path.write_bytes(old)
        return found

    def _python(self, limit_s: float, *arguments: str) -> int:
        given = {'PYTHONPATH': str(self.copy), 'TWO_MANIFOLD_CACHE': str(self._cache)}
        given = {**os.environ, **given, 'OPENBLAS_NUM_THREADS': '1'}
        bound = f'ulimit -t {round(limit_s) + 1}; exec "$0" "$@"'
        command = ['/bin/sh', '-c', bound, sys.executable, *arguments]
        return subprocess.run(command, cwd=self.copy, env=given, stdout=-3, check=False).returncode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('folders', nargs='*', default=['ticks', 'route', 'filtering', 'model'])
    parser.add_argument('--count', type=int, default=60, help='changes (60)')
    parser.add_argument('--seed', type=int, default=0, help='of the sample (0)')
    parser.add_argument('--tree', type=Path, default=Path(__file__).parents[1])
    args = parser.parse_args()
    package = args.tree.resolve() / 'two_manifold_ros'
    paths = [path for each in args.folders for path in sorted((package / each).glob('*.py'))]
    every = [mutant for path in paths for mutant in mutants_of(package.parent, path)]
    chosen = random.Random(args.seed).sample(every, args.count)  # noqa: S311 - no secret
    with TemporaryDirectory() as folder:
        bench = Bench(package.parent, Path(folder))
        for each in args.folders:
            bench.usual(each)
        caught = 0
        for number, each in enumerate(chosen, 1):
            caught += (found := bench.catches(each))
            was = (package.parent / each[0]).read_bytes()[each[2]].decode()
            words = f'{each[0]}:{each[1]}: {was!r} -> {each[3]!r}'
            print(f'{number:4d} {"caught  " if found else "SURVIVED"} {words}', flush=True)
    print(f'caught {caught} of {len(chosen)}, of {len(every)} possible changes')


if __name__ == '__main__':
    main()
