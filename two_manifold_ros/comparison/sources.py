# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which source files of this package a module is made of, and their fingerprint."""

from __future__ import annotations

import ast
from functools import cache
import hashlib
from pathlib import Path
import sys

PACKAGE = __name__.split('.', maxsplit=1)[0]
_ROOT = Path(__file__).resolve().parents[1]


def fingerprint(*modules: str) -> str:
    """Return a hash of the files of some modules and of all they import from this package."""
    digest = hashlib.sha256()
    for name, path in sorted(source_files(*modules).items()):
        digest.update(f'{name}\n'.encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def source_files(*modules: str) -> dict[str, Path]:
    """
    Return the files of modules and of everything they import from this package, by module.

    Imports inside functions count, and those for types too: rather one file too many. A module
    from elsewhere, such as a test that defines a method, has to be imported already.
    """
    files: dict[str, Path] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        path = None if name in files else _file_of(name)
        if path is not None:
            files[name] = path
            waiting += _imported(path)
    return files


def _file_of(module: str) -> Path | None:
    """Return the file of a module; ``None`` for a name that is something in a module."""
    package, *parts = module.split('.')
    if package != PACKAGE:
        return Path(sys.modules[module].__file__ or '')
    place = _ROOT.joinpath(*parts)
    for path in (place / '__init__.py', place.with_suffix('.py')):
        if path.is_file():
            return path
    return None


@cache
def _imported(path: Path) -> tuple[str, ...]:
    names = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, *(f'{node.module}.{alias.name}' for alias in node.names)]
    return tuple(name for name in names if name.split('.')[0] == PACKAGE)
