# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Measure how soon and how often misconfigurations are named rightly, and how often wrongly.

Run `python benchmarks/bench_naming.py`; the real recordings are looked for in `shared/recordings`
beside the checkout and passed over where they are absent. Every known misconfiguration is applied
to drives that the model was not trained on: from the first sample on, and ten seconds after it.
Thresholds were chosen on other drives than these. Drives the other way round are simulated; real
drives are played backwards, which differs from driving backwards.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np

from two_manifold_ros.filtering.input_watch import InputWatch
from two_manifold_ros.filtering.misconfigurations import known_misconfigurations
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.simulation import slot_car
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.simulation.track import CONTROL_POINTS, Track
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from two_manifold_ros.filtering.misconfigurations import Misconfiguration
    from two_manifold_ros.model.head import TrainedModel
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats, Ints

RECORDINGS = Path(__file__).resolve().parents[2] / 'shared' / 'recordings'
SEEDS = range(5, 10)
LATER = 10
"""Seed of the car that is driven over that of the one that was trained on."""

SOON_S = 10.0
LATE_BEGIN_S = 10.0
LONGEST_S = 60.0


@dataclass(frozen=True)
class Drive:
    name: str
    stamps: Ints
    samples: Floats

    def seconds(self) -> Floats:
        passed: Floats = (self.stamps - self.stamps[0]) * 1e-9
        return passed

    def faster(self, factor: float) -> Drive:
        """Return the same bends driven so much faster, as if gravity did not show slopes."""
        stamps = self.stamps[0] + ((self.stamps - self.stamps[0]) / factor).astype(np.int64)
        samples = self.samples * [factor**2, factor**2, 1.0, factor, factor, factor]
        return Drive(f'{self.name}, speed {factor}', stamps, samples)


@dataclass(frozen=True)
class Case:
    name: str
    model: TrainedModel
    test: Drive
    others: list[Drive]
    """Drives on which nothing may be named, except the wrong way if the name ends so."""


def as_drive(name: str, recording: Recording, seconds: float = LONGEST_S) -> Drive:
    imu = recording.imu
    kept = imu.stamps - imu.stamps[0] <= seconds * 1e9
    return Drive(name, imu.stamps[kept], imu.samples[kept])


def on_track(name: str, points: Floats, seed: int) -> Drive:
    with patch.object(slot_car, 'Track', lambda: Track(points)):
        run = simulate(SlotCarSettings(seed=seed), samples=round(100 * LONGEST_S))
    return Drive(name, run.stamps_ns, run.imu)


def other_points(seed: int) -> Floats:
    """Return the control points of some round track, flat or hilly."""
    random = np.random.default_rng(seed)
    angle = np.linspace(0.0, 2.0 * np.pi, 14, endpoint=False)
    angle += random.uniform(-0.15, 0.15, 14)
    radius = 1.6 + 0.55 * random.uniform(-1.0, 1.0, 14)
    height = 0.08 * (1.0 + np.sin(angle + random.uniform(0.0, 6.0)))
    columns = [1.3 * radius * np.cos(angle), radius * np.sin(angle), height, np.zeros(14)]
    return np.stack(columns, axis=1)


def slot_cars() -> Iterator[Case]:
    reverse = CONTROL_POINTS[::-1] * [1.0, 1.0, 1.0, -1.0]
    mirrored = CONTROL_POINTS * [1.0, -1.0, 1.0, -1.0]
    for seed in SEEDS:
        trained = run_to_recording(simulate(SlotCarSettings(seed=seed), samples=20_000))
        later = simulate(SlotCarSettings(seed=seed + LATER), samples=round(100 * LONGEST_S))
        others = [
            on_track('the route, the other way round', reverse, seed + LATER),
            on_track('the route in a mirror', mirrored, seed + LATER),
            *(on_track(f'another track {i}', other_points(i), seed + LATER) for i in range(4)),
        ]
        model = train_model([trained], TrainingSettings())
        test = Drive('slot car', later.stamps_ns, later.imu)
        yield Case('slot car', model, test, others)


def real_cars() -> Iterator[Case]:
    if not RECORDINGS.is_dir():
        print('the real recordings are not beside the checkout; only the simulator is run')
        return
    whole = read_recording(RECORDINGS / 'f1tenth_ipz10')
    cut = 0.7e-9 * float(np.ptp(whole.imu.stamps))
    model = train_model([whole.between(None, cut)], TrainingSettings())
    yield Case('f1tenth_ipz10', model, as_drive('ipz10', whole.between(cut, None)), [])
    runs = [read_recording(RECORDINGS / 'f1tenth_ipz20' / f'run_{run}') for run in range(1, 8)]
    model = train_model(runs[:6], TrainingSettings(horizons=(0, 25, 50)))
    others = []
    for run in range(1, 8):
        other = read_recording(RECORDINGS / 'f1tenth_ipz8' / f'run_{run}')
        # It was driven clockwise, and everything trained on anticlockwise.
        way = ', the other way round' if run == 1 else ''
        others.append(as_drive(f'ipz8 run_{run}{way}', other))
    yield Case('f1tenth_ipz20', model, as_drive('ipz20 run_7', runs[6]), others)


def mistaken(mistake: Misconfiguration, samples: Floats) -> Floats:
    """Apply the misconfiguration: the inverse of its correction."""
    wrong = np.empty_like(samples)
    wrong[:, list(mistake.sources)] = (samples - mistake.offsets) / mistake.factors
    return wrong


def causes_along(model: TrainedModel, drive: Drive) -> list[str]:
    watch = InputWatch(model)
    found = []
    for stamp, sample in zip(drive.stamps.tolist(), drive.samples, strict=True):
        watch.sample(stamp, sample)
        found.append('' if watch.finding is None else watch.finding.cause)
    return found


@dataclass
class Score:
    """Of one cause: seconds until something was named, if it was, and what from then on."""

    first_s: list[float]
    named: Counter[str]
    ticks: int = 0

    def add(self, cause: str, seconds: Floats, found: list[str]) -> None:
        first = [at for at, each in zip(seconds, found, strict=True) if each]
        self.first_s.append(float(first[0]) if first else np.inf)
        for each in found:
            kind = 'right' if each == cause else 'both' if cause in each.split('_or_') else each
            self.named[kind or 'none'] += 1
        self.ticks += len(found)


def scores_of(case: Case) -> dict[str, Score]:
    scores: dict[str, Score] = {}
    seconds = case.test.seconds()
    for mistake in known_misconfigurations(case.model.channels):
        wrong = mistaken(mistake, case.test.samples)
        for begin in (each for each in (0.0, LATE_BEGIN_S) if seconds[-1] > each + SOON_S):
            since = seconds >= begin
            samples = np.where(since[:, None], wrong, case.test.samples)
            found = causes_along(case.model, Drive('', case.test.stamps, samples))
            score = scores.setdefault(mistake.cause, Score([], Counter()))
            score.add(mistake.cause, seconds[since] - begin, list(np.array(found)[since]))
    return scores


def show_mistakes(name: str, parts: Iterable[dict[str, Score]]) -> None:
    merged: dict[str, Score] = {}
    for part in parts:
        for cause, score in part.items():
            whole = merged.setdefault(cause, Score([], Counter()))
            whole.first_s += score.first_s
            whole.named += score.named
            whole.ticks += score.ticks
    print(f'\n{name}: drives, of these named within {SOON_S:g} s, seconds until (median, worst);')
    print('share of all samples with the right name, with that and another, none, wrong')
    for cause, score in merged.items():
        first = np.array(score.first_s)
        right, both, none = (score.named[kind] for kind in ('right', 'both', 'none'))
        wrong = score.ticks - right - both - none
        shares = ' '.join(f'{100 * n / score.ticks:4.0f} %' for n in (right, both, none, wrong))
        middle = np.quantile(first, 0.5, method='lower')
        spoken = f'{len(first):4d} {np.sum(first <= SOON_S):4d} {middle:6.1f} {first.max():6.1f}'
        wrongly = [kind for kind in score.named if kind not in {'right', 'both', 'none'}]
        print(f'  {cause:50s}{spoken}  {shares}  {", ".join(sorted(wrongly)[:3])}')


def show_others(name: str, cases: Iterable[Case]) -> None:
    print(f'\n{name}: named where no mistake was made, share of samples')
    for case in cases:
        drives = [case.test, case.test.faster(0.9), case.test.faster(1.1), *case.others]
        for drive in drives:
            found = causes_along(case.model, drive)
            named = Counter(each for each in found if each)
            shares = [f'{cause} {100 * n / len(found):.0f} %' for cause, n in named.items()]
            first = next((i for i, each in enumerate(found) if each), None)
            after = '' if first is None else f', from {drive.seconds()[first]:.1f} s'
            print(f'  {drive.name:40s}{", ".join(shares) or "nothing"}{after}')


def main() -> None:
    cars = list(slot_cars())
    show_mistakes('slot car, five pairs of seeds', map(scores_of, cars))
    show_others('slot car', cars)
    for case in real_cars():
        show_mistakes(case.name, [scores_of(case)])
        show_others(case.name, [case])


if __name__ == '__main__':
    main()
