# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Merge the laps of the training drives into places, so that the map is as long as the route.

A drive is resampled in steps of equal distance. A step near a known place, driven in the same
direction, is another visit of it; any other step opens a new place. So forks, crossings and lanes
that lie apart stay apart, and any number of laps gives as many places as one. Places of a route
are split before forks, places of a network behind them too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

from two_manifold_ros.compilation import allocating, subroutine
from two_manifold_ros.recordings.excursions import unexplained_steps
from two_manifold_ros.ticks.rest import held_still, standing, usual_speed
from two_manifold_ros.typing import Bools, Floats, Ints

if TYPE_CHECKING:
    Steps = tuple[Floats, Floats, Floats]
    """Positions and headings (n, 2) of steps, and how long they are (n,)."""


FINENESS = 2
"""Places to a tick at the usual speed: a live tick is then at most a quarter tick from a place."""

SAME_PASS_STEPS = 20
"""Steps back along a drive within which a place cannot be visited again: a bend is no lap."""

SAME_WAY = 0.5
"""Cosine above which two directions are the same: a bend is seen a little earlier or later."""

SAME_COURSE = 0.9
"""The same on a network, so that whoever turns at a crossing is at places of its own."""


@dataclass(frozen=True)
class Places:
    """
    P places of the route, and which step of which drive visited them.

    ``positions`` and ``headings`` (P, 2), unit vectors, are of the first visit; others lie no
    farther than ``radius_m`` to the side. ``usual_mps`` is the median speed where drives move. Of
    each of V visits, in order of time within a segment, there are the place ``visited``, the
    segment, and the stretch of known positions in ``runs``, none of which crosses a seam; and the
    ``times`` when the vehicle crossed the line through the place, ticks since the first tick of
    the segment. At the ticks ``standing`` of each segment (T,) the vehicle stood.
    """

    positions: Floats
    headings: Floats
    radius_m: float
    usual_mps: float
    visited: Ints
    segments: Ints
    runs: Ints
    times: Floats
    standing: tuple[Bools, ...]

    def __len__(self) -> int:
        """Return the number of places."""
        return len(self.positions)


@dataclass(frozen=True)
class _Run:
    """A stretch of known positions in steps of equal distance; speeds are metres a tick."""

    segment: int
    nodes: Floats
    times: Floats
    headings: Floats
    speeds: Floats


def merge_passes(
    tracks: Sequence[Floats], period_s: float, *, network: bool = False
) -> Places | None:
    """
    Merge the laps of drives into places; None if no track (T, 2), NaN where unknown, moves.

    Places are closer together where vehicles are slow. On a ``network`` they are even, since how
    slow vehicles are depends on where they go next, and directions are distinguished sooner.
    """
    same_way = SAME_COURSE if network else SAME_WAY
    usual = usual_speed(tracks, period_s)
    if not usual > 0.0:
        return None
    stands = standing(tracks, usual, period_s)
    tracks = [held_still(track, still) for track, still in zip(tracks, stands, strict=True)]
    step_m = usual * period_s
    runs = _walk(tracks, lambda path: np.full(len(path), step_m), step_m, SAME_PASS_STEPS)
    if not runs:
        return None
    radius_m = _radius(runs, step_m, same_way)
    spacing: Callable[[Floats], Floats]
    if network:

        def spacing(path: Floats) -> Floats:
            return np.full(len(path), step_m / FINENESS)

    else:
        positions, _, visited = _merge(runs, radius_m, SAME_PASS_STEPS, same_way)
        spacing = _local_spacing(runs, positions, visited, step_m)
    same_pass = FINENESS * SAME_PASS_STEPS
    fine = _walk(tracks, spacing, step_m, same_pass)
    positions, headings, visited = _merge(fine, radius_m, same_pass, same_way)
    nodes, times, metres_a_tick = (
        np.concatenate([getattr(run, name) for run in fine])
        for name in ('nodes', 'times', 'speeds')
    )
    ahead = ((nodes - positions[visited]) * headings[visited]).sum(1)
    lengths = [len(run.times) for run in fine]
    return Places(
        positions,
        headings,
        radius_m,
        usual,
        visited,
        segments=np.repeat([run.segment for run in fine], lengths),
        runs=np.repeat(np.arange(len(fine)), lengths),
        times=times - ahead / np.maximum(metres_a_tick, 1e-9),
        standing=tuple(stands),
    )


def _walk(
    tracks: Sequence[Floats],
    spacing: Callable[[Floats], Floats],
    step_m: float,
    same_pass: int,
) -> list[_Run]:
    """
    Return the stretches of known positions of tracks, in steps of the local spacing.

    A stretch ends where positions jump by more than a bend that was seen late: the vehicle did not
    drive along the line between them.
    """
    # Ticks of the parabola that smooths positions: noise would turn the direction of short steps.
    smoothed = 5
    runs, parts = [], []
    for segment, track in enumerate(tracks):
        known = np.flatnonzero(np.isfinite(track).all(axis=1))
        leaps = unexplained_steps(known.astype(np.float64), track[known])
        metres = np.linalg.norm(np.diff(track[known], axis=0), axis=1)
        leaps &= metres > SAME_PASS_STEPS * step_m
        breaks = np.flatnonzero((np.diff(known) > 1) | leaps) + 1
        parts += [(segment, track, part) for part in np.split(known, breaks) if len(part) >= 3]
    for segment, track, part in parts:
        path = np.ascontiguousarray(track[part])
        if len(path) > smoothed:
            # It takes a second to load, and nodes load this module.
            from scipy.signal import savgol_filter  # noqa: PLC0415

            path = np.ascontiguousarray(savgol_filter(path, smoothed, 2, axis=0))
        nodes, times = _resampled(path, spacing(path))
        if len(nodes) < 3:
            continue
        times += part[0]
        advances = np.gradient(nodes, axis=0)
        metres = np.linalg.norm(advances, axis=1)
        headings = advances / np.maximum(metres, 1e-12)[:, None]
        runs.append(_Run(segment, nodes, times, headings, metres / np.gradient(times)))
    if runs:
        _arrive_at_ends(runs, step_m, same_pass)
    return runs


def _arrive_at_ends(runs: list[_Run], near_m: float, same_pass: int) -> None:
    """
    Put the direction and the speed of arrival at the ends of a shuttle's line into runs.

    The ways to and fro cancel there. A point at which one lap alone turns back, ``near_m`` around,
    may be an excursion of the receiver.
    """
    turns = []
    for nodes in (run.nodes for run in runs):
        each = np.arange(len(nodes))
        opposed = np.ones(len(nodes), dtype=np.bool_)
        # The ways to the next node, and many on, oppose each other.
        for steps in (1, same_pass):
            came = nodes - nodes[np.maximum(each - steps, 0)]
            goes = nodes[np.minimum(each + steps, len(nodes) - 1)] - nodes
            lengths = np.linalg.norm(came, axis=1) * np.linalg.norm(goes, axis=1)
            opposed &= (came * goes).sum(axis=1) < -SAME_WAY * lengths
        turns.append(np.flatnonzero(opposed))
    which = np.repeat(np.arange(len(runs)), [len(each) for each in turns])
    index = np.concatenate(turns)
    ends = np.array([runs[run].nodes[node] for run, node in zip(which, index, strict=True)])
    if len(ends) < 2:
        return
    ways = ends - [runs[run].nodes[node - 1] for run, node in zip(which, index, strict=True)]
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    one, other = cKDTree(ends).query_pairs(near_m, output_type='ndarray').T
    laps = (which[one] != which[other]) | (np.abs(index[one] - index[other]) > same_pass)
    alike = laps & ((ways[one] * ways[other]).sum(axis=1) > SAME_WAY)
    for end in np.unique(np.concatenate([one[alike], other[alike]])).tolist():
        run, node = runs[which[end]], index[end]
        run.headings[node] = ways[end]
        metres = np.linalg.norm(run.nodes[node] - run.nodes[node - 1])
        run.speeds[node] = metres / (run.times[node] - run.times[node - 1])


@allocating
def _resampled(path: Floats, spacing: Floats) -> tuple[Floats, Floats]:
    # Each node lies its spacing from the last one, so that a vehicle that stands makes none.
    count = 1
    for i in range(1, len(path)):
        length = np.hypot(path[i, 0] - path[i - 1, 0], path[i, 1] - path[i - 1, 1])
        count += int(length / min(spacing[i], spacing[i - 1])) + 2
    nodes = np.empty((count, 2))
    times = np.empty(count)
    # A whole row would be checked for its shape, and compiling the words of that error takes long.
    nodes[0, 0], nodes[0, 1] = path[0, 0], path[0, 1]
    times[0] = 0.0
    n = 1
    x, y = path[0, 0], path[0, 1]
    for i in range(1, len(path)):
        length = np.hypot(path[i, 0] - path[i - 1, 0], path[i, 1] - path[i - 1, 1])
        left = np.hypot(path[i, 0] - x, path[i, 1] - y)
        while left >= spacing[i] and n < count:
            share = spacing[i] / left
            x += share * (path[i, 0] - x)
            y += share * (path[i, 1] - y)
            left = np.hypot(path[i, 0] - x, path[i, 1] - y)
            time = i - min(left / length, 1.0) if length > 0.0 else float(i)
            nodes[n, 0] = x
            nodes[n, 1] = y
            times[n] = max(time, times[n - 1] + 1e-3)
            n += 1
    return nodes[:n].copy(), times[:n].copy()


def _radius(runs: list[_Run], step_m: float, same_way: float) -> float:
    """
    Return the smallest radius from which on no double of one merges much more.

    Laps of one road are merged once the radius exceeds their spread; then the number of places
    stays as it is until different roads fall together.
    """
    # In ticks of travel, from half of one, below which the steps themselves lie apart.
    radii = [0.5 * 2.0 ** (step / 2.0) for step in range(11)]
    enough = 0.94
    # Some laps are enough to compare radii: the longest stretches, of so many steps together.
    chosen, left = [], 12_000
    for run in sorted(runs, key=lambda each: -len(each.nodes)):
        if left <= SAME_PASS_STEPS:
            break
        columns = (run.nodes, run.times, run.headings, run.speeds)
        chosen.append(_Run(run.segment, *(column[:left] for column in columns)))
        left -= len(chosen[-1].nodes)

    @cache
    def count(radius: float) -> int:
        return len(_merge(chosen, radius * step_m, SAME_PASS_STEPS, same_way)[0])

    best: float = radii[-1]
    for radius, double in reversed(list(zip(radii, radii[2:], strict=False))):
        if count(double) < enough * count(radius):
            break
        best = radius
    return best * step_m


def _merge(
    runs: list[_Run], radius_m: float, same_pass: int, same_way: float
) -> tuple[Floats, Floats, Ints]:
    """Return positions and headings (P, 2) of places, and the place of each node of the runs."""
    nodes = np.concatenate([run.nodes for run in runs])
    headings = np.concatenate([run.headings for run in runs])
    steps = [np.linalg.norm(np.diff(run.nodes, axis=0), axis=1) for run in runs]
    lengths = np.concatenate([np.append(each, each[-1]) for each in steps])
    first = np.zeros(len(nodes), dtype=np.bool_)
    first[np.cumsum([0] + [len(run.nodes) for run in runs[:-1]])] = True
    visited, opened = merge_steps(nodes, headings, lengths, first, radius_m, same_pass, same_way)
    return nodes[opened], headings[opened], visited


def merge_steps(
    nodes: Floats, headings: Floats, lengths: Floats, first: Bools, radius: float, same_pass: int,
    same_way: float = SAME_WAY,
) -> tuple[Ints, Ints]:  # fmt: skip
    """
    Merge steps (n, 2) of drives, ``first`` of which start a stretch, into places.

    A visit may lie ``radius`` metres to the side, and half as much more along the map; steps back
    within ``same_pass`` are no other visit, and above the cosine ``same_way`` directions are the
    same. Returns the place of each step (n,), and the step that opened each place (P,).
    """
    reach = max(1.5 * radius, float(lengths.max()))
    cells = np.floor((nodes - nodes.min(axis=0)) / reach).astype(np.int64)
    # A gap is as good as one empty column or row, and keys stay small.
    close = np.empty_like(cells)
    for axis in range(2):
        there, which = np.unique(cells[:, axis], return_inverse=True)
        close[:, axis] = np.cumsum(np.minimum(np.diff(there, prepend=there[0] - 1), 2))[which]
    width = int(close[:, 1].max()) + 3
    keys = close[:, 0] * width + close[:, 1]
    known = np.unique(keys)
    # The cell of each step and those around it as numbers, -1 where nothing is; itself the fifth.
    near = np.full((len(cells), 9), -1, dtype=np.int64)
    for cell in range(9):
        wanted = keys + (cell // 3 - 1) * width + cell % 3 - 1
        found = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        near[:, cell] = np.where(known[found] == wanted, found, -1)
    visited, opened = _merge_loop(
        nodes, headings, lengths, first, near, radius, same_pass, same_way
    )
    return visited, opened


@subroutine
def _misfit(steps: Steps, i: int, o: int, side: float, same_way: float) -> float:
    """Return how badly step i fits the place that step o opened, negative if not at all."""
    nodes, headings, lengths = steps
    gx, gy = headings[o, 0], headings[o, 1]
    if not headings[i, 0] * gx + headings[i, 1] * gy > same_way:
        return -1.0
    ex, ey = nodes[i, 0] - nodes[o, 0], nodes[i, 1] - nodes[o, 1]
    along = abs(ex * gx + ey * gy)
    across = abs(ex * gy - ey * gx)
    if across > side or along > 0.75 * max(lengths[i], lengths[o]):
        return -1.0
    return float(along + across)


@subroutine
def _find_ahead(
    steps: Steps, i: int, current: int, ways: Ints, opened: Ints, front: Ints, radius: float,
    same_way: float,
) -> int:  # fmt: skip
    """Return the best place up to five steps along the map for step i, -1 if there is none."""
    best, fit = -1, np.inf
    begin, end = 0, 1
    front[0] = current
    for _ in range(5):
        stop = end
        for j in range(begin, stop):
            for w in range(ways.shape[1]):
                k = ways[front[j], w]
                if k < 0 or end >= len(front):
                    break
                front[end] = k
                end += 1
        begin = stop
    # The place itself comes last: a vehicle that hardly moved is still there.
    for j in range(1, end + 1):
        k = front[j] if j < end else current
        if j == end and (fit < np.inf or ways[current, 0] < 0):
            break
        value = _misfit(steps, i, opened[k], 1.5 * radius, same_way)
        if 0.0 <= value < fit:
            best, fit = k, value
    return best


@allocating
def _merge_loop(  # noqa: C901, PLR0912 - one loop for numba
    nodes: Floats, headings: Floats, lengths: Floats, first: Bools, near: Ints, radius: float,
    same_pass: int, same_way: float,
) -> tuple[Ints, Ints]:  # fmt: skip
    steps, count = (nodes, headings, lengths), len(nodes)
    # Places of each cell of a grid as linked lists.
    heads = np.full(near.max() + 1, -1, dtype=np.int64)
    after = np.full(count, -1, dtype=np.int64)
    opened = np.empty(count, dtype=np.int64)
    visited = np.empty(count, dtype=np.int64)
    # Where places lead: more than six ways do not meet in a point on any route.
    ways = np.full((count, 6), -1, dtype=np.int64)
    front = np.empty(256, dtype=np.int64)
    # Not a literal: a call with one would be compiled for once more.
    nowhere = np.int64(-1)
    places, current = 0, nowhere
    for i in range(count):
        if first[i]:
            current = nowhere
        best, fit = -1, np.inf
        if current >= 0:
            best = _find_ahead(steps, i, current, ways, opened, front, radius, same_way)
        if best < 0:
            for cell in range(9):
                k = -1 if near[i, cell] < 0 else heads[near[i, cell]]
                while k >= 0:
                    if i - opened[k] > same_pass:
                        value = _misfit(steps, i, opened[k], radius, same_way)
                        if 0.0 <= value < fit:
                            best, fit = k, value
                    k = after[k]
            if best < 0:
                best = places
                opened[places] = i
                cell = near[i, 4]
                after[places] = heads[cell]
                heads[cell] = places
                places += 1
            if current >= 0 and best != current:
                for w in range(ways.shape[1]):
                    if ways[current, w] == best:
                        break
                    if ways[current, w] < 0:
                        ways[current, w] = best
                        break
        visited[i] = best
        current = best
    return visited, opened[:places].copy()


def _local_spacing(
    runs: list[_Run], positions: Floats, visited: Ints, step_m: float
) -> Callable[[Floats], Floats]:
    """Return a function from a path (T, 2) to one place's share of a tick's travel there (T,)."""
    ticks = np.concatenate([np.gradient(run.times) for run in runs])
    # A stop is no speed: what takes five times as long as usual is cut off there.
    ticks = np.minimum(ticks, 5.0)
    counts = np.bincount(visited, minlength=len(positions))
    sums = np.bincount(visited, ticks, minlength=len(positions))
    slowness = sums / counts / step_m
    # Beyond these shares of the usual speed places do not follow the speed any more.
    slowest, fastest = 0.15, 4.0
    metres = np.clip(1.0 / slowness, slowest * step_m, fastest * step_m) / FINENESS
    tree = cKDTree(positions)

    def spacing(path: Floats) -> Floats:
        _, places = tree.query(path, [*range(1, min(3, len(metres)) + 1)])
        local: Floats = metres[places].mean(axis=1)
        return local

    return spacing


APART = 2.0
"""Radii from the place reached on one road to that reached on another, at a fork."""

LEAST_VISITS = 2
"""Visits that a road needs: one alone may be an excursion of the receiver."""

LEADS_TO = 0.5
"""Memories of the observations, at the usual speed, to the places by which one is split."""

SPLIT_AT = 1.0
"""The same on a network, ahead and behind."""


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
    places = split_before_forks(places, steps, least)
    if network:
        # Backwards in time, where visits lead to is where they came from.
        places = _backwards(split_before_forks(_backwards(places), steps, least))
    return places


def _backwards(places: Places) -> Places:
    columns = {
        name: getattr(places, name)[::-1].copy() for name in ('visited', 'segments', 'runs')
    }
    return replace(places, **columns, times=places.times[::-1].copy())


def split_before_forks(places: Places, steps: int, least: int = LEAST_VISITS) -> Places:
    """
    Split each place whose visits lead to different roads ``steps`` places on.

    Whoever turns there brakes first; whoever goes straight on does not: in one place for both,
    what is usual is neither. A part has the position and the heading of the whole. A road needs
    ``least`` visits.
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
    nearest, and unknown ones as of the first.
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
