# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Novelty score of the newest windows, the ``novelty`` of estimates: on the trained route or not.

The *contrast* of a window is the logarithm of its squared distance to the nearest training window
over the mean of those to all of them; noise and speed move both alike. On the trained route one
place stands out, elsewhere many fit as badly. The mean over the last w ticks counts.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

NOVEL = 2.0**0.75
"""Novelty score above which no estimate is believed: three quarters of the way to another one."""

NOVEL_WARN = 2.0**0.5
"""Novelty score above which estimates are doubted: half of the way to another route."""

SMALLEST_RATIO = 1e-4
"""Of two distances: a window that is there twice would have a contrast of minus infinity."""


@dataclass(frozen=True)
class NoveltyAnchors:
    """
    Typical values of training, with which the newest windows are compared.

    Of an unseen window: ``squared`` distance to the nearest training window, and contrast on the
    ``own`` route and on an ``other`` one with the same bends. ``still`` are the most ticks in a
    row in which no channel changed at all.
    """

    squared: float
    own: float
    other: float
    still: int


def contrast_gap(own: float, other: float) -> float:
    """Return the difference of two contrasts, at least 0.2: below, training hardly sees any."""
    return max(other - own, 0.2)


def contrast(nearest: float, mean: float) -> float:
    """Return the contrast of a window from its squared distances, at most 0."""
    # Not above 0 where all training windows are the same and both distances are.
    return math.log(max(nearest / mean, SMALLEST_RATIO)) if mean > 0.0 else 0.0


class NoveltyScore:
    """
    Novelty along a stream: 1 is typical for the trained route, 2 for another one.

    The contrast is averaged over ``width`` ticks. A window ``far`` times the typical squared
    distance away is refused whatever its contrast, as in other units, without gravity or stuck.
    """

    far = 10.0

    def __init__(self, anchors: NoveltyAnchors, width: int) -> None:
        self._anchors = anchors
        self._most_still = anchors.still + width
        self._recent = np.zeros(width)
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._recent[:] = 0.0
        self._sum = 0.0
        self._count = 0

    def push(self, nearest: float, mean: float, still: int) -> float:
        """
        Return the novelty with the newest window; NaN, without a trace, if the distances are.

        Smallest and mean squared distance to the training windows, and ``still`` as in `frozen`.
        """
        if math.isnan(nearest):
            return math.nan
        anchors, recent, newest = self._anchors, self._recent, contrast(nearest, mean)
        place = self._count % len(recent)
        self._sum += newest - float(recent[place])
        recent[place] = newest
        self._count += 1
        if self._count % len(recent) == 0:
            # So that rounding cannot build up for ever.
            self._sum = float(recent.sum())
        average = self._sum / min(self._count, len(recent))
        above = (average - anchors.own) / contrast_gap(anchors.own, anchors.other)
        return max(
            math.pow(2.0, above),
            NOVEL * nearest / (self.far * anchors.squared),
            self.frozen(still),
        )

    def frozen(self, still: int) -> float:
        """Return the novelty of so many ticks in a row in which no channel changed."""
        return NOVEL * still / self._most_still
