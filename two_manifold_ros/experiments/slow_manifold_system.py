# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A slow variable and a fast one that follows it, seen through a map that mixes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

FAST_TIME = 0.005
"""Of the fast variable's return to its mean; the slow one takes about a tenth of a unit."""

SPREAD = 0.4
"""Of the fast variable, around a mean that moves as far with the slow one."""

STEP = 2e-5
"""In time, between the samples of a recording."""

HALF = 20
"""Steps of a recording before a point, and after it, that tell how it moves there."""


@dataclass(frozen=True)
class Recorded:
    """
    Points of recordings.

    Parameters
    ----------
    slow, fast : (n,)
        The variables, which nobody sees.
    stretches : (n, 2 HALF + 1, 2)
        What is seen around each point.

    """

    slow: Floats
    fast: Floats
    stretches: Floats

    @property
    def points(self) -> Floats:
        """What is seen at each point: (n, 2)."""
        return self.stretches[:, HALF]


def observe(slow: Floats, fast: Floats) -> Floats:
    """Return what is seen: (..., 2), a cubic map of the two."""
    return np.stack([slow + fast**3, fast - slow**3], axis=-1)


def record(recordings: int, points: int, apart: int, rng: np.random.Generator) -> Recorded:
    r"""
    Record the system several times, and take points from the recordings.

    .. math:: ds = \tfrac12 f\,dt + dw_1 \text{ (reflected at 0 and 1)}, \qquad
              df = (a \sin 2 \pi s - f)\,dt/\tau + a \sqrt{2/\tau}\,dw_2

    Parameters
    ----------
    recordings
        How many.
    points
        From each.
    apart
        Steps from one point to the next, more than `HALF` twice.
    rng
        What moves the system.

    """
    slow, fast = rng.random(recordings), SPREAD * rng.standard_normal(recordings)
    kept = np.empty((points, 2 * HALF + 1, recordings, 2))
    for place in range(points):
        # The stretch around a point is at the end of the way to it.
        for step in range(apart):
            noise = rng.standard_normal((2, recordings)) * np.sqrt(STEP)
            moved = slow + 0.5 * fast * STEP + noise[0]
            pull = (SPREAD * np.sin(2.0 * np.pi * slow) - fast) / FAST_TIME
            fast = fast + pull * STEP + SPREAD * np.sqrt(2.0 / FAST_TIME) * noise[1]
            slow = 1.0 - np.abs(np.mod(moved, 2.0) - 1.0)
            if step >= apart - kept.shape[1]:
                kept[place, step - apart] = np.stack([slow, fast], axis=-1)
    states = kept.transpose(2, 0, 1, 3).reshape(recordings * points, -1, 2)
    middle = states[:, HALF]
    return Recorded(middle[:, 0], middle[:, 1], observe(states[..., 0], states[..., 1]))
