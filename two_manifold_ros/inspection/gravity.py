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


def measure_gravity(forces: Floats) -> Gravity:
    """
    Judge specific forces.

    On average over laps the vehicle does not accelerate upwards, so the mean is about gravity,
    and single vectors are not far from it.

    Parameters
    ----------
    forces : (N, 3) float64
        Finite.

    """
    mean = forces.mean(axis=0)
    mean_magnitude = float(np.linalg.norm(mean))
    median_magnitude = float(np.median(np.linalg.norm(forces, axis=1)))
    verdict = _verdict(mean_magnitude, median_magnitude)
    up_axis = ''
    if verdict in {'metres per second squared', 'g'}:
        axis = int(np.argmax(np.abs(mean)))
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
