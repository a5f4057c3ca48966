# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is read out at each training tick: positions at the horizons, and the velocity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.typing import Floats, Ints


def velocities(positions: Floats, period_s: float) -> Floats:
    """Return central differences of the (T, 2) positions of one segment, m/s; NaN at its ends."""
    result = np.full_like(positions, np.nan)
    if len(positions) > 2:
        result[1:-1] = (positions[2:] - positions[:-2]) / (2.0 * period_s)
    return result


def segment_targets(positions: Floats, horizons: Sequence[int], period_s: float) -> Floats:
    """
    Collect the targets of every tick of one segment.

    Parameters
    ----------
    positions : (T, 2)
        Metres, NaN where unknown.
    horizons
        Ticks ahead.
    period_s
        Length of a tick.

    Returns
    -------
    (T, H + 1, 2)
        Positions at the horizons, then the velocity; NaN where unknown or past the segment.

    """
    targets = np.full((len(positions), len(horizons) + 1, 2), np.nan)
    for column, horizon in enumerate(horizons):
        if horizon < len(positions):
            targets[: len(positions) - horizon, column] = positions[horizon:]
    targets[:, -1] = velocities(positions, period_s)
    return targets


def training_targets(
    positions: Sequence[Floats], ticks: Ints, horizons: Sequence[int], period_s: float
) -> Floats:
    """Return the targets (n, H + 1, 2) of training ticks given as places in the series."""
    every = [segment_targets(segment, horizons, period_s) for segment in positions]
    return np.concatenate(every)[ticks]
