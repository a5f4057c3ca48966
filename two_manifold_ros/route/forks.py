# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Maps with forks: places of a route split before them, places of a network behind them too."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.route.merging import FINENESS, merge_passes, Places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.typing import Bools, Floats, Ints

APART = 2.0
"""
Radii of a place, from the place reached on one road to that reached on another, at a fork.

On one road they are one radius apart at most, and a few steps along it.
"""

LEAST_VISITS = 2
"""Visits that a road needs: one alone may be an excursion of the receiver."""

LEADS_TO = 0.5
"""
Memories of the observations, at the usual speed, from a place to those by which it is split:
whoever turns brakes before.
"""

SPLIT_AT = 1.0
"""
Memories of the observations, at the usual speed, to the places by which a place of a network is
split: by where its visits lead, and by where they come from.
"""


def merge_forked(
    tracks: Sequence[Floats], period_s: float, memory_s: float, *, network: bool
) -> Places | None:
    """
    Merge the passes of drives into places, which are split before forks.

    On a ``network`` of roads they are split behind them, too, and a way through a crossing that
    was driven once is a way: it takes one visit.
    """
    places = merge_passes(tracks, period_s, network=network)
    if places is None:
        return None
    memories, least = (SPLIT_AT, 1) if network else (LEADS_TO, LEAST_VISITS)
    steps = round(memories * memory_s / period_s * FINENESS)
    ahead = split_before_forks(places, steps, least)
    if not network:
        return ahead
    # Backwards in time, where visits lead to is where they came from.
    return _backwards(split_before_forks(_backwards(ahead), steps, least))


def _backwards(places: Places) -> Places:
    columns = {
        name: getattr(places, name)[::-1].copy() for name in ('visited', 'segments', 'runs')
    }
    return replace(places, **columns, times=places.times[::-1].copy())


def split_before_forks(places: Places, steps: int, least: int = LEAST_VISITS) -> Places:
    """
    Split each place whose visits lead to different roads ``steps`` places on.

    Whoever turns there brakes first, and bends before the roads are a radius apart; whoever goes
    straight on does neither: in one place for both, what is usual is neither. A part has the
    position and the heading of the whole. A road needs ``least`` visits.
    """
    # Where each visit is so many steps later (V, 2), and whether that is known (V,).
    visits, count = len(places.visited), len(places)
    later = (np.arange(visits) + steps).clip(max=visits - 1)
    leads = places.positions[places.visited[later]]
    known = (np.arange(visits) + steps < visits) & (places.runs[later] == places.runs)
    order = np.argsort(places.visited, kind='stable')
    begins = np.searchsorted(places.visited[order], np.arange(count + 1))
    # A place reached may be one early or late on either road.
    strides = np.linalg.norm(np.diff(places.positions[places.visited], axis=0), axis=1)
    apart_m = APART * places.radius_m + 2.0 * float(np.median(strides))
    # Places that lead farther apart than one road can.
    low = np.full((count, 2), np.inf)
    high = -low
    np.minimum.at(low, places.visited[known], leads[known])
    np.maximum.at(high, places.visited[known], leads[known])
    some = np.flatnonzero(np.isfinite(low[:, 0]))
    wide = some[np.linalg.norm(high[some] - low[some], axis=1) > apart_m]
    visited = places.visited.copy()
    parts: list[int] = []
    for place in wide.tolist():
        mine = order[begins[place] : begins[place + 1]]
        road = _roads(leads[mine], known[mine], apart_m, least)
        for other in range(1, int(road.max()) + 1):
            visited[mine[road == other]] = count + len(parts)
            parts.append(place)
    if not parts:
        return places
    return replace(
        places,
        positions=np.concatenate([places.positions, places.positions[parts]]),
        headings=np.concatenate([places.headings, places.headings[parts]]),
        visited=visited,
    )


def _roads(to: Floats, known: Bools, apart_m: float, least: int) -> Ints:
    """
    Return on which road each visit of a place is, from 0: (n,), by where it leads (n, 2).

    The most visited is the first. Visits of a road of fewer than ``least`` count as of the
    nearest, and those of which it is not known where they lead as of the first.
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
    enough = order[counts[order] >= least]
    if len(enough) < 2:
        return np.zeros(len(to), dtype=np.int64)
    ends = np.array(middles)[enough]
    apart = np.linalg.norm(to[:, None] - ends[None], axis=2)
    return np.where(known, apart.argmin(axis=1), 0)
