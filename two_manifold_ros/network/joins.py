# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Ways through crossings that hardly any drive took, joined from those of the same shape elsewhere.

Whoever turns left at ten crossings turns left at the eleventh as well. Where a piece of a drive,
moved and turned, leads from one known place to another, and no road of the map does, the drive on
the first road, that piece and the drive on the second make a drive that could have been.
"""

from __future__ import annotations

from dataclasses import replace
import itertools
from typing import NamedTuple, TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

from two_manifold_ros.network.network import NetworkPasses
from two_manifold_ros.network.places import (
    AROUND,
    Courses,
    courses_along,
    courses_of,
    filled,
    wrapped,
)
from two_manifold_ros.network.speeds import with_usual_speeds
from two_manifold_ros.route.merging import FINENESS, Places, SPLIT_AT
from two_manifold_ros.route.visits import main_ways, ways_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from two_manifold_ros.route.visits import Passes
    from two_manifold_ros.typing import Bools, Floats, Ints

    Drive = tuple[Floats, Floats]
    """Positions (T, 2) and observations (T, d)."""

BENDS_FROM = 0.25
"""Radians in ten places, five ticks of travel, from which on a road bends."""

LEAST_TURN = 0.5
"""Radians that a bend turns by at least."""

ALIKE = 5
"""Pieces of a shape that have been driven, at ``ELSEWHERE`` places or more, so that it is one."""

ELSEWHERE = 3

LEAD = 2.3
"""Memories of the observations that a drive over a join begins before it, and ends behind it."""


class _Piece(NamedTuple):
    """Visits from ``begin`` to ``end``; where these lead in the frame of the first: x, y, turn."""

    begin: int
    end: int
    leads: tuple[float, float, float]


class _Join(NamedTuple):
    """From a place to another by a piece, and how badly it fits."""

    misfit: float
    begin: int
    end: int
    piece: _Piece


class _Roads:
    """Places, split ``split`` places before and behind forks, and which are near each other."""

    def __init__(self, places: Places, courses: Courses, along: Floats, split: int) -> None:
        self.places, self.courses, self.along = places, courses, along
        # Pieces begin before the places that are split, and end behind them.
        self.pad = split + 2 * AROUND
        count = len(places)
        every = np.ones(len(places.visited), dtype=np.bool_)
        ways = ways_of(places, every)
        after = main_ways(ways, count)
        strides = np.linalg.norm(places.positions[after] - places.positions, axis=1)
        self._next = {a: [b for b, _ in to] for a, to in ways.items()}
        # A join may miss a place by about its radius and stride, and the heading by so much.
        self.near_m = places.radius_m + float(np.median(strides[strides > 0.0]))
        self.near_rad = 0.2
        self._tree = cKDTree(self._pose(places.positions, along))
        self._reached: dict[tuple[int, int], Ints] = {}

    def _pose(self, positions: Floats, headings: Floats) -> Floats:
        ways = np.column_stack([np.cos(headings), np.sin(headings)])
        return np.hstack([positions / self.near_m, ways / self.near_rad])

    def at(self, positions: Floats, headings: Floats) -> tuple[Floats, Ints]:
        """Return misfit and number of the place nearest to each pose; infinite where none is."""
        found: tuple[Floats, Ints] = self._tree.query(
            self._pose(positions, headings), distance_upper_bound=1.0
        )
        return found

    def beside(self, place: int) -> list[int]:
        """Return all places at the pose of one."""
        found: list[int] = self._tree.query_ball_point(self._tree.data[place], 1.0)
        return found

    def leads(self, begin: int, end: int, steps: int) -> bool:
        """Return whether a road leads from one place to near another, in about so many steps."""
        if (begin, steps) not in self._reached:
            front, late = {begin}, set[int]()
            for step in range(steps + steps // 6):
                front = {b for a in front for b in self._next.get(a, ())}
                if step > 0.6 * steps:
                    late |= front
            self._reached[begin, steps] = np.array(sorted(late), dtype=np.int64)
        there = self._reached[begin, steps]
        positions = self.places.positions
        near = np.linalg.norm(positions[there] - positions[end], axis=1) < 3.0 * self.near_m
        near &= np.abs(wrapped(self.along[there] - self.along[end])) < 2.0 * self.near_rad
        return bool(near.any())


def lay_out_network(
    lay_out: Callable[[list[Floats], list[Floats]], Passes],
    observations: Sequence[Floats],
    tracks: Sequence[Floats],
    shakes: list[Floats],
    begins: Sequence[bool],
) -> NetworkPasses | None:
    """
    Collect the visits of the places of a network, and join ways that nobody drove.

    ``lay_out`` collects those of observations (T, d) and tracks (T, 2).
    Drives begin with the segments that ``begins`` (S,) says. None if too little is driven to learn
    headings.
    """
    seen, driven = list(observations), list(tracks)
    passes = lay_out(seen, driven)
    courses = courses_along(passes.places, driven, seen)
    if courses is None:
        return None
    ticks = passes.memory_s / passes.period_s
    split = round(SPLIT_AT * ticks * FINENESS)
    roads = _Roads(passes.places, courses, courses_of(passes.places, courses), split)
    # Each from a lead before the join to as long after it.
    spliced = [_spliced(roads, join, driven, seen, round(LEAD * ticks)) for join in _joins(roads)]
    joined = [each for each in spliced if each is not None]
    if joined:
        driven += [track for track, _ in joined]
        seen += [each for _, each in joined]
        passes = lay_out(seen, driven)
        courses = courses_along(passes.places, driven, seen)
    if courses is None:
        return None
    starts = np.array([*begins, *len(joined) * [False]])
    passes, usual_mps = with_usual_speeds(replace(passes, begins=starts))
    return NetworkPasses(passes, courses, usual_mps, driven, seen, shakes)


def _joins(roads: _Roads) -> list[_Join]:
    """Return joins where no road leads yet, the best fitting one of each."""
    positions, along = roads.places.positions, roads.along
    cosine, sine = np.cos(along), np.sin(along)
    tried = []
    for piece in _shapes(roads):
        x, y, turn = piece.leads
        ends = positions + np.column_stack([cosine * x - sine * y, sine * x + cosine * y])
        misfits, found = roads.at(ends, along + turn)
        tried += [
            _Join(float(misfits[a]), a, int(found[a]), piece)
            for a in np.flatnonzero(np.isfinite(misfits)).tolist()
        ]
    chosen: list[_Join] = []
    for join in sorted(tried, key=lambda each: each[:3]):
        if any(_same(roads, join, other) for other in chosen):
            continue
        steps = join.piece.end - join.piece.begin
        # Places are split by where they lead: one beside it may lead there.
        if not any(roads.leads(a, join.end, steps) for a in roads.beside(join.begin)):
            chosen.append(join)
    return chosen


def _same(roads: _Roads, one: _Join, other: _Join) -> bool:
    """Return whether two joins are of the same way through a crossing."""
    positions, along = roads.places.positions, roads.along
    long_m = float(np.hypot(*other.piece.leads[:2]))
    return (
        float(np.linalg.norm(positions[one.begin] - positions[other.begin])) < 0.5 * long_m
        and float(np.linalg.norm(positions[one.end] - positions[other.end])) < 0.5 * long_m
        and abs(float(wrapped(along[one.begin] - along[other.begin]))) < 2.0 * roads.near_rad
        and abs(one.piece.leads[2] - other.piece.leads[2]) < LEAST_TURN
    )


def _shapes(roads: _Roads) -> list[_Piece]:
    """Return a piece of each shape that was driven at several places."""
    pieces = [*_pieces(roads)]
    if not pieces:
        return []
    ends = np.array([each.leads for each in pieces])
    ends /= [roads.near_m, roads.near_m, roads.near_rad]
    near = cKDTree(ends).query_ball_point(ends, 1.0)
    starts = roads.places.positions[[roads.places.visited[each.begin] for each in pieces]]
    cells = np.floor(starts / (6.0 * roads.near_m))
    left = set(range(len(pieces)))
    shapes = []
    while left:
        best = max(left, key=lambda each: (len(left & set(near[each])), -each))
        like = sorted(left & set(near[best]))
        if len(like) < ALIKE:
            break
        left -= set(like)
        if len(np.unique(cells[like], axis=0)) >= ELSEWHERE:
            shapes.append(pieces[best])
    return shapes


def _pieces(roads: _Roads) -> Iterator[_Piece]:
    """Yield bends with what is straight before and behind them, and straight pieces as long."""
    places, courses = roads.places, roads.courses
    turns = wrapped(np.diff(courses.headings, append=courses.headings[-1:]))
    total = np.concatenate([[0.0], np.cumsum(turns)])
    bends = _bends(places, courses.known, total)
    pad = roads.pad
    bent = np.zeros(len(turns), dtype=np.bool_)
    for first, last in bends:
        bent[first : last + 1] = True
    for (_, before), (first, last), (behind, _) in zip(
        [(0, -1), *bends], bends, [*bends[1:], (len(turns), 0)], strict=False
    ):
        begin, end = max(first - pad, before + 1), min(last + pad, behind - 1)
        whole = min(first - begin, end - last) >= 0.7 * pad
        if whole and places.runs[begin] == places.runs[end]:
            yield _piece(roads, begin, end)
    edges = [0, *(np.flatnonzero(np.diff(places.runs)) + 1).tolist(), len(turns)]
    for low, high in itertools.pairwise(edges):
        for begin in range(low, high - 2 * pad - 1, 2 * pad):
            if bent[begin : begin + 2 * pad + 1].any():
                continue
            piece = _piece(roads, begin, begin + 2 * pad)
            if abs(piece.leads[2]) < 0.5 * roads.near_rad:
                yield piece


def _bends(places: Places, known: Bools, total: Floats) -> list[tuple[int, int]]:
    """Return first and last visits of bends; ``total`` (V + 1,) is what was turned before each."""
    half = 5
    count = len(known)
    turning = np.zeros(count, dtype=np.bool_)
    inner = np.arange(half, count - half)
    within = (places.runs[inner - half] == places.runs[inner + half]) & known[inner]
    rate = np.abs(total[inner + half] - total[inner - half])
    turning[inner] = within & (rate > BENDS_FROM)
    hot = np.flatnonzero(turning)
    return [
        (int(part[0]), int(part[-1]))
        for part in np.split(hot, np.flatnonzero(np.diff(hot) > 2 * half) + 1)
        if len(part) and abs(total[part[-1]] - total[part[0]]) >= LEAST_TURN
    ]


def _piece(roads: _Roads, begin: int, end: int) -> _Piece:
    visited = roads.places.visited
    first, last = visited[begin], visited[end]
    x, y = roads.places.positions[last] - roads.places.positions[first]
    heading = float(roads.along[first])
    cosine, sine = np.cos(heading), np.sin(heading)
    turn = float(wrapped(roads.along[last] - heading))
    return _Piece(begin, end, (cosine * x + sine * y, cosine * y - sine * x, turn))


def _spliced(
    roads: _Roads, join: _Join, tracks: Sequence[Floats], observations: Sequence[Floats], lead: int
) -> Drive | None:
    """Return the drive up to the join, the piece and the drive on; None where one is cut short."""
    places, positions = roads.places, roads.places.positions
    before = _visit(places, join.begin, -lead)
    behind = _visit(places, join.end, lead)
    if before is None or behind is None:
        return None
    piece, along = join.piece, roads.along
    start = int(places.visited[piece.begin])
    middle, seen = _ticks(places, piece.begin, piece.end, tracks, observations)
    angle = along[join.begin] - along[start]
    cosine, sine = np.cos(angle), np.sin(angle)
    turn = np.array([[cosine, sine], [-sine, cosine]])
    moved = (middle - positions[start]) @ turn + positions[join.begin]
    last = positions[places.visited[piece.end]]
    misses = positions[join.end] - (last - positions[start]) @ turn - positions[join.begin]
    moved += np.linspace(0.0, 1.0, len(moved))[:, None] * misses
    early = _ticks(places, *before, tracks, observations)
    late = _ticks(places, *behind, tracks, observations)
    return (
        np.concatenate([early[0][:-1], moved, late[0][1:]]),
        np.concatenate([early[1][:-1], seen, late[1][1:]]),
    )


def _visit(places: Places, place: int, ticks: int) -> tuple[int, int] | None:
    """Return first and last visit of a drive to a place, or from it: so many ticks of one run."""
    for visit in np.flatnonzero(places.visited == place).tolist():
        wanted = places.times[visit] + ticks
        run = np.flatnonzero(places.runs == places.runs[visit])
        if places.times[run[0]] <= wanted <= places.times[run[-1]]:
            other = int(run[np.searchsorted(places.times[run], wanted).clip(max=len(run) - 1)])
            return min(visit, other), max(visit, other)
    return None


def _ticks(
    places: Places, first: int, last: int, tracks: Sequence[Floats], observations: Sequence[Floats]
) -> Drive:
    """Return positions and observations from one visit to another one."""
    segment = places.segments[first]
    track = filled(tracks[segment])
    begin, end = (int(np.rint(places.times[each])) for each in (first, last))
    chosen = slice(max(begin, 0), min(end + 1, len(track)))
    return track[chosen], observations[segment][chosen]
