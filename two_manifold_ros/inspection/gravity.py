# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What gravity looks like in the accelerometer, which gives its unit away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

Verdict: TypeAlias = Literal['metres per second squared', 'g', 'removed', 'unclear']

_STANDARD = 9.80665
_SHARE = 0.2
_FOLLOWS = 0.7


@dataclass(frozen=True)
class Gravity:
    """
    Gravity in the specific force.

    Parameters
    ----------
    mean_magnitude
        Length of the mean vector, in the unit of the recording: 9.8 where all is well.
    median_magnitude
        Median length of the vectors.
    up_axis
        Axis of the IMU that points up, such as ``+z``; empty where gravity is not in it.
    verdict
        What the numbers look like.

    """

    mean_magnitude: float
    median_magnitude: float
    up_axis: str
    verdict: Verdict


def measure_gravity(samples: Floats) -> Gravity:
    """
    Judge specific forces.

    On average over laps the vehicle does not accelerate upwards, so the mean is about gravity,
    and single vectors are not far from it. About 1 can also be the mean of turning one way with
    gravity taken out, but then that axis follows the gyroscope.

    Parameters
    ----------
    samples : (N, 6) float64
        Specific force, then angular rate; finite.

    """
    forces = samples[:, :3]
    mean = forces.mean(axis=0)
    axis = int(np.argmax(np.abs(mean)))
    mean_magnitude = float(np.linalg.norm(mean))
    median_magnitude = float(np.median(np.linalg.norm(forces, axis=1)))
    verdict = _verdict(mean_magnitude, median_magnitude)
    if verdict == 'g' and _follows(forces[:, axis], samples[:, 3:]):
        verdict = 'removed'
    up_axis = ''
    if verdict in {'metres per second squared', 'g'}:
        up_axis = f'{"+" if mean[axis] > 0 else "-"}{"xyz"[axis]}'
    return Gravity(mean_magnitude, median_magnitude, up_axis, verdict)


def _verdict(mean: float, median: float) -> Verdict:
    def near(value: float, unit: float) -> bool:
        return abs(value - unit) < _SHARE * unit

    if near(mean, _STANDARD):
        return 'metres per second squared'
    if near(mean, 1.0) and near(median, 1.0):
        return 'g'
    return 'removed' if mean < (1 - _SHARE) * _STANDARD else 'unclear'


def _follows(force: Floats, rates: Floats) -> bool:
    """Return whether one axis of the accelerometer is correlated with one of the gyroscope."""
    force, rates = force - force.mean(), rates - rates.mean(axis=0)
    scale = np.linalg.norm(force) * np.linalg.norm(rates, axis=0)
    correlations = np.abs(force @ rates) / np.where(scale > 0, scale, 1.0)
    return bool(correlations.max() > _FOLLOWS)
