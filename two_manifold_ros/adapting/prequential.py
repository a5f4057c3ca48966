# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How much somebody errs who tells positions before they are known, lately."""

from __future__ import annotations

from collections import deque
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.causes import NO_BETTER

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.filtering.estimate import Estimate

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
        known = estimate.valid or estimate.cause == NO_BETTER
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
