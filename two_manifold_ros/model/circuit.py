# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The circuit: one lap of a route as a closed line, how it is learned, and where a vehicle is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
import math
from typing import cast, NamedTuple, TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros.compilation import compiled, exact
from two_manifold_ros.hse_hmm.readout import velocities
from two_manifold_ros.typing import Floats, Ints

if TYPE_CHECKING:
    from two_manifold_ros.route.merging import Places


LIKE_A_LAP = 0.25
"""Deviation of the time of a lap from the usual one up to which it is a lap, as for `inspect`."""

NEARBY = 0.02
"""Share of a lap over which errors of timing are averaged, about a bend: chosen, not measured."""

ALIKE = 0.5
"""Cosine above which two directions are the same, as where laps are merged into places."""

UNSURE = 3.0
"""Standard deviations within which an estimate may be off."""

Known: TypeAlias = 'tuple[Floats, Floats, Floats, Floats, Floats]'
"""Points, headings, metres and seconds of a `Circuit`; its length, reach and sureness."""


class Spot(NamedTuple):
    """Where along the circuit a vehicle is, in [0, length), NaN off it, and how far aside."""

    metres: float
    aside_m: float
    deviation_m: float


@dataclass(frozen=True)
class Circuit:
    """
    One lap of a route as a closed line of n points at even distances, the first at the start line.

    ``points`` (n, 2) are in metres, ``headings`` (n, 2) unit vectors in the direction of travel,
    ``seconds`` (n + 1,) the usual times from the start line to each point, and of the whole lap.
    ``deviations`` (n,) are of the timing, s, on drives that were held out, zero without any, and
    ``spreads`` (n + 1,) root mean square errors, s, of laps `predicted` there. ``sureness`` is
    what errors of the timing are over what covariances of the filter make of them, ``repeated``
    the share of the deviations that is new on each lap. Up to ``reach_m`` from the line a vehicle
    is on it.
    """

    points: Floats
    headings: Floats
    seconds: Floats
    deviations: Floats
    spreads: Floats
    sureness: float
    repeated: float
    length_m: float
    reach_m: float

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.points)

    @cached_property
    def metres(self) -> Floats:
        """Way from the start line to each point, and at last the length of a lap: (n + 1,)."""
        return np.linspace(0.0, self.length_m, len(self) + 1)

    @property
    def lap_s(self) -> float:
        """Usual time of a lap."""
        return float(self.seconds[-1])

    @property
    def top_mps(self) -> float:
        """Usual speed on the fastest part of a lap, m/s."""
        ahead = max(round(NEARBY * len(self)), 1)
        took = self.seconds[ahead:] - self.seconds[:-ahead]
        return ahead / len(self) * self.length_m / max(float(took.min()), 1e-9)

    @cached_property
    def known(self) -> Known:
        """The circuit as compiled functions take it."""
        numbers = np.array([self.length_m, self.reach_m, self.sureness])
        arrays = self.points, self.headings, self.metres, self.seconds, numbers
        return cast('Known', tuple(np.ascontiguousarray(each) for each in arrays))

    def locate(
        self, position: Floats, direction: Floats, between: tuple[float, float] | None = None
    ) -> Spot:
        """
        Return the spot of a (2,) position: the nearest of those that go in its direction.

        If the ``direction`` (2,) is zero every direction counts, and so it does ``between`` where
        the vehicle can be by the way before, metres after the start of any lap.
        """
        low, high = between or (0.0, -1.0)
        exact = np.zeros((2, 2))
        return Spot(*find_spot(position, direction, exact, low, high - low, self.known))

    def seconds_along(self, metres: Floats) -> Floats:
        """Return the usual times from the start of lap 0 to places so many metres on (T,)."""
        laps, rest = np.divmod(metres, self.length_m)
        return laps * self.lap_s + np.interp(rest, self.metres, self.seconds)

    def starting_at(self, metres: float) -> Circuit:
        """Return the same circuit with the start line at the point nearest to so many metres."""
        first = round(metres / (self.length_m / len(self))) % len(self)
        columns = self.points, self.headings, self.deviations
        points, headings, deviations = (np.roll(each, -first, axis=0) for each in columns)
        steps = np.roll(np.diff(self.seconds), -first)
        return replace(
            self, points=points, headings=headings, deviations=deviations,
            seconds=np.concatenate([[0.0], np.cumsum(steps)]),
        )  # fmt: skip

    def surest_start(self) -> Circuit:
        """Return the same circuit with the start line where timing is surest."""
        timed = self.deviations if self.deviations.any() else np.diff(self.seconds)
        return self.starting_at(float(self.metres[int(np.argmin(timed))]))


@exact
def evenly(values: Floats, phase: float) -> float:
    """Return (n + 1,) values at even steps, interpolated at a phase from 0 to 1."""
    if math.isnan(phase):
        return math.nan
    steps = len(values) - 1
    at = min(max(phase, 0.0), 1.0) * steps
    before = min(int(at), steps - 1)
    value: float = values[before] + (at - before) * (values[before + 1] - values[before])
    return value


@exact
def seconds_at(metres: float, known: Known) -> float:
    """Return the usual time from the start of lap 0 to a place ``metres`` on."""
    seconds, length = known[3], known[4][0]
    laps, rest = divmod(metres, length)
    time_s: float = laps * seconds[-1] + evenly(seconds, rest / length)
    return time_s


@exact
def metres_at(time_s: float, known: Known) -> float:
    """Return how far a vehicle usually is so many seconds after the start of lap 0."""
    metres, seconds = known[2], known[3]
    laps, rest = divmod(time_s, seconds[-1])
    low, high = 0, len(seconds)
    while low < high:
        middle = (low + high) // 2
        if rest >= seconds[middle]:
            low = middle + 1
        else:
            high = middle
    before = min(low, len(seconds) - 1) - 1
    took = seconds[before + 1] - seconds[before]
    slope = (metres[before + 1] - metres[before]) / took if took > 0.0 else 0.0
    way: float = laps * known[4][0] + (slope * (rest - seconds[before]) + metres[before])
    return way


@exact
def deviation_at(metres: float, deviation_m: float, known: Known) -> float:
    """Return the time that a deviation along the way takes there, by stops as well."""
    ahead = seconds_at(metres + deviation_m, known)
    time_s: float = known[4][2] * 0.5 * (ahead - seconds_at(metres - deviation_m, known))
    return time_s


@exact
def find_spot(
    position: Floats, direction: Floats, covariance: Floats, low: float, span: float, known: Known
) -> tuple[float, float, float]:
    """Return a `Spot` as `Circuit.locate`: in ``span`` metres from ``low`` on, if not negative."""
    points, headings, metres, numbers = known[0], known[1], known[2], known[4]
    length = numbers[0]
    reach_m = numbers[1] + UNSURE * math.sqrt(covariance[0, 0] + covariance[1, 1])
    nearest, least = 0, math.inf
    for i in range(len(points)):
        if (metres[i] - low) % length <= span:
            x, y = position[0] - points[i, 0], position[1] - points[i, 1]
            if x * x + y * y < least:
                nearest, least = i, x * x + y * y
    if not least <= reach_m * reach_m:
        speed = math.hypot(direction[0], direction[1])
        nearest, least = 0, math.inf
        for i in range(len(points)):
            alike = headings[i, 0] * direction[0] + headings[i, 1] * direction[1]
            if speed > 0.0 and alike < ALIKE * speed:
                continue
            x, y = position[0] - points[i, 0], position[1] - points[i, 1]
            if x * x + y * y < least:
                nearest, least = i, x * x + y * y
    x, y = position[0] - points[nearest, 0], position[1] - points[nearest, 1]
    ahead_x, ahead_y = headings[nearest, 0], headings[nearest, 1]
    along, aside = x * ahead_x + y * ahead_y, abs(x * -ahead_y + y * ahead_x)
    first = ahead_x * covariance[0, 0] + ahead_y * covariance[1, 0]
    second = ahead_x * covariance[0, 1] + ahead_y * covariance[1, 1]
    deviation = math.sqrt(first * ahead_x + second * ahead_y)
    if not math.isfinite(least) or aside > reach_m:
        return math.nan, aside, deviation
    # A point is nearest from half a step before it; farther only on the inside of a bend.
    step = length / len(points)
    return (metres[nearest] + min(max(along, -step), step)) % length, aside, deviation


@exact
def predicted(course: Floats, elapsed: float, passed: float) -> float:
    """
    Return the time that a lap will have taken, s.

    The rest takes as long as on the ``course`` (n + 1,), times the root of how much longer
    this lap took so far than usually to the same place, ``passed``.
    """
    # Just after the line nothing is known of this lap yet: what is a moment off counts for little.
    moment = NEARBY * course[-1]
    slower = math.sqrt((max(elapsed, 0.0) + moment) / (passed + moment))
    slower = min(max(slower, 1.0 - LIKE_A_LAP), 1.0 + LIKE_A_LAP)
    lap: float = elapsed + (course[-1] - passed) * slower
    return lap


MOST_PASSED_OVER = 5
"""Places that a drive may pass over at once, by another lane, and still be timed in between."""


def learn_circuit(
    places: Places,
    tracks: Sequence[Floats],
    period_s: float,
    runs: Sequence[tuple[Floats, Floats, Floats, Floats, Floats]],
    *,
    at_mark: bool,
) -> Circuit | None:
    """Return the lap of drives, timed by held-out ``runs``; None if they repeat none."""
    found = find_circuit(places, tracks, period_s)
    if found is None:
        return None
    circuit = calibrated(found, runs)
    if at_mark:
        mark = circuit.locate(np.array([circuit.length_m, 0.0]) / (2.0 * np.pi), np.zeros(2))
        circuit = circuit.starting_at(mark.metres)
    laps = [
        laps_along(circuit, way_along(circuit, track, velocities(track, period_s)), period_s)
        for track in tracks
    ]
    return with_spreads(circuit, np.concatenate(laps))


def find_circuit(places: Places, tracks: Sequence[Floats], period_s: float) -> Circuit | None:
    """Return the lap that drives repeat, by places into which ``tracks`` merged; or None."""
    loop = _usual_lap(places)
    if not len(loop):
        return None
    # The mean position of the visits of each place.
    sums, counts = np.zeros((len(places), 2)), np.zeros(len(places))
    for number, track in enumerate(tracks):
        own = places.segments == number
        known = np.flatnonzero(np.isfinite(track).all(axis=1))
        if own.any():
            times = places.times[own].clip(known[0], known[-1])
            at = np.column_stack([np.interp(times, known, axis) for axis in track[known].T])
            np.add.at(sums, places.visited[own], at)
            np.add.at(counts, places.visited[own], 1.0)
    points = (sums / np.maximum(counts, 1.0)[:, None])[loop]
    # The median time from each place to the next.
    index = np.full(len(places), -1)
    index[loop] = np.arange(len(loop))
    own = np.flatnonzero(index[places.visited] >= 0)
    at = index[places.visited[own]]
    steps = np.diff(at) % len(loop)
    near = (steps > 0) & (steps <= MOST_PASSED_OVER) & (np.diff(places.runs[own]) == 0)
    took = np.diff(places.times[own])[near] / steps[near]
    begins, steps = at[:-1][near], steps[near]
    # A step over several places is one of each of them.
    where = np.concatenate([(begins + k)[steps > k] % len(loop) for k in range(MOST_PASSED_OVER)])
    ticks = np.concatenate([took[steps > k] for k in range(MOST_PASSED_OVER)])
    order = np.argsort(where, kind='stable')
    parts = np.split(ticks[order], np.searchsorted(where[order], np.arange(1, len(loop))))
    usual = float(np.median(took))
    medians = [max(float(np.median(each)), 0.0) if len(each) else usual for each in parts]
    return _closed(points, np.array(medians) * period_s, places.radius_m)


def _usual_lap(places: Places) -> Ints:
    """Return the places (n,) of a usual lap, which ends where it began; none if none repeats."""
    # It takes SciPy, which a node of a route does without.
    from two_manifold_ros.route.merging import FINENESS, SAME_PASS_STEPS  # noqa: PLC0415

    order = np.lexsort((np.arange(len(places.visited)), places.runs, places.visited))
    place, run = places.visited[order], places.runs[order]
    same = (place[1:] == place[:-1]) & (run[1:] == run[:-1])
    # Else the vehicle has not been away.
    again = np.flatnonzero(same & (np.diff(order) > FINENESS * SAME_PASS_STEPS))
    if not len(again):
        return places.visited[:0]
    first, last = order[again], order[again + 1]
    took = places.times[last] - places.times[first]
    ranked = np.argsort(took, kind='stable')
    # The median by time driven, in which short spins and pit lanes count little.
    spent = np.cumsum(took[ranked])
    usual = took[ranked[np.searchsorted(spent, 0.5 * spent[-1])]]
    like_one = np.abs(took / usual - 1.0) <= LIKE_A_LAP
    gate = np.argmax(np.bincount(places.visited[first[like_one]]))
    laps = np.flatnonzero(like_one & (places.visited[first] == gate))
    chosen = laps[np.argsort(took[laps], kind='stable')[len(laps) // 2]]
    return places.visited[first[chosen] : last[chosen]]


def _closed(points: Floats, seconds: Floats, radius_m: float) -> Circuit:
    """Return the circuit along (n, 2) points, each so many seconds (n,) before the next."""
    count = len(points)
    spacing = float(np.median(np.linalg.norm(np.diff(points, axis=0), axis=1)))
    # Half the way that lanes lie apart, or more, until it nowhere turns by too much.
    width = min(max(0.5 * radius_m / max(spacing, 1e-12), 1.0), 0.25 * count)
    frequencies, spectrum = np.fft.rfftfreq(count)[:, None], np.fft.rfft(points, axis=0)
    line = points
    while width <= count:
        kept = np.exp(-2.0 * np.square(np.pi * width * frequencies))
        line = np.fft.irfft(spectrum * kept, count, axis=0)
        steps = np.roll(line, -1, axis=0) - line
        ways = steps / np.maximum(np.linalg.norm(steps, axis=1), 1e-12)[:, None]
        if (np.einsum('ij,ij->i', ways, np.roll(ways, 1, axis=0)) > ALIKE).all():
            break
        width *= 2.0
    closed = np.vstack([line, line[:1]])
    metres = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(closed, axis=0), axis=1))])
    elapsed = np.concatenate([[0.0], np.cumsum(seconds)])
    # Even steps, because smoothing draws points together.
    even = np.linspace(0.0, metres[-1], count + 1)
    nodes = np.column_stack([np.interp(even, metres, axis) for axis in closed.T])[:-1]
    ahead = np.roll(nodes, -1, axis=0) - np.roll(nodes, 1, axis=0)
    headings = ahead / np.maximum(np.linalg.norm(ahead, axis=1), 1e-12)[:, None]
    return Circuit(
        points=nodes,
        headings=headings,
        seconds=np.interp(even, metres, elapsed),
        deviations=np.zeros(count),
        spreads=np.zeros(count + 1),
        sureness=1.0,
        repeated=1.0,
        length_m=float(metres[-1]),
        reach_m=3.0 * radius_m,
    )


def with_spreads(circuit: Circuit, laps: Floats) -> Circuit:
    """Return a circuit with the errors of predicted laps, of those (L, n + 1) of the training."""
    usual = circuit.seconds
    if not len(laps):
        return replace(circuit, spreads=LIKE_A_LAP * (circuit.lap_s - usual))
    found = [[predicted(usual, *each) for each in zip(lap, usual, strict=True)] for lap in laps]
    errors = np.array(found) - laps[:, -1:]
    return replace(circuit, spreads=np.sqrt(np.square(errors).mean(axis=0)))


def spots_along(
    circuit: Circuit, positions: Floats, directions: Floats, deviations: Floats | float = 0.0
) -> tuple[Floats, Ints]:
    """Return ways (T,), m, and nearest points (T,) of positions at once, as `Circuit.locate`."""
    nearest = np.zeros(len(positions), dtype=np.int64)
    find_nearest(
        np.ascontiguousarray(positions), np.ascontiguousarray(directions), circuit.points,
        circuit.headings, nearest,
    )  # fmt: skip
    away, heading = positions - circuit.points[nearest], circuit.headings[nearest]
    along = np.einsum('tk,tk->t', away, heading)
    aside = np.abs(away[:, 1] * heading[:, 0] - away[:, 0] * heading[:, 1])
    step = circuit.length_m / len(circuit)
    metres = (circuit.metres[nearest] + along.clip(-step, step)) % circuit.length_m
    on_it = (nearest >= 0) & (aside <= circuit.reach_m + UNSURE * deviations)
    return np.where(on_it, metres, np.nan), nearest


@compiled
def find_nearest(
    positions: Floats, directions: Floats, points: Floats, headings: Floats, nearest: Ints
) -> None:
    """Set the nearest (T,) of n points that go in the direction of a tick, -1 where none does."""
    for tick in range(len(positions)):
        x, y = positions[tick, 0], positions[tick, 1]
        u, v = directions[tick, 0], directions[tick, 1]
        slowest = ALIKE * math.sqrt(u * u + v * v)
        least, nearest[tick] = np.inf, -1
        for point in range(len(points)):
            if slowest > 0.0 and headings[point, 0] * u + headings[point, 1] * v < slowest:
                continue
            dx, dy = x - points[point, 0], y - points[point, 1]
            # Of what is not known none is less.
            if dx * dx + dy * dy < least and not math.isnan(slowest):
                least, nearest[tick] = dx * dx + dy * dy, point


def way_along(circuit: Circuit, positions: Floats, directions: Floats) -> Floats:
    """Return the way (T,) of `spots_along`, unwrapped over laps."""
    found, _ = spots_along(circuit, positions, directions)
    known = np.isfinite(found)
    found[known] = np.unwrap(found[known], period=circuit.length_m)
    return found


def laps_along(circuit: Circuit, ways: Floats, period_s: float) -> Floats:
    """Return times (L, n + 1), s, at the points on whole laps, of unwrapped ``ways`` (T,)."""
    known = np.flatnonzero(np.isfinite(ways))
    laps = [np.empty((0, len(circuit) + 1))]
    if len(known) < 2:
        return laps[0]
    # Where a vehicle rolls back the first time counts.
    farthest = np.maximum.accumulate(ways[known])
    length = circuit.length_m
    for lap in range(math.ceil(farthest[0] / length), math.floor(farthest[-1] / length)):
        way = lap * length + circuit.metres
        after = np.searchsorted(farthest, way, side='left').clip(1, len(known) - 1)
        before = after - 1
        gaps = known[after] - known[before]
        rise = farthest[after] - farthest[before]
        share = np.divide(way - farthest[before], rise, out=np.ones_like(way), where=rise > 0.0)
        ticks = known[before] + share.clip(0.0, 1.0) * gaps
        inside = known[(known >= ticks[0]) & (known <= ticks[-1])]
        if len(inside) > 1 and np.diff(inside).max() <= MOST_PASSED_OVER:
            laps.append((ticks - ticks[0])[None] * period_s)
    return np.concatenate(laps)


def calibrated(
    circuit: Circuit, runs: Sequence[tuple[Floats, Floats, Floats, Floats, Floats]]
) -> Circuit:
    """
    Return a circuit with the deviations of its timing, and the start line where they are least.

    ``runs`` of drives that were held out are estimated positions and velocities (T, 2),
    covariances (T, 2, 2), and true positions and velocities, NaN where they do not count.
    """
    lap_s, length, count = circuit.lap_s, circuit.length_m, len(circuit)
    columns: list[Floats] = [np.empty((4, 0))]
    first = 0.0
    for positions, estimated, covariances, truths, directions in runs:
        ways = way_along(circuit, truths, directions)
        spread = np.sqrt(covariances[:, 0, 0] + covariances[:, 1, 1])
        spots, nearest = spots_along(circuit, positions, estimated, spread)
        both = np.isfinite(ways) & np.isfinite(spots)
        heading = circuit.headings[nearest[both]]
        along = np.sqrt(np.einsum('ti,tij,tj->t', heading, covariances[both], heading))
        spots, true = spots[both], ways[both] % length
        errors = circuit.seconds_along(spots) - circuit.seconds_along(true)
        errors = (errors + 0.5 * lap_s) % lap_s - 0.5 * lap_s
        usual = circuit.seconds_along(spots + along) - circuit.seconds_along(spots - along)
        laps = first + ways[both] // length
        # What is farther off is lost, and published by no filter.
        near = np.abs(errors) < LIKE_A_LAP * lap_s
        columns.append(np.stack([errors, 0.5 * usual, true, laps])[:, near])
        first = 1.0 + float(laps.max(initial=first))
    every, usual, at, lap = np.concatenate(columns, axis=1)
    if not len(every):
        return circuit.surest_start()
    ratios = np.square(every / np.maximum(usual, 1e-9 * lap_s))
    points = (at / length * count).astype(np.int64) % count
    # Sums over the points around each, by a normal kernel that closes.
    kept = np.exp(-2.0 * np.square(np.pi * NEARBY * count * np.fft.rfftfreq(count)))
    squares, weights = (
        np.maximum(np.fft.irfft(np.fft.rfft(each) * kept, count), 0.0)
        for each in (
            np.bincount(points, np.square(every), count),
            np.bincount(points, None, count),
        )
    )
    deviations = np.sqrt(squares / np.maximum(weights, 1e-9))
    # Where hardly a drive was held out it is as sure as on the whole lap.
    deviations[weights < 0.05 * weights.mean()] = math.sqrt(float(np.square(every).mean()))
    timed = replace(
        circuit,
        deviations=deviations,
        sureness=min(max(math.sqrt(float(ratios.mean())), 0.1), 10.0),
        repeated=_repeated(every, at / length, lap),
    )
    return timed.surest_start()


def _repeated(errors: Floats, phases: Floats, laps: Floats) -> float:
    """Return the root of the share of the squared errors (N,) that differs between passes."""
    bins = round(1.0 / NEARBY)
    cells, inverse = np.unique(np.floor(phases * bins) + bins * laps, return_inverse=True)
    means = np.bincount(inverse, errors) / np.bincount(inverse)
    where = cells.astype(np.int64) % bins
    passes = np.bincount(where, minlength=bins)
    several = passes[where] > 1
    if not several.any():
        return 1.0
    middle = np.bincount(where, means, bins) / np.maximum(passes, 1)
    # Of two passes half of the variance is lost in their own mean.
    own = np.square(means - middle[where]) * (passes / np.maximum(passes - 1, 1))[where]
    whole = float(np.square(means[several]).mean())
    return math.sqrt(min(float(own[several].mean()) / whole, 1.0)) if whole > 0.0 else 1.0
