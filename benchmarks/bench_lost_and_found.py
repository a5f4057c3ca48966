# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
States of the filter when kidnapped, on another track, and driven the wrong way round.

Run `python benchmarks/bench_lost_and_found.py`. The slot car is carried away 200 times, and 200
times held-out laps of real cars are cut and spliced; then come other tracks and the other
direction. With the argument `choosing` other seeds and runs are used: those on which limits were
chosen. The recordings are looked for in `shared/recordings` beside the checkout.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
import sys
from typing import TYPE_CHECKING

from kidnappings import (
    backwards,
    Car,
    drive_to_train_on,
    kidnapped_drive,
    KINDS,
    ordinary_drive,
    recorded_drive,
    spliced_drives,
)
import numpy as np

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.hse_hmm.readout import CHI_SQUARE
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kidnappings import Case

    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Bools, Floats

RECORDINGS = Path(__file__).resolve().parents[2] / 'shared' / 'recordings'
CHOOSING = 'choosing' in sys.argv[1:]
SEEDS = range(5, 10) if CHOOSING else range(5)
OF_EACH_KIND = 8
SPLICED = 100
TRAINED_S, ORDINARY_S = 200.0, 120.0
IPZ8_RUNS = range(1, 8)

SOON, LATER = 1.5, 2.0
"""Windows after the vehicle was put down within which it is to be found, and is watched."""

NOT_AT_HOME = (Status.LOST, Status.UNSURE, Status.REFUSED)


@dataclass(frozen=True)
class Run:
    """
    Output of the filter along a case.

    Parameters
    ----------
    kind
        Of the case.
    tracking, away, known : (T,)
        Whether the status was tracking, or one of ``NOT_AT_HOME``, and whether the truth is known.
    inside, errors : (T,)
        Whether the truth was in the 95 % ellipse, and how far off the position was, metres.
    windows : (T,)
        Since the vehicle was put down, in windows; NaN in an ordinary drive.
    carried : (T,)
        Whether it was in the air.

    """

    kind: str
    tracking: Bools
    away: Bools
    known: Bools
    inside: Bools
    errors: Floats
    windows: Floats
    carried: Bools

    @property
    def found(self) -> float:
        """Windows until it first tracks and is right; infinite if it never does."""
        right = self.tracking & self.inside & (self.windows > 0.0)
        return float(self.windows[right][0]) if right.any() else np.inf

    @property
    def noticed(self) -> float:
        """Windows from when it was taken until it first does not track; none if it never does."""
        begin = self.windows[self.carried][0] if self.carried.any() else 0.0
        doubt = ~self.tracking & (self.windows > begin)
        return float(self.windows[doubt][0] - begin) if doubt.any() else np.inf


def follow(model: ModelHead, case: Case) -> Run:
    live = Filter(model)
    pairs = zip(case.stamps.tolist(), case.samples, strict=True)
    estimates = [each for stamp, sample in pairs for each in live.push(stamp, sample)]
    ends = np.array([each.stamp_ns for each in estimates])
    # The last sample of a tick, whose truth is that of one moment also where the vehicle jumps.
    last = np.searchsorted(case.stamps, ends, side='right') - 1
    truths = case.truths[last]
    errors = np.array([each.positions[0] for each in estimates]) - truths
    covariances = np.array([each.covariances[0] for each in estimates])
    squared = (errors * np.linalg.solve(covariances, errors[..., None])[..., 0]).sum(axis=1)
    window_ns = model.window * model.period_ns
    since = (ends - case.put_ns) / window_ns if case.put_ns else np.full(len(ends), np.nan)
    carried = (ends > case.taken_ns) & (ends <= case.put_ns)
    return Run(
        case.kind,
        np.array([each.status is Status.TRACKING for each in estimates]),
        np.array([each.status in NOT_AT_HOME for each in estimates])[model.window - 1 :],
        np.logical_and.reduce(np.isfinite(truths), axis=1),
        squared <= CHI_SQUARE[1],
        np.linalg.norm(errors, axis=1),
        since,
        np.asarray(carried),
    )


def gathered(runs: Sequence[Run], name: str, chosen: str = 'tracking') -> Floats:
    """Return one attribute of all runs on the ticks that say tracking, or were chosen else."""
    parts = []
    for run in runs:
        mask = run.tracking & run.known
        if chosen == 'soon':
            mask &= (run.windows > 0.0) & (run.windows <= LATER)
        if chosen == 'after':
            mask &= run.windows > SOON
        parts.append(getattr(run, name)[mask])
    return np.concatenate(parts)


def show_ordinary(name: str, runs: Sequence[Run], window: int) -> float:
    """Return the root mean square error that is usual, over all ordinary drives."""
    usual = float(np.sqrt(np.mean(np.square(gathered(runs, 'errors')))))
    tracking = np.concatenate([run.tracking[window + 10 :] for run in runs])
    inside = gathered(runs, 'inside').mean()
    print(
        f'  {name:16s}{len(runs):4d}  tracking {100 * tracking.mean():5.1f} %, '
        f'in the ellipse {100 * inside:5.1f} %, RMSE {usual:.3f} m'
    )
    return usual


def share_within(values: Sequence[float], limit: float) -> float:
    return 100.0 * float(np.mean(np.array(values) <= limit))


def show_kidnapped(name: str, runs: Sequence[Run], usual: Sequence[float]) -> None:
    """Print what came after the kidnappings, each with the error usual for its model."""
    inside, soon = gathered(runs, 'inside'), gathered(runs, 'inside', 'soon')
    late = [
        gathered([run], 'errors', 'after') / each for run, each in zip(runs, usual, strict=True)
    ]
    wrong = [(run.tracking & ~run.inside & run.known)[_watched(run)].mean() for run in runs]
    found, noticed = [run.found for run in runs], [run.noticed for run in runs]
    error = float(np.sqrt(np.mean(np.square(np.concatenate(late)))))
    print(
        f'  {name:10s}{len(runs):4d}  {100 * inside.mean():6.1f}{100 * soon.mean():6.1f}'
        f'{100 * float(np.mean(wrong)):7.1f}{share_within(found, SOON):7.1f}'
        f'{np.median(found):7.2f}{np.quantile(found, 0.95):7.2f}'
        f'{np.median(noticed):8.2f}{error:8.2f}'
    )


def _watched(run: Run) -> Bools:
    return np.asarray((run.windows > 0.0) & (run.windows <= LATER))


def show_away(name: str, runs: Sequence[Run]) -> None:
    away = np.concatenate([run.away for run in runs])
    print(f'  {name:24s}{100 * away.mean():6.1f} %')


def slot_car_runs() -> tuple[list[Run], list[float], list[Run]]:
    """Return kidnapped runs with the error usual for their model, and those the wrong way."""
    kidnapped, usual, reversed_ = [], [], []
    for seed in SEEDS:
        car = Car(seed)
        model = train_model([drive_to_train_on(car, TRAINED_S)], TrainingSettings())
        ordinary = ordinary_drive(car, ORDINARY_S)
        error = show_ordinary(f'slot car {seed}', [follow(model, ordinary)], model.window)
        random = np.random.default_rng(seed)
        for kind in KINDS * OF_EACH_KIND:
            kidnapped.append(follow(model, kidnapped_drive(car, kind, random)))
            usual.append(error)
        back = ordinary_drive(Car(seed, reverse=True), 30.0, 'wrong way round')
        reversed_.append(follow(model, back))
    return kidnapped, usual, reversed_


def real_cars() -> Iterator[tuple[str, ModelHead, Case, float]]:
    """Yield name, model, a held-out drive, and how long a part of it has to be."""
    whole = read_recording(RECORDINGS / 'f1tenth_ipz10')
    seconds = float(whole.imu.stamps[-1] - whole.imu.stamps[0]) * 1e-9
    parts = [whole.between(None, 0.7 * seconds), whole.between(0.7 * seconds, None)]
    if CHOOSING:
        parts = [whole.between(0.3 * seconds, None), whole.between(1.0, 0.3 * seconds)]
    yield 'ipz10', _trained(parts[:1]), _placed(recorded_drive(parts[1])), 4.0
    held = 3 if CHOOSING else 7
    runs = [read_recording(RECORDINGS / 'f1tenth_ipz20' / f'run_{run}') for run in range(1, 8)]
    others = [run for index, run in enumerate(runs, 1) if index not in {held, 7}]
    yield f'ipz20 run_{held}', _trained(others), _placed(recorded_drive(runs[held - 1])), 5.0


def _trained(recordings: list[Recording]) -> ModelHead:
    return train_model(recordings, TrainingSettings())


def _placed(case: Case) -> Case:
    """Leave out where no position is known."""
    known = np.isfinite(case.truths).all(axis=1)
    return type(case)(case.kind, case.stamps[known], case.samples[known], case.truths[known])


def show_real_cars() -> None:
    for name, model, drive, least_s in real_cars():
        usual = show_ordinary(name, [follow(model, drive)], model.window)
        random = np.random.default_rng(0)
        spliced = [follow(model, each) for each in spliced_drives(drive, SPLICED, least_s, random)]
        show_heading()
        show_kidnapped('spliced', spliced, [usual] * len(spliced))
        show_away('wrong way round', [follow(model, backwards(drive))])
        if name.startswith('ipz20'):
            show_other_track(model)


def show_other_track(model: ModelHead) -> None:
    runs = []
    for run in IPZ8_RUNS:
        recording = read_recording(RECORDINGS / 'f1tenth_ipz8' / f'run_{run}')
        runs.append(follow(model, recorded_drive(recording)))
        show_away(f'another track, run_{run}', runs[-1:])
    show_away('another track, all runs', runs)


def show_heading() -> None:
    print(
        '                 in the ellipse  wrong  found in  windows till    noticed   RMSE\n'
        '  kind         n   all   soon     %   1.5 w %   half    95 %   after     x usual'
    )


def main() -> None:
    print('ordinary drives that were held out')
    kidnapped, usual, reversed_ = slot_car_runs()
    print('slot car, kidnapped: to reach 90 % in the ellipse, 95 % found, 1.2 x the usual RMSE')
    show_heading()
    for kind in KINDS:
        chosen = [index for index, run in enumerate(kidnapped) if run.kind == kind]
        show_kidnapped(kind, [kidnapped[i] for i in chosen], [usual[i] for i in chosen])
    show_kidnapped('all', kidnapped, usual)
    print('share of ticks that say lost, unsure or refused (to reach: 95 %)')
    show_away('slot car, wrong way round', reversed_)
    if not RECORDINGS.is_dir():
        print('the real recordings are not beside the checkout; only the simulator is run')
        return
    show_real_cars()


if __name__ == '__main__':
    main()
