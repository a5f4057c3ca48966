# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: INP001 - a script beside the pages that it writes
"""
Write what pages take from the code and from results; with ``--check`` only compare.

``parameters.md`` and ``commands.md`` are written whole, and so is the reference of ``python.md``
(`code_pages.py`). In tables of other pages the first cells of each row
are written, and what follows them is kept; a row that the code does not have goes, and a new one
has to be described by hand. Figures of README.md and of the papers' pages are those of the JSON
files beside them; each other figure on a page has to be held by something (`held_figures.py`).
Run by ``./run format``, and by ``./run lint`` to compare.
"""

from __future__ import annotations

import ast
from contextlib import redirect_stdout
from io import StringIO
import json
from pathlib import Path
import re
import sys
from typing import Any, TYPE_CHECKING

import adaptation_tables
import bench_literal
import bench_reproduce
import bench_two_manifold
import code_pages
from gauntlet_tables import show_all
import held_figures
import kept_outputs

from two_manifold_ros.filtering.estimate import ERROR_SHARE, WARN_SHARE
from two_manifold_ros.filtering.status import CAUSES, MOST_STEADY, Status, USABLE
from two_manifold_ros.interface.assessment import (
    CLOCK_WORDS,
    InputLimits,
    INTERRUPTION_WORDS,
    LEVELS,
    REJECTIONS,
)
from two_manifold_ros.interface.messages import ADAPTING, PUBLISHED, Topics
from two_manifold_ros.interface.parameters import PARAMETERS
from two_manifold_ros.interface.status import CODES, NUMBERS
from two_manifold_ros.ticks.novelty import NOVEL, NOVEL_WARN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from two_manifold_ros.interface.messages import Topic
    from two_manifold_ros.interface.parameters import Parameter

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent / 'two_manifold_ros'
UNDESCRIBED = '(describe this)'
ENDS = ('begin', 'end')
CONTENTS = ('<!-- begin of contents, from the headings -->', '<!-- end of contents -->')

AHEAD_S = 2.0
"""Of the predictions in README.md: the horizon that is nearest to it."""

AHEAD = ('f1tenth_ipz10', 'f1tenth_ipz20', 'f1tenth_ipz8', 'ridge_car', 'frictionmaps_ds1')
"""Cases of README.md."""


class PageError(Exception):
    """A page does not fit the code, and has to be changed by hand."""


def require(fits: object, complaint: str) -> None:
    """Raise `PageError` with the complaint unless a page fits."""
    if not fits:
        raise PageError(complaint)


def parameters() -> str:
    """Return the page of parameters."""
    parts = [
        """\
# Parameters

After this page you can set every parameter of the four nodes: `-p NAME:=VALUE` at start, or a
file as in `config/`.

*Changeable* is the period in which the node accepts `ros2 param set`. Later it refuses with the
reason. `docs/write_pages.py` writes this page from `two_manifold_ros/interface/parameters.py`.
"""
    ]
    columns = ('Parameter', 'Type', 'Default', 'Allowed', 'Changeable', 'Meaning')
    for node, kind in PARAMETERS.items():
        rows = [columns, ('---',) * len(columns), *map(_parameter_row, kind.table())]
        lines = [f'| {" | ".join(row)} |' for row in rows]
        parts.append(f'## {node}\n\n' + '\n'.join(lines) + '\n')
    return '\n'.join(parts)


def _parameter_row(parameter: Parameter) -> tuple[str, ...]:
    units = f' {parameter.units}' if parameter.units else ''
    allowed = parameter.constraint.replace("''", 'empty').replace("'", '`')
    return (
        f'`{parameter.name}`',
        parameter.kind,
        f'`{json.dumps(parameter.default)}`{units}',
        f'{allowed}{units}' if allowed else '',
        parameter.settable.value,
        parameter.description,
    )


def states(page: str) -> str:
    """Return the page of states with the codes, levels, limits, numbers and causes in force."""
    for status in Status:
        published = 'yes' if status in USABLE else 'no'
        page = cells(page, status.value, str(CODES[status]), LEVELS[status].name, published)
    numbers = ['sec', 'nanosec', *NUMBERS]
    page = only(page, 'Numbers on `status`', numbers)
    _, section, _ = below(page, 'Numbers on `status`')
    require(
        [name for line in section.splitlines() for name in named(line)] == numbers,
        'states.md: the numbers on `status` are listed in another order than they are published',
    )
    page = only(page, 'No message is used', REJECTIONS)
    filters = {*CAUSES, *INTERRUPTION_WORDS} - {'waiting'}
    page = only(page, 'The filter is not there yet, or not any more', filters)
    for name in CLOCK_WORDS:
        require(f'`{name}`' in page, f'states.md: {name} is not named')
    steady = {10: 'ten'}[MOST_STEADY]
    for pattern, words in (
        (
            r'\| [\d.]+ and [\d.]+ times the 95',
            f'| {WARN_SHARE:g} and {ERROR_SHARE:g} times the 95',
        ),
        (r'\| [\d.]+ and [\d.]+, see', f'| {NOVEL_WARN:.2f} and {NOVEL:.2f}, see'),
        (r'\| \d+, or fewer if', f'| {InputLimits.most_in_a_row}, or fewer if'),
        (r'(is a warning \| none \|) \d+ %', rf'\1 {100 * InputLimits.most_rejected_share:g} %'),
        (r'\| [\d.]+ times the rate, w', f'| {InputLimits.least_rate_share:g} times the rate, w'),
        (r'better one only after \w+ ticks', f'better one only after {steady} ticks'),
    ):
        page = substitute(page, pattern, words)
    return page


def topics(page: str) -> str:
    """Return the page of topics with their types and qualities of service."""
    for topic in (Topics.IMU, Topics.IMAGE, *PUBLISHED.values()):
        page = _topic_row(page, topic.address, topic)
    for topic in (Topics.LEARNING, Topics.STATUS):
        page = _topic_row(page, f'{ADAPTING}{topic.name}', topic)
    return page


def _topic_row(page: str, address: str, topic: Topic) -> str:
    quality = 'reliable' if topic.reliable else 'best effort'
    latched = ', transient local' if topic.latched else ''
    return cells(page, address, f'`{topic.msgtype}`', f'{quality}, depth {topic.depth}{latched}')


def promises(page: str) -> str:
    """Return the page of promises if every test that it names exists, and no promise has none."""
    for file, name in re.findall(r'`(test/[\w/]+\.py)::(\w+)`', page):
        there = f'def {name}(' in (HERE.parent / file).read_text()
        require(there, f'promises.md: there is no {file}::{name}')
    rows = re.findall(r'^\| (\d) \| .+ \| (.+) \|$', page, flags=re.MULTILINE)
    require(all('::test_' in tests for _, tests in rows), 'promises.md: a promise without a test')
    for path in (HERE.parent / 'test' / 'promises').glob('test_*.py'):
        for name in re.findall(r'^def (test_\w+)\(', path.read_text(), flags=re.MULTILINE):
            named = f'{path.name}::{name}`' in page
            require(named, f'promises.md: {path.name}::{name} is of no promise')
    return page


def readme(page: str) -> str:
    """Return README.md with the accuracy of the gauntlet, the states and the measured cost."""
    cases = gauntlet()
    for name in AHEAD:
        accuracy, rate_hz = (cases[name]['route'][key] for key in ('accuracy', 'rate_hz'))
        errors = {row['ticks_ahead'] / rate_hz: row['rmse_m'] for row in accuracy['horizons']}
        ahead_s = min(errors, key=lambda each: abs(each - AHEAD_S))
        row = (
            _metres(errors[0.0]),
            f'{_metres(errors[ahead_s])} in {ahead_s:g} s',
            f'{100.0 * accuracy["published"]:.0f} %',
            _metres(accuracy['mean_m']),
        )
        page = substitute(page, rf'(\| `{name}`) \|.*', rf'\1 | {" | ".join(row)} |')
    error_m = cases['f1tenth_ipz8']['route']['accuracy']['published_rmse_m']
    page = substitute(page, r'(row 3 have\s+an\s+RMSE of) [\d.]+ m', rf'\1 {_metres(error_m)}')
    for status in Status:
        page = cells(page, status.value, 'yes' if status in USABLE else 'no')
    results = (HERE / 'results.md').read_text()
    start = {
        (program, cache): seconds
        for program, cache, seconds in re.findall(
            r'^ +(\w+) +(cold|warm) +([\d.]+) ', results, re.MULTILINE
        )
    }
    (share,) = re.findall(r'^ +filter_node +100 +\d+ +0 +([\d.]+) ', results, re.MULTILINE)
    (memory,) = re.findall(r'filter_node without subscribers, warm: (\d+) MB', results)
    for pattern, figure in (
        (r'(`filter_node` takes) [\d.]+ %', f'{share} %'),
        (r'(at 100 Hz\s+and) \d+ MB', f'{memory} MB'),
        (r'(and starts in) [\d.]+ s', f'{start["filter_node", "warm"]} s'),
        (r'(`train` takes) [\d.]+ s', f'{start["train", "warm"]} s'),
        (r'(cache these are) [\d.]+ s', f'{start["filter_node", "cold"]} s'),
        (r'(cache these are [\d.]+ s and) [\d.]+ s', f'{start["train", "cold"]} s'),
    ):
        page = substitute(page, pattern, rf'\1 {figure}')
    return page


def gauntlet() -> dict[str, Any]:
    """Return what `./run bench gauntlet --json docs/gauntlet.json` found of each case."""
    cases: dict[str, Any] = json.loads((HERE / 'gauntlet.json').read_text())['cases']
    return cases


def _metres(error: float) -> str:
    """Return an error with two digits, or with all those before the point."""
    return f'{error:.{2 if error < 1.0 else 1 if error < 10.0 else 0}f} m'


def results(page: str) -> str:
    """Return the page of results with its contents and what benchmarks print."""
    page = between(page, *CONTENTS, contents(page))
    rows = json.loads((HERE / 'adaptation.json').read_text())['rows']
    ends = (adaptation_tables.BEGIN, adaptation_tables.END)
    page = between(page, *ends, adaptation_tables.block(rows))
    with redirect_stdout(StringIO()) as printed:
        show_all(gauntlet())
    page = _with_tables(page, printed.getvalue().strip('\n').splitlines())
    two_manifold = json.loads((HERE / 'two_manifold.json').read_text())
    for lines in bench_two_manifold.tables(two_manifold):
        page = _with_tables(page, lines)
    return page


def _with_tables(page: str, lines: list[str]) -> str:
    """Return the page with other indented lines where it has the first of them."""
    lines = [f'    {line}' if line else '' for line in lines]
    first = page.index(f'{lines[0]}\n')
    block = re.match(r'(?: {4}.*\n|\n)*', page[first:])
    require(block, f'results.md: no tables that start with {lines[0]}')
    rest = page[first:].removeprefix(block[0] if block else '')
    return kept_outputs.on_page(page[:first] + '\n'.join(lines) + '\n\n' + rest)


def literal(page: str) -> str:
    """Return the page of the slot car with the tables that `bench_literal.py` prints."""
    for name, block in bench_literal.blocks().items():
        begin, end = (f'<!-- {word} of {name}, from docs/literal.json -->' for word in ENDS)
        page = between(page, begin, end, block)
    return page


def contents(page: str) -> str:
    """Return a line with a link for each section of a page."""
    lines = []
    for title in re.findall(r'^## (.*)', page, re.MULTILINE):
        anchor = re.sub(r'[^\w -]', '', title.lower()).replace(' ', '-')
        lines.append(f'* [{title}](#{anchor})')
    return '\n'.join(lines)


def between(page: str, begin: str, end: str, block: str) -> str:
    """Return the page with a block between two lines, each of which it has once."""
    require(page.count(begin) == page.count(end) == 1, f'not one place between {begin} and {end}')
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    return f'{before}{begin}\n\n{block}\n\n{end}{after}'


def papers(page: str) -> str:
    """Return the page about the papers with how many claims hold on how many sets of draws."""
    kept = bench_reproduce.read()
    for row in bench_reproduce.index_table(kept).splitlines()[2:-1]:
        name, held = re.findall(r'^\| \[([\w-]+)\].*\| ([^|]*) \|$', row)[0]
        sets = kept[name].get('sets', {'sets': 0})['sets']
        cell = f'{held} |' if sets else 'set 0 alone |'
        pattern = rf'^(\| [^|]* \| \[{name}\]\(.*\| )[^|]*\|$'
        page, found = re.subn(pattern, rf'\g<1>{cell}', page, flags=re.MULTILINE)
        require(found == 1, f'papers.md: {found} rows about {name}')
    return page


def architecture(page: str) -> str:
    """Return the page with the first lines of all folders and files."""
    lines = []
    for folder in sorted(path.parent for path in PACKAGE.glob('*/__init__.py')):
        lines.append(f'\n`{folder.name}/`: {_first_line(folder / "__init__.py")}\n')
        files = (path for path in sorted(folder.glob('*.py')) if path.name != '__init__.py')
        lines += [f'- `{path.name}`: {_first_line(path)}' for path in files]
    before, rest = page.split('<!-- files -->\n')
    after = rest.split('<!-- end of files -->\n')[1]
    block = '\n'.join(lines).lstrip('\n')
    return f'{before}<!-- files -->\n{block}\n<!-- end of files -->\n{after}'


def _first_line(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text())) or '').split('\n')[0]


def substitute(page: str, pattern: str, words: str) -> str:
    """Return the page with other words in the one place that has a pattern."""
    page, found = re.subn(pattern, words, page)
    require(found == 1, f'{found} places with words like {pattern}')
    return page


def cells(page: str, name: str, *written: str) -> str:
    """Return the page with the cells after the name, in the first row about it, as given."""
    row = re.search(rf'^\| `{re.escape(name)}`[^|]*(\|.*)$', page, re.MULTILINE)
    if row is None:
        msg = f'there is no row about {name}'
        raise PageError(msg)
    parts = row[1].split(' | ')
    parts[: len(written)] = [f'| {written[0]}', *written[1:]]
    return page[: row.start(1)] + ' | '.join(parts) + page[row.end(1) :]


def below(page: str, heading: str) -> tuple[str, str, str]:
    """Return what is before a heading, below it, and from the next one on."""
    before, section = page.split(f'# {heading}\n')
    section, *after = re.split(r'(?=^#)', section, maxsplit=1, flags=re.MULTILINE)
    return before, section, ''.join(after)


def named(line: str) -> list[str]:
    """Return the names in the first cell of a row, none of any other line."""
    return re.findall(r'`(\w+)`', line.split('|')[1]) if line.startswith('| `') else []


def only(page: str, heading: str, names: Iterable[str]) -> str:
    """Return the page with these names and no others in the first column below a heading."""
    before, section, after = below(page, heading)
    left, lines = list(names), []
    for line in section.splitlines(keepends=True):
        known = named(line)
        if all(name in left for name in known):
            lines.append(line)
            left = [name for name in left if name not in known]
    end = max(index for index, line in enumerate(lines) if line.startswith('|')) + 1
    lines[end:end] = [f'| `{name}` | {UNDESCRIBED} |\n' for name in left]
    return f'{before}# {heading}\n{"".join(lines)}{after}'


def main() -> int:
    """Write or compare all pages; return how many differ."""
    pages = {
        HERE / 'parameters.md': lambda _: parameters(),
        HERE / 'commands.md': lambda _: code_pages.commands(),
        HERE / 'python.md': code_pages.python_interface,
        HERE / 'states.md': states,
        HERE / 'topics.md': topics,
        HERE / 'promises.md': promises,
        HERE / 'architecture.md': architecture,
        HERE / 'papers.md': papers,
        HERE / 'results.md': results,
        HERE.parent / 'README.md': readme,
    }
    wrong = 0
    for path, made in pages.items():
        before = path.read_text()
        after = made(before)
        wrong += put(path, before, after)
    for path, block in bench_reproduce.pages(bench_reproduce.read()).items():
        before = path.read_text()
        wrong += put(path, before, bench_reproduce.with_block(before, block))
    path = HERE / 'reproduce' / 'slot-car.md'
    before = path.read_text()
    wrong += put(path, before, literal(before))
    for complaint in held_figures.complaints():
        sys.stderr.write(f'{complaint}\n')
        wrong += '--check' in sys.argv
    return wrong


def put(path: Path, before: str, after: str) -> bool:
    """Write a page, unless it is only compared; return whether a person has to look at it."""
    if '--check' not in sys.argv:
        path.write_text(after)
    wrong = UNDESCRIBED in after or ('--check' in sys.argv and after != before)
    if wrong:
        sys.stderr.write(f'{path.name} is not what docs/write_pages.py makes: ./run format\n')
    return wrong


if __name__ == '__main__':
    sys.exit(main())
