# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Lap timing: passages of lines as a user names them, lap and sector times, deltas, forecasts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
import itertools
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.compilation import exact
from two_manifold_ros.errors import InputError
from two_manifold_ros.model.circuit import (
    Circuit,
    deviation_at,
    evenly,
    find_spot,
    metres_at,
    NEARBY,
    predicted,
    seconds_at,
    UNSURE,
)
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.route.route import LIMITS
from two_manifold_ros.ticks.rest import stretches_of
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.circuit import Known
    from two_manifold_ros.model.model import ModelHead


THIRDS = (1 / 3, 2 / 3)
"""Where the second and the third sector begin by default, as shares of a lap."""


class Timed(NamedTuple):
    """A duration and its standard deviation, s; NaN where unknown."""

    seconds: float
    deviation_s: float


UNKNOWN = Timed(math.nan, math.nan)

EXACT = np.zeros((2, 2))
"""The covariance of a position that does not err."""


@dataclass(frozen=True)
class Lap:
    """A lap that is over, counted from 1; what was not seen of it is None or unknown."""

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
        found: dict[str, float] = {}
        for name, each in vars(self).items():
            if isinstance(each, Timed):
                found |= {f'{name}_s': each.seconds, f'{name}_std_s': each.deviation_s}
            elif name != 'stamp_ns':
                found[name.replace('deviation', 'std')] = float(each)
        return found


AT, WAY, LATE, ASIDE = range(4)
"""Of a mark (4,): s since the first stamp, m since lap 0 began, and deviations of both."""

OFF, STARTS, ELSEWHERE, ONWARD = range(4)
"""What a vehicle did: it is off, came to the circuit, was not where it seemed to be, drove on."""


@exact
def _follow(
    at_s: float, position: Floats, direction: Floats, covariance: Floats, fastest_mps: float,
    known: Known, last: Floats, now: Floats,
) -> int:  # fmt: skip
    """Fill the mark ``now`` after the ``last`` one, NaN if there is none; return what it did."""
    length, low, span = known[4][0], 0.0, -1.0
    if not math.isnan(last[AT]):
        unsure = UNSURE * last[ASIDE] + length / len(known[0])
        ahead = fastest_mps * max(at_s - last[AT], 0.0)
        if ahead + 2.0 * unsure < length:
            low = last[WAY] - unsure
            span = last[WAY] + ahead + unsure - low
    metres, _, deviation = find_spot(position, direction, covariance, low, span, known)
    if math.isnan(metres):
        return OFF
    now[AT], now[WAY], now[ASIDE] = at_s, metres, deviation
    now[LATE] = deviation_at(metres, deviation, known)
    if not at_s > last[AT]:
        return STARTS
    elapsed = at_s - last[AT]
    usual = metres_at(seconds_at(last[WAY], known) + elapsed, known) - last[WAY]
    unseen = usual >= length
    if unseen:
        # Nobody knows how many laps were driven: at least the rest of this one.
        usual %= length
    step = (metres - last[WAY]) % length
    step += length * np.rint((usual - step) / length)
    now[WAY] = last[WAY] + step
    # Many ticks on a line show jitter beyond any few deviations, and nobody is lost in a bend.
    unsure = max(UNSURE * math.hypot(last[ASIDE], deviation), NEARBY * length)
    # It may not be where it was thought to be, or nobody saw how it came here.
    if unseen or not -unsure <= step <= fastest_mps * elapsed + unsure:
        return ELSEWHERE
    return ONWARD


@exact
def _fill(
    last: Floats, now: Floats, until_m: float, begin: Floats, known: Known, end: Floats,
    course: Floats,
) -> None:  # fmt: skip
    """
    Fill the mark ``end`` at which a place between two marks was passed, and a lap up to there.

    Of the lap that began at a mark, NaN if unknown, the ``course`` (2, n + 1) gets s since its
    start at which points were passed, and deviations.
    """
    before, after = seconds_at(last[WAY], known), seconds_at(now[WAY], known)
    share = (seconds_at(until_m, known) - before) / (after - before) if after > before else 1.0
    share = min(max(share, 0.0), 1.0)
    for i in range(4):
        end[i] = last[i] + share * (now[i] - last[i])
    end[WAY] = until_m
    start = begin if begin[WAY] > last[WAY] else last
    way_m, driven = begin[WAY], end[WAY] - start[WAY]
    if math.isnan(begin[AT]) or not driven > 0.0:
        return
    metres = known[2]
    for i in range(len(metres)):
        if start[WAY] - way_m < metres[i] <= end[WAY] - way_m:
            share = (metres[i] + way_m - start[WAY]) / driven
            course[0, i] = start[AT] + share * (end[AT] - start[AT]) - begin[AT]
            late = start[LATE] + share * (end[LATE] - start[LATE])
            course[1, i] = math.hypot(late, begin[LATE])


class LapTimer:
    """
    Follow the laps of a vehicle along a circuit, from one estimate to the next.

    A line is passed between two ticks, at the time by the usual speeds. If the vehicle was found
    elsewhere, or nothing was seen for a usual lap or longer, the lap goes on without a time. The
    circuit begins at the start line, and sectors after the first at shares of a lap in (0, 1), in
    order. ``laps`` are over; ``number`` is of the lap under way.
    """

    def __init__(self, circuit: Circuit, sectors: Sequence[float] = THIRDS) -> None:
        self.circuit, self.sectors = circuit, tuple(sectors)
        # Means over training and each lap since: the course, and squared errors of predictions.
        self._mean = circuit.seconds.copy()
        self._squares = np.square(circuit.spreads)
        self._driven = 0
        self._fastest_mps = LIMITS.fastest * circuit.top_mps
        self._lines: list[float] = (circuit.length_m * np.array([0.0, *sectors])).tolist()
        self.laps: list[Lap] = []
        self._origin_ns: int | None = None
        self._last, self._now, self._passed = np.full((3, 4), np.nan)
        self._farthest = 0.0
        self.number = 0
        self._forget()
        unknown = np.full((2, len(circuit) + 1), np.nan)
        self._courses = {'last': unknown, 'best': unknown}
        self._times = {'last': UNKNOWN, 'best': UNKNOWN}
        self._last_sector = UNKNOWN

    @property
    def way_m(self) -> float:
        """Way since the start line at the farthest place of the lap, m: what was passed."""
        return self._farthest % self.circuit.length_m

    def warm_up(self) -> None:
        """Compile all that a lap needs: a spare timer is driven around twice."""
        circuit, spare = self.circuit, LapTimer(self.circuit, self.sectors)
        for tick in range(2 * len(circuit) + 2):
            lap, at = divmod(tick, len(circuit))
            stamp_ns = round(1e9 * (lap * circuit.lap_s + circuit.seconds[at]))
            spare.follow(stamp_ns, circuit.points[at].copy(), circuit.headings[at].copy())

    def push(self, estimate: Estimate) -> LapState | None:
        """Take an estimate; return the state, or None where no place on the circuit is known."""
        if not estimate.valid:
            return None
        covariance = estimate.covariances[0]
        return self.follow(estimate.stamp_ns, estimate.positions[0], estimate.velocity, covariance)

    def follow(
        self, stamp_ns: int, position: Floats, direction: Floats, covariance: Floats = EXACT
    ) -> LapState | None:
        """Take a position, as `Circuit.locate` does, at a stamp; return as `push` does."""
        circuit, last, now = self.circuit, self._last, self._now
        origin_ns = stamp_ns if self._origin_ns is None else self._origin_ns
        did = _follow(
            (stamp_ns - origin_ns) * 1e-9, position, direction, covariance, self._fastest_mps,
            circuit.known, last, now,
        )  # fmt: skip
        if did == OFF:
            return None
        self._origin_ns = origin_ns
        way_m, length = float(now[WAY]), circuit.length_m
        if did != ONWARD:
            self._forget()
        elif way_m > self._farthest:
            for lap in range(math.floor(self._farthest / length), math.floor(way_m / length) + 1):
                for sector, line in enumerate(self._lines):
                    if self._farthest < lap * length + line <= way_m:
                        self._pass(sector, lap * length + line)
            _fill(last, now, way_m, self._begin, circuit.known, self._passed, self._course)
        self._farthest = way_m if did != ONWARD else max(self._farthest, way_m)
        self._last, self._now = now, last
        return self._state(stamp_ns)

    def _forget(self) -> None:
        """Forget the lap that is under way; what is over stays."""
        self._begin = np.full(4, np.nan)
        self._passages: dict[int, Floats] = {}
        # Seconds since the start of the lap at which each point was passed, and deviations.
        self._course = np.full((2, len(self.circuit) + 1), np.nan)

    def _pass(self, sector: int, way_m: float) -> None:
        """Pass a line on the way to the newest mark: end a sector, and a lap at the start line."""
        passages, passage = self._passages, np.zeros(4)
        known = self.circuit.known
        _fill(self._last, self._now, way_m, self._begin, known, passage, self._course)
        before = passages.get((sector - 1) % len(self._lines))
        self._last_sector = UNKNOWN if before is None else _from(before, passage)
        if sector:
            passages[sector] = passage
            return
        if self.number:
            begin, time, began = passages.get(0), UNKNOWN, None
            if begin is not None:
                time = _from(begin, passage, self.circuit.repeated)
                began = (self._origin_ns or 0) + round(begin[AT] * 1e9)
                self._learn(time.seconds)
                best = not time.seconds >= self._times['best'].seconds
                for name in ('last', 'best')[: 1 + best]:
                    self._courses[name], self._times[name] = self._course, time
            lines = [*map(passages.get, range(len(self._lines))), passage]
            sectors = tuple(
                UNKNOWN if start is None or end is None else _from(start, end)
                for start, end in itertools.pairwise(lines)
            )
            self.laps.append(Lap(self.number, began, time, sectors))
        self.number += 1
        self._forget()
        self._begin = self._passages[0] = passage

    def _learn(self, lap_s: float) -> None:
        """Learn from a lap that is over."""
        seconds = np.append(self._course[0, :-1], lap_s)
        seconds[0] = 0.0
        if not np.isfinite(seconds).all():
            return
        pairs = zip(seconds, self._mean, strict=True)
        errors = np.array([predicted(self._mean, *each) for each in pairs]) - lap_s
        self._driven += 1
        self._squares += (np.square(errors) - self._squares) / (self._driven + 1)
        self._mean += (seconds - self._mean) / (self._driven + 1)

    def _state(self, stamp_ns: int) -> LapState:
        metres = float(self._last[WAY]) % self.circuit.length_m
        phase, elapsed = metres / self.circuit.length_m, _from(self._begin, self._last)
        since_s, late_s = elapsed
        lap_s = predicted(self._mean, since_s, evenly(self._mean, phase))
        beside = {}
        for name, (seconds, deviations) in self._courses.items():
            late = math.hypot(late_s, evenly(deviations, phase))
            beside[f'to_{name}'] = Timed(since_s - evenly(seconds, phase), late)
        return LapState(
            stamp_ns=stamp_ns,
            lap=self.number,
            sector=bisect_right(self._lines, metres),
            phase=phase,
            distance_m=metres,
            distance_deviation_m=float(self._last[ASIDE]),
            elapsed=elapsed,
            predicted=Timed(lap_s, math.sqrt(evenly(self._squares, phase) + late_s**2)),
            last_sector=self._last_sector,
            **beside,
            **self._times,
        )


def _from(begin: Floats, end: Floats, repeated: float = 1.0) -> Timed:
    """Return the time between two marks; at the same place a share of their errors cancels."""
    late_s = repeated * math.hypot(begin[LATE], end[LATE])
    return Timed(float(end[AT]) - float(begin[AT]), late_s)


NO_LAPS = (
    'the drives of the training never come back to where they were, or are errands on a network '
    'of roads, so there are no laps to time; train on whole laps'
)


def live_timer(model: ModelHead, start_line: str = '', sectors: str = '') -> LapTimer | None:
    """Return a timer of estimates as they come; None if no lap is known and no line is named."""
    # Looking for the lap of a model that is no map of the route would hold up the node.
    named = start_line.strip() or sectors.strip()
    if model.route_model is not None:
        return make_timer(model, start_line, sectors) if named or model.circuit else None
    if named:
        raise InputError(
            'start_line and sectors are of laps, which live only a map of the route has: leave '
            'them out, or use a model of --method route'
        )
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
        raise InputError(
            f'{(start_line + " " + sectors).strip()!r} has a place, and the model knows laps and '
            'no positions: write shares of a lap from 0 to 1, such as 0.25'
        )
    if start_line.strip():
        circuit = circuit.starting_at(_metres(circuit, start_line.strip(), 'start line'))
    if not sectors.strip():
        return LapTimer(circuit)
    words = sectors.replace(';', ' ').split()
    shares = [_metres(circuit, each, 'sector') / circuit.length_m for each in words]
    if sorted({0.0, *shares, 1.0}) != [0.0, *shares, 1.0] or not shares:
        raise InputError(
            f'sectors {sectors!r}: name where each sector after the first begins, in the order '
            'driven, apart by blanks and none on the start line, such as 0.33 0.66'
        )
    return LapTimer(circuit, shares)


def circuit_of(model: ModelHead) -> Circuit:
    """Return the lap of a model: of its route or its track; an ``InputError`` if there is none."""
    if model.circuit is not None:
        return model.circuit
    if model.route_model is not None:
        raise InputError(NO_LAPS)
    # It takes SciPy, which a node of a route does without.
    from two_manifold_ros.model.circuit import learn_circuit  # noqa: PLC0415
    from two_manifold_ros.route.merging import merge_passes  # noqa: PLC0415

    known = np.asarray(np.isfinite(model.track).all(axis=1))
    tracks = [model.track[begin:end] for begin, end in stretches_of(known) if end - begin > 2]
    period_s = 1.0 / model.rate_hz
    places = merge_passes(tracks, period_s) if tracks else None
    if places is not None:
        circuit = learn_circuit(places, tracks, period_s, (), at_mark=False)
        if circuit is not None:
            return circuit
    raise InputError(NO_LAPS)


def _metres(circuit: Circuit, text: str, what: str) -> float:
    """Return how far after the start line a named line is."""
    try:
        numbers = [float(each) for each in text.split(',')]
    except ValueError:
        numbers = []
    if len(numbers) == 1 and 0.0 <= numbers[0] < 1.0:
        return numbers[0] * circuit.length_m
    if len(numbers) != 2 or not all(map(math.isfinite, numbers)):
        raise InputError(
            f'{what} {text!r}: write X,Y in metres, or a share of a lap from 0 to below 1 such as '
            '0.25; several are apart by blanks'
        )
    spot = circuit.locate(np.array(numbers), np.zeros(2))
    if math.isnan(spot.metres):
        raise InputError(
            f'{what} {text!r} is {spot.aside_m:.2f} m beside the route; name a place on it, in '
            'the coordinates of the training positions'
        )
    return spot.metres
