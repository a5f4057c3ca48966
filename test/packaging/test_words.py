# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Words that CONTRIBUTING.md replaces by the terms of the field, and that may not come back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

WORDS = (
    'told', 'tell', 'tells', 'telling', 'foretell', 'foretells', 'foretold', 'anew', 'seldom',
    'somebody', 'familiar', 'familiarity', 'unfamiliar', 'astray', 'strange', 'surprise', 'hop',
    'hops', 'dear', 'pace', 'paces', 'paced',
)  # fmt: skip

# Parts of identifiers count, such as those of LEAST_TOLD; parts of longer words do not, nor does
# the method of files `stream.tell()`.
FOUND = re.compile(rf'(?<![a-z.])({"|".join(WORDS)})(?![a-z])', re.IGNORECASE)

FOLDERS = ('two_manifold_ros', 'launch', 'config', 'benchmarks', 'docs')
ENDINGS = {'.py', '.md', '.yaml', '.xml', '.rviz', '.json'}
PAGES = ('README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'run')


def words_in(text: str) -> list[str]:
    """Return the lines with a word that may not come back, each with its number."""
    lines = enumerate(text.splitlines(), 1)
    return [f'{number}: {line.strip()}' for number, line in lines if FOUND.search(line)]


def without_tables(text: str) -> str:
    """Return a page with its tables left blank."""
    return re.sub(r'^\|.*$', '', text, flags=re.MULTILINE)


@pytest.mark.parametrize('name', [*FOLDERS, *PAGES])
def test_no_word_comes_back(name: str, checkout: Path) -> None:
    top = checkout / name
    paths = sorted(top.rglob('*')) if top.is_dir() else [top]
    texts = {
        path: path.read_text('utf-8')
        for path in paths
        if path.is_file() and (path == top or path.suffix in ENDINGS)
    }
    assert texts
    if name == 'CONTRIBUTING.md':
        texts = {path: without_tables(text) for path, text in texts.items()}
    found = [
        f'{path.relative_to(checkout)}:{line}'
        for path, text in texts.items()
        for line in words_in(text)
    ]
    assert found == [], '\n'.join(found)


def test_words_are_found_in_prose_and_in_names() -> None:
    assert words_in('It was Told.\nLEAST_TOLD = 1\n') == ['1: It was Told.', '2: LEAST_TOLD = 1']
    assert words_in('stranger, shop, space, endear, stream.tell()') == []


def test_the_table_has_what_to_write_instead(checkout: Path) -> None:
    page = (checkout / 'CONTRIBUTING.md').read_text('utf-8')
    table = page.split('| instead of | write |')[1].split('\n\n')[0]
    forms = {'foretells': 'foretell', 'foretold': 'foretell', 'hops': 'hop'}
    forms |= {'paces': 'pace', 'paced': 'pace'}
    named = re.findall(
        r'[a-z]+', ' '.join(row.split('|')[1] for row in table.strip().split('\n')[1:])
    )
    assert {forms.get(word, word) for word in WORDS} <= set(named)
