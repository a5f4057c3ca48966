# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laps while driving: timed from estimates, with a line by marks."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from dataclasses import replace
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.status import Status
from two_manifold_ros.laps.timing import LapTimer

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.laps.timing import LapState
    from two_manifold_ros.model.model import RouteModel
    from two_manifold_ros.typing import Floats

LATE_S = 10.0
"""Seconds by which a mark may come after the estimates of its time, or before them."""

MOST_WAITING = 1000
"""Marks that may be ahead of the estimates, at most; further ones are left out."""

TIMED_AGAIN = 250
"""Estimates from which a lap is timed again, at most: the node publishes nothing meanwhile."""

LAST_MOVE = 64
"""Marks after which the line stays: their mean errs by an eighth of what one does."""


class _Tick(NamedTuple):
    """
    What is remembered of an estimate.

    Its stamp, position, velocity and covariance, whether the filter was tracking, and the way
    along the circuit as the model has it, m, NaN off it.
    """

    stamp_ns: int
    position: Floats
    velocity: Floats
    covariance: Floats
    tracking: bool
    metres: float


class LiveLaps:
    """
    Time laps as estimates come, and move the start line to marks.

    A mark puts the start line where the vehicle was. Each further one makes it surer: after 2, 4,
    8 and so on, up to `LAST_MOVE`, the line moves to where most of them are, and the lap that is
    under way is timed again from it; best and last lap are forgotten then, and laps are counted as
    if it had always been there.

    The timer times the laps until the first mark, and then it times from the line as it is now.
    ``clock_ns`` gives the time now if estimates are stamped as their samples arrive: the stamps of
    marks count for nothing then.
    """

    def __init__(
        self, model: RouteModel, timer: LapTimer, clock_ns: Callable[[], int] | None = None
    ) -> None:
        self.timer = timer
        self._circuit, self._sectors = timer.circuit, timer.sectors
        self._period_ns = model.period_ns
        # Where the line is along the circuit as the model has it.
        self._line_m = 0.0
        # Where it moves ahead of a vehicle that passed it, the lap goes on with its number.
        self._highest = 0
        self._past: deque[_Tick] = deque()
        self._waiting: deque[int] = deque()
        self._marks: list[float] = []
        self._last_mark_ns: int | None = None
        # Marks that were placed nowhere.
        self._missed = 0
        self._clock_ns = clock_ns

    @property
    def marks(self) -> int:
        """Marks that were placed, up to `LAST_MOVE`."""
        return len(self._marks)

    @property
    def mark_problem(self) -> str:
        """Why marks move no line; empty if they do, and before the first."""
        if self._marks or not self._missed:
            return ''
        return (
            f'of {self._missed} marks none counts: stamp them within {LATE_S:g} s of the IMU by '
            'its clock, and see that the filter tracks then'
        )

    def push(self, estimate: Estimate) -> LapState | None:
        """Take an estimate; return the state, or None where no place on the lap is known."""
        state = self.timer.push(estimate)
        # They were said as they ended, and a node runs for months.
        self.timer.laps.clear()
        if not estimate.valid:
            return None
        stamp_ns = estimate.stamp_ns
        if self._past and stamp_ns <= self._past[-1].stamp_ns:
            # The clock was set back: what is ahead of it is of the time before.
            newest_ns = self._past[-1].stamp_ns
            self._waiting = deque(each for each in self._waiting if each < newest_ns)
            self._past.clear()
            self._last_mark_ns = None
        metres = math.nan
        if state is not None:
            metres = (self._line_m + state.distance_m) % self._circuit.length_m
        self._past.append(
            _Tick(
                stamp_ns,
                estimate.positions[0],
                estimate.velocity,
                estimate.covariances[0],
                estimate.status is Status.TRACKING,
                metres,
            )
        )
        late_ns = round(LATE_S * 1e9)
        while stamp_ns - self._past[0].stamp_ns > late_ns:
            self._past.popleft()
        while self._waiting and self._waiting[-1] > stamp_ns + late_ns:
            self._waiting.pop()
            self._missed += 1
        moved = False
        while self._waiting and self._waiting[0] <= stamp_ns:
            moved |= self._take(self._waiting.popleft())
        if moved:
            state = self._time_again(state)
        self._highest = max(self._highest, self.timer.number)
        return None if state is None else replace(state, lap=self._highest)

    def go_on(self, before: LiveLaps) -> None:
        """Go on counting laps in place of another model's."""
        self.timer.number = self._highest = before._highest

    def take_mark(self, stamp_ns: int) -> None:
        """Take the time at which the vehicle passes the line, until its estimates are there."""
        if self._clock_ns is not None:
            stamp_ns = self._clock_ns()
        elif self._past:
            stamp_ns = stamp_ns or self._past[-1].stamp_ns
        # Those that came first are due first.
        if len(self._waiting) == MOST_WAITING:
            return
        self._waiting.append(stamp_ns)
        if len(self._waiting) > 1 and stamp_ns < self._waiting[-2]:
            self._waiting = deque(sorted(self._waiting))

    def _take(self, stamp_ns: int) -> bool:
        """Place a mark on the lap; return whether the start line has to move."""
        after = bisect_left(self._past, stamp_ns, key=lambda each: each.stamp_ns)
        if 0 < after < len(self._past):
            before, later = self._past[after - 1], self._past[after]
            took = later.stamp_ns - before.stamp_ns
            # Else the filter was lost, or there was no IMU; and one wrong place spoils a line.
            if before.tracking and later.tracking and took <= 2 * self._period_ns:
                share, length = (stamp_ns - before.stamp_ns) / took, self._circuit.length_m
                step = (later.metres - before.metres + 0.5 * length) % length - 0.5 * length
                return self._take_mark(stamp_ns, (before.metres + share * step) % length)
        self._missed += 1
        return False

    def _take_mark(self, stamp_ns: int, metres: float) -> bool:
        last_ns, self._last_mark_ns = self._last_mark_ns, stamp_ns
        # A button that is pressed twice, as `passages_of` leaves it out.
        twice = last_ns is not None and stamp_ns - last_ns < 0.5e9 * self._circuit.lap_s
        if twice:
            self._last_mark_ns = last_ns
        if twice or math.isnan(metres) or len(self._marks) == LAST_MOVE:
            return False
        self._marks.append(metres)
        # At powers of two.
        return len(self._marks) & (len(self._marks) - 1) == 0

    def _time_again(self, state: LapState | None) -> LapState | None:
        """Put the start line where most of the marks are; return the newest state by it."""
        length = self._circuit.length_m
        places = np.array(self._marks)
        apart = (places[:, None] - places + 0.5 * length) % length - 0.5 * length
        middle = int(np.abs(apart).sum(axis=1).argmin())
        start = (places[middle] + float(np.median(apart[:, middle]))) % length
        circuit = self._circuit.starting_at(start)
        step = length / len(circuit)
        line_m = step * (round(start / step) % len(circuit))
        if line_m == self._line_m:
            return state
        timer = LapTimer(circuit, self._sectors)
        again = None
        every = -(-len(self._past) // TIMED_AGAIN)
        # The newest one is among them.
        for tick in list(self._past)[(len(self._past) - 1) % every :: every]:
            again = timer.follow(tick.stamp_ns, tick.position, tick.velocity, tick.covariance)
        timer.laps.clear()
        # The line moved by less than half a lap, and of the old and the new one one was passed.
        ahead = (line_m - self._line_m + 0.5 * length) % length - 0.5 * length
        number = self.timer.number + (timer.way_m < -ahead) - (timer.way_m >= length - ahead)
        # Before the first passage of the old one there may be some of the new one.
        timer.number = max(number, timer.number)
        self.timer, self._line_m = timer, line_m
        return again
