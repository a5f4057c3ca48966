# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: INP001 - a script beside the pages that it reads
"""
Find figures on pages that no command's output holds.

A figure is a number with a decimal point, or a percentage. It is held if it

* stands between the two lines ``<!-- begin of ... -->`` and ``<!-- end of ... -->``, which name
  what writes or compares it;
* is in prose and equals, up to rounding, a number between two such lines of the same page;
* is a setting: a number of the code, or one minus it, as such or as a percentage;
* stands in a section, or below the title of a page, that begins with a line ``*History: ...*``
  which names a commit and a date: it is a record of that day, and no claim about today.

Everything else is a figure that nobody would miss when it drifts. `docs/write_pages.py --check`
reports it.
"""

from __future__ import annotations

from functools import lru_cache
import io
from itertools import pairwise
from pathlib import Path
import re
import tokenize
from typing import TYPE_CHECKING

from two_manifold_ros.ticks.novelty import NOVEL, NOVEL_WARN

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent

WHOLE = {
    'docs/parameters.md': 'docs/write_pages.py',
    'docs/faults.md': './run faults',
    'docs/position_faults.md': './run faults',
    'README.md': 'docs/write_pages.py and benchmarks/check_release.py',
}
"""Pages that are written or compared line by line, and by what."""

HELD = re.compile(r'<!-- begin of .*?<!-- end of [^>]*-->', re.DOTALL)
HISTORY = re.compile(r'\*History: .*?\b[0-9a-f]{7,40}\b.*?\b20\d\d-\d\d-\d\d\b.*?\*', re.DOTALL)
HEADING = re.compile(r'^(#+) ', re.MULTILINE)
FIGURE = re.compile(r'(?<![\w.,/-])-?(\d*\.\d+|\d+(?= ?%))(?!\w*\.?\d)')
NO_FIGURE = re.compile(
    # Formulas, code in words, targets of links, references to equations and sections, versions.
    r'\$[^$]*\$|.*\\tag\{.*|^#+ [\d.]+|`[^`]*`|\]\([^)]*\)'
    r'|\beqs?\. [\d.,() -]+|\b[Ss]ections? [\d., and]+|\(?\b\d+(\.\d+)+\)'
    r'|\b(Ubuntu|NumPy|SciPy|numba) [\d.]+|\b3\.1\d\b'
)


def unheld(page: str) -> Iterator[str]:
    """Yield each figure of a page that is not held, with its line."""
    shown = _numbers(' '.join(HELD.findall(page)))
    for line in _todays(HELD.sub('', page)).splitlines():
        for figure in FIGURE.findall(NO_FIGURE.sub('', line)):
            key = _key(float(figure))
            if key not in settings() and (line.startswith(('    ', '|')) or key not in shown):
                yield f'{figure} in {line.strip()!r}'


def _todays(page: str) -> str:
    """Return a page without the sections that are history."""
    ends = [match.start() for match in HEADING.finditer(page)] + [len(page)]
    kept, level_of_history = [page[: ends[0]]], 99
    for begin, stop in pairwise(ends):
        section = page[begin:stop]
        level = len(section) - len(section.lstrip('#'))
        if level <= level_of_history:
            body = section.partition('\n')[2].strip()
            level_of_history = level if HISTORY.match(body) else 99
        if level_of_history == 99:
            kept.append(section)
    return ''.join(kept)


def _key(number: float) -> str:
    return f'{abs(number):.6g}'


def _numbers(text: str) -> set[str]:
    """Return the numbers of a text, rounded to each number of digits, also as percentages."""
    numbers = {float(number) for number in re.findall(r'\d*\.\d+|\d+', text)}
    return {
        _key(round(scale * number, digits))
        for number in numbers
        for digits in range(5)
        for scale in (1.0, 100.0)
    }


@lru_cache(maxsize=1)
def settings() -> frozenset[str]:
    """Return the numbers in the code of package and benchmarks."""
    # What is computed from constants when a module is imported.
    found = {_key(round(each, 2)) for each in (NOVEL, NOVEL_WARN)}
    for folder in ('two_manifold_ros', 'benchmarks'):
        for path in (CHECKOUT / folder).rglob('*.py'):
            tokens = tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
            for token in tokens:
                if token.type == tokenize.NUMBER and re.fullmatch(
                    r'[\d_.]+(e-?\d+)?', token.string
                ):
                    number = float(token.string)
                    found |= {_key(each) for each in (number, 1.0 - number)}
                    found |= {_key(100.0 * each) for each in (number, 1.0 - number)}
    return frozenset(found)


def complaints() -> Iterator[str]:
    """Yield what is not held on any page."""
    for path in (CHECKOUT / 'README.md', *sorted(HERE.rglob('*.md'))):
        name = str(path.relative_to(CHECKOUT))
        if name not in WHOLE:
            for each in unheld(path.read_text()):
                yield f'{name}: no command prints {each}'
