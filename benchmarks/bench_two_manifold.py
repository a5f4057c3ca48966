# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Where the state that two manifolds share is worth its price, and where it is not.

States are learned from the IMU alone and read with the positions that there are
(`two_view_states`). Conditions differ in how many positions there are and where, in what the
second view is, and in noise that the views do not share. Errors are shares of the error of the
mean position; every state chooses its window and its reader on labels left out.

Run `./run bench two_manifold [--parts NAME,...] [CASE ...]`. Real recordings are looked for in
`shared/recordings` beside the checkout and passed over where they are absent.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import partial
import itertools
from typing import Any, TYPE_CHECKING

from gauntlet_drives import RECORDINGS
import numpy as np
from two_view_states import learn_state, LEARNERS, NEAREST, ONE_VIEW, RAW, read, Views
from worlds.drive import drive
from worlds.table import world_named

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.ticks.segments import cut_segments
from two_manifold_ros.ticks.windows import find_training_ticks, lay_end_to_end, WindowSet
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

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


GYROSCOPE, ACCELEROMETER = slice(3, 6), slice(0, 3)


class Course:
    """A case as series of ticks, with noise if wanted; see ``Case``."""

    def __init__(self, case: Case, noise: str = '', seed: int = 0) -> None:
        self.case = case
        longest = max(case.windows)
        settings = TrainingSettings(rate_hz=case.rate_hz, window=longest)
        dataset = build_dataset(case.training, settings)
        segments, _ = cut_segments(case.followed, dataset.period_ns, dataset.max_gap_ns)
        segments = [each for each in segments if len(each) > longest]
        self.live = np.flatnonzero(dataset.channels.live)
        rng = np.random.default_rng(seed)
        observed = [_noisy(each, noise, case, rng) for each in dataset.observations]
        seen = [_noisy(each, noise, case, rng) for each in dataset.standardise(segments)]
        self.series, begins = lay_end_to_end(observed)
        self.followed, ends = lay_end_to_end(seen)
        self.ticks = find_training_ticks(self.series, begins, longest).ticks
        self.asked = np.concatenate(
            [np.arange(a + longest, b + 1) for a, b in itertools.pairwise(ends.tolist())]
        )
        every = np.concatenate(dataset.tracks)
        # A window ends before its tick, so that its last observation is that of the tick before.
        self.positions = every[self.ticks - 1]
        self.truth = np.concatenate([each.positions for each in segments])[self.asked - 1]
        self.stamps = np.concatenate([each.stamps for each in dataset.segments])[self.ticks - 1]
        known = np.isfinite(self.positions).all(axis=1)
        self.known = np.flatnonzero(known)
        self.mean = self.positions[known].mean(axis=0)

    def channels(self, wanted: slice) -> Ints:
        """Return the rows of the series of live channels among some of the six."""
        return np.flatnonzero(np.isin(self.live, np.arange(6)[wanted]))

    def views(self, width: int, first: Ints | None = None, second: Ints | None = None) -> Views:
        """Return past and future windows, or of two sets of channels the same past windows."""
        rows = np.arange(len(self.series)) if first is None else first
        series = np.ascontiguousarray(self.series[rows])
        past = WindowSet(series, self.ticks - width, width)
        if second is None:
            other = WindowSet(series, self.ticks, width)
        else:
            other = WindowSet(np.ascontiguousarray(self.series[second]), past.starts, width)
        followed = np.ascontiguousarray(self.followed[rows])
        return Views(past, other, WindowSet(followed, self.asked - width, width))

    def around(self, width: int) -> Views:
        """Return windows with the training ticks in their middle, as mkdr takes them."""
        middle = WindowSet(self.series, self.ticks - width // 2, width)
        return Views(middle, middle, middle)

    def recordings(self, positions: Floats, ticks: Ints) -> list[Recording]:
        """Return the training recordings with these positions (n, 2) of training ticks alone."""
        stamps = self.stamps[ticks]
        found = []
        for each in self.case.training:
            first, last = each.imu.stamps.min(), each.imu.stamps.max()
            own = (stamps >= first) & (stamps <= last)
            stream = each.positions
            if stream is not None and own.any():
                stream = replace(stream, stamps=stamps[own], positions=positions[own])
                found.append(replace(each, positions=stream))
        return found

    def error(self, found: Floats) -> float:
        """Return the RMSE as a share of that of the mean training position."""
        known = np.isfinite(self.truth).all(axis=1)

        def rmse(places: Floats) -> float:
            squares = np.square(places - self.truth)[known].sum(axis=1)
            return float(np.sqrt(squares.mean()))

        return rmse(found) / rmse(np.tile(self.mean, (len(found), 1)))


def _noisy(observed: Floats, noise: str, case: Case, rng: np.random.Generator) -> Floats:
    """Add noise to standardised observations (T, d) that no two channels share."""
    kind, _, size = noise.partition(' ')
    if not kind:
        return observed
    drawn = rng.normal(size=observed.shape)
    if kind == 'wandering':
        # Half of a deviation is kept for half a second.
        kept = 0.5 ** (2.0 / case.rate_hz)
        for tick in range(1, len(drawn)):
            drawn[tick] = kept * drawn[tick - 1] + np.sqrt(1.0 - kept**2) * drawn[tick]
    return observed + float(size) * drawn


def labels_of(course: Course, kind: str, rng: np.random.Generator) -> Ints:
    """Return which training ticks have a position: 'all', '5 % scattered', 'one lap', ..."""
    known = course.known
    if kind == 'all':
        return known
    if kind == 'one a second':
        return known[:: round(course.case.rate_hz)]
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
NOISES = ('white 1', 'white 2', 'wandering 1')
NOISY_LABELS = ('all', '5 % scattered')

Rows = dict[str, dict[str, list[float]]]
"""Errors by condition and learner, one for each draw."""


def states_of(
    course: Course, learner: str, first: Ints | None = None, second: Ints | None = None,
    used: Ints | None = None,
) -> list[State]:  # fmt: skip
    return [
        learn_state(course.views(width, first, second), learner, used)
        for width in course.case.windows
    ]


def read_with(rows: Rows, course: Course, states: dict[str, list[State]], kinds: Sequence[str],
              condition: str) -> None:  # fmt: skip
    """Add the errors of states with each kind of labels, the same labels for all learners."""
    for kind in kinds:
        for draw in range(1 if kind == 'all' else DRAWS):
            labels = labels_of(course, kind, np.random.default_rng(draw))
            for name, tried in states.items():
                found, _ = read(tried, labels, course.positions)
                rows[condition.format(kind)][name].append(course.error(found))


def errors_of(case: Case) -> Rows:
    """Return the errors of a case under every condition."""
    rows: Rows = defaultdict(lambda: defaultdict(list))
    course = Course(case)
    clean = {name: states_of(course, name) for name in LEARNERS}
    read_with(rows, course, clean, LABELS, 'positions on {}')
    for name, tried in clean.items():
        # Nothing to choose by: the longest window and the nearest of all training ticks.
        places = course.positions[course.known]
        found = NEAREST.read(tried[-1].training[course.known], places, tried[-1].followed)
        rows['none: nearest tick in the state'][name].append(course.error(found))
    _with_unlabelled_laps(rows, course, clean)
    _with_another_sensor(rows, course)
    for noise in NOISES:
        noisy = Course(case, noise)
        states = {name: states_of(noisy, name) for name in LEARNERS}
        read_with(rows, noisy, states, NOISY_LABELS, f'noise {noise}, positions on {{}}')
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


def _with_another_sensor(rows: Rows, course: Course) -> None:
    """Read from one sensor, learned with its own future or with the other sensor beside it."""
    sensors = {'gyroscope': GYROSCOPE, 'accelerometer': ACCELEROMETER}
    for first, second in itertools.permutations(sensors):
        own, other = course.channels(sensors[first]), course.channels(sensors[second])
        if not len(own) or not len(other):
            continue
        for words, view in (('its future', None), (f'the {second}', other)):
            states = {name: states_of(course, name, own, view) for name in LEARNERS}
            condition = f'{first}, second view {words}, positions on {{}}'
            read_with(rows, course, states, NOISY_LABELS, condition)


FILTERS: dict[str, dict[str, Any]] = {
    'default': {'readout': 'sharpened'},
    'default mkdr': {'readout': 'mkdr'},
    'spectral mkdr': {'readout': 'mkdr', 'method': 'spectral'},
}
"""
Trainings with what positions there are; mkdr estimates the others from windows around them.
"""

SPARSE = ('20 % scattered', '5 % scattered', 'one a second')


def filters_of(case: Case) -> Rows:
    """
    Return errors of filters trained with few positions, as shares of the mean position's.

    For the default missing positions are also estimated by what mkdr does not use: the state of
    two manifolds, and windows around each tick in coordinates of an eigenmap or as they are, each
    with a reader chosen on labels left out.
    """
    rows: Rows = defaultdict(lambda: defaultdict(list))
    course = Course(case)
    width = case.windows[0]
    wide = {
        name: [learn_state(course.around(each), name) for each in (width, 2 * width)]
        for name in (ONE_VIEW, RAW)
    }
    wide['manifold'] = states_of(course, 'manifold')
    for kind in ('all', *SPARSE):
        labels = labels_of(course, kind, np.random.default_rng(0))
        given = course.recordings(course.positions[labels], labels)
        for name, changes in FILTERS.items():
            rows[f'positions on {kind}'][name].append(_followed(case, given, changes))
        if kind == 'all':
            continue
        for name, states in wide.items():
            asked = [replace(each, followed=each.training) for each in states]
            guessed, _ = read(asked, labels, course.positions)
            guessed[labels] = course.positions[labels]
            every = course.recordings(guessed, np.arange(len(guessed)))
            found = _followed(case, every, FILTERS['default'])
            rows[f'positions on {kind}'][f'by {name}'].append(found)
    return {condition: dict(found) for condition, found in rows.items()}


def _followed(case: Case, training: Sequence[Recording], changes: dict[str, Any]) -> float:
    """Train and evaluate; 1 where nothing can be trained."""
    settings = TrainingSettings(
        rate_hz=case.rate_hz, window=max(case.windows[0], 30), horizons=(0,), **changes
    )
    try:
        model = train_model(training, settings)
    except InputError as error:
        print(f'  {case.name}, {changes}: {error}')
        return 1.0
    (score,) = evaluate(model, [case.followed]).scores
    places = np.concatenate([each.positions.positions for each in case.training if each.positions])
    stream = case.followed.positions
    if score.model.all.rmse_m is None or stream is None:
        return 1.0
    away = np.square(stream.positions - np.nanmean(places, axis=0)).sum(axis=1)
    return float(score.model.all.rmse_m / np.sqrt(np.nanmean(away)))


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


HEADINGS = {
    'states': 'a state, with the positions that are read from it',
    'filters': 'a filter, trained with few positions',
}


def tables(content: dict[str, Any]) -> list[list[str]]:
    """Return the lines of each table, by part, case and condition."""
    return [
        _table(heading, content[part]) for part, heading in HEADINGS.items() if part in content
    ]


def _table(heading: str, found: dict[str, Rows]) -> list[str]:
    summary = summarised(found)
    names = list(dict.fromkeys(name for row in summary.values() for name in row))
    wide = max(len(name) for name in (*names, 'mean sd wins')) + 2
    lines = [
        f'error of {heading}, over that of the mean position, in {len(found)} cases',
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
        words = condition.replace(', second view ', ' and ').replace('positions on ', '')
        lines.append(f'{words:48s}' + ''.join(f'{each:>{wide}s}' for each in cells))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument('--parts', default='states,filters')
    parser.add_argument('names', nargs='*')
    asked = parser.parse_args()
    content: dict[str, dict[str, Rows]] = {}
    parts = {'states': errors_of, 'filters': filters_of}
    for part in asked.parts.split(','):
        content.setdefault(part, {})
        for make in cases():
            case = make()
            if asked.names and case.name not in asked.names:
                continue
            content[part][case.name] = parts[part](case)
            print(f'  {part}: {case.name} done', flush=True)
    for lines in tables(content):
        print('', *lines, sep='\n')


if __name__ == '__main__':
    main()
