# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: INP001 - a script beside the pages that it reads
"""
Find figures on pages that nothing holds.

A figure is a number with a decimal point, a percentage, or a whole number with a unit. It is held
if it stands

* between the two lines ``<!-- begin of ... -->`` and ``<!-- end of ... -->``, which name what
  writes or compares it;
* before a comment ``<!-- held by PATH: `some text` -->``, and after the heading or the comment
  before that. The text has to be in the file, and the figure has to be a number in the text,
  rounded to the digits of the figure, in its unit. ``PATH`` is a program, or a page, of
  which output between such lines, programs and history count; ``here`` is the page itself.
  Comments that follow each other count together;
* in a section, or below the title of a page, that begins with a line ``*History: ...*`` which
  names a commit and a date: it is a record of that day, and no claim about today;
* in a command or a program.

So a figure that changes does not fit its comment, and a comment whose file changes is not found
there. A text has a word and few numbers, or any figure would be held.
`docs/write_pages.py --check` reports what is not held.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from pathlib import Path
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent

WHOLE = {
    'docs/parameters.md': 'docs/write_pages.py',
    'docs/commands.md': 'docs/write_pages.py',
    'docs/python.md': 'docs/write_pages.py',
    'docs/faults.md': './run faults',
    'docs/position_faults.md': './run faults',
    'README.md': 'docs/write_pages.py and benchmarks/check_release.py',
}
"""
Pages that are written or compared line by line, and by what.

Of README.md that is accuracy, cost, sizes and what commands print, not descriptions of vehicles.
"""

PRINTED = re.compile(r'<!-- begin of .*?<!-- end of [^>]*-->', re.DOTALL)
HISTORY = re.compile(r'\*History: .*?\b[0-9a-f]{7,40}\b.*?\b20\d\d-\d\d-\d\d\b.*?\*', re.DOTALL)
HEADING = re.compile(r'^(#+) ', re.MULTILINE)
HOLDERS = re.compile(r'((?:<!-- held by .*?-->\s*)+)', re.DOTALL)
HOLDER = re.compile(r'<!-- held by (\S+):\s(.*?)-->', re.DOTALL)

UNITS = {
    '%': (100.0,), 'm': (1.0,), 'cm': (100.0,), 'mm': (1e3,), 'km': (1e-3,), 's': (1.0, 1e-9),
    'ms': (1e3,), 'us': (1e6,), 'Hz': (1.0,), 'kB': (1e-3,), 'MB': (1e-6,), 'GB': (1e-9,),
    'laps': (1.0,), 'times': (1.0,),
}  # fmt: skip
"""Units of figures, and what a number in a program may be multiplied by to be in them."""

UNIT = '|'.join(UNITS)
FIGURE = re.compile(
    rf'(?<![\w.,/-])-?(\d*\.\d+|\d+(?= ?(?:{UNIT})(?!\w)))(?!\w*\.?\d) ?((?:{UNIT})(?!\w))?'
)
NO_FIGURE = re.compile(
    # Commands, formulas, code in words, targets of links, references to equations and sections,
    # versions.
    r'^ {4}(?:two-manifold|ros2|\./run) .*|\$[^$\n]*\$|.*\\tag\{.*|^#+ [\d.]+|`[^`\n]*`'
    r'|\]\([^)\n]*\)|^\| [\d., ]+,|\beqs?\. [\d.,() -]+|\b[Ss]ections? [\d., and]+'
    r'|\(?\b\d+(?:\.\d+)+\)|\b(?:Ubuntu|Python|NumPy|SciPy|numba) [\d.]+|\b3\.1\d\b',
    re.MULTILINE,
)
ANYTHING = re.compile('.+')
PROGRAM = re.compile(r'```.*?```', re.DOTALL)
NUMBER = re.compile(r'(?<![\w.])\d[\d_]*\.?\d*(?:e-?\d+)?|(?<![\w.])\.\d+')
MOST_NUMBERS = 8
"""In the text of a comment: more would hold a tenth of all figures with two digits."""


def figures(page: str) -> Iterator[tuple[int, int, str, list[float]]]:
    """Yield begin and end of each figure of a page, its unit, and the numbers that may hold it."""
    page = _without_history(_blank(PROGRAM, _blank(PRINTED, page)))
    limits = [(each.start(), '') for each in HEADING.finditer(page)]
    limits += [(each.start(), each[0]) for each in HOLDERS.finditer(page)]
    limits = [*sorted(limits), (len(page), '')]
    for each in FIGURE.finditer(_blank(NO_FIGURE, _blank(HOLDERS, page))):
        comments = next(text for begin, text in limits if begin > each.start())
        numbers = [number for _, words in _quoted(comments) for number in _numbers(words)]
        yield each.start(1), each.end(1), each[2] or '', numbers


def unheld(page: str) -> Iterator[str]:
    """Yield each figure of a page that is not held, with its line, and each text that is gone."""
    for path, words in _quoted(page):
        if not _is_in(_text(page if path == 'here' else path), words):
            yield f'{words!r} is not in {path}'
        if not re.search('[A-Za-z]{2}', words) or len(_numbers(words)) > MOST_NUMBERS:
            yield f'{words!r} could hold anything'
    for begin, end, unit, numbers in figures(page):
        if not _holds(numbers, page[begin:end], unit):
            line = page[page.rfind('\n', 0, begin) + 1 :].partition('\n')[0]
            yield f'{page[begin:end]} in {line.strip()!r}'


def _quoted(text: str) -> list[tuple[str, str]]:
    """Return path and words of each text that is quoted in comments."""
    return [
        (path, words)
        for path, quoted in HOLDER.findall(text)
        for words in re.findall(r'`([^`]+)`', quoted)
    ]


def _numbers(words: str) -> list[float]:
    return [float(each) for each in NUMBER.findall(words)]


def _blank(pattern: re.Pattern[str], text: str) -> str:
    """Return a text with spaces in place of what matches, so that all else stays where it is."""
    return pattern.sub(lambda match: re.sub(r'[^\n]', ' ', match[0]), text)


def _is_in(text: str, words: str) -> bool:
    """Return whether words are in a text, of which no number goes on before or behind them."""
    whole = rf'(?<!\d)(?<!\d\.){re.escape(" ".join(words.split()))}(?![\d_]|\.\d)'
    return re.search(whole, text) is not None


def _holds(numbers: list[float], figure: str, unit: str) -> bool:
    """Return whether a figure is one of the numbers, rounded as it is and in its unit."""
    digits = len(figure.partition('.')[2])
    values = [each * scale for each in numbers for scale in {1.0, *UNITS.get(unit, ())}]
    if unit == '%':
        values += [100.0 - 100.0 * each for each in numbers]
    # A rounding of half a digit is taken either way.
    return any(abs(value - float(figure)) <= 0.5000001 * 10.0**-digits for value in values)


@lru_cache(maxsize=64)
def _text(place: str) -> str:
    """Return what may hold figures in a file or on a page, given as a path or as a whole."""
    path = CHECKOUT / place if '\n' not in place else None
    text = place if path is None else path.read_text() if path.is_file() else ''
    if path is None or path.suffix == '.md':
        parts = [*PRINTED.findall(text), *PROGRAM.findall(text)]
        text = '\n'.join([*parts, *(text[begin:stop] for begin, stop in _history(text))])
    return ' '.join(text.split())


def _without_history(page: str) -> str:
    for begin, stop in _history(page):
        page = page[:begin] + _blank(ANYTHING, page[begin:stop]) + page[stop:]
    return page


def _history(page: str) -> list[tuple[int, int]]:
    """Return begin and end of each section of a page that is history."""
    ends = [match.start() for match in HEADING.finditer(page)] + [len(page)]
    found, level_of_history = [], 99
    for begin, stop in pairwise(ends):
        level = len(page[begin:stop]) - len(page[begin:stop].lstrip('#'))
        if level <= level_of_history:
            body = page[begin:stop].partition('\n')[2].strip()
            level_of_history = level if HISTORY.match(body) else 99
        if level_of_history < 99:
            found.append((begin, stop))
    return found


def complaints() -> Iterator[str]:
    """Yield what is not held on any page."""
    for path in (CHECKOUT / 'README.md', *sorted(HERE.rglob('*.md'))):
        name = str(path.relative_to(CHECKOUT))
        if name not in WHOLE:
            for each in unheld(path.read_text()):
                yield f'{name}: nothing holds {each}'
