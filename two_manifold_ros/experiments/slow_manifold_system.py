# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A slow variable and a fast one that follows it, seen through a map that mixes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

FAST_TIME = 0.02
"""Of the fast variable's return to its mean; the slow one takes ten times as long."""

SPREAD = 0.4
"""Of the fast variable, around a mean that moves as far with the slow one."""

STEP = 5e-6
"""In time, between the samples of a recording."""

SKIP = 2e-4
"""In time, between the states computed on the way from one point to the next."""

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
    """Return what is seen: (..., 2), the slow variable as a radius and the fast as an angle."""
    radius, angle = 1.0 + slow, fast
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)


def record(recordings: int, points: int, way: int, rng: np.random.Generator) -> Recorded:
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
    way
        Longer steps from one point to the next.
    rng
        What moves the system.

    """
    states = np.stack([rng.random(recordings), SPREAD * rng.standard_normal(recordings)])
    kept = np.empty((points, 2 * HALF + 1, 2, recordings))
    for place in range(points):
        for _ in range(way):
            states = _move(states, SKIP, rng)
        for step in range(2 * HALF + 1):
            kept[place, step] = states = _move(states, STEP, rng)
    slow, fast = kept.transpose(2, 3, 0, 1).reshape(2, recordings * points, -1)
    return Recorded(slow[:, HALF], fast[:, HALF], observe(slow, fast))


def _move(states: Floats, step: float, rng: np.random.Generator) -> Floats:
    slow, fast = states
    noise = rng.standard_normal(states.shape) * np.sqrt(step)
    pull = (SPREAD * np.sin(2.0 * np.pi * slow) - fast) / FAST_TIME
    moved = slow + 0.5 * fast * step + noise[0]
    return np.stack(
        [
            1.0 - np.abs(np.mod(moved, 2.0) - 1.0),
            fast + pull * step + SPREAD * np.sqrt(2.0 / FAST_TIME) * noise[1],
        ]
    )
