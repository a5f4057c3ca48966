# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Lap timing: passages of lines as a user names them, lap and sector times, deltas, forecasts."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.model.circuit import Circuit, evenly, NEARBY, predicted, UNSURE
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.route.route import LIMITS
from two_manifold_ros.ticks.standing import stretches_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.model import ModelHead
    from two_manifold_ros.typing import Floats


THIRDS = (1 / 3, 2 / 3)
"""Where the second and the third sector begin by default, as shares of a lap."""


class Timed(NamedTuple):
    """A duration and its standard deviation, s; NaN where unknown."""

    seconds: float
    deviation_s: float

    def __sub__(self, other: object) -> Timed:
        """Return the difference of two whose errors are independent."""
        if not isinstance(other, Timed):
            return NotImplemented
        return Timed(self.seconds - other.seconds, math.hypot(self.deviation_s, other.deviation_s))


UNKNOWN = Timed(math.nan, math.nan)


@dataclass(frozen=True)
class Lap:
    """
    A lap that is over; its number counts passages of the start line, from 1 on.

    Its begin is None if it was not seen, and its time unknown if the vehicle was lost between.
    """

    number: int
    begin_ns: int | None
    time: Timed
    sectors: tuple[Timed, ...]


@dataclass(frozen=True)
class LapState:
    """
    Where a vehicle is on its lap at a tick, and how the lap goes.

    The lap is 0 before the start line was first passed; sectors count from 1. It took by
    ``to_best`` and ``to_last`` longer to this place than on these laps, and will have taken
    ``predicted``.
    """

    stamp_ns: int
    lap: int
    sector: int
    phase: float
    distance_m: float
    distance_deviation_m: float
    elapsed: Timed
    to_best: Timed
    to_last: Timed
    predicted: Timed
    last: Timed
    best: Timed
    last_sector: Timed

    def numbers(self) -> dict[str, float]:
        """Return all numbers by name, those that are timed with their standard deviations."""
        found = {
            'lap': float(self.lap),
            'sector': float(self.sector),
            'phase': self.phase,
            'distance_m': self.distance_m,
            'distance_std_m': self.distance_deviation_m,
        }
        for name, timed in vars(self).items():
            if isinstance(timed, Timed):
                found |= {f'{name}_s': timed.seconds, f'{name}_std_s': timed.deviation_s}
        return found


class _Mark(NamedTuple):
    """A vehicle on its way: s since the first stamp, m since lap 0 began, and deviations."""

    at_s: float
    way_m: float
    deviation_s: float
    deviation_m: float


class LapTimer:
    """
    Follow the laps of a vehicle along a circuit, from one estimate to the next.

    A line is passed between two ticks, at the time by the usual speeds. If the vehicle was found
    elsewhere, or nothing was seen for a usual lap or longer, no passage is made up: the lap goes
    on without a time. The circuit begins at the start line, and sectors after the first at shares
    of a lap in (0, 1), in order. ``laps`` are over; ``number`` is of the lap under way.
    """

    def __init__(self, circuit: Circuit, sectors: Sequence[float] = THIRDS) -> None:
        self.circuit, self.sectors = circuit, tuple(sectors)
        # Means over training and each lap since: the course, and squared errors of predictions.
        self._mean = circuit.seconds.copy()
        self._squares = np.square(circuit.spreads)
        self._driven = 0
        self._top_mps = circuit.top_mps
        self._lines = circuit.length_m * np.array([0.0, *sectors])
        self.laps: list[Lap] = []
        self._origin_ns: int | None = None
        self._last: _Mark | None = None
        self._farthest = 0.0
        self.number = 0
        self._forget()
        self._courses: dict[str, Floats] = {}
        self._times = {'last': UNKNOWN, 'best': UNKNOWN}
        self._last_sector = UNKNOWN

    @property
    def way_m(self) -> float:
        """Way since the start line at the farthest place of the lap, m: what was passed."""
        return self._farthest % self.circuit.length_m

    def push(self, estimate: Estimate) -> LapState | None:
        """Take an estimate; return the state, or None where no place on the circuit is known."""
        if not estimate.valid:
            return None
        covariance = estimate.covariances[0]
        return self.follow(estimate.stamp_ns, estimate.positions[0], estimate.velocity, covariance)

    def follow(
        self, stamp_ns: int, position: Floats, direction: Floats, covariance: Floats | None = None
    ) -> LapState | None:
        """Take a position, as `Circuit.locate` does, at a stamp; return as `push` does."""
        circuit, between = self.circuit, None
        last = self._last
        if last is not None and self._origin_ns is not None:
            elapsed = max((stamp_ns - self._origin_ns) * 1e-9 - last.at_s, 0.0)
            unsure = UNSURE * last.deviation_m + circuit.length_m / len(circuit)
            ahead = LIMITS.fastest * self._top_mps * elapsed
            if ahead + 2.0 * unsure < circuit.length_m:
                between = last.way_m - unsure, last.way_m + ahead + unsure
        spot = circuit.locate(position, direction, covariance, between)
        if math.isnan(spot.metres):
            return None
        if self._origin_ns is None:
            self._origin_ns = stamp_ns
        at_s = (stamp_ns - self._origin_ns) * 1e-9
        deviation_s = circuit.deviation_at(spot.metres, spot.deviation_m)
        seen = _Mark(at_s, spot.metres, deviation_s, spot.deviation_m)
        if self._last is None or at_s <= self._last.at_s:
            self._forget()
            self._last, self._farthest = seen, seen.way_m
        else:
            seen = self._advance(self._last, seen)
        return self._state(stamp_ns, seen)

    def _forget(self) -> None:
        """Forget the lap that is under way; what is over stays."""
        self._begin: _Mark | None = None
        self._passages: dict[int, _Mark] = {}
        self._lap_way = 0.0
        # Seconds since the start of the lap at which each point was passed, and deviations.
        self._course = np.full((2, len(self.circuit) + 1), np.nan)

    def _advance(self, last: _Mark, seen: _Mark) -> _Mark:
        """Go on to a place that was ``seen`` within a lap, and pass the lines between."""
        circuit, length = self.circuit, self.circuit.length_m
        elapsed = seen.at_s - last.at_s
        usual = circuit.metres_at(circuit.seconds_at(last.way_m) + elapsed) - last.way_m
        unseen = usual >= length
        if unseen:
            # Nobody knows how many laps were driven: at least the rest of this one.
            usual %= length
        step = (seen.way_m - last.way_m) % length
        step += length * round((usual - step) / length)
        now = seen._replace(way_m=last.way_m + step)
        # Many ticks on a line show jitter beyond any few deviations, and nobody is lost in a bend.
        unsure = max(UNSURE * math.hypot(last.deviation_m, seen.deviation_m), NEARBY * length)
        if unseen or not -unsure <= step <= LIMITS.fastest * self._top_mps * elapsed + unsure:
            # It was not where it was thought to be, or nobody saw how it came here.
            self._forget()
            self._lap_way = length * math.floor(now.way_m / length)
            self._farthest = now.way_m
        if now.way_m > self._farthest:
            self._pass_lines(last, now)
            self._farthest = now.way_m
        self._last = now
        return now

    def _pass_lines(self, last: _Mark, now: _Mark) -> None:
        length = self.circuit.length_m
        first = math.floor(self._farthest / length)
        for lap in range(first, math.floor(now.way_m / length) + 1):
            for sector, line in enumerate(self._lines.tolist()):
                way = lap * length + line
                if self._farthest < way <= now.way_m:
                    self._fill(last, now, way)
                    self._pass(sector, self._between(last, now, way))
        self._fill(last, now, now.way_m)

    def _between(self, last: _Mark, now: _Mark, way_m: float) -> _Mark:
        """Return the passage of a place between two marks."""
        seconds_at = self.circuit.seconds_at
        begin, end = seconds_at(last.way_m), seconds_at(now.way_m)
        share = (seconds_at(way_m) - begin) / (end - begin) if end > begin else 1.0
        share = min(max(share, 0.0), 1.0)
        passed = _Mark(*(a + share * (b - a) for a, b in zip(last, now, strict=True)))
        return passed._replace(way_m=way_m)

    def _fill(self, last: _Mark, now: _Mark, until_m: float) -> None:
        """Note when the points between two marks of the lap were passed."""
        begin, way_m = self._begin, self._lap_way
        if begin is None or not now.way_m > last.way_m:
            return
        end = self._between(last, now, until_m)
        start = max(last, begin, key=lambda mark: mark.way_m)
        if not end.way_m > start.way_m:
            return
        metres = self.circuit.metres
        edges = [start.way_m - way_m, end.way_m - way_m]
        between = slice(*np.searchsorted(metres, edges, side='right'))
        share = (metres[between] + way_m - start.way_m) / (end.way_m - start.way_m)
        seconds = start.at_s + share * (end.at_s - start.at_s)
        deviations = start.deviation_s + share * (end.deviation_s - start.deviation_s)
        self._course[0, between] = seconds - begin.at_s
        self._course[1, between] = np.hypot(deviations, begin.deviation_s)

    def _pass(self, sector: int, passage: _Mark) -> None:
        """Pass a line: end a sector, and a lap at the start line."""
        count = len(self._lines)
        before = self._passages.get((sector - 1) % count)
        self._last_sector = UNKNOWN if before is None else _from(before, passage)
        if sector:
            self._passages[sector] = passage
            return
        if self.number:
            self._end_lap(passage)
        self.number += 1
        self._forget()
        self._begin, self._lap_way = passage, passage.way_m
        self._passages[0] = passage

    def _end_lap(self, passage: _Mark) -> None:
        begin, lines = self._begin, [self._passages.get(each) for each in range(len(self._lines))]
        time = UNKNOWN if begin is None else _from(begin, passage, self.circuit.repeated)
        if begin is not None:
            self._learn(time.seconds)
            best = not time.seconds >= self._times['best'].seconds
            for name in ('last', 'best')[: 1 + best]:
                self._courses[name], self._times[name] = self._course, time
        sectors = [
            UNKNOWN if start is None or end is None else _from(start, end)
            for start, end in zip(lines, [*lines[1:], passage], strict=True)
        ]
        began = None if begin is None else (self._origin_ns or 0) + round(begin.at_s * 1e9)
        self.laps.append(Lap(self.number, began, time, tuple(sectors)))

    def _learn(self, lap_s: float) -> None:
        """Learn from a lap that is over."""
        seconds = np.append(self._course[0, :-1], lap_s)
        seconds[0] = 0.0
        if not np.isfinite(seconds).all():
            return
        errors = predicted(self._mean, seconds, self._mean) - lap_s
        self._driven += 1
        self._squares += (np.square(errors) - self._squares) / (self._driven + 1)
        self._mean += (seconds - self._mean) / (self._driven + 1)

    def _state(self, stamp_ns: int, now: _Mark) -> LapState:
        length = self.circuit.length_m
        metres = now.way_m % length
        phase = metres / length
        elapsed = UNKNOWN if self._begin is None else _from(self._begin, now)
        to_best, to_last = (
            elapsed - Timed(*(evenly(each, phase) for each in self._courses[name]))
            if name in self._courses
            else UNKNOWN
            for name in ('best', 'last')
        )
        return LapState(
            stamp_ns=stamp_ns,
            lap=self.number,
            sector=int(np.searchsorted(self._lines, metres, side='right')),
            phase=phase,
            distance_m=metres,
            distance_deviation_m=now.deviation_m,
            elapsed=elapsed,
            to_best=to_best,
            to_last=to_last,
            predicted=Timed(
                float(predicted(self._mean, elapsed.seconds, evenly(self._mean, phase))),
                math.sqrt(evenly(self._squares, phase) + elapsed.deviation_s**2),
            ),
            last=self._times['last'],
            best=self._times['best'],
            last_sector=self._last_sector,
        )


def _from(begin: _Mark, end: _Mark, repeated: float = 1.0) -> Timed:
    """Return the time between two marks; at the same place a share of their errors cancels."""
    return Timed(end.at_s - begin.at_s, repeated * math.hypot(begin.deviation_s, end.deviation_s))


NO_LAPS = (
    'the drives of the training never come back to where they were, or are errands on a network '
    'of roads, so there are no laps to time; train on whole laps'
)


def live_timer(model: ModelHead, start_line: str = '', sectors: str = '') -> LapTimer | None:
    """
    Return a timer of estimates as they come; None if no lap is known and no line is named.

    A map of the route holds its lap; looking for the lap of another model would hold up the node.
    """
    named = start_line.strip() or sectors.strip()
    if model.route_model is not None:
        return make_timer(model, start_line, sectors) if named or model.circuit else None
    if named:
        msg = (
            'start_line and sectors are of laps, which live only a map of the route has: leave '
            'them out, or use a model of --method route'
        )
        raise InputError(msg)
    return None


def make_timer(model: ModelHead, start_line: str = '', sectors: str = '') -> LapTimer:
    """
    Return a timer of the laps of a model; an ``InputError`` says that a line is no place on it.

    The ``start_line`` is ``X,Y`` in metres or a share of a lap after the usual start line, where
    timing is surest. ``sectors`` after the first begin at such places, apart by blanks or
    semicolons; their shares count from the start line. Without them there are thirds.
    """
    circuit = circuit_of(model)
    if model.frame_id == LAP_FRAME and ',' in start_line + sectors:
        msg = (
            f'{(start_line + " " + sectors).strip()!r} has a place, and the model knows laps and '
            'no positions: write shares of a lap from 0 to 1, such as 0.25'
        )
        raise InputError(msg)
    if start_line.strip():
        circuit = circuit.starting_at(_metres(circuit, start_line.strip(), 'start line'))
    return LapTimer(circuit, _shares(circuit, sectors) if sectors.strip() else THIRDS)


def lines_in_words(timer: LapTimer, frame: str) -> str:
    """Return the lines that a timer has, of a model whose positions are in a frame."""
    circuit = timer.circuit
    x, y = circuit.points[0].tolist()
    if frame == LAP_FRAME:
        share = math.atan2(y, x) / (2.0 * math.pi) % 1.0
        where = f'{share:.3f} of a lap after the start of the laps of the training'
    else:
        where = f'({x:.2f}, {y:.2f}) m, {circuit.length_m:.2f} m around'
    sectors = ', '.join(f'{each:.3f}' for each in timer.sectors)
    return (
        f'Times laps of usually {circuit.lap_s:.3f} s: start line at {where}; sectors end at '
        f'{sectors} and 1 of a lap'
    )


def circuit_of(model: ModelHead) -> Circuit:
    """Return the lap of a model: of its route or its track; an ``InputError`` if there is none."""
    if model.circuit is not None:
        return model.circuit
    if model.route_model is not None:
        raise InputError(NO_LAPS)
    # It takes SciPy, which a node of a route does without.
    from two_manifold_ros.model.circuit_learning import learn_circuit  # noqa: PLC0415
    from two_manifold_ros.route.merging import merge_passes  # noqa: PLC0415

    known = np.asarray(np.isfinite(model.track).all(axis=1))
    tracks = [model.track[begin:end] for begin, end in stretches_of(known) if end - begin > 2]
    period_s = 1.0 / model.rate_hz
    places = merge_passes(tracks, period_s) if tracks else None
    circuit = (
        None if places is None else learn_circuit(places, tracks, period_s, (), at_mark=False)
    )
    if circuit is None:
        raise InputError(NO_LAPS)
    return circuit


def _shares(circuit: Circuit, sectors: str) -> Sequence[float]:
    words = sectors.replace(';', ' ').split()
    shares = [_metres(circuit, each, 'sector') / circuit.length_m for each in words]
    if sorted({0.0, *shares, 1.0}) != [0.0, *shares, 1.0] or not shares:
        msg = (
            f'sectors {sectors!r}: name where each sector after the first begins, in the order '
            'driven, apart by blanks and none on the start line, such as 0.33 0.66'
        )
        raise InputError(msg)
    return shares


def _metres(circuit: Circuit, text: str, what: str) -> float:
    """Return how far after the start line a named line is."""
    try:
        numbers = [float(each) for each in text.split(',')]
    except ValueError:
        numbers = []
    if not all(map(math.isfinite, numbers)) or len(numbers) not in {1, 2}:
        msg = (
            f'{what} {text!r}: write X,Y in metres, or a share of a lap from 0 to 1 such as 0.25; '
            'several are apart by blanks'
        )
        raise InputError(msg)
    if len(numbers) == 1:
        if not 0.0 <= numbers[0] < 1.0:
            msg = f'{what} {text!r}: a share of a lap is at least 0 and below 1'
            raise InputError(msg)
        return numbers[0] * circuit.length_m
    spot = circuit.locate(np.array(numbers), np.zeros(2))
    if math.isnan(spot.metres):
        msg = (
            f'{what} {text!r} is {spot.aside_m:.2f} m beside the route; name a place on it, in '
            'the coordinates of the training positions'
        )
        raise InputError(msg)
    return spot.metres
