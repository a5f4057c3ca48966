# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: INP001 - a script beside the pages that it writes
"""
Write what pages of this folder take from the code; with ``--check`` only compare.

``parameters.md`` is written whole. In tables of other pages the first cells of each row are
written, and what follows them is kept; a row that the code does not have goes, and a new one has
to be described by hand. Run by ``./run format``, and by ``./run lint`` to compare.
"""

from __future__ import annotations

import json
from pathlib import Path
import re
import sys
from typing import TYPE_CHECKING

from two_manifold_ros.filtering.estimate import ERROR_SHARE, WARN_SHARE
from two_manifold_ros.filtering.status import CAUSES, StateMachine, Status, USABLE
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
UNDESCRIBED = '(describe this)'


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

This page is written by `docs/write_pages.py` from the classes that the nodes declare their
parameters from; `./run lint` compares the two.

*Changeable* states until when `ros2 param set` is accepted; later it is refused with the reason.
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
    page = only(page, 'Numbers on `status`', {'sec', 'nanosec', *NUMBERS})
    page = only(page, 'No message is used', REJECTIONS)
    filters = {*CAUSES, *INTERRUPTION_WORDS} - {'waiting'}
    page = only(page, 'The filter is not there yet, or not any more', filters)
    for name in CLOCK_WORDS:
        require(f'`{name}`' in page, f'states.md: {name} is not named')
    steady = {10: 'ten'}[StateMachine.steady]
    for pattern, words in (
        (
            r'\| [\d.]+ and [\d.]+ times the 95',
            f'| {WARN_SHARE:g} and {ERROR_SHARE:g} times the 95',
        ),
        (r'\| [\d.]+ and [\d.]+, see', f'| {NOVEL_WARN:.2f} and {NOVEL:.2f}, see'),
        (r'\| \d+, or fewer where', f'| {InputLimits.most_in_a_row}, or fewer where'),
        (r'(is a warning \| none \|) \d+ %', rf'\1 {100 * InputLimits.most_rejected_share:g} %'),
        (r'\| [\d.]+ times that of', f'| {InputLimits.least_rate_share:g} times that of'),
        (r'better after \w+ ticks', f'better after {steady} ticks'),
    ):
        page, found = re.subn(pattern, words, page)
        require(found == 1, f'states.md: no words like {pattern}')
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


def cells(page: str, name: str, *written: str) -> str:
    """Return the page with the cells after the name, in the first row about it, as given."""
    row = re.search(rf'^\| `{re.escape(name)}`[^|]*(\|.*)$', page, re.MULTILINE)
    if row is None:
        msg = f'there is no row about {name}'
        raise PageError(msg)
    parts = row[1].split(' | ')
    parts[: len(written)] = [f'| {written[0]}', *written[1:]]
    return page[: row.start(1)] + ' | '.join(parts) + page[row.end(1) :]


def only(page: str, heading: str, names: Iterable[str]) -> str:
    """Return the page with these names and no others in the first column below a heading."""
    before, section = page.split(f'# {heading}\n')
    section, *after = re.split(r'(?=^#)', section, maxsplit=1, flags=re.MULTILINE)
    left, lines = list(names), []
    for line in section.splitlines(keepends=True):
        named = re.findall(r'`(\w+)`', line.split('|')[1]) if line.startswith('| `') else []
        if all(name in left for name in named):
            lines.append(line)
            left = [name for name in left if name not in named]
    end = max(index for index, line in enumerate(lines) if line.startswith('|')) + 1
    lines[end:end] = [f'| `{name}` | {UNDESCRIBED} |\n' for name in left]
    return f'{before}# {heading}\n{"".join(lines)}{"".join(after)}'


def main() -> int:
    """Write or compare all pages; return how many differ."""
    pages = {
        'parameters.md': lambda _: parameters(),
        'states.md': states,
        'topics.md': topics,
        'promises.md': promises,
    }
    wrong = 0
    for name, made in pages.items():
        before = (HERE / name).read_text()
        after = made(before)
        if UNDESCRIBED in after or ('--check' in sys.argv and after != before):
            wrong += 1
            sys.stderr.write(f'docs/{name} is not what docs/write_pages.py makes of the code\n')
        if '--check' not in sys.argv:
            (HERE / name).write_text(after)
    return wrong


if __name__ == '__main__':
    sys.exit(main())
