# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laps while driving: timed from estimates, with a line by marks and positions by fixes."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from dataclasses import replace
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.status import Status
from two_manifold_ros.laps.ring import ClosedLine
from two_manifold_ros.laps.timing import LapTimer
from two_manifold_ros.names import LAP_FRAME

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.laps.ring import DrawnLine
    from two_manifold_ros.laps.timing import LapState
    from two_manifold_ros.model.model import RouteModel
    from two_manifold_ros.recordings.recording import GeodeticOrigin
    from two_manifold_ros.typing import Floats

LATE_S = 10.0
"""Seconds by which a mark or a fix may come after the estimates of its time."""

MOST_WAITING = 1000
"""Marks or fixes that may be ahead of the estimates: a fix at 100 Hz for as long."""

FARTHEST_M = 2e7
"""Coordinates beyond which a fix is none: half of the way around the earth; UTM has less."""

FAR_OFF, MOST_FAR_OFF = 5.0, 20
"""
Standard deviations beyond which a fix is left out, and how many in a row begin the line again.

One wrong fix would widen the line for good; where all are off, those before were wrong.
"""

STANDS = 0.05
"""Share of the mean speed of a lap below which a velocity shows no direction."""

LAST_MOVE = 64
"""Marks after which the line stays: their mean errs by an eighth of what one does."""

MORE = 1.1
"""Times as many fixes as before after which the line through them is drawn again."""

STEPS = 400
"""Parts of a lap whose lengths are summed to the way along the line through fixes."""


class _Drawn(NamedTuple):
    """The line through so many fixes, and the way along it at the ends of `STEPS` parts, m."""

    line: DrawnLine
    fixes: int
    way_m: Floats


class LiveLaps:
    """
    Time laps as estimates come, move the start line to marks, and place laps by fixes.

    A mark puts the start line where the vehicle was. Each further one makes it surer: after 2, 4,
    8 and so on, up to `LAST_MOVE`, the line moves to where most of them are, and the lap that is
    under way is timed again from it; best and last lap are forgotten then. Estimates of a model
    that knows laps and no positions get positions from fixes, see `ClosedLine`.

    Parameters
    ----------
    model
        Of the estimates.
    timer
        Times the laps until the first mark.
    clock_ns
        Where estimates are stamped as their samples arrive, the time now: the stamps of marks and
        fixes count for nothing then.

    Attributes
    ----------
    timer
        That of the start line as it is now.
    origin
        Of fixes of satellites; it comes with the first.
    frame
        Of the fixes; empty before the first.
    position_counts
        How many fixes were used, and how many were not by cause.

    """

    def __init__(
        self, model: RouteModel, timer: LapTimer, clock_ns: Callable[[], int] | None = None
    ) -> None:
        self.timer = timer
        self._circuit, self._sectors = timer.circuit, timer.sectors
        self._period_ns = model.period_ns
        self._on_ring = model.frame_id == LAP_FRAME
        points = self._circuit.points
        self._radius = float(np.median(np.hypot(points[:, 0], points[:, 1])))
        # Estimates of the last while.
        self._past: deque[Estimate] = deque()
        self._waiting: deque[tuple[int, Floats | None]] = deque(maxlen=MOST_WAITING)
        self._marks: list[float] = []
        self._marked_ns: int | None = None
        self._highest = 0
        self._far_off = 0
        self._fixes = ClosedLine()
        self._drawn: _Drawn | None = None
        self._clock_ns = clock_ns
        self.origin: GeodeticOrigin | None = None
        self.frame = ''
        self.position_counts: Counter[str] = Counter()

    @property
    def marks(self) -> int:
        """Marks that were placed, up to `LAST_MOVE`."""
        return len(self._marks)

    @property
    def fixes(self) -> int:
        """Fixes that were placed."""
        return self._fixes.fixes

    @property
    def problem(self) -> str:
        """Why fixes make no positions yet; empty if they do."""
        return '' if self._drawn is not None else self._fixes.problem

    def push(self, estimate: Estimate) -> LapState | None:
        """Take an estimate; return the state, or None where no place on the lap is known."""
        state = self.timer.push(estimate)
        # They were said as they ended, and a node runs for months.
        self.timer.laps.clear()
        if not estimate.valid:
            return None
        if self._past and estimate.stamp_ns <= self._past[-1].stamp_ns:
            self._past.clear()
            self._waiting.clear()
        self._past.append(estimate)
        while estimate.stamp_ns - self._past[0].stamp_ns > LATE_S * 1e9:
            self._past.popleft()
        moved = False
        while self._waiting and self._waiting[0][0] <= estimate.stamp_ns:
            moved |= self._take(*self._waiting.popleft())
        if moved:
            state = self._time_again(state)
        if state is None:
            return None
        # Where the line moves ahead of a vehicle that passed it, the lap goes on with its number.
        self._highest = max(self._highest, state.lap)
        return self._in_metres(replace(state, lap=self._highest))

    def go_on(self, before: LiveLaps) -> None:
        """Go on counting laps, and with the frame of the fixes, in place of another model's."""
        self.timer.number = self._highest = max(before.timer.number, before._highest)
        self.origin, self.frame = before.origin, before.frame

    @property
    def stamps_on_arrival(self) -> bool:
        """True if estimates are stamped as their samples arrive."""
        return self._clock_ns is not None

    def fits_origin(self, *, geodetic: bool) -> bool:
        """Return whether fixes of satellites, or positions in metres, go with those before."""
        return not self.frame or (self.origin is not None) == geodetic

    def take_mark(self, stamp_ns: int) -> None:
        """Take the time at which the vehicle passes the line."""
        self._add(stamp_ns, None)

    def take_position(self, stamp_ns: int, frame_id: str, x: float, y: float) -> bool:
        """Take a fix, m; return whether it is one, in the frame of those before it."""
        # Who has no fix often says so by zeros.
        if not max(abs(x), abs(y)) < FARTHEST_M or x == y == 0.0:
            self.position_counts['no_fix'] += 1
            return False
        if self.frame not in {'', frame_id}:
            self.position_counts['other_frame'] += 1
            return False
        self.position_counts['used'] += 1
        self.frame = frame_id
        self._add(stamp_ns, np.array([x, y]))
        return True

    def placed(self, estimate: Estimate) -> Estimate | None:
        """
        Return an estimate on the ring with positions on the line through the fixes.

        None where there is no line yet. What is unsure is the phase, the line, and how far fixes
        lie off it.
        """
        if self._drawn is None or not estimate.valid:
            return None
        line, radius = self._drawn.line, self._radius
        angles = np.arctan2(estimate.positions[:, 1], estimate.positions[:, 0])
        phases = angles / (2.0 * np.pi)
        along = np.column_stack([-np.sin(angles), np.cos(angles)])
        around = 2.0 * np.pi * radius
        squares = np.einsum('hi,hij,hj->h', along, estimate.covariances, along) / around**2
        tangents, doubts = line.tangents(phases)
        covariances = squares[:, None, None] * tangents[:, :, None] * tangents[:, None, :]
        covariances += (line.variances(phases) + line.noise_m2)[:, None, None] * np.eye(2)
        # Laps a second.
        rate = float(along[0] @ estimate.velocity) / around
        doubt = float(along[0] @ estimate.velocity_covariance @ along[0]) / around**2
        own = doubt * np.outer(tangents[0], tangents[0]) + (rate**2 + doubt) * doubts[0] * np.eye(
            2
        )
        variance = float(np.linalg.eigvalsh(covariances[0])[-1])
        return replace(
            estimate,
            positions=line.at(phases),
            covariances=covariances,
            velocity=rate * tangents[0],
            velocity_covariance=own,
            # The 95 % quantile of the chi-square distribution with two degrees of freedom.
            ellipse_m=math.sqrt(-2.0 * math.log(0.05) * variance),
            places=None,
        )

    def _add(self, stamp_ns: int, place: Floats | None) -> None:
        """Keep a mark or a fix until the estimates of its time are there."""
        if self._clock_ns is not None:
            stamp_ns = self._clock_ns()
        elif self._past:
            newest = self._past[-1].stamp_ns
            # One without a stamp is of now, and the clock of one far ahead is another one.
            stamp_ns = stamp_ns or newest
            if stamp_ns - newest > LATE_S * 1e9:
                return
        self._waiting.append((stamp_ns, place))
        if len(self._waiting) > 1 and stamp_ns < self._waiting[-2][0]:
            self._waiting = deque(sorted(self._waiting, key=lambda each: each[0]), MOST_WAITING)

    def _take(self, stamp_ns: int, place: Floats | None) -> bool:
        """Place a mark or a fix on the lap; return whether the start line has to move."""
        after = bisect_left(self._past, stamp_ns, key=lambda each: each.stamp_ns)
        if not 0 < after < len(self._past):
            return False
        before, later = self._past[after - 1], self._past[after]
        took = later.stamp_ns - before.stamp_ns
        # Between them the filter was lost, or there was no IMU; and one wrong place spoils a line.
        sure = before.status is later.status is Status.TRACKING
        if not sure or took > 2 * self._period_ns:
            return False
        share = (stamp_ns - before.stamp_ns) / took
        step = later.positions[0] - before.positions[0]
        position = before.positions[0] + share * step
        if place is None:
            return self._take_mark(stamp_ns, position, before.velocity)
        self._take_fix(math.atan2(position[1], position[0]) / (2.0 * math.pi), before, place)
        return False

    def _take_fix(self, phase: float, estimate: Estimate, place: Floats) -> None:
        """Add a fix to the line, unless it is far off it."""
        placed = self.placed(estimate)
        if placed is not None and self._drawn is not None:
            variance = float(np.linalg.eigvalsh(placed.covariances[0])[-1])
            away = place - self._drawn.line.at(np.array([phase]))[0]
            if float(away @ away) > FAR_OFF**2 * variance:
                self.position_counts['far_off'] += 1
                self._far_off += 1
                if self._far_off < MOST_FAR_OFF:
                    return
                self._fixes, self._drawn = ClosedLine(), None
        self._far_off = 0
        self._fixes.add(np.array([phase]), place[None])
        known = 0 if self._drawn is None else self._drawn.fixes
        if self._fixes.fixes >= MORE * known and not self._fixes.problem:
            self._draw()

    def _take_mark(self, stamp_ns: int, position: Floats, direction: Floats) -> bool:
        circuit, before = self._circuit, self._marked_ns
        # As of those of a recording: whoever passes has one mark in half a lap.
        again = before is not None and 0 <= stamp_ns - before < 0.5e9 * circuit.lap_s
        if again or len(self._marks) == LAST_MOVE:
            return False
        slow = math.hypot(*direction) < STANDS * circuit.length_m / circuit.lap_s
        spot = circuit.locate(position, np.zeros(2) if slow else direction)
        if math.isnan(spot.metres):
            return False
        self._marked_ns = stamp_ns
        self._marks.append(spot.metres)
        # At powers of two.
        return len(self._marks) & (len(self._marks) - 1) == 0

    def _time_again(self, now: LapState | None) -> LapState | None:
        """Put the start line where most of the marks are, and time what is known again."""
        length = self._circuit.length_m
        places = np.array(self._marks)
        apart = (places[:, None] - places + 0.5 * length) % length - 0.5 * length
        middle = int(np.abs(apart).sum(axis=1).argmin())
        start = (places[middle] + float(np.median(apart[:, middle]))) % length
        timer = LapTimer(self._circuit.starting_at(start), self._sectors)
        state = None
        for estimate in self._past:
            state = timer.push(estimate)
        timer.laps.clear()
        timer.number = self.timer.number
        if state is not None and now is not None:
            # How far the new line lies ahead of the old one, and whether one alone was passed.
            ahead = (now.phase - state.phase + 0.5) % 1.0 - 0.5
            if ahead < 0.0 and state.phase < -ahead:
                timer.number += 1
            elif ahead > 0.0 and state.phase >= 1.0 - ahead:
                timer.number -= 1
            timer.number = max(timer.number, 0)
            state = replace(state, lap=timer.number)
        self.timer = timer
        return state

    def _draw(self) -> None:
        line = self._fixes.draw()
        corners = line.at(np.linspace(0.0, 1.0, STEPS + 1))
        steps = np.hypot(*np.diff(corners, axis=0).T)
        self._drawn = _Drawn(line, self._fixes.fixes, np.concatenate([[0.0], np.cumsum(steps)]))

    def _in_metres(self, state: LapState) -> LapState:
        """Return a state on the ring with the way along the line through the fixes."""
        # Where all fixes are at one place there is no way.
        if self._drawn is None or not self._drawn.way_m[-1] > 0.0:
            return state
        circuit, way_m = self.timer.circuit, self._drawn.way_m
        begin = math.atan2(circuit.points[0, 1], circuit.points[0, 0]) / (2.0 * math.pi)
        edges = np.linspace(0.0, 1.0, STEPS + 1)
        before, now = np.interp([begin % 1.0, (begin + state.phase) % 1.0], edges, way_m)
        metres = float(now - before) % way_m[-1]
        scale = way_m[-1] / circuit.length_m
        return replace(
            state, distance_m=metres, distance_deviation_m=scale * state.distance_deviation_m
        )
