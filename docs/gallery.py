# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: INP001 - a script beside the page that it writes
"""
Run the examples of the Python page, and write what they print and draw.

`docs/examples` has the programs; the docstring of each ends with what it prints. This program runs
the commands of `tutorial.md` and then all examples on their bag and model, and writes outputs
into the docstrings and pictures into ``images/gallery``. Lines of the tutorial are chosen by
hand: those that are not printed any more are named. ``test/packaging/test_docs.py`` runs all and
compares.
"""

from __future__ import annotations

import ast
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
import os
from pathlib import Path
import re
import runpy
import shutil
import sys
from tempfile import TemporaryDirectory
from textwrap import dedent, indent, wrap
from typing import TYPE_CHECKING

from two_manifold_ros.__main__ import main as two_manifold

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).resolve().parent
TUTORIAL = HERE / 'tutorial.md'
PICTURES = HERE / 'images' / 'gallery'

PRINTS = 'It prints::\n\n'

NUMBER = re.compile(r'-?\d+(?:\.\d+)?')

ROUNDING = 0.1
"""
Share by which a number may differ, beside a unit of its last digit.

Processors round in other ways, which a filter makes larger: errors of one drive differed by some
per cent between the oldest NumPy and the newest. With half of it another machine may fail; with
twice as much a change that a reader would see might pass.
"""


def programs() -> dict[str, Path]:
    """Return the examples by name."""
    return {path.stem: path for path in sorted((HERE / 'examples').glob('*.py'))}


def shown_by(path: Path) -> str:
    """Return what the docstring of an example states that it prints."""
    text = ast.get_docstring(ast.parse(path.read_text())) or ''
    return dedent(text.partition(PRINTS)[2])


def with_output(program: str, output: str) -> str:
    """Return an example whose docstring ends with an output."""
    head, docstring, rest = program.split('"""', 2)
    lines = [part for line in output.splitlines() for part in wrap(line, 91) or ['']]
    shown = indent('\n'.join(lines), '    ')
    return f'{head}"""{docstring.partition(PRINTS)[0]}{PRINTS}{shown}\n"""{rest}'


def steps() -> list[tuple[list[str], str]]:
    """Return the commands of the tutorial before its live part, and lines that each prints."""
    page = TUTORIAL.read_text().partition('\n## 5.')[0]
    found = []
    for part in re.split(r'^ {4}two-manifold ', page, flags=re.MULTILINE)[1:]:
        block = re.search(r'^```text\n(.*?)^```', part, re.DOTALL | re.MULTILINE)
        found.append((part.partition('\n')[0].split(), block[1] if block else ''))
    return found


def run(folder: Path) -> tuple[list[str], dict[str, str]]:
    """Run the tutorial, and all examples on its bag and its model; return what they print."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        learned = [_printed(partial(two_manifold, words)) for words, _ in steps()]
        examples = {
            name: _printed(partial(runpy.run_path, str(path), run_name='__main__'))
            for name, path in programs().items()
        }
    finally:
        os.chdir(before)
    return learned, examples


def _printed(call: Callable[[], object]) -> str:
    with redirect_stdout(StringIO()) as output:
        call()
    return output.getvalue()


def missing(shown: str, printed: str) -> list[str]:
    """Return the lines of a page that are not in an output, whatever their place in the row."""
    lines = printed.splitlines()
    return [
        line
        for line in shown.splitlines()
        if not any(differences(line, each) == [] for each in lines)
    ]


def differences(shown: str, printed: str) -> list[str]:
    """Return what a page shows of an output that is not true: other words, or other numbers."""
    if NUMBER.sub('0', ' '.join(shown.split())) != NUMBER.sub('0', ' '.join(printed.split())):
        return [f'other words: {printed}']
    found = []
    for before, after in zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True):
        unit = 10.0 ** -len(before.partition('.')[2])
        if abs(float(before) - float(after)) > ROUNDING * abs(float(before)) + 1.001 * unit:
            found.append(f'{after} and not {before}')
    return found


def main() -> int:
    """Write the outputs and the pictures of all examples."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        printed, outputs = run(folder)
        for (words, shown), output in zip(steps(), printed, strict=True):
            for line in missing(shown, output):
                sys.stderr.write(f'tutorial.md: {words[0]} does not print {line!r}\n')
        for name, path in programs().items():
            path.write_text(with_output(path.read_text(), outputs[name]))
        PICTURES.mkdir(parents=True, exist_ok=True)
        for picture in folder.glob('*.png'):
            shutil.copy(picture, PICTURES)
    return 0


if __name__ == '__main__':
    sys.exit(main())
