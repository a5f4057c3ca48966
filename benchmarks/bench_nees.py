# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Normalised squared errors (NEES) of published positions and velocities on drives of the gauntlet.

The mean of a filter whose covariances are right is 2 for two coordinates, and the median 1.39.
True velocities are differences of positions: on recordings they have noise, whose variance is
added. Simulated ones have none.
Run `./run bench nees`, or name cases after it.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple, TYPE_CHECKING

from gauntlet_drives import make_case, REAL
import numpy as np
from runner import spread, with_cases

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.hse_hmm.readout import squared_mahalanobis
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

LEAST, MOST = 1.6, 2.4
"""Mean NEES to reach; 2 is wanted."""


class Figures(NamedTuple):
    """
    Mean and median NEES of positions and of velocities.

    ``ticks`` counts what was published after the first window and has a known truth.
    """

    ticks: int
    position: tuple[float, float]
    velocity: tuple[float, float]


def nees_of(errors: Floats, covariances: Floats) -> tuple[float, float]:
    """Return mean and median of the squared Mahalanobis lengths of errors (n, 2)."""
    if not len(errors):
        return np.nan, np.nan
    squared = squared_mahalanobis(errors, covariances)
    return float(squared.mean()), float(np.median(squared))


def work(name: str) -> Figures:
    """Train on a case and follow its drive with the default."""
    case = make_case(name)
    model = train_model(case.training, TrainingSettings())
    live, drive = Filter(model), case.followed
    said = [
        estimate
        for stamp, sample in zip(drive.stamps.tolist(), drive.samples, strict=True)
        for estimate in live.push(stamp, sample)
    ]
    said = [each for each in said[model.window :] if each.valid]
    stamps = np.array([each.stamp_ns for each in said], dtype=np.int64)
    # Over a tick to both sides: noise of a camera would be most of a shorter difference.
    step = model.period_ns
    before, now, after = (drive.truths_at(stamps + each) for each in (-step, 0, step))
    velocities = (after - before) / (2e-9 * step)
    known = np.isfinite(np.column_stack([now, velocities])).all(axis=1)
    rows = [said[index] for index in np.flatnonzero(known)]
    noise = 0.0
    if name in REAL:
        same = TrainingSettings(rate_hz=model.rate_hz, window=model.window)
        noise = build_dataset(case.training, same).velocity_noise
    return Figures(
        len(rows),
        nees_of(
            np.array([each.positions[0] for each in rows]).reshape(-1, 2) - now[known],
            np.array([each.covariances[0] for each in rows]).reshape(-1, 2, 2),
        ),
        nees_of(
            np.array([each.velocity for each in rows]).reshape(-1, 2) - velocities[known],
            np.array([each.velocity_covariance for each in rows]).reshape(-1, 2, 2)
            + noise * np.eye(2),
        ),
    )


def shown(found: tuple[float, float]) -> str:
    return ''.join('       -' if np.isnan(each) else f'{each:8.2f}' for each in found)


def main() -> None:
    args = with_cases(argparse.ArgumentParser(description=__doc__))
    print('NEES of what is published on the drive that is followed: mean and median')
    print('  case                ticks        position        velocity')
    found = []
    for name, each in spread(work, args.names, args.jobs):
        found.append(each)
        row = f'  {name:18s}{each.ticks:7d}{shown(each.position)}{shown(each.velocity)}'
        print(row, flush=True)
    for what in ('position', 'velocity'):
        means = [getattr(each, what)[0] for each in found]
        met = sum(LEAST <= mean <= MOST for mean in means)
        print(f'  {what}: {LEAST} to {MOST} on {met} of {len(means)}')


if __name__ == '__main__':
    main()
