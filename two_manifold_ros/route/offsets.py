# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Estimate the offsets of a sensor from the one that the map was learned with, while driving.

They are the mean residual of the observations from what is usual where the vehicle is believed to
be, over the newest lap. A lap, because drivers differ from bend to bend, and over a whole one that
cancels. ``Route.shifts``, which the map reckons with anyway, are left alone; what is beyond them
is subtracted. So a sensor that is as it was costs nothing, where subtracting the whole mean makes
the figure of eight err by 2.2 m instead of 1.5 m. There, with a mounting that turns by five
degrees, 91 % of the ticks have a position instead of 22 %; with memories of two laps and of half a
lap 26 and 92 %, and half a lap costs half a metre where nothing has turned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled, HAVE_NUMBA
from two_manifold_ros.route import array_steps
from two_manifold_ros.route.route import LIMITS, ON, STANDS

if TYPE_CHECKING:
    from two_manifold_ros.route.route import Route
    from two_manifold_ros.typing import Floats, Indices


@compiled
def follow_in_loops(
    observation: Floats, chances: Floats, paces: Floats, active: Indices, usual: Floats,
    slopes: Floats, numbers: Floats, shifts: Floats, expected: Floats, offsets: Floats,
    applied: Floats,
) -> None:  # fmt: skip
    """
    Update the offsets with an observation of a settled vehicle.

    Parameters
    ----------
    observation : (d,)
        As it came.
    chances, paces : (P, 6), active
        Of the belief after the observation.
    usual, slopes : (P, d)
        Usual observation, and what it gains per unit of pace.
    numbers : (2,)
        Share of a new residual in the mean; largest difference of a pace from one.
    shifts, expected : (d,)
        Of the ``Route``; room.
    offsets, applied : (d,)
        Mean residual, updated; and what to subtract from the next observation, filled.

    """
    gain, bound = numbers
    expected[:] = 0.0
    total, standing = 0.0, 0.0
    for i in active:
        chance = chances[i, ON]
        standing += chances[i, STANDS]
        if chance > LIMITS.nothing:
            total += chance
            pace = min(max(paces[i, ON] - 1.0, -bound), bound)
            for k in range(len(expected)):
                expected[k] += chance * (usual[i, k] + pace * slopes[i, k])
    for k in range(len(expected)):
        # Off the route offsets fade as slowly as they were learned; standing keeps them.
        change = -max(1.0 - total - standing, 0.0) * offsets[k]
        if total > LIMITS.nothing:
            apart = observation[k] - expected[k] / total
            clipped = min(max(apart, -LIMITS.farthest_off), LIMITS.farthest_off)
            change += total * (clipped - offsets[k])
        offsets[k] += gain * change
        beyond = 0.0
        if abs(offsets[k]) > shifts[k] > 0.0:
            # Shrunk as by James and Stein: all of it where it is many times what is usual.
            beyond = 1.0 - (shifts[k] / offsets[k]) ** 2
        applied[k] = beyond * offsets[k]


follow_offsets = follow_in_loops if HAVE_NUMBA else array_steps.follow_offsets


class SensorOffsets:
    """
    Offset of each channel on this drive; each start of the belief forgets it.

    Parameters
    ----------
    route
        The map.

    Attributes
    ----------
    applied : (d,)
        Subtracted from an observation, standard deviations.

    """

    def __init__(self, route: Route) -> None:
        # Whitened by a lower triangle, usual observations come back by its inverse.
        root = np.linalg.inv(route.new_whitening).T
        self._usual = np.ascontiguousarray(route.new_means @ root)
        self._slopes = np.ascontiguousarray(route.new_slopes @ root)
        lap = float((1.0 / route.rates).sum())
        self._numbers = np.array([1.0 / max(lap, 1.0), LIMITS.usual_paces * route.pace_spread])
        self._shifts = np.ascontiguousarray(route.shifts)
        self._offsets, self._expected = np.zeros(route.channels), np.zeros(route.channels)
        self._follows = bool(route.shifts.any())
        self.applied = np.zeros(route.channels)

    def start(self) -> None:
        """Forget all offsets."""
        self._offsets[:] = 0.0
        self.applied[:] = 0.0

    def follow(self, observation: Floats, chances: Floats, paces: Floats, active: Indices) -> None:
        """Update with an observation (d,) as it came, and the belief (P, 6) after it."""
        if self._follows:
            follow_offsets(
                observation, chances, paces, active, self._usual, self._slopes, self._numbers,
                self._shifts, self._expected, self._offsets, self.applied,
            )  # fmt: skip
