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

import argparse
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
import itertools
from typing import Any, TYPE_CHECKING

from gauntlet_drives import RECORDINGS
import numpy as np
from two_view_states import learn_state, LEARNERS, NEAREST, RAW, read, Views
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
    """
    A drive to learn from and one to follow.

    Parameters
    ----------
    training, followed
        Recordings.
    rate_hz, windows
        Ticks per second, and ticks in the windows that are tried.
    lap_s
        Of a lap.

    """

    name: str
    training: Sequence[Recording]
    followed: Recording
    rate_hz: float
    windows: tuple[int, ...]
    lap_s: float


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


def states_of(course: Course, learner: str, used: Ints | None = None) -> list[State]:
    return [learn_state(course.views(width), learner, used) for width in course.case.windows]


def read_with(rows: Rows, course: Course, states: dict[str, list[State]]) -> None:
    """Add the errors of states with each kind of labels, the same labels for all learners."""
    for kind in LABELS:
        for draw in range(1 if kind == 'all' else DRAWS):
            labels = labels_of(course, kind, np.random.default_rng(draw))
            for name, tried in states.items():
                found, _ = read(tried, labels, course.positions)
                rows[kind][name].append(course.error(found))


def errors_of(case: Case) -> Rows:
    """Return the errors of a case under every condition."""
    rows: Rows = defaultdict(lambda: defaultdict(list))
    course = Course(case)
    clean = {name: states_of(course, name) for name in LEARNERS}
    read_with(rows, course, clean)
    for name, tried in clean.items():
        # Nothing to choose by: the longest window and the nearest of all training ticks.
        places = course.positions[course.known]
        found = NEAREST.read(tried[-1].training[course.known], places, tried[-1].followed)
        rows['none: nearest tick in the state'][name].append(course.error(found))
    _with_unlabelled_laps(rows, course, clean)
    return {condition: dict(found) for condition, found in rows.items()}


def _with_unlabelled_laps(rows: Rows, course: Course, clean: dict[str, list[State]]) -> None:
    """Label two laps at the start: states learned from those alone, and from all laps."""
    count = round(2.0 * course.case.lap_s * course.case.rate_hz)
    labels = course.known[course.known < count]
    used = np.arange(count)
    for name in LEARNERS:
        alone = clean[name] if name == RAW else states_of(course, name, used=used)
        for condition, tried in (
            ('two labelled laps, no others', alone),
            ('two labelled laps, all others unlabelled', clean[name]),
        ):
            found, _ = read(tried, labels, course.positions)
            rows[condition][name].append(course.error(found))


def summarised(found: dict[str, Rows]) -> dict[str, dict[str, Any]]:
    """Return for each condition the mean over cases, its spread and the wins of each column."""
    summary: dict[str, dict[str, Any]] = {}
    conditions = dict.fromkeys(each for rows in found.values() for each in rows)
    for condition in conditions:
        with_it = [rows[condition] for rows in found.values() if condition in rows]
        names = list(with_it[0])
        errors = np.array([[np.mean(rows[name]) for name in names] for rows in with_it])
        best = np.argmin(errors, axis=1)
        summary[condition] = {
            name: {
                'mean': float(errors[:, at].mean()),
                'spread': float(errors[:, at].std(ddof=1)) if len(errors) > 1 else 0.0,
                'wins': int((best == at).sum()),
                'cases': len(errors),
            }
            for at, name in enumerate(names)
        }
    return summary


def table(found: dict[str, Rows]) -> list[str]:
    summary = summarised(found)
    names = list(dict.fromkeys(name for row in summary.values() for name in row))
    wide = max(len(name) for name in (*names, 'mean sd wins')) + 2
    lines = [
        f'error of a state, over that of the mean position, in {len(found)} cases',
        f'{"mean, deviation between cases, cases won":48s}'
        + ''.join(f'{name:>{wide}s}' for name in names),
    ]
    for condition, row in summary.items():
        cells = [
            f'{each["mean"]:.2f} {each["spread"]:.2f} {each["wins"]:2d}'
            if (each := row.get(name))
            else '-'
            for name in names
        ]
        lines.append(f'{condition:48s}' + ''.join(f'{each:>{wide}s}' for each in cells))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('names', nargs='*')
    asked = parser.parse_args().names
    found: dict[str, Rows] = {}
    for make in cases():
        case = make()
        if not asked or case.name in asked:
            found[case.name] = errors_of(case)
            print(f'  {case.name} done', flush=True)
    print('', *table(found), sep='\n')


if __name__ == '__main__':
    main()
