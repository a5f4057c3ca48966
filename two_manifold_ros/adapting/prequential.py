# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Prequential errors: of estimates, by the reference positions that come after them."""

from __future__ import annotations

from collections import deque
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.adapting.references import Fix

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.filtering.estimate import Estimate


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
    def published(self) -> float:
        """Share of ticks with an estimate; NaN before the first."""
        return self._mean_of([each.known for each in self._scored])

    @property
    def seconds(self) -> float:
        """Duration of what counts, without gaps, s."""
        return self._covered_ns * 1e-9

    def __len__(self) -> int:
        """Return the number of ticks that count."""
        return len(self._scored)

    def add(self, estimate: Estimate) -> None:
        """Take the estimate of a tick."""
        known = estimate.valid or estimate.cause == 'not_useful'
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
