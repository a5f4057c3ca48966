# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Where the state that two manifolds share is worth its price, and where it is not.

States are learned from the IMU alone and read with the positions that there are
(`two_view_states`). Conditions differ in how many positions there are and where. Errors are shares
of the error of the mean position; every state chooses its window and its reader on labels left
out.

Run `./run bench two_manifold [CASE ...]`. Real recordings are looked for in `shared/recordings`
beside the checkout and passed over where they are absent.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import partial
import itertools
import sys
from typing import TYPE_CHECKING

from gauntlet_drives import RECORDINGS
import numpy as np
from tables import table
from two_view_states import learn_state, LEARNERS, read, Views
from worlds.drive import drive
from worlds.table import world_named

from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.ticks.segments import cut_segments
from two_manifold_ros.ticks.windows import find_training_ticks, lay_end_to_end, WindowSet
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from two_view_states import State

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats, Ints

DRAWS = 3
"""Of labels in each case; a case counts with their mean."""

FEWEST_LABELS = 3


@dataclass(frozen=True)
class Case:
    """A drive to learn from and one to follow."""

    name: str
    training: Sequence[Recording]  # recordings
    followed: Recording
    rate_hz: float  # ticks per second, and ticks in the windows that are tried
    windows: tuple[int, ...]
    lap_s: float  # of a lap


def cases() -> Iterator[Callable[[], Case]]:
    """Yield what makes each case; the slow part is done when it is called."""
    for seed in range(5):
        yield partial(_slot_car, seed)
    for seed in range(2):
        yield partial(_world, 'rc_car', seed, 10.0, (30, 60))
        yield partial(_world, 'kart', seed, 5.0, (60, 120))
    if RECORDINGS.is_dir():
        yield partial(_cut, 'f1tenth_ipz10', 10.0, (30,), 9.7)
        yield partial(_cut, 'f1tenth_ipz19', 10.0, (30,), 8.0)
        yield _ipz20


def _slot_car(seed: int) -> Case:
    whole = run_to_recording(simulate(SlotCarSettings(seed=seed, rate_hz=10.0), samples=3000))
    training, followed = whole.between(None, 200.0), whole.between(250.0, None)
    return Case(f'slot_car {seed}', [training], followed, 10.0, (30, 150), 13.0)


def _world(name: str, seed: int, rate_hz: float, windows: tuple[int, ...]) -> Case:
    world = world_named(name)
    training = drive(world, laps=12, seed=2 * seed).recording
    followed = drive(world, day=1, laps=4, seed=2 * seed + 1).recording
    lap_s = (training.imu.last_stamp - training.imu.first_stamp) * 1e-9 / 12
    return Case(f'{name} {seed}', [training], followed, rate_hz, windows, lap_s)


def _cut(name: str, rate_hz: float, windows: tuple[int, ...], lap_s: float) -> Case:
    whole = read_recording(RECORDINGS / name)
    cut_s = 0.7e-9 * (whole.imu.last_stamp - whole.imu.first_stamp)
    training, followed = whole.between(None, cut_s), whole.between(cut_s, None)
    return Case(name, [training], followed, rate_hz, windows, lap_s)


def _ipz20() -> Case:
    runs = [read_recording(RECORDINGS / 'f1tenth_ipz20' / f'run_{run}') for run in range(1, 8)]
    return Case('f1tenth_ipz20', runs[:-1], runs[-1], 12.5, (38, 75), 7.7)


class Course:
    """A case as series of ticks; see ``Case``."""

    def __init__(self, case: Case) -> None:
        self.case = case
        longest = max(case.windows)
        settings = TrainingSettings(rate_hz=case.rate_hz, window=longest)
        dataset = build_dataset(case.training, settings)
        segments, _ = cut_segments(case.followed, dataset.period_ns, dataset.max_gap_ns)
        segments = [each for each in segments if len(each) > longest]
        self.series, begins = lay_end_to_end(dataset.observations)
        self.followed, ends = lay_end_to_end(dataset.standardise(segments))
        self.ticks = find_training_ticks(self.series, begins, longest).ticks
        self.asked = np.concatenate(
            [np.arange(a + longest, b + 1) for a, b in itertools.pairwise(ends.tolist())]
        )
        every = np.concatenate(dataset.tracks)
        # A window ends before its tick, so that its last observation is that of the tick before.
        self.positions = every[self.ticks - 1]
        self.truth = np.concatenate([each.positions for each in segments])[self.asked - 1]
        known = np.isfinite(self.positions).all(axis=1)
        self.known = np.flatnonzero(known)
        self.mean = self.positions[known].mean(axis=0)

    def views(self, width: int) -> Views:
        """Return past and future windows."""
        past = WindowSet(self.series, self.ticks - width, width)
        followed = WindowSet(self.followed, self.asked - width, width)
        return Views(past, WindowSet(self.series, self.ticks, width), followed)

    def error(self, found: Floats) -> float:
        """Return the RMSE as a share of that of the mean training position."""
        known = np.isfinite(self.truth).all(axis=1)

        def rmse(places: Floats) -> float:
            squares = np.square(places - self.truth)[known].sum(axis=1)
            return float(np.sqrt(squares.mean()))

        return rmse(found) / rmse(np.tile(self.mean, (len(found), 1)))


def labels_of(course: Course, kind: str, rng: np.random.Generator) -> Ints:
    """Return which training ticks have a position: 'all', '5 % scattered', 'one lap', ..."""
    known = course.known
    if kind == 'all':
        return known
    if kind == 'one lap':
        count = round(course.case.lap_s * course.case.rate_hz)
    else:
        count = round(0.01 * float(kind.split(maxsplit=1)[0]) * len(known))
    count = min(max(count, FEWEST_LABELS), len(known))
    if kind.endswith('scattered'):
        return np.sort(rng.choice(known, count, replace=False))
    first = int(rng.integers(0, len(known) - count + 1))
    return known[first : first + count]


LABELS = (
    'all', '20 % scattered', '5 % scattered', '1 % scattered', '20 % contiguous',
    '5 % contiguous', '1 % contiguous', 'one lap',
)  # fmt: skip

Rows = dict[str, dict[str, list[float]]]
"""Errors by condition and learner, one for each draw."""


def states_of(course: Course, learner: str) -> list[State]:
    return [learn_state(course.views(width), learner) for width in course.case.windows]


def read_with(rows: Rows, course: Course, states: dict[str, list[State]]) -> None:
    """Add the errors of states with each kind of labels, the same labels for all learners."""
    for kind in LABELS:
        for draw in range(1 if kind == 'all' else DRAWS):
            labels = labels_of(course, kind, np.random.default_rng(draw))
            for name, tried in states.items():
                found, _ = read(tried, labels, course.positions)
                rows[kind][name].append(course.error(found))


def summarised(found: list[Rows]) -> tuple[str, list[list[str]]]:
    """Return head and rows: mean error over cases, and the number of cases won."""
    rows, names = [], list(found[0][LABELS[0]])
    for condition in LABELS:
        errors = np.array([[np.mean(each[condition][name]) for name in names] for each in found])
        wins = np.bincount(np.argmin(errors, axis=1), minlength=len(names))
        means = zip(errors.mean(axis=0), wins, strict=True)
        rows.append([condition, *(f'{mean:.2f} ({count})' for mean, count in means)])
    return ', '.join(['positions', *names]), rows


def section(names: Sequence[str] = ()) -> str:
    """
    Positions that are read from a state which was learned from the IMU alone.

    RMSE as a share of the error of the mean position: mean over the cases, and the number of cases
    won. *Scattered* positions are random ticks, *contiguous* ones a stretch.
    """
    found = []
    for make in cases():
        case = make()
        if names and case.name not in names:
            continue
        print(case.name, flush=True)
        course = Course(case)
        rows: Rows = defaultdict(lambda: defaultdict(list))
        read_with(rows, course, {name: states_of(course, name) for name in LEARNERS})
        found.append(rows)
    return table(*summarised(found), aligned=False)


if __name__ == '__main__':
    print(section(sys.argv[1:]))
