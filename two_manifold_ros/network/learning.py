# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Learn a network of roads: headings and usual speeds of its places, and ways that hardly any took.

Each way through a crossing has places, and each place a heading: that of positions, and between
them of the rate of turning in the IMU. Whether a drive brakes somewhere depends on where it goes
next: so the usual speed of a place is that of its faster visits, and of others where roads bend as
much. Where a piece of a drive, moved and turned, leads from one known place to another, and no
road of the map does, the drive on the first road, that piece and the drive on the second make a
drive that could have been.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
import itertools
from typing import NamedTuple, TYPE_CHECKING

import numpy as np
from scipy.ndimage import median_filter
from scipy.spatial import cKDTree

from two_manifold_ros.network.belief import interpolated, misfits, Network
from two_manifold_ros.route.merging import FINENESS, Places, SPLIT_AT
from two_manifold_ros.route.visits import around, main_ways, near_stops, Passes, quantiles, ways_of
from two_manifold_ros.typing import Bools, Floats, Ints

if TYPE_CHECKING:
    Drive = tuple[Floats, Floats]
    """Positions (T, 2) and observations (T, d)."""


AROUND = 3
"""Visits each way between which positions show a heading: three halves of a tick's travel."""

COMPARED = 24
"""Visits apart at which headings of positions are compared to learn what shows turning."""


@dataclass(frozen=True)
class Courses:
    """
    Headings (V,) of the visits, rad, whether they are ``known``, and how they show.

    A vehicle turns to the left in a tick by ``turning`` (d,) times the observation plus
    ``offset``; ``sums`` (V, d) are those of the observations since the start of the segment.
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
    return interpolated(np.arange(len(track)), known, track[known])


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
    # Beyond it positions do not show which way round a vehicle turned.
    chosen &= np.abs(apart) < 2.8
    first, last, apart = first[chosen], last[chosen], apart[chosen]
    design = np.column_stack([sums[last] - sums[first], places.times[last] - places.times[first]])
    if len(design) <= 2 * design.shape[1]:
        return None
    line = np.linalg.lstsq(design, apart, rcond=None)[0]
    turning, offset = line[:-1].copy(), float(line[-1])
    # In place of each heading that of the rate of turning about the median of positions.
    by_rate = sums @ turning + places.times * offset
    for run in np.split(each, np.flatnonzero(np.diff(places.runs)) + 1):
        seen = run[known[run]]
        if len(seen) >= 2:
            apart = np.unwrap(headings[seen] - by_rate[seen])
            # The integrated rate of turning follows the median of so many visits.
            apart = median_filter(apart, 41, mode='nearest')
            headings[run] = by_rate[run] + np.interp(run, seen, apart)
            known[run] = True
    return Courses(headings, known, turning, offset, sums)


def courses_of(places: Places, courses: Courses) -> Floats:
    """Return the mean heading (P,) of the visits of each place."""
    chosen, sums = courses.known, np.zeros((len(places), 2))
    headings = courses.headings[chosen]
    np.add.at(sums, places.visited[chosen], np.stack([np.cos(headings), np.sin(headings)], axis=1))
    unseen = np.linalg.norm(sums, axis=1) < 1e-9
    sums[unseen] = places.headings[unseen]
    return np.asarray(np.arctan2(sums[:, 1], sums[:, 0]))


def turning_apart(places: Places, courses: Courses, along: Floats) -> Floats:
    """Return by how much turns in a tick differ from the change of the courses ``along`` (P,)."""
    first = np.arange(len(places.visited) - FINENESS)
    last = first + FINENESS
    chosen = places.runs[first] == places.runs[last]
    first, last = first[chosen], last[chosen]
    change = wrapped(along[places.visited[last]] - along[places.visited[first]])
    ticks = places.times[last] - places.times[first]
    turned = (courses.sums[last] - courses.sums[first]) @ courses.turning + ticks * courses.offset
    return wrapped(change - turned)


FAST = 0.9
"""Share of the visits of a place that are slower than its usual speed: most may brake there."""

LEAST_MPS = 1e-3
"""Speed at least, where no place can be passed at none."""


def with_usual_speeds(passes: Passes) -> tuple[Passes, Floats]:
    """Return visits with the speed ratios of a network, and usual speeds (P,) of places, m/s."""
    places, period_s, count = passes.places, passes.period_s, len(passes.places)
    speeds, strides = driving_speeds(places, period_s)
    # One drive that stopped in a bend does not show how fast it is: where roads bend as much does.
    before, behind = (places.headings[places.visited[each]] for each in around(places))
    bends = np.arccos((before * behind).sum(axis=1).clip(-1.0, 1.0))
    usual = np.empty(len(speeds))
    # Classes of bends, of equal numbers of visits.
    for group in np.array_split(np.argsort(bends, kind='stable'), 20):
        usual[group] = np.median(speeds[group]) if len(group) else 0.0
    visits = np.bincount(places.visited, minlength=count).clip(min=1)
    alike = np.bincount(places.visited, usual, count) / visits
    visited = np.concatenate([places.visited, np.arange(count)])
    usual_mps = quantiles(visited, np.concatenate([speeds, alike]).clip(min=LEAST_MPS), FAST)
    logs = np.log(speeds.clip(min=LEAST_MPS) / usual_mps[places.visited])
    # As far as those of routes, see `visits.lay_out`.
    stays = (strides / (usual_mps * period_s)).clip(0.01, 50.0)
    return replace(passes, log_ratios=logs.clip(-1.0, 1.0), stays=stays), usual_mps


def driving_speeds(places: Places, period_s: float) -> tuple[Floats, Floats]:
    """
    Return the speed around each visit (V,), m/s, and the distance to the next place (P,), m.

    Around a standstill it is the speed of the nearest visit that is not.
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
    visited, count = places.visited, len(places)
    sums, counts = (np.bincount(visited, each, count) for each in (metres, high - low))
    return speeds, np.asarray(sums / np.maximum(counts, 1.0))


SPEEDS = (0.0, 0.08, 0.16, *(0.27 + 0.11 * step for step in range(8)))
"""Classes of speeds, beside standing, of which it is learned how ticks shake: of the fastest."""

LEAST_TICKS = 50
"""Ticks of a speed that show how much observations shake."""

FARTHER, LEAST_FARTHER = 2.0, 0.5
"""Misfit above the usual one of a novel window over the worst one's, and that at least."""


class NetworkPasses(NamedTuple):
    """
    Visits of the places of a network, drives over joins behind all others, and their headings.

    ``usual_mps`` (P,) are the usual speeds of the places; ``tracks`` (T, 2), metres, and
    ``observations`` (T, d) of each segment; ``shakes`` (T, d) of each that was driven.
    """

    passes: Passes
    courses: Courses
    usual_mps: Floats
    tracks: list[Floats]
    observations: list[Floats]
    shakes: list[Floats]


def learn_network(drives: NetworkPasses, window: int) -> Network:
    """Learn a network for a model with a ``window`` of so many ticks."""
    places, courses = drives.passes.places, drives.courses
    along = courses_of(places, courses)
    apart = turning_apart(places, courses, along)
    # A live tick is up to half a place from where it is taken to be.
    grid = 0.5 * turning_apart(places, courses, np.zeros(len(along)))
    # Twice the spread in training counts as usual: errors of ticks beside are alike.
    spread = 2.0 * float(np.sqrt(np.mean(apart**2) + np.mean(grid**2)))
    # At least a degree.
    spread = max(spread, 0.02)
    turned = np.concatenate(drives.observations) @ courses.turning + courses.offset
    low, high = float(turned.min()) - 4.0 * spread, float(turned.max()) + 4.0 * spread
    # How likely each of these turns is on any road.
    turns = np.linspace(low, high, 65)
    off = (turns[:, None] - np.quantile(turned, np.linspace(0.0, 1.0, 2001))) / spread
    chances = np.maximum(np.exp(-0.5 * off**2).mean(axis=1), 1e-9)
    shaking = _shaking(drives)
    means = []
    for each in drives.shakes:
        summed = np.cumsum([0.0, *misfits(each, *shaking[1:])])
        width = min(window, len(each))
        means.append((summed[width:] - summed[:-width]) / width)
    every = np.concatenate(means)
    usual = float(np.median(every))
    return Network(
        along, drives.usual_mps, courses.turning, courses.offset, spread, turns, chances, *shaking,
        largest_misfit=usual + FARTHER * max(float(every.max()) - usual, LEAST_FARTHER * usual),
    )  # fmt: skip


def _spread_about(shaken: Floats) -> tuple[Floats, Floats]:
    """Return the median (d,) of how much ticks (T, d) shake, and the scale about it."""
    middle = np.median(shaken, axis=0)
    # As wide as the standard deviation of a normal distribution, and .05 at least.
    scale = 1.4826 * np.median(np.abs(shaken - middle), axis=0)
    return np.asarray(middle), np.maximum(scale, 0.05)


def _shaking(drives: NetworkPasses) -> tuple[Floats, Floats, Floats]:
    """Return speeds, shakes and scales of a `Network`."""
    places, period_s, speeds = drives.passes.places, drives.passes.period_s, []
    # Joined drives come last, and do not shake.
    for track, still, _ in zip(drives.tracks, places.standing, drives.shakes, strict=False):
        moved = np.full(len(track), np.nan)
        ahead = np.linalg.norm(track[2 * AROUND :] - track[: -2 * AROUND], axis=1)
        moved[AROUND : len(track) - AROUND] = ahead / (2.0 * AROUND * period_s)
        moved[still] = 0.0
        speeds.append(moved)
    speed, shaken = np.concatenate(speeds), np.concatenate(drives.shakes)
    moving = speed[speed > 0.0]
    # Up to what a hundredth of the driving exceeds.
    edges = np.array(SPEEDS) * (float(np.quantile(moving, 0.99)) if len(moving) else 0.0)
    classes = [
        (speed > low) & (speed <= high)
        for low, high in [(-1.0, 0.0), *itertools.pairwise(edges.tolist())]
    ]
    found = [
        (float(speed[chosen].mean()), *_spread_about(shaken[chosen]))
        for chosen in classes
        if chosen.sum() >= LEAST_TICKS
    ]
    # In one class for all of them nothing shows how fast a vehicle is.
    columns = zip(*(found or [(0.0, *_spread_about(shaken))]), strict=True)
    speed_of, middles, scales = map(np.array, columns)
    return speed_of, middles, scales


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


class _Roads:
    """Places, split ``split`` places before and behind forks, and which are near each other."""

    def __init__(self, places: Places, courses: Courses, split: int) -> None:
        self.places, self.courses, self.along = places, courses, courses_of(places, courses)
        # Pieces begin before the places that are split, and end behind them.
        self.pad = split + 2 * AROUND
        ways = ways_of(places, np.ones(len(places.visited), dtype=np.bool_))
        after = main_ways(ways, len(places))
        strides = np.linalg.norm(places.positions[after] - places.positions, axis=1)
        self._next = {a: [b for b, _ in to] for a, to in ways.items()}
        # A join may miss a place by about its radius and stride, and the heading by so much.
        self.near_m = places.radius_m + float(np.median(strides[strides > 0.0]))
        self.near_rad = 0.2
        self.tree = cKDTree(self.pose(places.positions, self.along))
        self._reached: dict[tuple[int, int], Ints] = {}

    def pose(self, positions: Floats, headings: Floats) -> Floats:
        """Return poses (n, 4) of which those of one place are less than one apart."""
        ways = np.column_stack([np.cos(headings), np.sin(headings)])
        return np.hstack([positions / self.near_m, ways / self.near_rad])

    def piece(self, begin: int, end: int) -> _Piece:
        """Return the piece from one visit to another."""
        first, last = self.places.visited[[begin, end]]
        x, y = self.places.positions[last] - self.places.positions[first]
        heading = float(self.along[first])
        cosine, sine = np.cos(heading), np.sin(heading)
        turn = float(wrapped(self.along[last] - heading))
        return _Piece(begin, end, (cosine * x + sine * y, cosine * y - sine * x, turn))

    def leads(self, begin: int, end: int, steps: int) -> bool:
        """Return whether a road leads from one place to near another, in about so many steps."""
        if (begin, steps) not in self._reached:
            front, late = {begin}, set[int]()
            for step in range(steps + steps // 6):
                front = {b for a in front for b in self._next.get(a, ())}
                if step > 0.6 * steps:
                    late |= front
            self._reached[begin, steps] = np.array(sorted(late), dtype=np.int64)
        there, positions = self._reached[begin, steps], self.places.positions
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

    ``lay_out`` collects those of observations (T, d) and tracks (T, 2). Drives begin with the
    segments that ``begins`` (S,) says. None if too little is driven to learn headings.
    """
    seen, driven = list(observations), list(tracks)
    passes = lay_out(seen, driven)
    courses = courses_along(passes.places, driven, seen)
    if courses is None:
        return None
    ticks = passes.memory_s / passes.period_s
    split = round(SPLIT_AT * ticks * FINENESS)
    roads = _Roads(passes.places, courses, split)
    # Each from a lead before the join to as long after it.
    spliced = [_spliced(roads, *join, driven, seen, round(LEAD * ticks)) for join in _joins(roads)]
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


def _joins(roads: _Roads) -> list[tuple[int, int, _Piece]]:
    """Return places, and the piece that joins them, where no road leads yet; the best fitting."""
    positions, along = roads.places.positions, roads.along
    cosine, sine = np.cos(along), np.sin(along)
    tried: list[tuple[float, int, int, _Piece]] = []
    for piece in _shapes(roads):
        x, y, turn = piece.leads
        ends = positions + np.column_stack([cosine * x - sine * y, sine * x + cosine * y])
        poses = roads.pose(ends, along + turn)
        misfits, found = roads.tree.query(poses, distance_upper_bound=1.0)
        tried += [
            (float(misfits[a]), a, int(found[a]), piece)
            for a in np.flatnonzero(np.isfinite(misfits)).tolist()
        ]
    chosen: list[tuple[int, int, _Piece]] = []
    for _, begin, end, piece in sorted(tried, key=lambda each: each[:3]):
        # Another join may be the same way through a crossing.
        is_known = any(
            np.linalg.norm(positions[[from_, to]] - positions[[begin, end]], axis=1).max()
            < 0.5 * float(np.hypot(*like.leads[:2]))
            and abs(float(wrapped(along[begin] - along[from_]))) < 2.0 * roads.near_rad
            and abs(piece.leads[2] - like.leads[2]) < LEAST_TURN
            for from_, to, like in chosen
        )
        # Places are split by where they lead: one beside it may lead there.
        beside = roads.tree.query_ball_point(roads.tree.data[begin], 1.0)
        if not is_known and not any(roads.leads(a, end, piece.end - piece.begin) for a in beside):
            chosen.append((begin, end, piece))
    return chosen


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
            yield roads.piece(begin, end)
    edges = [0, *(np.flatnonzero(np.diff(places.runs)) + 1).tolist(), len(turns)]
    for low, high in itertools.pairwise(edges):
        for begin in range(low, high - 2 * pad - 1, 2 * pad):
            if bent[begin : begin + 2 * pad + 1].any():
                continue
            piece = roads.piece(begin, begin + 2 * pad)
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
    # A road bends from so many radians in ten places on, which are five ticks of travel.
    turning[inner] = within & (rate > 0.25)
    hot = np.flatnonzero(turning)
    return [
        (int(part[0]), int(part[-1]))
        for part in np.split(hot, np.flatnonzero(np.diff(hot) > 2 * half) + 1)
        if len(part) and abs(total[part[-1]] - total[part[0]]) >= LEAST_TURN
    ]


def _spliced(
    roads: _Roads, begin: int, end: int, piece: _Piece, tracks: Sequence[Floats],
    observations: Sequence[Floats], lead: int,
) -> Drive | None:  # fmt: skip
    """Return the drive up to a join, the piece and the drive on; None where one is cut short."""
    places, positions, along = roads.places, roads.places.positions, roads.along
    before, behind = _visit(places, begin, -lead), _visit(places, end, lead)
    if before is None or behind is None:
        return None

    def ticks(first: int, last: int) -> Drive:
        """Return positions and observations from one visit to another one."""
        segment = places.segments[first]
        track = filled(tracks[segment])
        low, high = (int(np.rint(places.times[each])) for each in (first, last))
        chosen = slice(max(low, 0), min(high + 1, len(track)))
        return track[chosen], observations[segment][chosen]

    start = int(places.visited[piece.begin])
    middle, seen = ticks(piece.begin, piece.end)
    angle = along[begin] - along[start]
    cosine, sine = np.cos(angle), np.sin(angle)
    turn = np.array([[cosine, sine], [-sine, cosine]])
    moved = (middle - positions[start]) @ turn + positions[begin]
    last = positions[places.visited[piece.end]]
    misses = positions[end] - (last - positions[start]) @ turn - positions[begin]
    moved += np.linspace(0.0, 1.0, len(moved))[:, None] * misses
    early, late = ticks(*before), ticks(*behind)
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
