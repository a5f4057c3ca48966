# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Places of a network of roads: each way through a crossing has some, and each place a heading.

Headings along drives are those of positions, and between them of the rate of turning in the IMU.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.route.merging import Places
    from two_manifold_ros.typing import Bools, Floats, Ints

AROUND = 3
"""Visits each way between which positions show a heading: three halves of a tick's travel."""

COMPARED = 24
"""Visits apart at which headings of positions are compared to learn what shows turning."""

MIDDLE = 41
"""Visits of the running median by which the integrated rate of turning follows positions."""

MOST_TURNED = 2.8
"""Radians beyond which positions do not show which way round a vehicle turned."""


@dataclass(frozen=True)
class Courses:
    """
    Headings (V,) of the visits, rad, whether they are ``known``, and how they show.

    ``turning`` (d,) and ``offset`` give how far a vehicle turns to the left in a tick, linear in
    the observation; ``sums`` (V, d) are those of the observations since the start of the segment.
    """

    headings: Floats
    known: Bools
    turning: Floats
    offset: float
    sums: Floats


def wrapped(angles: Floats) -> Floats:
    """Return angles between -pi and pi."""
    return np.asarray((angles + np.pi) % (2.0 * np.pi) - np.pi)


def filled(track: Floats) -> Floats:
    """Return a track (T, 2) with straight lines where positions are unknown."""
    known = np.flatnonzero(np.isfinite(track).all(axis=1))
    ticks = np.arange(len(track))
    return interpolated(ticks, known, track[known])


def interpolated(wanted: Floats | Ints, known: Floats | Ints, rows: Floats) -> Floats:
    """Return rows (n, d) known at ascending numbers, such as ticks, at wanted ones: (m, d)."""
    return np.stack([np.interp(wanted, known, column) for column in rows.T], axis=1)


def courses_along(
    places: Places, tracks: Sequence[Floats], observations: Sequence[Floats]
) -> Courses | None:
    """Return the headings of all visits; None where too little is driven to learn them."""
    count = len(places.visited)
    positions = np.zeros((count, 2))
    sums = np.zeros((count, observations[0].shape[1]))
    for segment, (track, seen) in enumerate(zip(tracks, observations, strict=True)):
        mine = places.segments == segment
        if not mine.any():
            continue
        times = places.times[mine].clip(0.0, len(track) - 1.0)
        ticks = np.arange(len(track) + 1)
        positions[mine] = interpolated(times, ticks[:-1], filled(track))
        # A tick ends at its time: what it saw is what lies before.
        summed = np.vstack([np.zeros(sums.shape[1]), np.cumsum(seen, axis=0)])
        sums[mine] = interpolated(times + 1.0, ticks, summed)
    each = np.arange(count)
    low, high = np.maximum(each - AROUND, 0), np.minimum(each + AROUND, count - 1)
    known = (places.runs[low] == places.runs[high]) & (high - low == 2 * AROUND)
    ahead = positions[high] - positions[low]
    headings = np.arctan2(ahead[:, 1], ahead[:, 0])
    first = each[:-COMPARED]
    last = first + COMPARED
    chosen = known[first] & known[last] & (places.runs[first] == places.runs[last])
    apart = wrapped(headings[last] - headings[first])
    chosen &= np.abs(apart) < MOST_TURNED
    first, last, apart = first[chosen], last[chosen], apart[chosen]
    design = np.column_stack([sums[last] - sums[first], places.times[last] - places.times[first]])
    if len(design) <= 2 * design.shape[1]:
        return None
    line = np.linalg.lstsq(design, apart, rcond=None)[0]
    found = Courses(headings, known, line[:-1].copy(), float(line[-1]), sums)
    _smooth(found, places)
    return found


def _smooth(courses: Courses, places: Places) -> None:
    """Put in place of each heading that of the rate of turning about the median of positions."""
    # It takes a while to load, and nodes load this module.
    from scipy.ndimage import median_filter  # noqa: PLC0415

    by_rate = courses.sums @ courses.turning + places.times * courses.offset
    edges = np.flatnonzero(np.diff(places.runs)) + 1
    for run in np.split(np.arange(len(by_rate)), edges):
        seen = run[courses.known[run]]
        if len(seen) < 2:
            continue
        apart = np.unwrap(courses.headings[seen] - by_rate[seen])
        apart = median_filter(apart, MIDDLE, mode='nearest')
        courses.headings[run] = by_rate[run] + np.interp(run, seen, apart)
        courses.known[run] = True


def courses_of(places: Places, courses: Courses) -> Floats:
    """Return the mean heading (P,) of the visits of each place."""
    chosen = courses.known
    sums = np.zeros((len(places), 2))
    ways = np.stack([np.cos(courses.headings), np.sin(courses.headings)], axis=1)
    np.add.at(sums, places.visited[chosen], ways[chosen])
    unseen = np.linalg.norm(sums, axis=1) < 1e-9
    sums[unseen] = places.headings[unseen]
    return np.asarray(np.arctan2(sums[:, 1], sums[:, 0]))


def turning_apart(places: Places, courses: Courses, along: Floats) -> Floats:
    """Return by how much turns in a tick differ from the change of the courses ``along`` (P,)."""
    # Of a tree of neighbours it takes a while to load, and nodes load this module.
    from two_manifold_ros.route.merging import FINENESS  # noqa: PLC0415

    first = np.arange(len(places.visited) - FINENESS)
    last = first + FINENESS
    chosen = places.runs[first] == places.runs[last]
    first, last = first[chosen], last[chosen]
    change = wrapped(along[places.visited[last]] - along[places.visited[first]])
    ticks = places.times[last] - places.times[first]
    turned = (courses.sums[last] - courses.sums[first]) @ courses.turning + ticks * courses.offset
    return wrapped(change - turned)
