# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
How soon the learner of maps is back after something has changed for good.

Run `python benchmarks/bench_changes.py [CASE ...] [--seeds 0 1] [--changes 'sign of ay' ...]
[--json FILE]`: worlds and recordings of the gauntlet, by default those of `WORLD_CASES` and
`f1tenth_ipz10`. The vehicle drives seven laps with positions, during which the map is learned from
nothing; then something becomes different (`CHANGES`), and positions go on. Errors are those at
horizon 0 of each tick, in metres, told or not, before the position of the tick is given: over the
three laps before the change, and lap by lap after it, beside the filter that ran when it changed,
frozen. It is back after so many laps if that lap and the next together err at most 1.5 times as
much as before; of a recording, whose laps differ, at most 1.5 times as much as without the change,
if that is more. A tenth above the frozen filter's error is taken for as good.
"""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import asdict, dataclass
import json
import math
import os
from pathlib import Path
import pickle
from time import process_time
from typing import Any, TYPE_CHECKING

from two_manifold_ros.threads import one_blas_thread

one_blas_thread()

from changed_streams import Change, changed_stream, CHANGES, REAL_CASES, Stream, WORLD_CASES
import numpy as np

from two_manifold_ros.adapting.adapting_head import make_head
from two_manifold_ros.adapting.map_learner import MapLearner
from two_manifold_ros.adapting.settings import AdaptingSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.filtering.filter import Filter
    from two_manifold_ros.typing import Floats

BACK, WITHIN, AS_GOOD = 1.5, 3, 1.1

OLD_LAPS = 3

BRANCH = 0.15
"""Laps before the change from which on drives of a seed differ: faster ones brake earlier."""


@dataclass(frozen=True)
class Trial:
    """
    What one change did.

    Parameters
    ----------
    old_m
        Error before it.
    errors_m, frozen_m
        By lap after it, of the learner and of the filter before it.
    back
        Laps until it was back; ``None`` if it never was.
    worse
        Longest run of laps in which it was worse than the frozen filter.
    core
        Share of a core from the change on.
    """

    case: str
    seed: int
    change: str
    old_m: float
    errors_m: list[float]
    frozen_m: list[float]
    back: int | None
    worse: int
    core: float


def feed(
    live: MapLearner | Filter, stream: Stream, first: int, stop: int, *, positions: bool = True
) -> Floats:
    """Return lap and error of each tick (n, 2)."""
    rows = []
    fix_stamps = stream.fix_stamps.tolist()
    fix = (
        int(np.searchsorted(stream.fix_stamps, stream.stamps[first - 1], 'right')) if first else 0
    )
    for index in range(first, stop):
        stamp = int(stream.stamps[index])
        told = live.push(stamp, stream.samples[index])
        if told:
            error = told[-1].positions[0] - stream.truths[index]
            rows.append((stream.laps[index], math.hypot(*error)))
        while positions and fix < len(fix_stamps) and fix_stamps[fix] <= stamp:
            live.add_reference(fix_stamps[fix], *stream.fixes[fix].tolist())
            fix += 1
    return np.array(rows).reshape(-1, 2)


def apart(work: Callable[[], Any]) -> Any:  # noqa: ANN401 - what work returns
    """Return what work returns, done in a process of its own: what it changes is not changed."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        with os.fdopen(writing, 'wb') as pipe:
            pickle.dump(work(), pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, 'rb') as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(told)  # noqa: S301 - our own


def rms(errors: Floats) -> float:
    errors = errors[np.isfinite(errors)]
    return float(np.sqrt(np.mean(errors**2))) if len(errors) else math.nan


def by_lap(rows: Floats, laps: int) -> list[float]:
    return [rms(rows[np.floor(rows[:, 0]) == lap, 1]) for lap in range(laps)]


def laps_until_back(errors: Floats, limits: Floats) -> int | None:
    ratios = errors / limits
    for lap in range(len(ratios)):
        if np.sqrt(np.nanmean(ratios[lap : lap + 2] ** 2)) <= 1.0:
            return lap
    return None


def longest_run(flags: list[bool]) -> int:
    longest = run = 0
    for flag in flags:
        run = run + 1 if flag else 0
        longest = max(longest, run)
    return longest


def try_changes(case: str, seed: int, names: list[str]) -> list[Trial]:
    """Return a trial without a change, then those with one."""
    trials: list[Trial] = []
    learner = MapLearner(make_head(AdaptingSettings()), at_once=True)
    before: Floats | None = None
    for name in ['none', *names]:
        stream = changed_stream(case, seed, CHANGES.get(name, Change()))
        if stream is None:
            continue
        branch = int(np.searchsorted(stream.laps, -BRANCH))
        if before is None:
            before = feed(learner, stream, 0, branch)
        rows, after, frozen, core = apart(lambda s=stream, b=branch: _go_on(learner, s, b))
        rows = np.concatenate([before, rows])
        trials.append(_judged(case, seed, name, rows, after, frozen, core, trials[:1]))
        show(trials[-1])
    return trials


def _go_on(
    learner: MapLearner, stream: Stream, branch: int
) -> tuple[Floats, Floats, Floats, float]:
    begin, stop = stream.begin, len(stream.stamps)
    rows = feed(learner, stream, branch, begin)
    frozen = apart(lambda: feed(learner.filter, stream, begin, stop, positions=False))
    began = process_time()
    after = feed(learner, stream, begin, stop)
    seconds = float(stream.stamps[-1] - stream.stamps[begin]) * 1e-9
    return rows, after, frozen, (process_time() - began) / seconds


def _judged(
    case: str,
    seed: int,
    name: str,
    before: Floats,
    after: Floats,
    frozen: Floats,
    core: float,
    without: list[Trial],
) -> Trial:
    laps = int(np.floor(after[-1, 0] + 0.3))
    old = rms(before[before[:, 0] >= -OLD_LAPS, 1])
    if case in REAL_CASES and len(REAL_CASES[case][0]) == 1:
        # Of a short drive: it has hardly learned three laps before.
        old = rms(before[before[:, 0] >= -1.0, 1])
    errors, still = by_lap(after, laps), by_lap(frozen, laps)
    limits = np.full(laps, BACK * old)
    if case in REAL_CASES and without:
        usual = np.array(without[0].errors_m)[:laps]
        limits[: len(usual)] = np.maximum(limits[: len(usual)], BACK * usual)
    back = laps_until_back(np.array(errors), limits)
    worse = longest_run([a > AS_GOOD * b for a, b in zip(errors, still, strict=True)])
    return Trial(case, seed, name, old, errors, still, back, worse, core)


def show(trial: Trial) -> None:
    errors, frozen = (
        ' '.join(f'{each:6.3g}' for each in row) for row in (trial.errors_m, trial.frozen_m)
    )
    back = '-' if trial.back is None else trial.back
    print(
        f'{trial.case:13s} seed {trial.seed} {trial.change:15s} {trial.old_m:6.3f} | {errors} | '
        f'{frozen} | back {back}, worse {trial.worse}, {100 * trial.core:.1f} % of a core',
        flush=True,
    )


def main() -> None:
    """Print a line for each trial, then the shares that pass."""
    parser = ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('cases', nargs='*', default=[*WORLD_CASES, 'f1tenth_ipz10'])
    parser.add_argument('--seeds', nargs='+', type=int, default=[0, 1])
    parser.add_argument('--changes', nargs='+', default=list(CHANGES))
    parser.add_argument('--json')
    args = parser.parse_args()
    print('case, seed, change, error before | by lap after | of the frozen filter')
    found = [
        trial
        for case in args.cases
        for seed in args.seeds
        for trial in try_changes(case, seed, args.changes)
    ]
    changed = [each for each in found if each.change != 'none']
    for name in ['all', *args.changes]:
        some = [each for each in changed if name in {'all', each.change}]
        if some:
            back = sum(each.back is not None and each.back <= WITHIN for each in some)
            worse = sum(each.worse > 1 for each in some)
            print(f'{name}: back within {WITHIN} laps {back} of {len(some)}')
            print(f'{name}: worse than the frozen filter for more than a lap {worse}')
    if args.json:
        Path(args.json).write_text(json.dumps([asdict(each) for each in found], indent=1))


if __name__ == '__main__':
    main()
