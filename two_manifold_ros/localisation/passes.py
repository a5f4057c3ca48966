# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Other passes of the same place: what a tick can be compared with and go over to."""

from __future__ import annotations

from dataclasses import dataclass
import itertools
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

if TYPE_CHECKING:
    from two_manifold_ros.typing import Bools, Floats, Ints

MOST_PASSES = 5
APART_S = 2.0
"""Ticks nearer in time than this are the same pass."""

FEWEST_APART = 4
"""The same in ticks where ticks are long: a place is up to two ticks of travel long."""

NEAR_S = 0.1
"""Travel at the usual speed within which two ticks are at the same place."""

LOOKED_AT = 64
"""Nearest ticks looked at, which bounds the time that many laps take."""

SLOW = 0.1
"""Of the mean speed; slower ticks do not count in the usual speed."""


@dataclass(frozen=True)
class Ground:
    """
    The ground that the training drives covered; a tick is here a step of the map.

    Parameters
    ----------
    begins : (s + 1,) int64
        Where the segments begin, and the number of ticks N.
    positions, velocities : (N, 2)
        Metres and m/s, NaN where unknown.
    period_s
        Length of a tick.

    """

    begins: Ints
    positions: Floats
    velocities: Floats
    period_s: float

    @property
    def speeds(self) -> Floats:
        """Speed at each tick, m/s, NaN where unknown: (N,)."""
        speeds: Floats = np.linalg.norm(self.velocities, axis=1)
        return speeds

    @property
    def near_m(self) -> float:
        """Distance within which two ticks are at the same place: 0.1 s of travel, or a tick."""
        known = self.speeds[np.isfinite(self.speeds)]
        moving = known[known > SLOW * known.mean()] if len(known) else known
        usual = float(np.median(moving)) if len(moving) else 0.0
        return usual * max(NEAR_S, self.period_s)

    @property
    def since_begin(self) -> Ints:
        """Ticks since the beginning of the segment: (N,)."""
        return np.concatenate([np.arange(b - a) for a, b in itertools.pairwise(self.begins)])


def find_passes(ground: Ground, states: Floats) -> Ints:
    """
    Find other passes of the place of each tick, the nearest on the manifold first.

    The manifold alone joins places that only look alike; the place alone joins a slow pass with
    a fast one. Both together give passes that are worth comparing. Near the ends of a drive, where
    no window fits, the place alone has to do. A vehicle that stands stays at one place for long
    without coming back to it: its ticks have no passes and are none.

    Parameters
    ----------
    ground
        Where the ticks were.
    states : (N, k)
        Their two-manifold states, NaN where there is none.

    Returns
    -------
    (N, MOST_PASSES) int64
        Ticks of different passes, -1 where there are no more.

    """
    found = np.full((len(states), MOST_PASSES), -1, dtype=np.int64)
    near_m = ground.near_m
    apart = max(round(APART_S / ground.period_s), FEWEST_APART)
    known: Bools = np.all(np.isfinite(ground.positions), axis=1)
    ticks = np.flatnonzero(known & ~_standing(ground.positions, apart, 2.0 * near_m))
    if len(ticks) < 2 or not near_m > 0.0:
        return found
    tree = cKDTree(ground.positions[ticks])
    looked_at = min(LOOKED_AT, len(ticks))
    distances, places = tree.query(ground.positions[ticks], looked_at, distance_upper_bound=near_m)
    for row, tick in enumerate(ticks.tolist()):
        near = ticks[places[row][np.isfinite(distances[row])]]
        near = near[np.abs(near - tick) > apart]
        # Nearest on the ground first, which stays so where states are not known.
        unlike = np.square(states[near] - states[tick]).sum(axis=1)
        order = np.argsort(np.where(np.isfinite(unlike), unlike, np.inf), kind='stable')
        chosen = _one_of_each_pass(near[order].tolist(), apart)
        found[tick, : len(chosen)] = chosen
    return found


def _standing(positions: Floats, apart: int, reach_m: float) -> Bools:
    """Return which ticks begin or end a stay of ``apart`` ticks within reach: (N,)."""
    # A vehicle that is within near_m of some place from tick b to c, more than apart ticks later,
    # never gets farther than 2 near_m from where it was at b: so neither b nor c is left.
    starts = max(len(positions) - apart, 0)
    stayed: Bools = np.ones(starts, dtype=np.bool_)
    for later in range(1, apart + 1):
        moved = positions[later : later + starts] - positions[:starts]
        stayed &= np.hypot(moved[:, 0], moved[:, 1]) <= reach_m
    standing: Bools = np.zeros(len(positions), dtype=np.bool_)
    standing[:starts] = stayed
    standing[len(positions) - starts :] |= stayed
    return standing


def _one_of_each_pass(ticks: list[int], apart: int) -> list[int]:
    chosen: list[int] = []
    for tick in ticks:
        if all(abs(tick - other) > apart for other in chosen):
            chosen.append(tick)
            if len(chosen) == MOST_PASSES:
                break
    return chosen
