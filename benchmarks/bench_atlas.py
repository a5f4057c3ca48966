# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Many routes in two ways: one map of all of them, and a belief on each route beside the others.

Run `./run bench atlas`, or name some of `tracks`, `rooms`, `tram` and `yard` after it. Tracks are
twelve of one kart; rooms are the two tracks of one car in `shared/recordings` beside the checkout,
skipped where absent. Each is followed from a cold start on a drive that was not trained on:
whether the route that is named is the right one after one and a half windows of driving and while
positions are published, and the error of these, beside a model of this route alone. Tram lines and
the aisles of a yard are networks, which one map holds; errands were never driven as a whole. Of
tram lines it is also shown how often the position is on the right one, from five seconds of
driving beyond the fork on until the trunk is reached again.
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
from worlds.network import rounds, tracks, tram_network, travel, Yard, yard_network

from two_manifold_ros.evaluation.evaluate import estimates_along
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.tracker import RouteTracker
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from worlds.drive import WorldDrive

    from two_manifold_ros.filtering.tracker import UpdateResult
    from two_manifold_ros.model.model import RouteModel
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats

APART_M = 5_000.0
"""Metres between tracks on the map of all of them: none is near another one."""

RATE_HZ = 20.0
"""Of the ticks of all models: beliefs side by side have the same ticks."""

STARTS_S = 3.0
"""That vehicles stand before they drive: nothing shows then which route it is."""

SURE, FAINT, MOST_AWAKE, OFTEN = 0.99, 1e-3, 3, 10.0
"""
Chance of a route from which on others may sleep; below which they do; most that stay awake then;
and times the chance of the present route that another one needs to take over.
"""

APART_LINES_M, BEYOND_S = 5.0, 5.0
"""Metres between lines from which on they differ; and seconds of driving beyond the fork."""


class BesideEachOther:
    """
    A `TickFilter` with a belief on each of many routes, of the same rate.

    Each belief says how much likelier its own route is than any other road, and the chances of the
    routes follow from these odds. While one is surely driven, those that are out of the question
    sleep. When it is lost all wake up, and start anywhere.
    """

    def __init__(self, models: Sequence[RouteModel]) -> None:
        self._members = [RouteTracker(each) for each in models]
        self._windows = np.array([each.window for each in models])
        self._odds = np.zeros(len(models))
        self._awake = np.ones(len(models), dtype=np.bool_)
        self.chances = np.zeros(len(models))
        self.chosen = self._sure_for = self._lost_for = 0

    @property
    def state(self) -> Floats:
        return self._members[self.chosen].state

    @property
    def seen(self) -> int:
        return self._members[self.chosen].seen

    @property
    def awake(self) -> int:
        return int(self._awake.sum())

    def start(self) -> None:
        for each in self._members:
            each.start()
        self._awake[:] = True
        self._odds[:] = 0.0
        self.chosen = self._sure_for = self._lost_for = 0

    def coast(self, ticks: int) -> None:
        for index in np.flatnonzero(self._awake).tolist():
            self._members[index].coast(ticks)

    def update(self, values: Floats) -> UpdateResult:
        results: dict[int, UpdateResult] = {}
        for index in np.flatnonzero(self._awake).tolist():
            results[index] = self._members[index].update(values)
            on = 1.0 - results[index].off_route
            self._odds[index] = on / max(1.0 - on, 1e-12)
        self._odds[~self._awake] = 0.0
        self.chances = self._odds / (1.0 + self._odds.sum())
        self._choose()
        self._let_sleep()
        return results[self.chosen]

    def read(self) -> tuple[Floats, Floats]:
        return self._members[self.chosen].read()

    def places(self) -> Floats | None:
        return None

    def _choose(self) -> None:
        full = np.array([each.seen for each in self._members]) >= self._windows
        best = int(np.argmax(np.where(full & self._awake, self.chances, -1.0)))
        if best != self.chosen and self.chances[best] > OFTEN * self.chances[self.chosen]:
            self.chosen, self._sure_for = best, 0

    def _let_sleep(self) -> None:
        window = int(self._windows[self.chosen])
        self._sure_for = self._sure_for + 1 if self.chances[self.chosen] > SURE else 0
        self._lost_for = self._lost_for + 1 if self._odds[self.chosen] < 1.0 else 0
        if self._sure_for >= window:
            kept = np.argsort(-self.chances)[:MOST_AWAKE]
            stays = np.zeros_like(self._awake)
            stays[kept[self.chances[kept] > FAINT]] = True
            self._awake &= stays
        elif self._lost_for >= window // 2 and not self._awake.all():
            for index in np.flatnonzero(~self._awake).tolist():
                self._members[index].start()
            self._awake[:] = True


@dataclass(frozen=True)
class Route:
    """A named route: what is trained on, and a drive that is followed, with its true places."""

    name: str
    training: list[Recording]
    followed: Recording
    stamps: Floats
    places: Floats


class Run(NamedTuple):
    """Of each tick: seconds, position, whether it is published, and the route that is named."""

    seconds: Floats
    positions: Floats
    published: Floats
    named: Floats
    awake: float
    tick_ms: float


def follow(model: RouteModel, beliefs: BesideEachOther | None, recording: Recording) -> Run:
    """Follow a drive; without beliefs by the model itself, where the place names the route."""
    live = Filter(model, tick_filter=beliefs)
    live.warm_up()
    rows, awake = [], []
    began = time.perf_counter()
    bare = replace(recording, positions=None)
    for each, _ in estimates_along(live, bare, lambda *_: None):
        x, y = each.positions[0].tolist()
        named = beliefs.chosen if beliefs else round(x / APART_M)
        seconds = (each.stamp_ns - recording.imu.first_stamp) * 1e-9
        rows.append((seconds, x, y, each.valid, named))
        awake.append(beliefs.awake if beliefs else 1)
    took = time.perf_counter() - began
    table = np.array(rows, dtype=np.float64)
    # After the first ten windows.
    late = table[:, 0] > 10.0 * model.window / model.rate_hz
    usual = float(np.mean(np.array(awake)[late])) if late.any() else float('nan')
    return Run(
        table[:, 0], table[:, 1:3], table[:, 3], table[:, 4], usual, 1e3 * took / len(table)
    )


def score(run: Run, route: Route, number: int, window_s: float, shift_m: float = 0.0) -> str:
    """Return how often the route is named right, and the error of what is published of it."""
    true = np.stack(
        [np.interp(run.seconds, route.stamps, each) for each in route.places.T], axis=1
    )
    errors = np.linalg.norm(run.positions - np.array([shift_m, 0.0]) - true, axis=1)
    after = run.seconds > STARTS_S + 1.5 * window_s
    right = run.named == number
    published = after & (run.published > 0.0)
    wrong = 100.0 * float(np.mean(~right[published])) if published.any() else float('nan')
    squares = np.square(errors[published & right])
    rmse = float(np.sqrt(squares.mean())) if len(squares) else float('nan')
    return (
        f'{100.0 * np.mean(right[after]):7.1f} {wrong:7.2f} {rmse:8.2f} '
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
    window_s = whole.window / whole.rate_hz
    print(f'\n{title}: windows of {window_s:g} s')
    print('RMSE: of what is published of the right route, m')
    print('route, and how               right%  wrong%     RMSE publ.%  awake  ms/tick')
    for number, route in enumerate(routes):
        for how, model, beliefs, shift_m in (
            ('its own model', own[number], None, 0.0),
            ('one map', whole, None, number * APART_M),
            ('beside each other', own[0], BesideEachOther(own), 0.0),
        ):
            run = follow(model, beliefs, route.followed)
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


def networks(what: str) -> None:
    """Print how one map of a network is followed on drives in another order."""
    if what == 'tram':
        network, lines = tram_network(), tram_network().lines
        go = partial(travel, network)
        training = [
            go(rounds(network, [name] * 4), seed=seed).recording for seed, name in enumerate(lines)
        ]
        orders = [np.random.default_rng(seed).permutation([*lines] * 2) for seed in range(3)]
        later = [
            go(rounds(network, order.tolist()), day=1, seed=50 + seed)
            for seed, order in enumerate(orders)
        ]
    else:
        yard, go = Yard(), partial(travel, yard_network())
        training = [go(yard.errands(40, seed), seed=seed).recording for seed in range(4)]
        later = [go(yard.errands(20, 100 + seed), day=1, seed=50 + seed) for seed in range(3)]
    model = train_model(training, TrainingSettings())
    trees = [KDTree(each.positions.positions) for each in training if each.positions is not None]
    print(f'\n{what}: one map, {model.summary["places"]} places, {model.rate_hz:g} Hz')
    branch = 'right line %' if what == 'tram' else ''
    print(f'drive     median     95 %   within 2 m %  publ.%  {branch}')
    for number, made in enumerate(later):
        route = _simulated(what, training, made)
        run = follow(model, None, route.followed)  # type: ignore[arg-type]  # a route
        after = run.seconds > STARTS_S + model.window / model.rate_hz
        true = np.stack(
            [np.interp(run.seconds, route.stamps, each) for each in route.places.T], axis=1
        )
        errors = np.linalg.norm(run.positions - true, axis=1)[after]
        right = f'{right_line(trees, true, run):14.1f}' if branch else ''
        print(
            f'{number:5d} {np.median(errors):10.2f} {np.quantile(errors, 0.95):8.2f} '
            f'{100.0 * np.mean(errors < 2.0):14.1f} {100.0 * np.mean(run.published[after]):7.0f}'
            f'{right}'
        )


def right_line(trees: list[KDTree], true: Floats, run: Run) -> float:
    """Return the percentage of ticks beyond forks with a position on the right line."""
    # Positions that were received are off by metres: of the line itself some are nearest.
    away = np.stack([tree.query(true, 5)[0].mean(axis=1) for tree in trees], axis=1)
    driven_s = np.append(np.diff(run.seconds), 0.0)
    driven_s *= np.append(np.linalg.norm(np.diff(true, axis=0), axis=1), 0.0) > 0.1 * driven_s
    differ = np.partition(away, 1, axis=1)[:, 1] > away.min(axis=1) + APART_LINES_M
    total = np.cumsum(driven_s)
    since = total - np.maximum.accumulate(np.where(differ, 0.0, total))
    named = np.stack([tree.query(run.positions)[0] for tree in trees], axis=1).argmin(axis=1)
    beyond = differ & (since > BEYOND_S)
    return 100.0 * float(np.mean((named == away.argmin(axis=1))[beyond]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('names', nargs='*', metavar='NAME', help='parts (default: all)')
    parser.add_argument('--jobs', type=int, default=os.cpu_count(), help='processes that train')
    args = parser.parse_args()
    chosen = args.names or ['tracks', 'rooms', 'tram', 'yard']
    if 'tracks' in chosen:
        compare('twelve kart tracks', kart_tracks(), args.jobs)
    if 'rooms' in chosen and (RECORDINGS / 'f1tenth_ipz8').exists():
        compare('two tracks in a room', rooms(), args.jobs)
    for each in ('tram', 'yard'):
        if each in chosen:
            networks(each)
    print(
        '\nto reach: right route 95 % after 1.5 windows, wrong 1 % at most of what is published, '
        'error 1.1 times that of its own model, three awake; yard within 2 m on 95 %, '
        'tram on the right line on 95 %'
    )


if __name__ == '__main__':
    main()
