# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Split the places before a fork by where they lead.

Whoever turns there brakes first, and bends before the roads are a radius apart; whoever goes
straight on does neither. In one place for both, what is usual is neither. So visits are of the
same place only if they also come to the same place soon after.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.route.merging import Places
    from two_manifold_ros.typing import Bools, Floats, Ints

APART = 2.0
"""
Radii of a place, from the place reached on one road to that reached on another, at a fork.

On one road they are one radius apart at most, and a few steps along it.
"""

LEAST_VISITS = 2
"""Visits that a road needs: one alone may be an excursion of the receiver."""


class _Leads(NamedTuple):
    """Where each of (V,) visits leads: positions (V, 2), and whether they are known (V,)."""

    positions: Floats
    known: Bools


def split_before_forks(places: Places, steps: int) -> Places:
    """
    Split each place whose visits lead to different roads ``steps`` places on.

    A part has the position and the heading of the whole. Where no road forks, nothing changes.
    """
    leads = _leads(places, steps)
    count = len(places)
    order = np.argsort(places.visited, kind='stable')
    begins = np.searchsorted(places.visited[order], np.arange(count + 1))
    # A place reached may be one early or late on either road.
    strides = np.linalg.norm(np.diff(places.positions[places.visited], axis=0), axis=1)
    apart_m = APART * places.radius_m + 2.0 * float(np.median(strides))
    visited = places.visited.copy()
    parts: list[int] = []
    for place in _suspects(places, leads, apart_m):
        visits = order[begins[place] : begins[place + 1]]
        road = _roads(leads.positions[visits], leads.known[visits], apart_m)
        for other in range(1, int(road.max()) + 1):
            visited[visits[road == other]] = count + len(parts)
            parts.append(place)
    if not parts:
        return places
    return replace(
        places,
        positions=np.concatenate([places.positions, places.positions[parts]]),
        headings=np.concatenate([places.headings, places.headings[parts]]),
        visited=visited,
    )


def _leads(places: Places, steps: int) -> _Leads:
    visits = len(places.visited)
    later = np.arange(visits) + steps
    known = later < visits
    later = later.clip(max=visits - 1)
    known &= places.runs[later] == places.runs
    return _Leads(places.positions[places.visited[later]], known)


def _suspects(places: Places, leads: _Leads, apart_m: float) -> list[int]:
    """Return the places that lead farther apart than one road can."""
    own, to = places.visited[leads.known], leads.positions[leads.known]
    low = np.full((len(places), 2), np.inf)
    high = -low
    np.minimum.at(low, own, to)
    np.maximum.at(high, own, to)
    wide = np.zeros(len(places), dtype=np.bool_)
    some = np.isfinite(low[:, 0])
    wide[some] = np.linalg.norm(high[some] - low[some], axis=1) > apart_m
    found: list[int] = np.flatnonzero(wide).tolist()
    return found


def _roads(to: Floats, known: Bools, apart_m: float) -> Ints:
    """
    Return on which road each visit of a place is, from 0: (n,), by where it leads (n, 2).

    The most visited road is the first. Visits of a road that has too few, and those of which it
    is not known where they lead, count as of the nearest and of the first.
    """
    middles: list[Floats] = []
    road = np.full(len(to), -1, dtype=np.int64)
    for visit in np.flatnonzero(known).tolist():
        far = [float(np.linalg.norm(to[visit] - middle)) for middle in middles]
        best = int(np.argmin(far)) if far else -1
        if best < 0 or far[best] > apart_m:
            best = len(middles)
            middles.append(to[visit])
        road[visit] = best
    counts = np.bincount(road[known], minlength=len(middles))
    order = np.argsort(-counts, kind='stable')
    enough = order[counts[order] >= LEAST_VISITS]
    if len(enough) < 2:
        return np.zeros(len(to), dtype=np.int64)
    ends = np.array(middles)[enough]
    apart = np.linalg.norm(to[:, None] - ends[None], axis=2)
    return np.where(known, apart.argmin(axis=1), 0)
