# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
References to equations and sections, and docs/mathematics.md that they lead to.

A reference is `mathematics (6.2)` or `mathematics, section 6.5`, or it names paper, year and
place: `Boots & Gordon 2012, eq. 9`. Others lead nowhere.
"""

import io
from pathlib import Path
import re
import tokenize

import pytest

NOTE = 'mathematics.md'

# Pages of measurements: a decimal in brackets is a value there.
MEASURED = {'results.md', 'notebook.md'}

# Its headings name the paper that the rows below them are about.
BY_PAPER = 'papers.md'

# No section has the number 0, so (0.1) is a value.
_TAG = r'\([1-9]\d?\.\d{1,2}\)'
_NUMBER = r'\d{1,2}(?:\.\d{1,2})*[a-f]?(?:-[a-f])?'
_LIST = r'(?:(?:,| and|, and| to| or) {0})*'
_PLACE = rf'(?:sections?|eqs?\.) {_NUMBER}{_LIST.format(_NUMBER)}'
_AUTHORS = r'[A-Z]\w+(?:, [A-Z]\w+)*(?: & [A-Z]\w+| et al\.)?'

EQUATIONS = re.compile(rf'\b[Mm]athematics(?:\]\([\w/.]*\))? (?P<list>{_TAG}{_LIST.format(_TAG)})')
SECTIONS = re.compile(
    rf'\b[Mm]athematics(?:\]\([\w/.]*\))?, sections? (?P<list>{_NUMBER}{_LIST.format(_NUMBER)})'
)
PAPERS = re.compile(rf'{_AUTHORS} \(?(?:19|20)\d\d\)?, {_PLACE}(?:(?:,| and) {_PLACE})*')
# A value in brackets follows a number or a unit: "3.4 m (10.6)".
BARE = re.compile(
    r'\b(?:eqs?\.?|equations?|sections?) \(?\d[\w.]*'
    rf'|(?<![\w\])}}])(?<!\d )(?<!\d m )(?<!\d % )(?<!\d s ){_TAG}'
    r'|(?<!\w)\(\d{1,2}[a-f](?:-[a-f])?\)',
    re.IGNORECASE,
)


def prose(path: Path) -> str:
    """Return comments and triple-quoted strings of a program, or the text of a page, unwrapped."""
    text = path.read_text(encoding='utf-8')
    if path.suffix == '.py':
        text = '\n'.join(
            token.string.lstrip('#')
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type == tokenize.COMMENT or token.string.endswith(("'''", '"""'))
        )
    return ' '.join(text.split())


@pytest.fixture(scope='module')
def note(checkout: Path) -> str:
    return (checkout / 'docs' / NOTE).read_text(encoding='utf-8')


@pytest.fixture(scope='module')
def places(note: str) -> tuple[list[str], list[str]]:
    """Return the numbers of equations and of sections of the note."""
    sections = re.findall(r'^#+ (\d+(?:\.\d+)?)\.? ', note, re.MULTILINE)
    return re.findall(r'\\tag\{(\d+\.\d+)\}', note), sections


def test_every_reference_leads_to_an_equation_or_a_section(places, checkout):
    """And none is bare: it names the note, or paper and year."""
    folders = [checkout / name for name in ('two_manifold_ros', 'test', 'benchmarks', 'docs')]
    paths = [path for each in folders for path in (*each.rglob('*.py'), *each.rglob('*.md'))]
    own = {Path(__file__).resolve(), (checkout / 'docs' / NOTE).resolve()}
    lost, found = [], 0
    for path in {checkout / 'README.md', *paths} - own:
        text = prose(path)
        for pattern, known in zip((EQUATIONS, SECTIONS), places, strict=True):
            lists = [match['list'] for match in pattern.finditer(text)]
            numbers = {number for each in lists for number in re.findall(r'[\d.]*\d', each)}
            found += len(numbers)
            lost += [f'{path.name}: {each}' for each in numbers - set(known)]
            text = pattern.sub(' ', text)
        for match in BARE.finditer(PAPERS.sub(' ', text)):
            measured = path.name in MEASURED and re.fullmatch(_TAG, match[0])
            if not measured and path.name != BY_PAPER:
                lost.append(f'{path.name}: a bare {match[0]}')
    assert not lost
    assert found > 20, 'the pattern of references finds hardly any'


def test_the_note_refers_to_its_own_equations_and_sections(note, places):
    tags, sections = places
    text = PAPERS.sub(' ', ' '.join(note.split()))
    prose_only = re.sub(r'\$\$.*?\$\$|\$.*?\$|`.*?`', ' ', text)
    assert set(re.findall(r'\((\d{1,2}\.\d{1,2})\)', prose_only)) <= set(tags)
    lists = re.findall(rf'\bsections? ({_NUMBER}{_LIST.format(_NUMBER)})', prose_only)
    assert {number for each in lists for number in re.findall(r'[\d.]*\d', each)} <= {*sections}
    assert len(tags) == len(set(tags)), 'two equations have the same number'
