# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The list of files in docs/architecture.md is true; run this file to write it again."""

from __future__ import annotations

import ast
from pathlib import Path
import re

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / 'two_manifold_ros'
PAGE = ROOT / 'docs' / 'architecture.md'
BEGIN, END = '<!-- files -->\n', '<!-- end of files -->\n'
MOST_FOLDERS, MOST_MODULES, MOST_LINES = 18, 12, 560
"""Of the package, of a folder, and of a file."""


def first_line(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text('utf-8'))) or '').split('\n')[0]


def modules() -> dict[str, list[Path]]:
    """Return the modules of each folder, in the order of their names."""
    found: dict[str, list[Path]] = {}
    for path in sorted(PACKAGE.rglob('*.py')):
        if path.name != '__init__.py' and path.parent != PACKAGE:
            found.setdefault(path.parent.name, []).append(path)
    return found


def files_block() -> str:
    lines = []
    for folder, paths in modules().items():
        lines += [f'\n`{folder}/`: {first_line(PACKAGE / folder / "__init__.py")}\n']
        lines += [f'- `{path.name}`: {first_line(path)}' for path in paths]
    return '\n'.join(lines).lstrip('\n') + '\n'


def test_every_file_is_on_the_page_with_its_first_line() -> None:
    block = PAGE.read_text('utf-8').split(BEGIN)[1].split(END)[0]
    assert block == files_block(), 'run python test/packaging/test_architecture.py'


def test_folders_and_files_have_a_size_to_live_in() -> None:
    found = modules()
    assert len(found) <= MOST_FOLDERS
    crowded = {folder: len(paths) for folder, paths in found.items() if len(paths) > MOST_MODULES}
    assert crowded == {}
    lines = {
        str(path.relative_to(PACKAGE)): len(path.read_text('utf-8').splitlines())
        for paths in found.values()
        for path in paths
    }
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_every_file_says_what_it_is_in_its_first_line() -> None:
    said = {path: first_line(path) for paths in modules().values() for path in paths}
    assert all(text.endswith('.') for text in said.values())
    assert len(set(said.values())) == len(said)


def test_files_that_pages_name_exist() -> None:
    pages = [*ROOT.glob('*.md'), *(ROOT / 'docs').glob('*.md')]
    for page in pages:
        for name in re.findall(r'`((?:\w+/)+\w+\.py)\b', page.read_text('utf-8')):
            places = (ROOT / name, PACKAGE / name, ROOT / 'test' / name)
            assert any(path.exists() for path in places), f'{page.name}: {name}'


if __name__ == '__main__':
    text = PAGE.read_text('utf-8')
    before, rest = text.split(BEGIN)
    PAGE.write_text(before + BEGIN + files_block() + END + rest.split(END)[1], 'utf-8')
