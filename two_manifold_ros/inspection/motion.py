# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How the vehicle moved, from its positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import minimum_filter1d
from scipy.signal import savgol_filter

from two_manifold_ros.inspection.jumps import is_jump

if TYPE_CHECKING:
    from two_manifold_ros.typing import Bools, Floats

_LONGEST_STEP_S = 0.05
_MOST_POINTS = 200_000
_SMOOTHING_S = 0.6
_SMOOTHING_INTERVALS = 5
_SLOW = 0.2
_STANDING_M_S = 0.01


@dataclass(frozen=True)
class Motion:
    """
    Smoothed motion on an even grid of time.

    Parameters
    ----------
    seconds : (G,) float64
        Grid, seconds from the first IMU stamp.
    step_s
        Its step.
    window
        Points over which a cubic was fitted to smooth and to differentiate.
    positions : (G, 2), velocities : (G, 2), float64
        Metres and m/s.
    course_rate : (G,) float64
        Rate of turn of the course, rad/s, left positive; NaN where unknown or slow.
    known : (G,) bool
        Away from gaps and jumps.
    moving : (G,) bool
        Known, and not slow.

    """

    seconds: Floats
    step_s: float
    window: int
    positions: Floats
    velocities: Floats
    course_rate: Floats
    known: Bools
    moving: Bools


def measure_motion(seconds: Floats, positions: Floats, gap_s: float) -> Motion | None:
    """
    Return the motion, or nothing if the positions are too few or never move.

    Parameters
    ----------
    seconds : (M,) float64
        Increasing.
    positions : (M, 2) float64
        Metres, finite.
    gap_s
        Longest step between positions that are joined.

    """
    if len(seconds) < 2 * _SMOOTHING_INTERVALS:
        return None
    interval = float(np.median(np.diff(seconds)))
    span = float(seconds[-1] - seconds[0])
    step = max(min(_LONGEST_STEP_S, interval), span / _MOST_POINTS)
    window = 2 * round(max(_SMOOTHING_S, _SMOOTHING_INTERVALS * interval) / step / 2) + 1
    grid = np.arange(seconds[0], seconds[-1], step)
    if len(grid) <= window:
        return None
    even = np.stack([np.interp(grid, seconds, axis) for axis in positions.T], axis=1)
    smooth, velocity, acceleration = (
        savgol_filter(even, window, 3, deriv=order, delta=step, axis=0) for order in range(3)
    )
    known = _known(grid, seconds, positions, gap_s, window)
    speed = np.linalg.norm(velocity, axis=1)
    moving = known & (speed > _slow_speed(speed[known]))
    if not moving.any():
        return None
    turning = velocity[:, 0] * acceleration[:, 1] - velocity[:, 1] * acceleration[:, 0]
    rate = np.full(len(grid), np.nan)
    rate[moving] = turning[moving] / speed[moving] ** 2
    return Motion(grid, step, window, smooth, velocity, rate, known, moving)


def _slow_speed(speeds: Floats) -> float:
    """Return a fifth of the usual speed of the faster half, at least a crawl."""
    usual = float(np.quantile(speeds, 0.75)) if len(speeds) else 0.0
    return max(_SLOW * usual, _STANDING_M_S)


def _known(
    grid: Floats,
    seconds: Floats,
    positions: Floats,
    gap_s: float,
    window: int,
) -> Bools:
    broken = (np.diff(seconds) > gap_s) | is_jump(seconds, positions, gap_s)
    step = np.clip(np.searchsorted(seconds, grid, side='right') - 1, 0, len(broken) - 1)
    # A cubic that reaches over a break says nothing.
    known: Bools = minimum_filter1d((~broken[step]).astype(np.int8), window) > 0
    return known
