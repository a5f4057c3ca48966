# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laps, counted from positions alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.inspection.motion import Motion
    from two_manifold_ros.typing import Floats, Ints

_GATES = 16
_GATE_WIDTH = 0.1
_SHORTEST_LAP_WIDTHS = 4

MOST_GAP = 0.5
"""
Share of the time between two passages of a gate for which nothing is known, at the most.

In a longer gap the vehicle may have come by the gate without being seen: with .5 at most once, if
it drives evenly.
"""


@dataclass(frozen=True)
class Laps:
    """
    The laps of a recording.

    Parameters
    ----------
    count
        Distance driven divided by the length of a lap.
    time_s, length_m
        Medians over the whole laps between gaps; where each has a gap, over those with short ones.

    """

    count: float
    time_s: float
    length_m: float


def count_laps(motion: Motion) -> Laps | None:
    """
    Return the laps, or nothing if the vehicle never came by twice.

    Gates are put across the route at even distances; the times and ways between passing the same
    gate twice in the same direction are laps.
    """
    way = way_driven(motion)
    if way[-1] == 0:
        return None
    targets = (np.arange(_GATES) + 0.5) / _GATES * way[-1]
    gates = np.searchsorted(way, targets)
    width = _GATE_WIDTH * float(np.linalg.norm(np.ptp(motion.positions[motion.known], axis=0)))
    found = [_laps_through(motion, way, int(gate), width) for gate in gates]
    laps, gaps = (np.concatenate(each) for each in zip(*found, strict=True))
    # No way is counted over a gap, so the length is a bit short then, and the time is not.
    chosen = laps[gaps == 0.0]
    if not len(chosen):
        chosen = laps[gaps < MOST_GAP]
    if not len(chosen):
        return None
    time_s, length_m = np.median(chosen, axis=0).tolist()
    return Laps(float(way[-1]) / length_m, time_s, length_m)


def way_driven(motion: Motion) -> Floats:
    """Return how far the vehicle has driven at each point of the grid (G,), metres."""
    steps = np.linalg.norm(np.diff(motion.positions, axis=0), axis=1)
    # What happens while standing is noise, not way.
    both_moving = motion.moving[1:] & motion.moving[:-1]
    way: Floats = np.concatenate([[0.0], np.cumsum(np.where(both_moving, steps, 0.0))])
    return way


def _laps_through(motion: Motion, way: Floats, gate: int, width: float) -> tuple[Floats, Floats]:
    """Return time and way (L, 2) between passages of the gate, and the share of gaps (L,)."""
    passages = _passages(motion, way, gate, width)
    unknown = np.cumsum(~motion.known)
    first, last = passages[:-1], passages[1:]
    gaps = (unknown[last] - unknown[first]) / np.maximum(last - first, 1)
    laps = np.stack([motion.seconds[last] - motion.seconds[first], way[last] - way[first]], axis=1)
    return laps, gaps


def _passages(motion: Motion, way: Floats, gate: int, width: float) -> Ints:
    """Return the grid points at which the gate is passed in the direction it was put."""
    forward = motion.velocities[gate] / np.linalg.norm(motion.velocities[gate])
    away = motion.positions - motion.positions[gate]
    along = away @ forward
    aside = np.abs(away @ np.array([-forward[1], forward[0]]))
    passing = (along[:-1] < 0) & (along[1:] >= 0) & (aside[1:] < width) & motion.moving[1:]
    passages: list[int] = []
    for point in (np.flatnonzero(passing) + 1).tolist():
        if not passages or way[point] - way[passages[-1]] > _SHORTEST_LAP_WIDTHS * width:
            passages.append(point)
    return np.array(passages, dtype=np.int64)
