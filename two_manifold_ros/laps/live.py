# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laps while driving: timed from estimates, with a line by marks and positions by fixes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
import math
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.status import Status, USABLE
from two_manifold_ros.laps.ring import ClosedLine, DrawnLine
from two_manifold_ros.laps.timing import LapState, LapTimer
from two_manifold_ros.model.path_ahead import PathAhead
from two_manifold_ros.recordings.excursions import FARTHEST_M
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.circuit import Circuit
    from two_manifold_ros.model.model import RouteModel
    from two_manifold_ros.recordings.recording import GeodeticOrigin

LATE_S = 10.0
"""Seconds by which a mark or a fix may come after the estimates of its time, or before them."""

APART = 1e-3
"""Laps from a fix to the next one, at least: those at a standstill would outweigh all others."""

MORE = 1.1
"""Times as many fixes as before after which the line through them is drawn again."""

FAR = 30.0
"""Squared distance from the line, in variances, beyond which a fix is wild: exp(-15) of others."""


class FixedLine:
    """The line through the fixes of a vehicle of which laps alone are known; wild ones are out."""

    def __init__(self, model: RouteModel, circuit: Circuit) -> None:
        self._model = model
        self.radius = float(np.median(np.hypot(circuit.points[:, 0], circuit.points[:, 1])))
        self._fixes = ClosedLine()
        self.drawn: DrawnLine | None = None
        self._drawn_fixes = 0
        # Fixes near and far off the line on a lap, of which so much is gone.
        self._near, self._gone = 0, 0.0
        self._far: list[tuple[float, Floats]] = []
        self._doubted = False
        self._last_fix = math.nan

    @cached_property
    def _paths(self) -> PathAhead:
        return PathAhead(self._model)

    @property
    def fixes(self) -> int:
        """Fixes that were placed."""
        return self._fixes.fixes

    @property
    def problem(self) -> str:
        """Why there is no line yet; empty if there is one."""
        return '' if self.drawn is not None else self._fixes.problem

    def placed(self, estimate: Estimate) -> Estimate | None:
        """Return an estimate on the ring with positions on the line through the fixes, or None."""
        if self.drawn is None or not estimate.valid:
            return None
        line, radius = self.drawn, self.radius
        angles = np.arctan2(estimate.positions[:, 1], estimate.positions[:, 0])
        along = np.column_stack([-np.sin(angles), np.cos(angles)])
        around = 2.0 * np.pi * radius
        squares = np.einsum('hi,hij,hj->h', along, estimate.covariances, along) / around**2
        phases = angles / (2.0 * np.pi)
        tangents, doubts = line.tangents(phases)
        covariances = squares[:, None, None] * tangents[:, :, None] * tangents[:, None, :]
        covariances += (line.variances(phases) + line.noise_m2)[:, None, None] * np.eye(2)
        # Laps a second.
        rate = float(along[0] @ estimate.velocity) / around
        doubt = float(along[0] @ estimate.velocity_covariance @ along[0]) / around**2
        own = doubt * np.outer(tangents[0], tangents[0])
        own += (rate**2 + doubt) * doubts[0] * np.eye(2)
        variance = float(np.linalg.eigvalsh(covariances[0])[-1])

        def drawn(positions: Floats) -> Floats:
            return line.at(np.arctan2(positions[:, 1], positions[:, 0]) / (2.0 * np.pi))

        return replace(
            estimate,
            positions=drawn(estimate.positions),
            covariances=covariances,
            velocity=rate * tangents[0],
            velocity_covariance=own,
            # The 95 % quantile of the chi-square distribution with two degrees of freedom.
            ellipse_m=math.sqrt(-2.0 * math.log(0.05) * variance),
            places=None,
            ahead=lambda: self._paths.along(estimate.positions, drawn=drawn),
        )

    def take(self, phase: float, variance: float, place: Floats) -> bool:
        """Add a fix at a phase, in laps, to the line; return whether it is not wild."""
        step = abs((phase - self._last_fix + 0.5) % 1.0 - 0.5)
        if step < APART:
            return True
        self._last_fix = phase
        at = np.array([phase])
        if self.drawn is not None:
            self._gone += step
            if self._gone >= 1.0:
                self._end_lap()
            line = self.drawn
            square = float(np.square(place - line.at(at)[0]).sum())
            slopes = float(np.square(line.tangents(at)[0]).sum())
            unsure = line.noise_m2 + float(line.variances(at)[0]) + variance * slopes
            if square > FAR * unsure:
                self._far.append((phase, place))
                return False
            self._near += 1
        self._fixes.add(at, place[None])
        if self._fixes.fixes >= MORE * self._drawn_fixes and not self._fixes.problem:
            self.drawn, self._drawn_fixes = self._fixes.draw(), self._fixes.fixes
        return True

    def _end_lap(self) -> None:
        """Believe the fixes far off on this lap, if they were many on it and on the last one."""
        near, far = self._near, self._far
        # If they are many, they are not wild: the line may be wrong.
        many = len(far) > 0.1 * (near + len(far))
        if many and self._doubted:
            at, places = np.array([each for each, _ in far]), np.array([each for _, each in far])
            others = ClosedLine()
            others.add(at, places)
            if len(far) > near and not others.problem:
                self._fixes = others
            else:
                self._fixes.add(at, places)
            self.drawn, self._drawn_fixes = self._fixes.draw(), self._fixes.fixes
        self._near, self._far, self._gone, self._doubted = 0, [], 0.0, many


class LiveLaps:
    """
    Time laps as estimates come, move the start line to marks, and place laps by fixes.

    The first of the ``marks`` puts the start line where the vehicle was. Best and last lap are
    forgotten then, and laps are counted as if it had always been there. Estimates of a model that
    knows laps and no positions get positions from fixes, see `ClosedLine`.

    With a ``clock_ns`` estimates are stamped as their samples arrive, and so are marks and fixes.
    ``origin`` and ``frame`` come with the first fix; ``position_counts`` say how many fixes were
    taken, and how many were not by cause.
    """

    def __init__(
        self, model: RouteModel, timer: LapTimer, clock_ns: Callable[[], int] | None = None
    ) -> None:
        self.timer = timer
        self._circuit = timer.circuit
        self._model = model
        self.line = FixedLine(model, timer.circuit)
        # Where the line moves ahead of a vehicle that passed it, the lap goes on with its number.
        self._highest = 0
        # Estimates, and where each is on its lap, m, or NaN.
        self._past: deque[tuple[Estimate, float]] = deque()
        # Marks, and fixes with their places, that are ahead of the estimates, by stamp.
        self._waiting: list[tuple[int, Floats | None]] = []
        self.marks = 0
        # Marks and fixes that were placed nowhere.
        self._missed: Counter[str] = Counter()
        self._clock_ns, self.stamps_on_arrival = clock_ns, clock_ns is not None
        self.origin: GeodeticOrigin | None = None
        self.frame = ''
        self.position_counts: Counter[str] = Counter()

    @property
    def problem(self) -> str:
        """Why fixes make no positions yet; empty if they do."""
        problem = self.line.problem
        return problem and (self._why_missed('fixes', self.line.fixes) or problem)

    @property
    def mark_problem(self) -> str:
        """Why marks move no line; empty if they do, and before the first."""
        return self._why_missed('marks', self.marks)

    def _why_missed(self, what: str, counted: int) -> str:
        missed = self._missed[what]
        if counted or not missed:
            return ''
        return (
            f'of {missed} {what} none counts: stamp them within {LATE_S:g} s of the IMU by its '
            'clock, and see that the filter tracks then'
        )

    def push(self, estimate: Estimate) -> LapState | None:
        """Take an estimate; return the state, or None where no place on the lap is known."""
        if estimate.status not in USABLE:
            return None
        stamp_ns = estimate.stamp_ns
        state = self.timer.follow(
            stamp_ns, estimate.positions[0], estimate.velocity, estimate.covariances[0]
        )
        # They were said as they ended, and a node runs for months.
        self.timer.laps.clear()
        if self._past and stamp_ns <= (newest_ns := self._past[-1][0].stamp_ns):
            # The clock was set back: what is ahead of it is of the time before.
            self._waiting = [each for each in self._waiting if each[0] < newest_ns]
            self._past.clear()
        self._past.append((estimate, math.nan if state is None else state.distance_m))
        late_ns = round(LATE_S * 1e9)
        while stamp_ns - self._past[0][0].stamp_ns > late_ns:
            self._past.popleft()
        while self._waiting and self._waiting[-1][0] > stamp_ns + late_ns:
            _, place = self._waiting.pop()
            self._missed['marks' if place is None else 'fixes'] += 1
        due = bisect_right(self._waiting, stamp_ns, key=itemgetter(0))
        starts = [self._take(*each) for each in self._waiting[:due]]
        del self._waiting[:due]
        for start in filter(None, starts):
            state = self._time_again(start, state)
        self._highest = max(self._highest, self.timer.number)
        return None if state is None else replace(state, lap=self._highest)

    def go_on(self, before: LiveLaps) -> None:
        """Go on counting laps, and with the frame of the fixes, in place of another model's."""
        self.timer.number = self._highest = before._highest
        self.origin, self.frame = before.origin, before.frame

    def fits_origin(self, *, geodetic: bool) -> bool:
        """Return whether fixes of satellites, or positions in metres, go with those before."""
        return not self.frame or (self.origin is not None) == geodetic

    def take_mark(self, stamp_ns: int, place: Floats | None = None) -> None:
        """Take the time at which the vehicle passes the line, or is at a ``place`` by a fix."""
        if self._clock_ns is not None:
            stamp_ns = self._clock_ns()
        elif self._past:
            stamp_ns = stamp_ns or self._past[-1][0].stamp_ns
        # It waits for the estimates of its time; those that came first are due first.
        # Further ones are left out: so many are never ahead of the estimates.
        if len(self._waiting) < 1000:
            insort(self._waiting, (stamp_ns, place), key=itemgetter(0))

    def take_position(self, stamp_ns: int, frame_id: str, x: float, y: float) -> bool:
        """Take a fix, m; return whether it is one, in the frame of those before it."""
        # Who has no fix often says so by zeros.
        if not max(abs(x), abs(y)) <= FARTHEST_M or x == y == 0.0:
            self.position_counts['no_fix'] += 1
            return False
        # As `choose_scene` calls one without a name.
        frame_id = frame_id or 'map'
        if self.frame not in {'', frame_id}:
            self.position_counts['other_frame'] += 1
            return False
        self.position_counts['used'] += 1
        self.frame = frame_id
        self.take_mark(stamp_ns, np.array([x, y]))
        return True

    def _take(self, stamp_ns: int, place: Floats | None) -> float | None:
        """Place a mark or a fix on the lap; return where the first mark is, m."""
        after = bisect_left(self._past, stamp_ns, key=lambda each: each[0].stamp_ns)
        inside = 0 < after < len(self._past)
        around = (self._past[after - 1], self._past[after]) if inside else [self._past[-1]] * 2
        (before, metres), (later, later_m) = around
        took = later.stamp_ns - before.stamp_ns
        # Between them the filter was lost, or there was no IMU; and one wrong place spoils a line.
        sure = before.status is later.status is Status.TRACKING
        if not inside or not sure or took > 2 * self._model.period_ns:
            self._missed['marks' if place is None else 'fixes'] += 1
            return None
        share = (stamp_ns - before.stamp_ns) / took
        if place is not None:
            x, y = before.positions[0] + share * (later.positions[0] - before.positions[0])
            turned = math.atan2(y, x)
            along = np.array([-math.sin(turned), math.cos(turned)])
            doubt = float(along @ before.covariances[0] @ along)
            doubt /= (2.0 * math.pi * self.line.radius) ** 2
            if not self.line.take(turned / (2.0 * math.pi), doubt, place):
                self.position_counts['far_off'] += 1
            return None
        length = self._circuit.length_m
        step = (later_m - metres + 0.5 * length) % length - 0.5 * length
        if math.isnan(step):
            return None
        self.marks += 1
        return (metres + share * step) % length if self.marks == 1 else None

    def _time_again(self, start: float, state: LapState | None) -> LapState | None:
        """Put the start line at a place; return the newest state by it."""
        length, circuit = self._circuit.length_m, self._circuit.starting_at(start)
        step = length / len(circuit)
        line_m = step * (round(start / step) % len(circuit))
        if line_m == 0.0:
            return state
        timer, again = LapTimer(circuit, self.timer.sectors), None
        for estimate, _ in self._past:
            again = timer.push(estimate)
        timer.laps.clear()
        # The line moved by less than half a lap, and of the old and the new one one was passed.
        ahead = (line_m + 0.5 * length) % length - 0.5 * length
        number = self.timer.number + (timer.way_m < -ahead) - (timer.way_m >= length - ahead)
        # Before the first passage of the old one there may be some of the new one.
        timer.number = max(number, timer.number)
        self.timer = timer
        return again
