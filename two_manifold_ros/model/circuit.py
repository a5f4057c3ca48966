# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The circuit: one lap of a route as a closed line, and where along it a vehicle is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.readout import velocities

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.route.merging import Places
    from two_manifold_ros.typing import Floats, Ints

LIKE_A_LAP = 0.25
"""Deviation of the time of a lap from the usual one up to which it is a lap, as for `inspect`."""

NEARBY = 0.02
"""Share of a lap over which errors of timing are averaged, about a bend: chosen, not measured."""

MOST_PASSED_OVER = 5
"""Places that a drive may pass over at once, by another lane, and still be timed in between."""

ALIKE = 0.5
"""Cosine above which two directions are the same, as where laps are merged into places."""

UNSURE = 3.0
"""Standard deviations within which an estimate may be off."""


class Spot(NamedTuple):
    """
    Where along the circuit a vehicle is.

    Parameters
    ----------
    metres
        Way since the start line, in [0, length); NaN off the circuit.
    aside_m
        Distance to the circuit.
    deviation_m
        Standard deviation of the way.

    """

    metres: float
    aside_m: float
    deviation_m: float


@dataclass(frozen=True)
class Circuit:
    """
    One lap of a route as a closed line of n points at even distances, the first at the start line.

    Parameters
    ----------
    points, headings : (n, 2)
        Metres, and unit vectors in the direction of travel.
    seconds : (n + 1,)
        Usual time from the start line to each point, and at last of the whole lap.
    deviations : (n,)
        Standard deviation of the timing at each point, s: that of drives that were held out of
        the training; zero where none was.
    spreads : (n + 1,)
        Root mean square error, s, of the time of a lap that is `predicted` at each point, of the
        laps of the training.
    sureness
        What errors of the timing are over what the covariances of the filter make of them.
    repeated
        Share of ``deviations`` that is new on each lap: the rest is the same on all, and in no
        lap time.
    length_m
        Length of a lap.
    reach_m
        Distance from the line up to which a vehicle is on the circuit.

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

    def locate(
        self,
        position: Floats,
        direction: Floats,
        covariance: Floats | None = None,
        between: tuple[float, float] | None = None,
    ) -> Spot:
        """
        Return the spot of a (2,) position: the nearest of those that go in its direction.

        Parameters
        ----------
        position, direction : (2,)
            Metres, and any vector in the direction of travel; where that is zero every direction
            counts.
        covariance : (2, 2), optional
            Of the position, m^2.
        between
            Where it can be by the way before, metres after the start of any lap: a spot there
            counts whatever its direction is, which a standing vehicle does not show.

        """
        apart = position - self.points
        squares = np.einsum('ij,ij->i', apart, apart)
        deviations = (
            0.0 if covariance is None else UNSURE * math.sqrt(covariance[0, 0] + covariance[1, 1])
        )
        reach_m = self.reach_m + deviations
        nearest = -1
        if between is not None:
            low, high = between
            inside = np.flatnonzero((self.metres[:-1] - low) % self.length_m <= high - low)
            if len(inside):
                nearest = int(inside[np.argmin(squares[inside])])
        if nearest < 0 or squares[nearest] > reach_m**2:
            speed = math.hypot(*direction)
            if speed > 0.0:
                squares[self.headings @ direction < ALIKE * speed] = np.inf
            nearest = int(np.argmin(squares))
        heading = self.headings[nearest]
        along = float(apart[nearest] @ heading)
        aside = abs(float(apart[nearest] @ (-heading[1], heading[0])))
        deviation = 0.0 if covariance is None else math.sqrt(float(heading @ covariance @ heading))
        if not math.isfinite(squares[nearest]) or aside > reach_m:
            return Spot(math.nan, aside, deviation)
        # A point is nearest from half a step before it; farther only on the inside of a bend.
        step = self.length_m / len(self)
        metres = self.metres[nearest] + min(max(along, -step), step)
        return Spot(float(metres) % self.length_m, aside, deviation)

    def seconds_at(self, metres: float) -> float:
        """Return the usual time from the start of lap 0 to a place ``metres`` on."""
        laps, rest = divmod(metres, self.length_m)
        return laps * self.lap_s + evenly(self.seconds, rest / self.length_m)

    def metres_at(self, seconds: float) -> float:
        """Return how far a vehicle usually is so many seconds after the start of lap 0."""
        laps, rest = divmod(seconds, self.lap_s)
        return laps * self.length_m + float(np.interp(rest, self.seconds, self.metres))

    def deviation_at(self, metres: float, deviation_m: float) -> float:
        """
        Return what a standard deviation of the filter along the way is in time, s.

        It is the time from one before the place to one behind it, so that a stop counts that may
        be at the place, times the ``sureness``.
        """
        ahead, behind = (
            self.seconds_at(metres + deviation_m),
            self.seconds_at(metres - deviation_m),
        )
        return self.sureness * 0.5 * (ahead - behind)

    def starting_at(self, metres: float) -> Circuit:
        """Return the same circuit with the start line at the point nearest to so many metres."""
        step = self.length_m / len(self)
        first = round(metres / step) % len(self)
        rolled = {
            name: np.roll(getattr(self, name), -first, axis=0)
            for name in ('points', 'headings', 'deviations')
        }
        steps = np.roll(np.diff(self.seconds), -first)
        return replace(self, **rolled, seconds=np.concatenate([[0.0], np.cumsum(steps)]))

    def surest_start(self) -> Circuit:
        """Return the same circuit with the start line where timing is surest."""
        timed = self.deviations if self.deviations.any() else np.diff(self.seconds)
        return self.starting_at(float(self.metres[int(np.argmin(timed))]))


def evenly(values: Floats, phase: float) -> float:
    """Return (n + 1,) values at even steps, interpolated at a phase from 0 to 1."""
    if math.isnan(phase):
        return math.nan
    # Several times as fast as np.interp, which searches.
    steps = len(values) - 1
    at = min(max(phase, 0.0), 1.0) * steps
    before = min(int(at), steps - 1)
    value, after = values.item(before), values.item(before + 1)
    return value + (at - before) * (after - value)


def learn_circuit(
    places: Places,
    tracks: Sequence[Floats],
    period_s: float,
    runs: Sequence[tuple[Floats, Floats, Floats, Floats, Floats]],
    *,
    at_mark: bool,
) -> Circuit | None:
    """
    Return the lap of drives, timed by ``runs`` that were held out; None if there is none.

    It starts where timing is surest, or ``at_mark`` where a ring begins, at (radius, 0).
    """
    circuit = find_circuit(places, tracks, period_s)
    if circuit is None:
        return None
    circuit = calibrated(circuit, runs)
    if at_mark:
        mark = circuit.locate(np.array([circuit.length_m, 0.0]) / (2.0 * np.pi), np.zeros(2))
        circuit = circuit.starting_at(mark.metres)
    laps = [
        laps_along(circuit, way_along(circuit, track, velocities(track, period_s)), period_s)
        for track in tracks
    ]
    return with_spreads(circuit, np.concatenate(laps))


def find_circuit(places: Places, tracks: Sequence[Floats], period_s: float) -> Circuit | None:
    """
    Return the lap that drives repeat, and how long it takes; None if they repeat none.

    ``tracks`` (T, 2), metres at each tick, are those that were merged into the places.
    """
    lap = _usual_lap(places)
    if lap is None:
        return None
    loop = places.visited[lap[0] : lap[1]]
    return _closed(
        _mean_positions(places, tracks)[loop],
        _usual_ticks(places, loop) * period_s,
        places.radius_m,
    )


def _usual_lap(places: Places) -> tuple[int, int] | None:
    """
    Return first and last visit of a usual lap: it ends where it began; None if there is none.

    A lap takes as long as the way back to a place that a vehicle is on at most times, so that
    spins and pit lanes count by what they last. Of the place with most such laps it is the median
    one.
    """
    # It takes SciPy, which a node does without.
    from two_manifold_ros.route.merging import FINENESS, SAME_PASS_STEPS  # noqa: PLC0415

    order = np.lexsort((np.arange(len(places.visited)), places.runs, places.visited))
    place, run = places.visited[order], places.runs[order]
    same = (place[1:] == place[:-1]) & (run[1:] == run[:-1])
    # Else the vehicle has not been away.
    again = np.flatnonzero(same & (np.diff(order) > FINENESS * SAME_PASS_STEPS))
    if not len(again):
        return None
    first, last = order[again], order[again + 1]
    took = places.times[last] - places.times[first]
    ranked = np.argsort(took, kind='stable')
    spent = np.cumsum(took[ranked])
    usual = took[ranked[np.searchsorted(spent, 0.5 * spent[-1])]]
    like_one = np.abs(took / usual - 1.0) <= LIKE_A_LAP
    gate = np.argmax(np.bincount(places.visited[first[like_one]]))
    laps = np.flatnonzero(like_one & (places.visited[first] == gate))
    chosen = laps[np.argsort(took[laps], kind='stable')[len(laps) // 2]]
    return int(first[chosen]), int(last[chosen])


def _mean_positions(places: Places, tracks: Sequence[Floats]) -> Floats:
    """Return the mean position of the visits of each place (P, 2), metres."""
    sums, counts = np.zeros((len(places), 2)), np.zeros(len(places))
    for number, track in enumerate(tracks):
        own = places.segments == number
        known = np.flatnonzero(np.isfinite(track).all(axis=1))
        if own.any():
            times = places.times[own].clip(known[0], known[-1])
            at = np.column_stack([np.interp(times, known, axis) for axis in track[known].T])
            np.add.at(sums, places.visited[own], at)
            np.add.at(counts, places.visited[own], 1.0)
    return sums / np.maximum(counts, 1.0)[:, None]


def _usual_ticks(places: Places, loop: Ints) -> Floats:
    """Return the median time from each place of a loop (n,) to the next, ticks."""
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
    return np.array([max(float(np.median(each)), 0.0) if len(each) else usual for each in parts])


def _closed(points: Floats, seconds: Floats, radius_m: float) -> Circuit:
    """
    Return the circuit along (n, 2) points, each so many seconds (n,) before the next.

    Places of several lanes lie beside each other, so the line through them is smoothed: over half
    the way that they lie apart, or as much as it takes for it nowhere to turn by more than two
    directions of one way may differ.
    """
    count = len(points)
    spacing = float(np.median(np.linalg.norm(np.diff(points, axis=0), axis=1)))
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


def predicted(course: Floats, elapsed: Floats | float, passed: Floats | float) -> Floats | float:
    """
    Return the time that a lap will have taken, s.

    What is left of the lap takes as long as on the ``course``, times the root of how much longer
    this lap took so far: half of what differs between laps lasts until their end. It matters
    little: of nine drives, half a lap before the line, the root erred least on four, no factor at
    all on three, and the fourth root on two (tried once, by hand).

    Parameters
    ----------
    course : (n + 1,)
        Usual time from the start line to each point, s.
    elapsed, passed
        How long this lap took so far, and how long it usually takes to the same place, s.

    """
    # Just after the line nothing is known of this lap yet: what is a moment off counts for little.
    moment = NEARBY * course[-1]
    slower = np.sqrt((np.maximum(elapsed, 0.0) + moment) / (passed + moment))
    slower = np.clip(slower, 1.0 - LIKE_A_LAP, 1.0 + LIKE_A_LAP)
    lap: Floats | float = elapsed + (course[-1] - passed) * slower
    return lap


def with_spreads(circuit: Circuit, laps: Floats) -> Circuit:
    """Return a circuit with the errors of predicted laps, of those (L, n + 1) of the training."""
    left = circuit.lap_s - circuit.seconds
    if len(laps):
        errors = predicted(circuit.seconds, laps, circuit.seconds) - laps[:, -1:]
        return replace(circuit, spreads=np.sqrt(np.square(errors).mean(axis=0)))
    return replace(circuit, spreads=LIKE_A_LAP * left)


def way_along(circuit: Circuit, positions: Floats, directions: Floats) -> Floats:
    """
    Return the way along a circuit at each of (T, 2) positions, metres, unwrapped over laps: (T,).

    It is NaN off the circuit and where no position is known.
    """
    length = circuit.length_m
    found = np.full(len(positions), np.nan)
    known = np.isfinite(positions).all(axis=1) & np.isfinite(directions).all(axis=1)
    for tick in np.flatnonzero(known).tolist():
        found[tick] = circuit.locate(positions[tick], directions[tick]).metres
    known = np.isfinite(found)
    found[known] = np.unwrap(found[known], period=length)
    return found


def laps_along(circuit: Circuit, ways: Floats, period_s: float) -> Floats:
    """
    Return the time since the start line at each point on each whole lap, s: (L, n + 1).

    ``ways`` (T,) are those of `way_along`; a lap with a gap is left out.
    """
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

    Parameters
    ----------
    circuit
        Any start line.
    runs
        Of drives that were held out: positions and velocities (T, 2) as they were estimated,
        covariances (T, 2, 2) of the positions, and true positions and velocities, NaN where they
        do not count.

    """
    lap_s, length = circuit.lap_s, circuit.length_m
    found: list[tuple[float, float, float, float]] = []
    first = 0.0
    for positions, estimated, covariances, truths, directions in runs:
        ways = way_along(circuit, truths, directions)
        first += 1.0 + max((lap for *_, lap in found), default=0.0)
        for tick in np.flatnonzero(np.isfinite(ways)).tolist():
            spot = circuit.locate(positions[tick], estimated[tick], covariances[tick])
            error = circuit.seconds_at(spot.metres) - circuit.seconds_at(ways[tick])
            error = (error + 0.5 * lap_s) % lap_s - 0.5 * lap_s
            # What is farther off is lost, and published by no filter.
            if abs(error) < LIKE_A_LAP * lap_s:
                deviation = circuit.deviation_at(spot.metres, spot.deviation_m)
                found.append((error, deviation, ways[tick] % length, first + ways[tick] // length))
    if not found:
        return circuit.surest_start()
    every, usual, at, lap = np.array(found).T
    ratios = np.square(every / np.maximum(usual, 1e-9 * lap_s))
    sureness = math.sqrt(float(ratios.mean()))
    count = len(circuit)
    points = (at / length * count).astype(np.int64) % count
    squares = _around(np.bincount(points, np.square(every), count), count)
    weights = _around(np.bincount(points, minlength=count), count)
    deviations = np.sqrt(squares / np.maximum(weights, 1e-9))
    # Where hardly a drive was held out it is as sure as on the whole lap.
    deviations[weights < 0.05 * weights.mean()] = math.sqrt(float(np.square(every).mean()))
    timed = replace(
        circuit,
        deviations=deviations,
        sureness=min(max(sureness, 0.1), 10.0),
        repeated=_repeated(every, at / length, lap),
    )
    return timed.surest_start()


def _around(values: Floats | Ints, count: int) -> Floats:
    """Return a sum over the points around each, by a normal kernel that closes."""
    kept = np.exp(-2.0 * np.square(np.pi * NEARBY * count * np.fft.rfftfreq(count)))
    smoothed: Floats = np.fft.irfft(np.fft.rfft(values) * kept, count)
    return np.maximum(smoothed, 0.0)


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
