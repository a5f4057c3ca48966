# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reference positions that can be trusted, and prequential errors against them."""

from __future__ import annotations

from collections import Counter, deque
import math
from statistics import median
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.ticks.stamps import JUMP_BACK_NS, StampRule, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.filtering.estimate import Estimate


class Fix(NamedTuple):
    """A reference position, metres."""

    stamp_ns: int
    x: float
    y: float

    def distance(self, other: Fix) -> float:
        """Return the distance to another one, metres."""
        return math.dist(self[1:], other[1:])

    def speed(self, later: Fix) -> float:
        """Return the speed on the way to a later one, m/s."""
        return self.distance(later) * 1e9 / (later.stamp_ns - self.stamp_ns)


class ReferenceBuffer:
    """
    The newest reference positions, interpolated across steps of ``max_gap_ns`` at most.

    Kept for the two seconds in which predictions may still come, and 4096 at any rate.
    """

    def __init__(self, max_gap_ns: int) -> None:
        self._max_gap_ns = max_gap_ns
        self._fixes: deque[Fix] = deque(maxlen=4096)

    @property
    def newest_ns(self) -> int | None:
        """Stamp of the newest position."""
        return self._fixes[-1].stamp_ns if self._fixes else None

    def add(self, stamp_ns: int, x: float, y: float) -> None:
        """Take a position that is newer than the ones before."""
        fixes, kept_ns = self._fixes, 2_000_000_000
        fixes.append(Fix(stamp_ns, x, y))
        while len(fixes) > 2 and fixes[1].stamp_ns < stamp_ns - kept_ns:
            fixes.popleft()

    def at(self, stamp_ns: int) -> tuple[float, float] | None:
        """Return x and y at a time not after the newest position; ``None`` where unknown."""
        later = None
        for fix in reversed(self._fixes):
            if fix.stamp_ns == stamp_ns:
                return fix.x, fix.y
            if fix.stamp_ns < stamp_ns:
                break
            later = fix
        else:
            return None
        if later is None or later.stamp_ns - fix.stamp_ns > self._max_gap_ns:
            return None
        share = (stamp_ns - fix.stamp_ns) / (later.stamp_ns - fix.stamp_ns)
        return fix.x + share * (later.x - fix.x), fix.y + share * (later.y - fix.y)

    def clear(self) -> None:
        """Forget all."""
        self._fixes.clear()


class ReferenceMonitor:
    """
    Refuse reference positions that cannot be right.

    Refused are stamps that are zero, double or late, and positions that are not finite, farther
    away than the earth is large, or jumped: only reachable at more than four times the highest
    speed seen. All that follow a jump are refused until they have agreed among themselves for a
    second; then the reference was moved, and positions are used from there. A stamp that goes back
    by more than those of samples may restarts the monitor.

    Attributes
    ----------
    counters
        Positions ``used``, and refused by cause: ``non_finite``, ``out_of_range``, ``jumped``, and
        the names of `Verdict`; ``moved`` counts how often the reference was moved.
    gap_ns
        Step between two positions above which nothing is known between them; of a slow reference
        three usual steps are.

    """

    def __init__(self) -> None:
        self.counters: Counter[str] = Counter()
        self.gap_ns = 250_000_000
        # Steps that have to be seen before the next one may be too fast, and how fast that is.
        self._least_speeds, self._too_fast = 20, 4.0
        self._rule = StampRule(JUMP_BACK_NS)
        self._buffer = ReferenceBuffer(self.gap_ns)
        self._last: Fix | None = None
        self._jumped: list[Fix] = []
        self._fastest = 0.0
        self._steps: list[int] = []

    @property
    def newest_ns(self) -> int:
        """Up to when positions are known; 0 before the first."""
        return self._buffer.newest_ns or 0

    def add(self, stamp_ns: int, x: float, y: float) -> bool:
        """Take a position in metres; return whether it is used."""
        farthest_m = 1e8
        if not (math.isfinite(x) and math.isfinite(y)):
            self.counters['non_finite'] += 1
            return False
        if max(abs(x), abs(y)) > farthest_m:
            self.counters['out_of_range'] += 1
            return False
        verdict = self._rule.judge(stamp_ns)
        if verdict in {Verdict.ZERO, Verdict.DUPLICATE, Verdict.OUT_OF_ORDER}:
            self.counters[verdict.value] += 1
            return False
        fix = Fix(stamp_ns, x, y)
        if verdict is Verdict.JUMP_BACK:
            self.counters[verdict.value] += 1
            self._restart(fix)
        elif verdict is Verdict.ACCEPT and not self._reachable(fix):
            self.counters['jumped'] += 1
            if not self._persists(fix):
                return False
            self.counters['moved'] += 1
            self._restart(fix)
        self._use(fix)
        return True

    def at(self, stamp_ns: int) -> tuple[float, float] | None:
        """Return x and y at a time not after the newest position; ``None`` where unknown."""
        return self._buffer.at(stamp_ns)

    def _use(self, fix: Fix) -> None:
        self.counters['used'] += 1
        last, fading = self._last, 0.999
        if last is not None and fix.stamp_ns > last.stamp_ns:
            self._fastest = max(fading * self._fastest, last.speed(fix))
            self._learn_gap(fix.stamp_ns - last.stamp_ns)
        self._last = fix
        self._jumped.clear()
        self._buffer.add(*fix)

    def _learn_gap(self, step_ns: int) -> None:
        """Learn from the first steps how far apart positions usually are."""
        if len(self._steps) < self._least_speeds:
            self._steps.append(step_ns)
            if len(self._steps) == self._least_speeds:
                self.gap_ns = max(self.gap_ns, 3 * int(median(self._steps)))
                self._buffer = ReferenceBuffer(self.gap_ns)

    def _reachable(self, fix: Fix) -> bool:
        last, tremble_m = self._last, 0.05
        if last is None or len(self._steps) < self._least_speeds:
            return True
        distance = last.distance(fix)
        if distance <= tremble_m:
            return True
        # Capped: the longer a way could have taken, the more wrong positions would pass.
        seconds = min(fix.stamp_ns - last.stamp_ns, self.gap_ns) * 1e-9
        return distance <= self._too_fast * self._fastest * seconds

    def _persists(self, fix: Fix) -> bool:
        """Return whether positions after a jump have agreed for long enough."""
        jumped = self._jumped
        if jumped and jumped[-1].speed(fix) > self._too_fast * self._fastest:
            jumped.clear()
        jumped.append(fix)
        return fix.stamp_ns - jumped[0].stamp_ns >= 1_000_000_000

    def _restart(self, fix: Fix) -> None:
        self._buffer.clear()
        self._last = fix
        self._jumped = []


class _Scored(NamedTuple):
    """A judged tick: squared errors of the estimate and of the mean position, metres squared."""

    stamp_ns: int
    error: float
    usual: float
    known: bool


class Prequential:
    """
    Errors of estimates, each judged by the reference position that came afterwards.

    All ticks count. One without an estimate counts as much as the mean of all positions until then
    would have erred; an estimate that was withheld because it was no better counts as given.

    The newest ``span_s`` seconds of positions count, which may be changed at any time, and 20,000
    ticks at the most: at 20 Hz 17 minutes.
    """

    def __init__(self, span_s: float) -> None:
        self.span_s = span_s
        self._waiting: deque[Fix] = deque(maxlen=4096)
        self._scored: deque[_Scored] = deque()
        self._covered_ns = 0
        self._mean = (0.0, 0.0)
        self._known = 0

    @property
    def rmse_m(self) -> float:
        """Root mean square error, metres; NaN before the first."""
        return math.sqrt(self._mean_of([each.error for each in self._scored]))

    @property
    def mean_rmse_m(self) -> float:
        """Root mean square error of the mean position, metres; NaN before the first."""
        return math.sqrt(self._mean_of([each.usual for each in self._scored]))

    def capped_mean_m(self, share: float, newest_s: float) -> float:
        """
        Return the mean error, metres, each at most a share of ``mean_rmse_m``; NaN at first.

        The share is the error of a lost filter; the newest seconds count, NaN for all.
        """
        if not self._scored:
            return math.nan
        most_m, newest_ns = share * self.mean_rmse_m, self._scored[-1].stamp_ns
        return self._mean_of(
            [
                min(math.sqrt(each.error), most_m)
                for each in self._scored
                if not newest_ns - each.stamp_ns > 1e9 * newest_s
            ]
        )

    @property
    def told(self) -> float:
        """Share of ticks with an estimate; NaN before the first."""
        return self._mean_of([each.known for each in self._scored])

    @property
    def seconds(self) -> float:
        """How long what counts lasted, without gaps."""
        return self._covered_ns * 1e-9

    def __len__(self) -> int:
        """Return the number of ticks that count."""
        return len(self._scored)

    def add(self, estimate: Estimate) -> None:
        """Take the estimate of a tick."""
        known = estimate.valid or estimate.cause == 'no_better'
        x, y = estimate.positions[0].tolist() if known else (math.nan, math.nan)
        # The clock was set back.
        if self._waiting and estimate.stamp_ns < self._waiting[-1].stamp_ns:
            self._waiting.clear()
        self._waiting.append(Fix(estimate.stamp_ns, x, y))

    def settle(
        self, until_ns: int, position_at: Callable[[int], tuple[float, float] | None]
    ) -> None:
        """Judge all estimates up to the newest position; None where a position is not known."""
        waiting = self._waiting
        while waiting and waiting[0].stamp_ns <= until_ns:
            estimate = waiting.popleft()
            position = position_at(estimate.stamp_ns)
            if position is not None:
                self._score(estimate, position)

    def rise_ns(self) -> int:
        """
        Return the stamp of the first tick after which errors are higher than before.

        Where the sum of the errors less their mean is lowest: the usual estimate of when a mean
        has changed (Page 1954, CUSUM). 0 before the first tick.
        """
        if not self._scored:
            return 0
        errors = np.sqrt([each.error for each in self._scored])
        before = np.cumsum(errors - errors.mean())
        lowest = int(np.argmin(before[:-1])) + 1 if before.min() < 0.0 and len(before) > 1 else 0
        return self._scored[lowest].stamp_ns

    def forget(self) -> None:
        """Forget all estimates, but not where the vehicle usually is."""
        self._waiting.clear()
        self._restart()

    def _restart(self) -> None:
        self._scored.clear()
        self._covered_ns = 0

    @staticmethod
    def _mean_of(numbers: list[float]) -> float:
        return math.fsum(numbers) / len(numbers) if numbers else math.nan

    def _score(self, estimate: Fix, position: tuple[float, float]) -> None:
        usual = math.dist(self._mean, position) ** 2 if self._known else 0.0
        self._known, most = self._known + 1, 20_000
        self._mean = (
            self._mean[0] + (position[0] - self._mean[0]) / self._known,
            self._mean[1] + (position[1] - self._mean[1]) / self._known,
        )
        known, stamp_ns, scored = math.isfinite(estimate.x), estimate.stamp_ns, self._scored
        error = math.dist(estimate[1:], position) ** 2 if known else usual
        if scored and stamp_ns < scored[-1].stamp_ns:
            self._restart()
        if scored:
            self._covered_ns += _counted_ns(stamp_ns - scored[-1].stamp_ns)
        scored.append(_Scored(stamp_ns, error, usual, known))
        while stamp_ns - scored[0].stamp_ns > 1e9 * self.span_s or len(scored) > most:
            oldest_ns = scored.popleft().stamp_ns
            self._covered_ns -= _counted_ns(scored[0].stamp_ns - oldest_ns)


def _counted_ns(step_ns: int) -> int:
    """Return a step between two ticks, 0 if it is too long to count as judged time."""
    return step_ns if step_ns <= 2_000_000_000 else 0
