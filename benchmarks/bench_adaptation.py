# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Learning on the robot: how well, how soon, after changes, for how much, and what spoils it.

Run `./run bench adaptation`; options choose parts.

gauntlet  Cases of the gauntlet with five laps or more: their training part is learned live, with
          positions, then the other part is followed with the IMU alone, beside a model trained
          offline of the same part.
curve     The same drives while they are learned, before the position of each tick is given. What
          is not published counts as the mean of all positions. The first three seconds of a drive
          do not count: no filter publishes before its window is full.
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
from functools import partial
import itertools
import os
import sys
from time import perf_counter
import traceback
from typing import TYPE_CHECKING, TypeAlias

from adaptation_tables import BLOCKS, tables
from adaptation_trials import learn_live, measure_cost, try_changes, try_poisons
from changed_streams import WORLD_CASES
from gauntlet_drives import case_names, is_absent, make_case
from worlds.table import WORLDS

from two_manifold_ros.names import LEARNERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from adaptation_tables import Row
    from gauntlet_drives import Case

ENOUGH_LAPS = 5.0

COST_WORLDS = ('slot_car', 'kart', 'car')

Key: TypeAlias = tuple[str, str, str, int | None]
"""Block, case, learner and seed."""

LIVE = ('gauntlet', 'curve')
"""Blocks of one and the same drive."""

USUAL = {
    'changes': WORLD_CASES,
    'cost': COST_WORLDS,
    'poison': WORLD_CASES,
}
"""Cases where none are asked for; of the other blocks those with laps enough."""


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
    worlds = {world.name for world in WORLDS}
    fit = set(case_names()) if block in LIVE else worlds
    names: Iterable[str] = asked or USUAL.get(block) or case_names()
    if passed := [name for name in names if is_absent(name) or name not in fit]:
        note(f'{block}: absent or not for it, so passed over: {", ".join(passed)}')
    return [name for name in names if name not in passed]


def note(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def trials(args: argparse.Namespace) -> Iterator[list[Row]]:
    """Yield the rows of one trial after the other; of a drive learned live there may be two."""
    live = [block for block in args.only if block in LIVE]
    for name in cases_of('gauntlet', args.cases) if live else ():
        case = make_case(name)
        laps = driven_laps(case)
        if not args.cases and laps < ENOUGH_LAPS:
            note(f'{name}: {laps:.1f} laps are too few')
            continue
        for learner in args.learners:
            keys: list[Key] = [(block, name, learner, None) for block in live]
            yield tried(keys, partial(_live, live, case, learner))
    for block in (each for each in args.only if each not in LIVE):
        seeds = [None] if block == 'cost' else args.seeds
        for name, learner, seed in itertools.product(
            cases_of(block, args.cases), args.learners, seeds
        ):
            yield tried([(block, name, learner, seed)], partial(_one, block, name, learner, seed))


def _live(blocks: list[str], case: Case, learner: str) -> list[Row]:
    found = dict(zip(LIVE, learn_live(case, learner), strict=True))
    return [found[block] for block in blocks]


def _one(block: str, name: str, learner: str, seed: int | None) -> list[Row]:
    if seed is None:
        return [measure_cost(name, learner)]
    return [(try_changes if block == 'changes' else try_poisons)(name, seed, learner)]


def driven_laps(case: Case) -> float:
    spans = [int(each.imu.stamps[-1]) - each.imu.first_stamp for each in case.training]
    return round(sum(spans) * 1e-9 / case.lap_s, 1)


def busy_s() -> float:
    """Return the processor time of this process and of those that have ended below it."""
    return sum(os.times()[:4])


def tried(keys: list[Key], work: Callable[[], list[Row]]) -> list[Row]:
    """Return rows with their keys; what goes wrong is a row of the table, not its end."""
    began, busy = perf_counter(), busy_s()
    try:
        found = work()
    except Exception as error:  # noqa: BLE001 - hours of other trials are not to be lost
        traceback.print_exc()
        found = [{'failed': f'{type(error).__name__}: {error}'}] * len(keys)
    took = {'seconds': perf_counter() - began, 'processor_s': busy_s() - busy}
    names = ('block', 'case', 'learner', 'seed')
    for key in keys:
        note(f'{" ".join(str(each) for each in key)}: {took["processor_s"]:.0f} s on a processor')
    return [
        {**dict(zip(names, key, strict=True)), **row, **took}
        for key, row in zip(keys, found, strict=True)
    ]


def main() -> None:
    args = arguments()
    print(tables(list(itertools.chain(*trials(args)))))


if __name__ == '__main__':
    main()
