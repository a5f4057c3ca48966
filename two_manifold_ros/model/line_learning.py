# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn the lines of a network: which of them pass each place of a map, and where each leads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
import itertools
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import KDTree

from two_manifold_ros.model.model import NetworkLines, RouteModel
from two_manifold_ros.route.merging import APART, Places
from two_manifold_ros.route.route import PLACES_ALONG
from two_manifold_ros.typing import Floats, Ints

if TYPE_CHECKING:
    from two_manifold_ros.route.visits import Passes


def learn_lines(passes: Passes, names: Sequence[str]) -> NetworkLines | None:
    """Return the lines of drives by the name of the line of each segment; None if none has one."""
    known = tuple(sorted({*names} - {''}))
    if not known:
        return None
    places, visited = passes.places, passes.places.visited
    # Joined drives are of none.
    lines = [*names, *[''] * (len(passes.begins) - len(names))]
    line_of = np.array([known.index(each) if each else -1 for each in lines])[places.segments]
    visits = np.stack(
        [
            np.bincount(visited[line_of == each], minlength=len(places))
            for each in range(len(known))
        ],
        axis=1,
    ).astype(np.float64)
    usual = np.array([np.median(each[each > 0.0]) if each.any() else 1.0 for each in visits.T])
    strides = np.linalg.norm(np.diff(places.positions[visited], axis=0), axis=1)
    # As where places are split before forks: a place reached may be one early or late.
    apart_m = APART * places.radius_m + 2.0 * float(np.median(strides))
    ahead = _mean_ahead(passes, line_of, len(known))
    whole = _mean_ahead(passes, np.where(line_of < 0, -1, 0), 1)
    apart = np.linalg.norm(ahead - whole, axis=3).max(axis=(1, 2))
    # Of two lines, from one of which the mean of both is half as far.
    forks = np.flatnonzero(2.0 * apart > apart_m)
    edges = np.flatnonzero(np.diff(places.segments, prepend=-1, append=-1))
    driven = [
        passes.period_s * (places.times[end - 1] - places.times[begin])
        for begin, end in itertools.pairwise(edges.tolist())
    ]
    return NetworkLines(
        names=known,
        kept_s=max(float(np.mean(driven)), passes.period_s),
        # From half of the usual visits on a place is wholly one of the line.
        passes=np.minimum(_along(places, visits) / (0.5 * usual), 1.0),
        forks=forks,
        ahead=ahead[forks],
        apart_m=apart_m,
    )


def carry_lines(known: RouteModel, model: RouteModel) -> NetworkLines | None:
    """Return the lines of a known map by nearest places on a newer one; None if none is left."""
    lines = known.lines
    if lines is None:
        return None
    # A place in the other direction is farther than one beside it.
    spots = []
    for targets in (known.route.readout.targets, model.route.readout.targets):
        speeds = np.linalg.norm(targets[:, -1:], axis=2)
        ways = targets[:, -1] / np.maximum(speeds, np.finfo(np.float64).tiny)
        spots.append(np.hstack([targets[:, 0], lines.apart_m * ways]))
    far, nearest = KDTree(spots[0]).query(spots[1], distance_upper_bound=lines.apart_m)
    was_there = np.isfinite(far)
    nearest = np.where(was_there, nearest, 0)
    passes = lines.passes[nearest] * was_there[:, None]
    if not passes.any():
        return None
    row_of = np.full(len(spots[0]), -1)
    row_of[lines.forks] = np.arange(len(lines.forks))
    forks = np.flatnonzero(was_there & (row_of[nearest] >= 0))
    ahead = lines.ahead[row_of[nearest[forks]]]
    if not np.array_equal(
        np.array(model.horizons) / model.rate_hz, np.array(known.horizons) / known.rate_hz
    ):
        forks = forks[:0]
        ahead = np.zeros((0, len(lines.names), len(model.horizons), 2))
    return replace(lines, passes=passes, forks=forks, ahead=ahead)


def _along(places: Places, numbers: Floats) -> Floats:
    """Return means of numbers of places (P, L) over those before and behind, on each visit."""
    # A place that one drive opened beside the road is one of all that pass before and behind.
    means = np.empty((len(places.visited), numbers.shape[1]))
    edges = np.flatnonzero(np.diff(places.runs, prepend=-1, append=-1))
    for begin, end in itertools.pairwise(edges.tolist()):
        own = numbers[places.visited[begin:end]]
        sums = np.cumsum(np.pad(own, ((1, 0), (0, 0))), axis=0)
        at = np.arange(end - begin)
        low, high = np.maximum(at - PLACES_ALONG, 0), np.minimum(at + PLACES_ALONG + 1, len(at))
        means[begin:end] = (sums[high] - sums[low]) / (high - low)[:, None]
    found = np.zeros_like(numbers)
    np.add.at(found, places.visited, means)
    return found / np.maximum(np.bincount(places.visited, minlength=len(places)), 1)[:, None]


def _mean_ahead(passes: Passes, line_of: Ints, lines: int) -> Floats:
    """Return mean positions (P, L, H, 2) ahead of visits, which are of lines (V,), -1 for none."""
    places, targets = passes.places, passes.targets[:, :-1]
    shape = len(places), lines, targets.shape[1]
    sums, counts = np.zeros((*shape, 2)), np.zeros((*shape, 1))
    visit, horizon = np.nonzero(np.isfinite(targets).all(axis=2) & (line_of >= 0)[:, None])
    index = places.visited[visit], line_of[visit], horizon
    np.add.at(sums, index, targets[visit, horizon])
    np.add.at(counts, index, 1.0)
    # Where a line has no visits it is the mean of all, or the place itself.
    whole, number = sums.sum(axis=1, keepdims=True), counts.sum(axis=1, keepdims=True)
    mean = np.where(
        number > 0.0, whole / np.maximum(number, 1.0), places.positions[:, None, None, :]
    )
    return np.where(counts > 0.0, sums / np.maximum(counts, 1.0), mean)
