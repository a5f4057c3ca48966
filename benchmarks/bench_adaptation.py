# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Learning on the robot: how well, how soon, after changes, for how much, and what spoils it.

Run `./run bench adaptation`; options choose parts.

gauntlet  Cases of the gauntlet with five laps or more: their training part is learned live, with
          positions, then the other part is followed with the IMU alone, beside a model trained
          offline of the same part. Lap 3 and the last two laps while they are learned, before the
          position of each tick is given: what is not published counts as the mean of all
          positions. The first three seconds of a drive do not count: no filter publishes before
          its window is full.
changes   After seven laps something changes for good (changed_streams.py). Errors at horizon 0,
          published or not, lap by lap, beside a filter with what was learned before. A learner is
          back after so many laps if that lap and the next together err at most 1.5 times as much
          as the three before the change. A tenth above the frozen filter is as good.
cost      Ten minutes of three worlds with laps of different length, ticks 20 times a second at
          most, and every training within this process: its processor time, arrays that are
          saved, and by how much the process grows. Compiled code is there before.
poison    The lap after five is spoiled, then three are as they were.

A learner that errs by more than a quarter of the mean position's error before a change has nothing
to keep.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import partial
import itertools
import math
import os
from statistics import median
import sys
import traceback
from typing import Any, TypeAlias

from adaptation_trials import learn_live, measure_cost, try_changes, try_poisons
from bench_gauntlet import ellipse
from changed_streams import WORLD_CASES
from gauntlet_drives import case_names, is_absent, make_case
from tables import metres, percent, table
from worlds.table import WORLDS

from two_manifold_ros.names import LEARNERS

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


ENOUGH_LAPS = 5.0

USUAL = {
    'changes': WORLD_CASES,
    'cost': ('slot_car', 'kart', 'car'),
    'poison': WORLD_CASES,
}
"""Cases where none are asked for; of the gauntlet those with laps enough."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--only', nargs='+', choices=BLOCKS, default=BLOCKS, help='parts')
    parser.add_argument('--learners', nargs='+', choices=LEARNERS, default=[*LEARNERS])
    parser.add_argument('--cases', nargs='+', choices=case_names(), metavar='CASE')
    parser.add_argument(
        '--seeds', nargs='+', type=int, default=[0, 1], help='of changes and poison'
    )
    return parser.parse_args()


def cases_of(block: str, asked: list[str] | None) -> list[str]:
    fit = case_names() if block == 'gauntlet' else [world.name for world in WORLDS]
    names = asked or USUAL.get(block) or case_names()
    if passed := [name for name in names if is_absent(name) or name not in fit]:
        note(f'{block}: absent or not for it, so passed over: {", ".join(passed)}')
    return [name for name in names if name not in passed]


def note(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


WORK: dict[str, Callable[[str, int, str], Row]] = {
    'gauntlet': lambda name, _, learner: learn_live(make_case(name), learner),
    'changes': try_changes,
    'cost': lambda name, _, learner: measure_cost(name, learner),
    'poison': try_poisons,
}


def trials(args: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of one trial after the other."""
    for block in args.only:
        seeds = args.seeds if block in {'changes', 'poison'} else [0]
        for name in cases_of(block, args.cases):
            if block == 'gauntlet' and not args.cases and driven_laps(name) < ENOUGH_LAPS:
                note(f'{name}: {driven_laps(name):.1f} laps are too few')
                continue
            for learner, seed in itertools.product(args.learners, seeds):
                key = {'block': block, 'case': name, 'learner': learner, 'seed': seed}
                yield tried(key, partial(WORK[block], name, seed, learner))


def driven_laps(name: str) -> float:
    case = make_case(name)
    spans = [int(each.imu.stamps[-1]) - each.imu.first_stamp for each in case.training]
    return round(sum(spans) * 1e-9 / case.lap_s, 1)


def busy_s() -> float:
    """Return the processor time of this process and of those that have ended below it."""
    return sum(os.times()[:4])


def tried(key: Row, work: Callable[[], Row]) -> Row:
    """Return a row with its key; what goes wrong is a row of the table, not its end."""
    busy = busy_s()
    try:
        found = work()
    except Exception as error:  # noqa: BLE001 - hours of other trials are not to be lost
        traceback.print_exc()
        found = {'failed': f'{type(error).__name__}: {error}'}
    note(f'{" ".join(map(str, key.values()))}: {busy_s() - busy:.0f} s on a processor')
    return {**key, **found}


def main() -> None:
    args = arguments()
    print(tables(list(trials(args))))


if __name__ == '__main__':
    main()
