# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Many routes in two ways: one map of all of them, and an atlas with a map of each.

Run `./run bench atlas`, or name some of `tracks`, `rooms`, `reverse`, `many` and `tram` after it.
Tracks are twelve of one kart; rooms are the two tracks of one car in `shared/recordings` beside
the checkout, skipped where absent; reverse is one track, driven both ways. Each is followed from a
cold start on a drive that was not trained on: whether the route that is named is the right one
after one and a half windows of driving, while positions are published and while tracking, and the
error, beside a model of this route alone. Many are fifty tracks, for the cost of a tick. Tram
lines are a network, which one map holds; drives over it take lines in another order than any in
training.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
import multiprocessing
import os
import time
from typing import NamedTuple, TYPE_CHECKING

from two_manifold_ros.threads import one_blas_thread

one_blas_thread()

from gauntlet_drives import RECORDINGS
import numpy as np
from scipy.spatial import KDTree
from worlds.drive import drive
from worlds.network import rounds, tracks, tram_network, travel

from two_manifold_ros.evaluation.evaluate import estimates_along
from two_manifold_ros.filtering.atlas import AtlasFilter, make_filter
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.inspection.lag import put_in_step
from two_manifold_ros.model.atlas import atlas_of
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from worlds.drive import WorldDrive

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.model.model import RouteModel
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Bools, Floats, Ints

APART_M = 5_000.0
"""Metres between tracks on the map of all of them: none is near another one."""

RATE_HZ = 20.0
"""Of the ticks of all models: beliefs side by side have the same ticks."""

STARTS_S = 3.0
"""That vehicles stand before they drive: nothing shows then which route it is."""


@dataclass(frozen=True)
class Route:
    """A named route: what is trained on, and a drive that is followed, with its true places."""

    name: str
    training: list[Recording]
    followed: Recording
    stamps: Floats
    places: Floats


class Run(NamedTuple):
    """Of each tick: seconds, position, whether published, the route named, whether tracking."""

    seconds: Floats
    positions: Floats
    published: Floats
    named: Floats
    tracking: Floats
    awake: float
    tick_ms: float


def follow(model: ModelHead, recording: Recording) -> Run:
    """Follow a drive; on one map the place names the route."""
    return run_of(model, recording, *_estimates(model, recording))


def _estimates(model: ModelHead, recording: Recording) -> tuple[list[tuple[Estimate, int]], float]:
    """Return each estimate along a drive and how many routes are followed then, and seconds."""
    live = make_filter(model)
    live.warm_up()
    bare = replace(recording, positions=None)
    began = time.perf_counter()
    found = [
        (each, live.awake if isinstance(live, AtlasFilter) else 1)
        for each, _ in estimates_along(live, bare, lambda *_: None)
    ]
    return found, time.perf_counter() - began


def run_of(
    model: ModelHead, recording: Recording, found: list[tuple[Estimate, int]], took_s: float
) -> Run:
    """Return estimates along a drive as columns."""
    rows = []
    for each, _ in found:
        place = each.positions[0].tolist()
        named = list(each.chances).index(each.route) if each.route else round(place[0] / APART_M)
        passed_s = (each.stamp_ns - recording.imu.first_stamp) * 1e-9
        rows.append((passed_s, *place, each.valid, named, each.status is Status.TRACKING))
    seconds, x, y, published, named, tracking = np.array(rows, dtype=np.float64).T
    # After the first ten windows.
    late = seconds > 10.0 * model.window / model.rate_hz
    usual = float(np.mean([awake for _, awake in found], where=late)) if late.any() else np.nan
    places = np.stack([x, y], axis=1)
    return Run(seconds, places, published, named, tracking, usual, 1e3 * took_s / len(seconds))


def score(run: Run, route: Route, number: int, window_s: float, shift_m: float = 0.0) -> str:
    """Return how often the route is named right, and the error of what is published of it."""
    shifted = run._replace(positions=run.positions - np.array([shift_m, 0.0]))
    errors = _truth(route, shifted)[1]
    after = run.seconds > STARTS_S + 1.5 * window_s
    right = run.named == number
    published = after & (run.published > 0.0)
    wrong = [
        100.0 * float(np.mean(~right[chosen])) if chosen.any() else float('nan')
        for chosen in (published, after & (run.tracking > 0.0))
    ]
    squares = np.square(errors[published & right])
    rmse = float(np.sqrt(squares.mean())) if len(squares) else float('nan')
    return (
        f'{100.0 * np.mean(right[after]):7.1f} {wrong[0]:6.2f} {wrong[1]:8.2f} {rmse:8.2f} '
        f'{100.0 * np.mean(run.published[run.seconds > window_s]):7.0f} {run.awake:6.1f} '
        f'{run.tick_ms:6.2f}'
    )


def train(recordings: list[Recording]) -> RouteModel:
    return train_model(recordings, TrainingSettings(rate_hz=RATE_HZ))  # type: ignore[return-value]


def compare(title: str, routes: list[Route], jobs: int) -> None:
    """Print both ways for routes that have nothing to do with each other."""
    with ProcessPoolExecutor(jobs, multiprocessing.get_context('spawn')) as pool:
        own = list(pool.map(train, [each.training for each in routes]))
    shifted = [
        _moved(recording, number * APART_M)
        for number, each in enumerate(routes)
        for recording in each.training
    ]
    whole = train(shifted)
    # Numbers keep the order of the routes.
    atlas = atlas_of({f'{number:02d}': each for number, each in enumerate(own)})
    window_s = whole.window / whole.rate_hz
    print(f'\n{title}: windows of {window_s:g} s')
    print('RMSE: of what is published of the right route, m')
    print('route, and how               right% wrong% tracking     RMSE publ.%  awake  ms/tick')
    for number, route in enumerate(routes):
        for how, model, shift_m in (
            ('its own model', own[number], 0.0),
            ('one map', whole, number * APART_M),
            ('atlas', atlas, 0.0),
        ):
            run = follow(model, route.followed)
            if how == 'its own model':
                run = run._replace(named=np.full(len(run.named), number))
            print(f'{route.name:10.10s} {how:18s}{score(run, route, number, window_s, shift_m)}')


def _moved(recording: Recording, metres: float) -> Recording:
    stream = recording.positions
    if stream is None:
        raise TypeError
    return replace(
        recording, positions=replace(stream, positions=stream.positions + np.array([metres, 0.0]))
    )


def kart_tracks() -> list[Route]:
    found = []
    for number, world in enumerate(tracks()):
        later = drive(world, day=1, laps=3, seed=100 + number)
        training = [drive(world, laps=8, seed=number).recording]
        found.append(_simulated(world.name, training, later))
    return found


def rooms() -> list[Route]:
    found = []
    for name in ('f1tenth_ipz8', 'f1tenth_ipz20'):
        runs = [read_recording(RECORDINGS / name / f'run_{run}') for run in range(1, 8)]
        last = runs[-1]
        if last.positions is None:
            raise TypeError
        stamps = np.float64(1e-9) * (last.positions.stamps - last.imu.first_stamp)
        found.append(Route(name[8:], runs[:-1], last, stamps, last.positions.positions))
    return found


def _simulated(name: str, training: list[Recording], later: WorldDrive) -> Route:
    imu = later.recording.imu
    stamps = np.float64(1e-9) * (imu.stamps - imu.first_stamp)
    return Route(name, training, later.recording, stamps, later.truth)


def both_ways() -> list[Route]:
    """Return a kart track and the same one driven the other way round."""
    there = tracks()[2]
    back = replace(there, name='reverse', corners=there.corners[::-1])
    found = []
    for number, world in enumerate((there, back)):
        later = drive(world, day=1, laps=3, seed=100 + number)
        found.append(_simulated(world.name, [drive(world, laps=8, seed=number).recording], later))
    return found


def many(jobs: int, count: int = 50) -> None:
    """Print what a tick costs where that many tracks are known, beside its own model."""
    worlds = tracks(count)
    with ProcessPoolExecutor(jobs, multiprocessing.get_context('spawn')) as pool:
        drives = [[drive(world, laps=4, seed=seed).recording] for seed, world in enumerate(worlds)]
        own = list(pool.map(train, drives))
    atlas = atlas_of({f'{number:02d}': each for number, each in enumerate(own)})
    places = np.mean([each.summary['places'] for each in own])
    window_s = own[0].window / own[0].rate_hz
    print(f'\n{count} tracks of {places:.0f} places: windows of {window_s:g} s')
    print(
        'a tick of its own model, ms, and that of the atlas, times as much: mean and worst window'
    )
    print('track     own ms   first ten windows, worst   after them, worst   followed')
    ratios = []
    for number in range(0, count, 5):
        later = drive(worlds[number], day=1, laps=3, seed=100 + number).recording
        alone, ours = (_costs_ms(each, later) for each in (own[number], atlas))
        usual = float(np.mean(alone.ms))
        early = ours.windows < FIRST
        times = [
            each / usual
            for chosen in (early, ~early)
            for each in (np.mean(ours.ms[chosen]), _worst_window(ours, chosen))
        ]
        ratios.append(times)
        print(
            f'{number:5d} {usual:10.2f} {times[0]:19.2f} {times[1]:7.2f} {times[2]:12.2f} '
            f'{times[3]:7.2f} {np.mean(ours.awake[~early]):10.1f}'
        )
    within = sum(each[2] <= 3.0 for each in ratios)
    means, most = np.mean(ratios, axis=0), np.max(ratios, axis=0)
    print(
        f'mean {means[0]:25.2f} {means[1]:7.2f} {means[2]:12.2f} {means[3]:7.2f}\n'
        f'most {most[0]:25.2f} {most[1]:7.2f} {most[2]:12.2f} {most[3]:7.2f}\n'
        'after the first ten windows a tick costs at most three times that of one route on '
        f'{within} of {len(ratios)}'
    )


FIRST = 10
"""Windows of a drive that are looked at apart: the search from a cold start."""


class Costs(NamedTuple):
    """Of each tick: milliseconds of the processor, in which window it ends, routes followed."""

    ms: Floats
    windows: Ints
    awake: Ints


def _costs_ms(model: ModelHead, recording: Recording) -> Costs:
    """Follow a drive; its ticks cost what the processor takes, whatever else the machine does."""
    live = make_filter(model)
    live.warm_up()
    head = next(iter(model.routes.values()))
    window_ns = head.window * head.period_ns
    rows, waiting_ns = [], 0
    for stamp, sample in zip(recording.imu.stamps.tolist(), recording.imu.samples, strict=True):
        began = time.thread_time_ns()
        found = live.push(stamp, sample)
        # Samples that end no tick belong to the next.
        waiting_ns += time.thread_time_ns() - began
        if found:
            window = (stamp - recording.imu.first_stamp) // window_ns
            awake = live.awake if isinstance(live, AtlasFilter) else 1
            rows.append((1e-6 * waiting_ns, window, awake))
            waiting_ns = 0
    ms, windows, awake = np.array(rows).T
    return Costs(ms, windows.astype(np.int64), awake.astype(np.int64))


def _worst_window(costs: Costs, chosen: Bools) -> float:
    """Return the largest mean of the chosen ticks in a window."""
    numbers = np.unique(costs.windows[chosen])
    return max(float(np.mean(costs.ms[costs.windows == each])) for each in numbers)


APART_AT_M, DRIVEN_S, MOVES_MPS = 20.0, 5.0, 0.5
"""
Metres from all other lines at which a branch is one of its own, seconds of driving after that, and
the speed above which time counts as driving.
"""


def trams() -> None:
    """Print how one map of three lines is followed over lines in another order, and at forks."""
    network, lines = tram_network(), tram_network().lines
    go = partial(travel, network)
    driven = [
        replace(go(rounds(network, [name] * 4), seed=seed).recording, line=name)
        for seed, name in enumerate(lines)
    ]
    # Its positions come six tenths of a second late.
    training = put_in_step(driven, 'auto')
    model = train_model(training, TrainingSettings())
    paths = [KDTree(go(rounds(network, [name]), seed=77).truth) for name in lines]
    print(f'\ntram: one map, {model.summary["places"]} places, {model.rate_hz:g} Hz')
    print(
        'drive     median     95 %  publ.%  published: RMSE  right branch%  published%  '
        'right line%  before a fork: driven%  chance%  path, m  mean, m'
    )
    counts, named = np.zeros(2), np.zeros(2)
    for number in range(5):
        order = np.random.default_rng(number).permutation([*lines] * 2).tolist()
        made = go(rounds(network, order), day=1, seed=50 + number)
        route = _simulated('tram', training, made)
        found, took_s = _estimates(model, route.followed)
        run = run_of(model, route.followed, found, took_s)
        true, errors = _truth(route, run)
        after = run.seconds > STARTS_S + model.window / model.rate_hz
        far = np.array([path.query(true)[0] for path in paths])
        apart = np.sort(far, axis=0)[1] > APART_AT_M
        late = after & (_since(apart, run.seconds, true) > DRIVEN_S)
        # The position is on the right branch where it is not as far off as another one.
        right = errors < APART_AT_M
        published = run.published > 0.0
        own = np.array([*lines])[far.argmin(axis=0)] == [each.line for each, _ in found]
        counts += right[late].sum(), late.sum()
        named += own[late].sum(), late.sum()
        rmse = float(np.sqrt(np.mean(np.square(errors[after & published]))))
        median, most = np.quantile(errors[after], [0.5, 0.95]).tolist()
        shares = [100.0 * np.mean(each[late]) for each in (right, own)]
        of_published = 100.0 * np.mean(right[late & published])
        before = _before_forks(model, route, [each for each, _ in found], run.seconds)
        print(
            f'{number:5d} {median:10.2f} {most:8.2f} {100.0 * np.mean(published[after]):7.0f} '
            f'{rmse:16.2f} {shares[0]:14.1f} {of_published:11.1f} {shares[1]:12.1f} '
            f'{100.0 * before[0]:23.0f} {100.0 * before[1]:8.0f} {before[2]:8.1f} {before[3]:8.1f}'
        )
    print(
        f'right branch {DRIVEN_S:g} s after a fork: {100.0 * counts[0] / counts[1]:.1f} %, '
        f'right line: {100.0 * named[0] / named[1]:.1f} %'
    )
    print(
        'before a fork: how often the likeliest way ahead was driven, and its mean chance; and '
        f'{model.horizons[-1] / model.rate_hz:g} s ahead the median error along the way that was '
        'driven, and that of the mean of all ways'
    )


def _before_forks(
    model: ModelHead, route: Route, found: list[Estimate], seconds: Floats
) -> tuple[float, float, float, float]:
    """Return of published ways ahead: share of likeliest ones driven, chance, and errors, m."""
    rows = []
    for each, passed_s in zip(found, seconds.tolist(), strict=True):
        then_s = passed_s + model.horizons[-1] / model.rate_hz
        if each.fork is None or not each.valid or then_s > route.stamps[-1]:
            continue
        true = np.array([np.interp(then_s, route.stamps, axis) for axis in route.places.T])
        far = [float(np.linalg.norm(way.positions[-1] - true)) for way in each.branches]
        mean_m = float(np.linalg.norm(each.positions[-1] - true))
        rows.append((int(np.argmin(far)) == 0, each.branches[0].chance, min(far), mean_m))
    driven, chance, along_m, mean_m = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    return (
        float(driven.mean()), float(chance.mean()), float(np.median(along_m)),
        float(np.median(mean_m)),
    )  # fmt: skip


def _since(holds: Bools, seconds: Floats, true: Floats) -> Floats:
    """Return for how many seconds of driving something holds (T,) already."""
    speeds = np.linalg.norm(np.gradient(true, seconds, axis=0), axis=1)
    driven = np.cumsum(np.where(speeds > MOVES_MPS, np.gradient(seconds), 0.0))
    began = np.maximum.accumulate(np.where(holds, -np.inf, driven))
    return np.where(holds, driven - began, 0.0)


def _truth(route: Route, run: Run) -> tuple[Floats, Floats]:
    true = np.stack(
        [np.interp(run.seconds, route.stamps, each) for each in route.places.T], axis=1
    )
    return true, np.linalg.norm(run.positions - true, axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('names', nargs='*', metavar='NAME', help='parts (default: all)')
    parser.add_argument('--jobs', type=int, default=os.cpu_count(), help='processes that train')
    args = parser.parse_args()
    chosen = args.names or ['tracks', 'rooms', 'reverse', 'many', 'tram']
    if 'tracks' in chosen:
        compare('twelve kart tracks', kart_tracks(), args.jobs)
    if 'rooms' in chosen and (RECORDINGS / 'f1tenth_ipz8').exists():
        compare('two tracks in a room', rooms(), args.jobs)
    if 'reverse' in chosen:
        compare('a track and its reverse', both_ways(), args.jobs)
    if 'many' in chosen:
        many(args.jobs)
    if 'tram' in chosen:
        trams()
    print(
        '\nto reach: right route 95 % after 1.5 windows, wrong 1 % at most of what is published, '
        'error 1.1 times that of its own model; a tick three times that of one route at most; '
        'right branch 95 %'
    )


if __name__ == '__main__':
    main()
