# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether what comes in is like what was learned."""

from __future__ import annotations

from collections import deque

import numpy as np

from two_manifold_ros.filtering.span_familiarity import SMALLEST_OUTSIDE, SpanFamiliarity

STRANGE = 2.0
"""
Share of a window outside of the learned directions, over its mean, that is strange.

While the slot car drives on as it did, 3 % of the windows of a lap are; with the sign of a channel
reversed half of them are, but for some seconds none, because parts of the track look the same.
"""

CALM = 1.75
"""What it has to stay below for a suspicion to end."""

SUSPICIOUS = 0.3
"""Share of the last windows that are strange, or contradict the belief."""

LEEWAY = 1.25
"""Times the mean share outside that counts as usual for the familiarity of an estimate."""

MEMORY = 15
"""Windows over which the mean is taken."""

RENEWED = 4
"""Windows from which it is taken when something else has become usual."""


class Novelty:
    """
    Hold the share of a window that the learned directions show against what is usual.

    Parameters
    ----------
    width
        Ticks in a window.

    Attributes
    ----------
    mean
        Of the shares of the windows that were learned lately, before they were learned.
    seen
        How many it is taken of.
    familiarity
        On the scale of ``Estimate``.
    calm_for
        Ticks since the last that was out of the ordinary.

    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._span = SpanFamiliarity(0, width)
        self._shares: deque[float] = deque(maxlen=RENEWED * width)
        self._strange: deque[bool] = deque(maxlen=width)
        self.mean = 0.0
        self.seen = 0
        self.familiarity = float('nan')
        self.calm_for = 0

    @property
    def usual(self) -> float:
        """Share that is shown by a window that is nothing special."""
        return 1.0 - LEEWAY * (1.0 - self.mean)

    @property
    def suspicious(self) -> bool:
        """Whether the last windows are unlike what was learned."""
        return sum(self._strange) > SUSPICIOUS * self._width

    @property
    def excess(self) -> float:
        """What of the windows of late lies outside of the learned directions, over the usual."""
        outside = 1.0 - float(np.mean(self._shares))
        return outside / max(1.0 - self.mean, SMALLEST_OUTSIDE)

    def clear(self) -> None:
        """Forget the stream, but not what is usual."""
        self._span.clear()
        self._shares.clear()
        self._strange.clear()
        self.familiarity = float('nan')
        self.calm_for = 0

    def push(self, share: float, *, accepted: bool) -> None:
        """Take the share of the newest window, and whether the belief accepted its last tick."""
        self._shares.append(share)
        usual = self.mean if self.seen else share
        excess = (1.0 - share) / max(1.0 - usual, SMALLEST_OUTSIDE)
        self._strange.append(excess > STRANGE or not accepted)
        self.calm_for = self.calm_for + 1 if accepted and excess < CALM else 0
        if self.seen:
            self.familiarity = self._span.push(share, self.usual, 0)

    def learn(self, share: float) -> None:
        """Count the share of a window among the usual ones."""
        self.seen += 1
        self.mean += (share - self.mean) / min(self.seen, MEMORY * self._width)

    def renew(self) -> None:
        """Take what came lately as usual from now on."""
        self.mean, self.seen = float(np.mean(self._shares)), len(self._shares)
        self._span.clear()
        self._strange.clear()
