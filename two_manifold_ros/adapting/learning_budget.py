# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A share of a core for learning: what goes beyond it is dropped evenly, counted and told."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

INSTALMENTS = 64
"""
Samples over which costs are averaged.

Many samples share one costly fold. If it were paid at once, those after it would be dropped in a
row; paid by all of them, every n-th sample is learned.
"""

SAVED_S = 1.0
"""Seconds of not learning that may be made up for later."""

TOLD_S = 5.0
"""Seconds without a dropped sample after which dropping is over."""


class LearningBudget:
    """
    Tells for each sample whether there is time to learn from it.

    A bucket that fills with seconds of the share as time goes by, and from which each sample that
    is learned takes its part of what learning has cost lately.

    Parameters
    ----------
    share_of_core
        Seconds of learning in a second, above 0 and at most 1.
    clock
        Seconds, never going back.

    Attributes
    ----------
    learned, dropped
        Samples of either kind.
    cost_s
        Seconds that learning from one sample takes lately, on average.

    """

    def __init__(self, share_of_core: float, clock: Callable[[], float] = monotonic) -> None:
        self._share = share_of_core
        self._clock = clock
        self._filled_s = clock()
        self._saved = 0.0
        self._spent = 0.0
        self._learning = False
        self._dropped_s: float | None = None
        self.cost_s = 0.0
        self.learned = 0
        self.dropped = 0

    @property
    def trouble(self) -> str:
        """That samples are being dropped, in a sentence; empty if none is."""
        if self._dropped_s is None or self._clock() - self._dropped_s >= TOLD_S:
            return ''
        return (
            f'learning takes {1e3 * self.cost_s:.2g} ms a sample, more than its share of '
            f'{self._share:.0%} of a core allows at this rate: some samples are not learned'
        )

    def may_learn(self) -> bool:
        """Return whether to learn from the sample that is there now, and count it."""
        now = self._clock()
        self._average()
        most = max(self._share * SAVED_S, self.cost_s)
        self._saved = min(most, self._saved + self._share * (now - self._filled_s))
        self._filled_s = now
        if self._saved < self.cost_s:
            self._dropped_s = now
            self.dropped += 1
            return False
        self._saved -= self.cost_s
        self.learned += 1
        self._learning = True
        return True

    def spent(self, seconds: float) -> None:
        """
        Tell what learning has cost, as often as is convenient.

        ``time.thread_time`` leaves out what other programs took.
        """
        self._spent += seconds

    def _average(self) -> None:
        """Book what was spent since the last time on the sample that was learned then."""
        if self._learning:
            self.cost_s += (self._spent - self.cost_s) / min(self.learned, INSTALMENTS)
            self._spent = 0.0
            self._learning = False
