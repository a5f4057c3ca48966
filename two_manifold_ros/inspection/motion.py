# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How the vehicle moved, from its positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.inspection.jumps import is_jump

if TYPE_CHECKING:
    from two_manifold_ros.typing import Bools, Floats

_MOST_POINTS = 200_000
_SMOOTHING_INTERVALS = 5
_SMOOTHING_STEPS = 12
_SLOW = 0.2
_STANDING_M_S = 0.01

SMOOTHING_S = 0.6
"""Keeps the bends of small tracks, and makes positions of a few centimetres' noise smooth."""


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


def measure_motion(
    seconds: Floats, positions: Floats, gap_s: float, smoothing_s: float = SMOOTHING_S
) -> Motion | None:
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
    smoothing_s
        Time over which a cubic is fitted; longer where positions are rare.

    """
    if len(seconds) < 2 * _SMOOTHING_INTERVALS:
        return None
    interval = _typical_interval(seconds, gap_s)
    span = float(seconds[-1] - seconds[0])
    step = max(min(smoothing_s / _SMOOTHING_STEPS, interval), span / _MOST_POINTS)
    window = 2 * round(max(smoothing_s, _SMOOTHING_INTERVALS * interval) / step / 2) + 1
    grid = np.arange(seconds[0], seconds[-1], step)
    if len(grid) <= window:
        return None
    even = np.stack([np.interp(grid, seconds, axis) for axis in positions.T], axis=1)
    smooth, velocity, acceleration = (_smoothed(even, window, order, step) for order in range(3))
    known = _known(grid, seconds, positions, gap_s, window)
    speed = np.linalg.norm(velocity, axis=1)
    moving = known & (speed > _slow_speed(speed[known]))
    if not moving.any():
        return None
    turning = velocity[:, 0] * acceleration[:, 1] - velocity[:, 1] * acceleration[:, 0]
    rate = np.full(len(grid), np.nan)
    rate[moving] = turning[moving] / speed[moving] ** 2
    return Motion(grid, step, window, smooth, velocity, rate, known, moving)


def _typical_interval(seconds: Floats, gap_s: float) -> float:
    """Return the mean interval at a random time: where they are uneven, the long ones count."""
    intervals = np.diff(seconds)
    joined = intervals[intervals <= gap_s]
    return float(np.square(joined).sum() / joined.sum()) if len(joined) else gap_s


def on_grid(motion: Motion, seconds: Floats, values: Floats) -> Floats:
    """
    Average what was measured over the steps of the grid, and smooth it as the motion was.

    Parameters
    ----------
    motion
        Whose grid it is.
    seconds : (N,) float64
        Stamps, increasing, on the time axis of the motion.
    values : (N, k) float64
        Finite.

    Returns
    -------
    (G, k)
        NaN where nothing was measured.

    """
    if len(seconds) < 2:
        return np.full((len(motion.seconds), values.shape[1]), np.nan)
    areas = np.diff(seconds)[:, None] * (values[1:] + values[:-1]) / 2.0
    summed = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(areas, axis=0)])
    edges = np.append(motion.seconds, motion.seconds[-1] + motion.step_s) - motion.step_s / 2
    sums = np.stack([np.interp(edges, seconds, column) for column in summed.T], axis=1)
    smooth = _smoothed(np.diff(sums, axis=0) / motion.step_s, motion.window)
    # Near the ends of the stream the cubic reaches beyond it.
    margin = motion.window * motion.step_s / 2
    inside = (motion.seconds > seconds[0] + margin) & (motion.seconds < seconds[-1] - margin)
    smooth[~inside] = np.nan
    return smooth


def _smoothed(values: Floats, window: int, derivative: int = 0, step: float = 1.0) -> Floats:
    """Fit cubics over a window of points and return them, or a derivative, at its middle."""
    # Loading it takes half a second, for which most commands would wait in vain.
    from scipy.signal import savgol_filter  # noqa: PLC0415

    smooth: Floats = savgol_filter(values, window, 3, deriv=derivative, delta=step, axis=0)
    return smooth


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
    breaks = np.append(0, np.cumsum(broken[step]))
    middle, reach = np.arange(len(grid)), window // 2
    last, first = np.minimum(middle + reach + 1, len(grid)), np.maximum(middle - reach, 0)
    known: Bools = breaks[last] == breaks[first]
    return known
