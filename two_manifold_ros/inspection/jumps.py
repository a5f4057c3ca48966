# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions that leap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Bools, Floats

_TIMES_FAST = 3.0
_FAST_QUANTILE = 0.95


@dataclass(frozen=True)
class Jump:
    """A leap: seconds from the first IMU stamp, and metres."""

    at_s: float
    distance_m: float


def is_jump(seconds: Floats, positions: Floats, gap_s: float) -> Bools:
    """
    Return which steps (M - 1,) are faster than three times the fast driving.

    Parameters
    ----------
    seconds : (M,) float64
        Increasing.
    positions : (M, 2) float64
        Metres, finite.
    gap_s
        Steps longer than this are gaps, over which the vehicle may have gone anywhere.

    """
    intervals = np.diff(seconds)
    if not len(intervals):
        return np.zeros(0, dtype=np.bool_)
    distances = np.linalg.norm(np.diff(positions, axis=0), axis=1)
    # Jitter makes some intervals tiny without the step being so.
    speeds = distances / np.maximum(intervals, np.median(intervals))
    inside = intervals <= gap_s
    fast = np.quantile(speeds[inside], _FAST_QUANTILE) if inside.any() else np.inf
    jumps: Bools = inside & (speeds > _TIMES_FAST * fast)
    return jumps


def find_jumps(seconds: Floats, positions: Floats, gap_s: float) -> tuple[Jump, ...]:
    """Return the leaps; parameters as in `is_jump`."""
    mask = is_jump(seconds, positions, gap_s)
    distances = np.linalg.norm(np.diff(positions, axis=0), axis=1)
    return tuple(map(Jump, seconds[1:][mask].tolist(), distances[mask].tolist()))
