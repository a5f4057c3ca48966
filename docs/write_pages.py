# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: INP001 - a script beside the pages that it writes
"""
Write what pages take from the code; with ``--check`` only compare.

``parameters.md``, ``commands.md`` and ``python.md`` are written whole (`code_pages.py`). In the
tables of ``states.md`` and ``topics.md`` this script writes the first cells of each row and keeps
the others: a row that the code does not have goes, and you describe a new one by hand. ``./run
format`` writes, ``./run lint`` compares.
"""

from __future__ import annotations

import json
from pathlib import Path
import re
import sys
from typing import TYPE_CHECKING

import code_pages

from two_manifold_ros.filtering.status import CAUSES, Status, USABLE
from two_manifold_ros.interface.assessment import (
    CODES,
    LEVELS,
    NUMBERS,
    REJECTIONS,
)
from two_manifold_ros.interface.messages import ADAPTING, PUBLISHED, Topics
from two_manifold_ros.interface.parameters import PARAMETERS

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
    filters = {*CAUSES, 'gap', 'stepped_ahead', 'stepped_back'} - {'waiting'}
    page = only(page, 'The filter is not there yet, or not any more', filters)
    for name in ('no_clock', 'clock_stands'):
        require(f'`{name}`' in page, f'states.md: {name} is not named')
    return page


def topics(page: str) -> str:
    """Return the page of topics with their types and qualities of service."""
    for topic in (Topics.IMU, *PUBLISHED.values()):
        page = _topic_row(page, topic.address, topic)
    return _topic_row(page, f'{ADAPTING}{Topics.STATUS.name}', Topics.STATUS)


def _topic_row(page: str, address: str, topic: Topic) -> str:
    quality = 'reliable' if topic.reliable else 'best effort'
    latched = ', transient local' if topic.latched else ''
    return cells(page, address, f'`{topic.msgtype}`', f'{quality}, depth {topic.depth}{latched}')


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
        'parameters.md': lambda _: parameters(),
        'commands.md': lambda _: code_pages.commands(),
        'python.md': lambda _: code_pages.python_interface(),
        'states.md': states,
        'topics.md': topics,
    }
    wrong = 0
    for name, made in pages.items():
        path = HERE / name
        before = path.read_text() if path.exists() else ''
        wrong += put(path, before, made(before))
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
