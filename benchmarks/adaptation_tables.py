# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The tables of learning on the robot; heads say what is to be reached, first for maps."""

from __future__ import annotations

import math
from statistics import median
from typing import Any, TYPE_CHECKING, TypeAlias

from gauntlet_tables import ellipse
from tables import metres, percent, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Row: TypeAlias = dict[str, Any]
"""What one trial found: its block, case, learner and seed, and numbers; or why it ``failed``."""

BLOCKS = ('gauntlet', 'changes', 'cost', 'poison')

WITHIN = 3
"""Laps after a change within which a learner is to be back."""


def over(value: float | None, other: float | None) -> float:
    """Return a ratio; NaN if one number is missing."""
    return math.nan if value is None or not other else value / other


def last_two(errors: Sequence[float | None]) -> float | None:
    """Return the root mean square of the last two errors, as far as they are known."""
    known = [each for each in errors[-2:] if each is not None]
    return math.hypot(*known) / math.sqrt(len(known)) if known else None


def adaptation_row(row: Row) -> list[str]:
    """Return the cells of a drive that was learned live; ``rmse_m`` are the errors of its laps."""
    after = row['accuracy']
    errors = [over(each, row['mean_m']) for each in row['rmse_m']]
    third, last = (errors + [math.nan] * 3)[2], last_two(errors)
    return [
        f'{row["laps"]:.0f}', metres(after.get('rmse_m')), metres(row['offline'].get('rmse_m')),
        percent(after.get('published')), metres(third), metres(last),
        ', '.join(map(ellipse, after.get('horizons', ()))),
    ]  # fmt: skip


ADAPTATION = 'laps, RMSE, offline, published, lap 3, last two laps'


def _cost(row: Row) -> list[str]:
    shares = (percent(row[name], 1) for name in ('first_core', 'core'))
    return [f'{row["lap_s"]:.1f}', *shares, f'{row["kept_mb"]:.1f}', f'{row["grown_mb"]:.1f}']


def _poison(row: Row) -> list[str]:
    found = {**row['poisons']}
    clean = found.pop('none')
    ratios = [over(each['rmse_m'], clean['rmse_m']) for each in found.values()]
    frozen = [over(each['rmse_m'], each['frozen_m']) for each in found.values()]
    # Who knew nothing without has nothing to keep.
    knew = over(clean['rmse_m'], clean['mean_m']) <= 0.25
    met = (f'{sum(knew and x <= 1.1 for x in some)}/{len(found)}' for some in (ratios, frozen))
    return [metres(clean['rmse_m']), metres(clean['mean_m']), *map(metres, ratios), *met]


TABLES: dict[str, tuple[str, str, Callable[[Row], list[str]]]] = {
    'gauntlet': (
        'live, then the IMU alone; metres (to reach: 1.15, 2 times offline, 95 %, 0.25 in lap 3)',
        f'{ADAPTATION}, in the 68 / 95 % ellipse',
        adaptation_row,
    ),
    'cost': (
        'ten minutes with positions: of a core, and memory (to reach: 2 % and 15 %, 50 MB)',
        'lap s, minute 1, all, kept MB, process grew by MB',
        _cost,
    ),
    'poison': (
        'a spoiled lap: RMSE of laps 2 and 3 after it over that without; met: at most 1.1 of it',
        'without m, mean m, stuck, NaN, lifted, other route, wrong positions, met, as frozen',
        _poison,
    ),
}
"""Title, head and cells of a row, by block."""


def changes(rows: list[Row]) -> Iterator[list[str]]:
    """Yield a row for each change and learner: error before, soon back, laps, laps worse."""
    by_change: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        for name, each in row['changes'].items():
            by_change.setdefault((name, row['learner']), []).append(each)
    for (name, learner), some in by_change.items():
        laps = [math.inf if each['back'] is None else each['back'] for each in some]
        before = median(over(each['old_m'], each['mean_m']) for each in some)
        soon = f'{sum(each <= WITHIN for each in laps)}/{len(laps)}'
        worse = max(each['worse'] for each in some)
        numbers = (f'{each:g}' for each in (median(laps), max(laps), worse))
        yield [name, learner, metres(before), soon, *numbers]


def tables(rows: list[Row]) -> str:
    """Return all tables of the trials."""
    blocks = []
    for block, (title, head, cells) in TABLES.items():
        found = [
            [
                f'{row["case"]}/{row["seed"]}',
                row['learner'],
                *([row['failed']] if 'failed' in row else cells(row)),
            ]
            for row in rows
            if row['block'] == block
        ]
        if found:
            blocks.append(f'{title}\n{table(f"case, learner, {head}", found)}')
    changed = list(changes([r for r in rows if r['block'] == 'changes' and 'failed' not in r]))
    if changed:
        title = 'changed for good: error before over that of the mean position (median)'
        head = f'change, learner, before, back in {WITHIN} laps, laps, most, worse than frozen'
        blocks.append(f'{title}\n{table(head, changed)}')
    return '\n\n'.join(blocks)
