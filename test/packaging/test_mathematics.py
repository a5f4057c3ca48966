# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
References to equations and sections, and docs/mathematics.md that they lead to.

A reference is `mathematics (6.2)` or `mathematics, section 6.5`, or it names paper, year and
place: `Boots & Gordon 2012, eq. 9`. Others lead nowhere.
"""

import ast
import io
from pathlib import Path
import re
import tokenize

import pytest

NOTE = 'mathematics.md'

# Pages of measurements: a decimal in brackets is a value there.
MEASURED = {'results.md', 'experiments.md', 'faults.md', 'position_faults.md'}

_TAG = r'\(\d{1,2}\.\d{1,2}\)'
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
NAME = re.compile(r'`([A-Za-z_]\w*(?:\.\w+)*)(?:\(\))?`')


def prose(path: Path) -> str:
    """Return comments and triple-quoted strings of a program, or the text of a page, unwrapped."""
    text = path.read_text(encoding='utf-8')
    if path.suffix == '.py':
        parts = []
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                parts.append(token.string.lstrip('#'))
            elif token.type == tokenize.STRING and token.string.endswith(("'''", '"""')):
                parts.append(token.string)
        text = '\n'.join(parts)
    return ' '.join(text.split())


def known_references(text: str) -> tuple[set[str], set[str], str]:
    """Return the equations and the sections that a text refers to, and the text without these."""
    equations, sections = set(), set()
    for match in EQUATIONS.finditer(text):
        equations.update(re.findall(r'\d+\.\d+', match['list']))
    for match in SECTIONS.finditer(text):
        sections.update(re.findall(r'[\d.]*\d', match['list']))
    for pattern in (EQUATIONS, SECTIONS, PAPERS):
        text = pattern.sub(' ', text)
    return equations, sections, text


def tags_of(note: str) -> set[str]:
    """Return the numbers of the equations of the note."""
    return set(re.findall(r'\\tag\{(\d+\.\d+)\}', note))


def sections_of(note: str) -> set[str]:
    """Return the numbers of its sections."""
    return set(re.findall(r'^#+ (\d+(?:\.\d+)?)\.? ', note, re.MULTILINE))


def defined_names(package: Path) -> set[str]:
    """Return the names of modules' classes, functions and constants, and `Class.member`."""
    names = set()
    for path in package.rglob('*.py'):
        for node in ast.parse(path.read_text(encoding='utf-8')).body:
            own = _names(node)
            names |= own
            if isinstance(node, ast.ClassDef):
                names |= {f'{node.name}.{name}' for each in node.body for name in _names(each)}
    return names


def _names(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        return {node.name}
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return {node.target.id}
    if isinstance(node, ast.Assign):
        return {
            name.id
            for target in node.targets
            for name in ast.walk(target)
            if isinstance(name, ast.Name)
        }
    return set()


@pytest.fixture(scope='module')
def note(checkout: Path) -> str:
    return (checkout / 'docs' / NOTE).read_text(encoding='utf-8')


@pytest.fixture(scope='module')
def texts(checkout: Path) -> dict[str, str]:
    """Prose of all programs and pages that refer to equations, by name."""
    folders = [checkout / name for name in ('two_manifold_ros', 'test', 'benchmarks', 'docs')]
    paths = [path for each in folders for path in (*each.rglob('*.py'), *each.rglob('*.md'))]
    paths.append(checkout / 'README.md')
    own = {Path(__file__).resolve(), (checkout / 'docs' / NOTE).resolve()}
    return {
        str(path.relative_to(checkout)): prose(path)
        for path in sorted(paths)
        if path.resolve() not in own
    }


def test_every_reference_leads_to_an_equation_or_a_section(
    note: str, texts: dict[str, str]
) -> None:
    tags, sections = tags_of(note), sections_of(note)
    lost, found = [], 0
    for name, text in texts.items():
        equations, places, _ = known_references(text)
        found += len(equations) + len(places)
        lost += [f'{name}: ({each})' for each in sorted(equations - tags)]
        lost += [f'{name}: section {each}' for each in sorted(places - sections)]
    assert not lost
    assert found > 20, 'the pattern of references finds hardly any'


def test_no_reference_is_bare(texts: dict[str, str]) -> None:
    bare = []
    for name, text in texts.items():
        rest = known_references(text)[2]
        for match in BARE.finditer(rest):
            if Path(name).name in MEASURED and re.fullmatch(_TAG, match[0]):
                continue
            around = rest[max(match.start() - 40, 0) : match.end() + 10]
            bare.append(f'{name}: ...{around}...')
    assert not bare, '\n'.join(bare)


def test_the_note_refers_to_its_own_equations_and_sections(note: str) -> None:
    text = PAPERS.sub(' ', ' '.join(note.split()))
    prose_only = re.sub(r'\$\$.*?\$\$|\$.*?\$|`.*?`', ' ', text)
    assert set(re.findall(r'\((\d{1,2}\.\d{1,2})\)', prose_only)) <= tags_of(note)
    places = re.findall(rf'\bsections? ({_NUMBER}{_LIST.format(_NUMBER)})', prose_only)
    mentioned = {number for each in places for number in re.findall(r'[\d.]*\d', each)}
    assert mentioned <= sections_of(note)
    numbers = re.findall(r'\\tag\{(\d+\.\d+)\}', note)
    assert len(numbers) == len(set(numbers)), 'two equations have the same number'


def test_names_in_the_note_exist(note: str, checkout: Path) -> None:
    names = set(NAME.findall(note))
    assert len(names) > 20, 'the pattern of names finds hardly any'
    assert names <= defined_names(checkout / 'two_manifold_ros')


@pytest.mark.parametrize(
    'text',
    [
        'Take one observation, eq. (6.2).',
        'the form that carries the constant (3.4)',
        'passed over (section 6.5)',
        'a sum of section 2.3',
        'Eq. (8a-f) for one sample',
        'parameters (7a-c)',
        'mathematics says so in (6.2)',
    ],
)
def test_bare_references_are_found(text: str) -> None:
    assert BARE.search(known_references(text)[2])


@pytest.mark.parametrize(
    'text',
    [
        'Take one observation, mathematics (6.2).',
        'as in [mathematics](mathematics.md) (3.1), (4.4) and (4.5)',
        'passed over (mathematics, section 6.5)',
        'Boots & Gordon 2012, section 3.2.2 and eq. 4',
        'Boots & Gordon (2011), eq. 8c-e and 9',
        'Nilsson, Sha & Jordan 2007, eq. 9',
        'the kart errs by 3.4 m (10.6)',
    ],
)
def test_whole_references_are_none_of_these(text: str) -> None:
    assert not BARE.search(known_references(text)[2])
