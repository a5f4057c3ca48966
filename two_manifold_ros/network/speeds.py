# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Usual speeds on a network: how fast vehicles pass a place that do not brake there.

Few drives have passed some places of a network, and whether one brakes there depends on where it
goes next. So the usual speed of a place is that of the faster ones of its visits, and of others
where roads bend as much; that a vehicle brakes is for the belief to say.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.route.visits import around, near_stops, Passes, quantiles

if TYPE_CHECKING:
    from two_manifold_ros.route.merging import Places
    from two_manifold_ros.typing import Floats

FAST = 0.9
"""
Share of the visits of a place that are slower than its usual speed. A median is of those who brake
where most turn: whoever goes straight on is faster than any usual speed ratio, and is lost.
"""

BENDS = 20
"""Classes of bends, of equal numbers of visits, of which usual speeds are learned."""

LEAST_MPS = 1e-3
"""Speed at least, where no place can be passed at none."""


def with_usual_speeds(passes: Passes) -> tuple[Passes, Floats]:
    """Return visits with the speed ratios of a network, and usual speeds (P,) of places, m/s."""
    places, period_s = passes.places, passes.period_s
    speeds, strides = driving_speeds(places, period_s)
    # One drive that stopped in a bend does not show how fast it is: other bends do.
    visited = np.concatenate([places.visited, np.arange(len(places))])
    seen = np.concatenate([speeds, _alike(places, speeds)]).clip(min=LEAST_MPS)
    usual_mps = quantiles(visited, seen, FAST)
    logs = np.log(speeds.clip(min=LEAST_MPS) / usual_mps[places.visited])
    # As far as those of routes, see `visits.lay_out`.
    stays = (strides / (usual_mps * period_s)).clip(0.01, 50.0)
    return replace(passes, log_ratios=logs.clip(-1.0, 1.0), stays=stays), usual_mps


def driving_speeds(places: Places, period_s: float) -> tuple[Floats, Floats]:
    """
    Return the speed around each visit (V,), m/s, and the distance to the next place (P,), m.

    Around a standstill it is the speed of the nearest visit that is not: a vehicle that pulls
    away or brakes is slower than one that passes, and one that stands wanders over places.
    """
    low, high = around(places)
    positions = places.positions[places.visited]
    metres = np.linalg.norm(positions[high] - positions[low], axis=1)
    speeds = metres / (period_s * (places.times[high] - places.times[low]).clip(min=1.0))
    moves = np.zeros(len(speeds), dtype=np.bool_)
    for segment, near in enumerate(near_stops(places, period_s)):
        here = np.flatnonzero(places.segments == segment)
        count = len(places.standing[segment])
        slowed = np.cumsum(np.append(0, near[:count]))
        begin, end = (
            slowed[np.rint(places.times[each[here]]).astype(np.int64).clip(0, count)]
            for each in (low, high)
        )
        moves[here] = begin == end
    for run in np.split(np.arange(len(speeds)), np.flatnonzero(np.diff(places.runs)) + 1):
        moving = run[moves[run]]
        if len(moving):
            speeds[run] = speeds[np.interp(run, moving, moving).round().astype(np.int64)]
    sums, counts = (
        np.bincount(places.visited, each, len(places)) for each in (metres, high - low)
    )
    return speeds, np.asarray(sums / np.maximum(counts, 1.0))


def _alike(places: Places, speeds: Floats) -> Floats:
    """Return the speed (P,) that is usual where roads bend as they do at each place, m/s."""
    low, high = around(places)
    before, behind = (places.headings[places.visited[each]] for each in (low, high))
    bends = np.arccos((before * behind).sum(axis=1).clip(-1.0, 1.0))
    usual = np.empty(len(speeds))
    for group in np.array_split(np.argsort(bends, kind='stable'), BENDS):
        usual[group] = np.median(speeds[group]) if len(group) else 0.0
    sums = np.bincount(places.visited, usual, len(places))
    return np.asarray(sums / np.bincount(places.visited, minlength=len(places)).clip(min=1))
