# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Measure how soon and how often misconfigurations are named rightly, and how often wrongly.

Run `./run bench naming`; the real recordings are looked for in `shared/recordings` beside the
checkout and passed over where they are absent. Every known misconfiguration is applied to drives
that the model was not trained on: from the first sample on, and ten seconds after it. Thresholds
were chosen on other drives than these. Drives the other way round are simulated.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TYPE_CHECKING
from unittest.mock import patch

from gauntlet_drives import RECORDINGS
import numpy as np
from tables import percent, table

from two_manifold_ros.filtering.hypothesis_search import known_misconfigurations
from two_manifold_ros.filtering.input_watch import InputWatch
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.simulation import slot_car
from two_manifold_ros.simulation.slot_car import CONTROL_POINTS, SlotCarSettings, Track
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model
from two_manifold_ros.typing import Bools, Floats, Ints

if TYPE_CHECKING:
    from two_manifold_ros.model.model import TrainedModel
    from two_manifold_ros.recordings.recording import Recording

SEEDS = range(5, 10)
LATER = 10
"""Seed of the car that is driven over that of the one that was trained on."""

SOON_S, LATE_BEGIN_S, LONGEST_S = 10.0, 10.0, 60.0
"""Until when a name is soon, when mistakes begin late, and how much of a drive is used."""


class Drive(NamedTuple):
    name: str
    stamps: Ints
    samples: Floats

    def faster(self, factor: float) -> Drive:
        """Return the same bends driven so much faster, as if gravity did not show slopes."""
        stamps = self.stamps[0] + ((self.stamps - self.stamps[0]) / factor).astype(np.int64)
        samples = self.samples * [factor**2, factor**2, 1.0, factor, factor, factor]
        return Drive(f'{self.name}, speed {factor}', stamps, samples)


class Case(NamedTuple):
    """A model, a drive along its route, and drives elsewhere, on which nothing may be named."""

    name: str
    model: TrainedModel
    test: Drive
    others: list[Drive]


def as_drive(name: str, recording: Recording) -> Drive:
    imu = recording.imu
    kept = imu.stamps - imu.stamps[0] <= LONGEST_S * 1e9
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


def cases() -> Iterator[Case]:
    for seed in SEEDS:
        trained = run_to_recording(simulate(SlotCarSettings(seed=seed), samples=20_000))
        later = simulate(SlotCarSettings(seed=seed + LATER), samples=round(100 * LONGEST_S))
        reverse = CONTROL_POINTS[::-1] * [1.0, 1.0, 1.0, -1.0]
        others = [
            on_track('the other way round', reverse, seed + LATER),
            *(on_track(f'another track {i}', other_points(i), seed + LATER) for i in range(4)),
        ]
        test = Drive('slot car', later.stamps_ns, later.imu)
        yield Case('slot car', train_model([trained], TrainingSettings()), test, others)
    if not RECORDINGS.is_dir():
        return
    runs = [read_recording(RECORDINGS / 'f1tenth_ipz20' / f'run_{run}') for run in range(1, 8)]
    model = train_model(runs[:6], TrainingSettings(horizons=(0, 25, 50)))
    others = [
        as_drive(f'ipz8 run_{run}', read_recording(RECORDINGS / 'f1tenth_ipz8' / f'run_{run}'))
        for run in range(1, 8)
    ]
    yield Case('f1tenth_ipz20', model, as_drive('ipz20 run_7', runs[6]), others)


def causes_along(model: TrainedModel, drive: Drive, chosen: Bools | None = None) -> list[str]:
    """Return what is named after each sample, empty where nothing is, of chosen ones (N,)."""
    watch, found = InputWatch(model), []
    for stamp, sample in zip(drive.stamps.tolist(), drive.samples, strict=True):
        watch.sample(stamp, sample)
        found.append('' if watch.finding is None else watch.finding.cause)
    return found if chosen is None else list(np.array(found)[chosen])


def mistakes(some: Sequence[Case]) -> list[list[str]]:
    """Return a row for each misconfiguration: how soon it was named, and as what."""
    first: dict[str, list[float]] = defaultdict(list)
    named: dict[str, Counter[str]] = defaultdict(Counter)
    for case in some:
        seconds = (case.test.stamps - case.test.stamps[0]) * 1e-9
        for mistake in known_misconfigurations(case.model.channels):
            # The inverse of its correction.
            wrong = np.empty_like(case.test.samples)
            sources = list(mistake.sources)
            wrong[:, sources] = (case.test.samples - mistake.offsets) / mistake.factors
            for begin in (each for each in (0.0, LATE_BEGIN_S) if seconds[-1] > each + SOON_S):
                since = seconds >= begin
                samples = np.where(since[:, None], wrong, case.test.samples)
                drive = Drive('', case.test.stamps, samples)
                found = causes_along(case.model, drive, since)
                times = (
                    at for at, each in zip(seconds[since] - begin, found, strict=True) if each
                )
                first[mistake.cause].append(float(next(times, np.inf)))
                named[mistake.cause].update(found)
    rows = []
    for cause, times_s in first.items():
        counts, total = named[cause], named[cause].total()
        right = sum(n for each, n in counts.items() if cause in each.split('_or_'))
        shares = [right, counts[''], total - right - counts['']]
        soon = f'{sum(each <= SOON_S for each in times_s)} of {len(times_s)}'
        worst = f'{max(times_s):.1f}'
        rows.append([some[0].name, cause, soon, worst, *(percent(n / total) for n in shares)])
    return rows


def wrongly_named(case: Case) -> Iterator[list[str]]:
    """Yield what is named on drives without a mistake, by share of the samples."""
    for drive in (case.test, case.test.faster(0.9), case.test.faster(1.1), *case.others):
        found = Counter(causes_along(case.model, drive))
        total = found.total()
        shares = [f'{cause} {percent(n / total)}' for cause, n in found.items() if cause]
        yield [case.name, drive.name, ', '.join(shares) or 'nothing']


def main() -> None:
    every = list(cases())
    by_name = {each.name: [one for one in every if one.name == each.name] for each in every}
    head = f'case, mistake, named in {SOON_S:g} s, worst s, right, none, wrong'
    print(table(head, [row for some in by_name.values() for row in mistakes(some)]))
    print(table('case, drive, named', [row for each in every for row in wrongly_named(each)]))


if __name__ == '__main__':
    main()
