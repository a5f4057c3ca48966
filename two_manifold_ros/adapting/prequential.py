# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Prequential errors against reference positions with stamps."""

from __future__ import annotations

from collections import Counter, deque
import math
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.ticks.stamps import JUMP_BACK_NS, StampRule, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.filtering.estimate import Estimate


KEPT_NS = 2_000_000_000
"""For how long a position is remembered; predictions for a time before that come too late."""

_MOST = 4096


class Truth:
    """
    The newest reference positions.

    Parameters
    ----------
    max_gap_ns
        Longest step between two of them that is interpolated across.

    """

    def __init__(self, max_gap_ns: int) -> None:
        self._max_gap_ns = max_gap_ns
        self._fixes: deque[tuple[int, float, float]] = deque(maxlen=_MOST)

    @property
    def newest_ns(self) -> int | None:
        """Stamp of the newest one."""
        return self._fixes[-1][0] if self._fixes else None

    def add(self, stamp_ns: int, x: float, y: float) -> None:
        """Take a position that is newer than the ones before."""
        fixes = self._fixes
        fixes.append((stamp_ns, x, y))
        while len(fixes) > 2 and fixes[1][0] < stamp_ns - KEPT_NS:
            fixes.popleft()

    def at(self, stamp_ns: int) -> tuple[float, float] | None:
        """Return x and y at a time not after the newest one, ``None`` where they are not known."""
        later = None
        for earlier in reversed(self._fixes):
            if earlier[0] == stamp_ns:
                return earlier[1:]
            if earlier[0] < stamp_ns:
                return self._between(earlier, later, stamp_ns) if later else None
            later = earlier
        return None

    def _between(
        self, earlier: tuple[int, float, float], later: tuple[int, float, float], stamp_ns: int
    ) -> tuple[float, float] | None:
        step_ns = later[0] - earlier[0]
        if step_ns > self._max_gap_ns:
            return None
        share = (stamp_ns - earlier[0]) / step_ns
        x, y = (earlier[axis] + share * (later[axis] - earlier[axis]) for axis in (1, 2))
        return x, y

    def clear(self) -> None:
        """Forget all."""
        self._fixes.clear()


HOLE_NS = 250_000_000
"""Step between two positions that is interpolated across; at low rates three usual steps are."""

LEAST_SPEEDS = 20
"""Speeds that have to be seen before one may be too high."""

TOO_FAST = 4.0
"""Times the highest usual speed that is a jump."""

PERSISTS_S = 1.0
"""For how long the positions after a jump have to agree before the reference was really moved."""

FADING = 0.999
"""By what the highest speed fades with each position."""

FARTHEST_M = 1e8
"""Distance from the origin beyond which no vehicle is."""

TREMBLE_M = 0.05
"""Distance that is never a jump."""


class Reference:
    """
    A gate for positions.

    A stamp that is zero, double or late is refused, and one that goes back by more than the
    stamps of samples may starts the gate anew. A position that is not finite is refused, and so
    is one that is farther away than the earth is large. One that could only be reached at more
    than ``TOO_FAST`` times the highest speed seen is a jump: it and all that follow it are
    refused until they have agreed among themselves for ``PERSISTS_S``; then the reference was
    moved, and positions are taken from there.

    Attributes
    ----------
    counters
        Positions ``used``, and refused by cause: ``non_finite``, ``out_of_range``, ``jumped``, and
        the names of `Verdict`; ``moved`` counts how often the reference was moved.

    """

    def __init__(self) -> None:
        self.counters: Counter[str] = Counter()
        self._rule = StampRule(JUMP_BACK_NS)
        self._hole_ns = HOLE_NS
        self._truth = Truth(HOLE_NS)
        self._last: tuple[int, float, float] | None = None
        self._apart: list[tuple[int, float, float]] = []
        self._fastest = 0.0
        self._steps: list[int] = []

    @property
    def hole_ns(self) -> int:
        """Step between two positions above which nothing is known between them."""
        return self._hole_ns

    @property
    def newest_ns(self) -> int:
        """Up to when positions are known; 0 before the first."""
        return self._truth.newest_ns or 0

    def add(self, stamp_ns: int, x: float, y: float) -> bool:
        """Take a position in metres; return whether it is used."""
        if not (math.isfinite(x) and math.isfinite(y)):
            self.counters['non_finite'] += 1
            return False
        if max(abs(x), abs(y)) > FARTHEST_M:
            self.counters['out_of_range'] += 1
            return False
        verdict = self._rule.judge(stamp_ns)
        if verdict in {Verdict.ZERO, Verdict.DUPLICATE, Verdict.OUT_OF_ORDER}:
            self.counters[verdict.value] += 1
            return False
        fix = (stamp_ns, x, y)
        if verdict is Verdict.JUMP_BACK:
            self.counters[verdict.value] += 1
            self._restart(fix)
        elif verdict is Verdict.ACCEPT and not self._reachable(fix):
            return self._wait(fix)
        self._take(fix)
        return True

    def at(self, stamp_ns: int) -> tuple[float, float] | None:
        """Return x and y at a time not after the newest position, ``None`` where unknown."""
        return self._truth.at(stamp_ns)

    def _take(self, fix: tuple[int, float, float]) -> None:
        self.counters['used'] += 1
        if self._last is not None and fix[0] > self._last[0]:
            self._fastest = max(FADING * self._fastest, _speed(self._last, fix))
            self._measure(fix[0] - self._last[0])
        self._last = fix
        self._apart.clear()
        self._truth.add(*fix)

    def _measure(self, step_ns: int) -> None:
        """Learn from the first steps how far apart positions usually are."""
        if len(self._steps) < LEAST_SPEEDS:
            self._steps.append(step_ns)
            if len(self._steps) == LEAST_SPEEDS:
                self._hole_ns = max(HOLE_NS, 3 * int(median(self._steps)))
                self._truth = Truth(self._hole_ns)

    def _reachable(self, fix: tuple[int, float, float]) -> bool:
        last = self._last
        if last is None or len(self._steps) < LEAST_SPEEDS:
            return True
        if math.dist(last[1:], fix[1:]) <= TREMBLE_M:
            return True
        # The longer the way could have taken, the more positions would pass: so not for ever.
        seconds = min(fix[0] - last[0], self._hole_ns) * 1e-9
        return math.dist(last[1:], fix[1:]) <= TOO_FAST * self._fastest * seconds

    def _wait(self, fix: tuple[int, float, float]) -> bool:
        """Keep a position that is apart from the others; take it if it has company for long."""
        self.counters['jumped'] += 1
        apart = self._apart
        if apart and _speed(apart[-1], fix) > TOO_FAST * self._fastest:
            apart.clear()
        apart.append(fix)
        if fix[0] - apart[0][0] < PERSISTS_S * 1e9:
            return False
        self.counters['moved'] += 1
        self._restart(fix)
        self._take(fix)
        return True

    def _restart(self, fix: tuple[int, float, float]) -> None:
        self._truth.clear()
        self._last = fix
        self._apart = []


def _speed(first: tuple[int, float, float], second: tuple[int, float, float]) -> float:
    return math.dist(first[1:], second[1:]) * 1e9 / (second[0] - first[0])


MOST_WAITING = 4096
"""Estimates that wait for the position of their time; older ones are forgotten."""

MOST_SCORED = 20_000
"""Ticks that count at the most, whatever the span: at 20 Hz those of 17 minutes."""

GAP_NS = 2_000_000_000
"""A longer step between two ticks is no time of which anything is known."""


class Prequential:
    """
    Errors of what was told, each judged by the position that came afterwards.

    All ticks count. One of which nothing was told counts as much as the mean of all positions
    until then would have erred. What was withheld because it was no better counts as told.

    Parameters
    ----------
    span_s
        Seconds of positions that count; may be changed at any time.

    Attributes
    ----------
    span_s
        As given.

    """

    def __init__(self, span_s: float) -> None:
        self.span_s = span_s
        self._waiting: deque[tuple[int, float, float]] = deque(maxlen=MOST_WAITING)
        self._scored: deque[tuple[int, float, float, bool]] = deque()
        self._covered_ns = 0
        self._mean = (0.0, 0.0)
        self._known = 0

    @property
    def rmse_m(self) -> float:
        """Root mean square error, metres; NaN before the first."""
        return math.sqrt(self._mean_of(1))

    @property
    def mean_rmse_m(self) -> float:
        """The same of who always says the mean position."""
        return math.sqrt(self._mean_of(2))

    def capped_mean_m(self, share: float, newest_s: float) -> float:
        """
        Return the mean error, metres, each at most a share of ``mean_rmse_m``; NaN at first.

        Parameters
        ----------
        share
            What somebody errs at most who is lost.
        newest_s
            Newest seconds that count; NaN for all.

        """
        if not self._scored:
            return math.nan
        most_m, since_ns = share * self.mean_rmse_m, self._scored[-1][0] - 1e9 * newest_s
        errors = [
            min(math.sqrt(each[1]), most_m) for each in self._scored if not each[0] < since_ns
        ]
        return math.fsum(errors) / len(errors)

    @property
    def told(self) -> float:
        """Share of ticks of which a position was told; NaN before the first."""
        return self._mean_of(3)

    @property
    def seconds(self) -> float:
        """How long what counts lasted, without gaps."""
        return self._covered_ns * 1e-9

    def __len__(self) -> int:
        """Return the number of ticks that count."""
        return len(self._scored)

    def tell(self, estimate: Estimate) -> None:
        """Take what is told of a tick."""
        known = estimate.valid or estimate.cause == 'no_better'
        x, y = estimate.positions[0].tolist() if known else (math.nan, math.nan)
        # A clock that was set back begins anew.
        if self._waiting and estimate.stamp_ns < self._waiting[-1][0]:
            self._waiting.clear()
        self._waiting.append((estimate.stamp_ns, x, y))

    def settle(self, until_ns: int, place_at: Callable[[int], tuple[float, float] | None]) -> None:
        """
        Judge all that was told of the time up to the newest position.

        Parameters
        ----------
        until_ns
            Stamp of the newest position.
        place_at
            Returns x and y at a stamp, ``None`` where they are not known.

        """
        waiting = self._waiting
        while waiting and waiting[0][0] <= until_ns:
            stamp_ns, x, y = waiting.popleft()
            place = place_at(stamp_ns)
            if place is not None:
                self._score(stamp_ns, (x, y), place)

    def rise_ns(self) -> int:
        """
        Return the stamp of the first tick after which errors are higher than before.

        Where the sum of the errors less their mean is lowest: the usual estimate of when a mean
        has changed (Page 1954, CUSUM). 0 before the first tick.
        """
        if not self._scored:
            return 0
        errors = np.sqrt([error for _, error, _, _ in self._scored])
        before = np.cumsum(errors - errors.mean())
        lowest = int(np.argmin(before[:-1])) + 1 if before.min() < 0.0 and len(before) > 1 else 0
        return self._scored[lowest][0]

    def forget(self) -> None:
        """Forget what was told, but not where the vehicle usually is."""
        self._waiting.clear()
        self._begin()

    def _begin(self) -> None:
        self._scored.clear()
        self._covered_ns = 0

    def _mean_of(self, column: int) -> float:
        if not self._scored:
            return math.nan
        return math.fsum(each[column] for each in self._scored) / len(self._scored)

    def _score(self, stamp_ns: int, told: tuple[float, float], place: tuple[float, float]) -> None:
        usual = math.dist(self._mean, place) ** 2 if self._known else 0.0
        self._known += 1
        self._mean = (
            self._mean[0] + (place[0] - self._mean[0]) / self._known,
            self._mean[1] + (place[1] - self._mean[1]) / self._known,
        )
        valid = math.isfinite(told[0])
        error = math.dist(told, place) ** 2 if valid else usual
        scored = self._scored
        if scored and stamp_ns < scored[-1][0]:
            self._begin()
        if scored:
            self._covered_ns += _step(stamp_ns - scored[-1][0])
        scored.append((stamp_ns, error, usual, valid))
        while stamp_ns - scored[0][0] > 1e9 * self.span_s or len(scored) > MOST_SCORED:
            oldest_ns = scored.popleft()[0]
            self._covered_ns -= _step(scored[0][0] - oldest_ns)


def _step(step_ns: int) -> int:
    return step_ns if step_ns <= GAP_NS else 0
