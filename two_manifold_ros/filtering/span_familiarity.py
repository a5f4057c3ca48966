# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
How familiar the newest windows are to a TPSR.

What it has learned from lies near the span of its right basis: of the features of a familiar
window that span holds most, of those of another one less. The *excess* of a window is the share
outside, over what usually is outside.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.windows.familiarity import UNFAMILIAR

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

SHARPNESS = 0.75
"""
Power of the mean excess that is the familiarity.

Held-out laps of the slot car reach an excess of 1.6 at times; with a sensor's sign reversed, or at
twice the speed, the excess is 2 to 3.4. This puts the one below and most of the other above what
is refused.
"""

SMALLEST_OUTSIDE = 1e-3
"""Share outside the span below which nothing is told apart but rounding and chance."""


def shown_share(directions: Floats, features: Floats) -> float:
    """
    Return the share of the squared length of features that lies in a span.

    Parameters
    ----------
    directions : (k, D)
        Orthonormal rows.
    features : (D,)

    """
    whole = float(features @ features)
    inside = directions @ features
    return float(inside @ inside) / whole if whole > 0.0 else 0.0


class SpanFamiliarity:
    """
    Familiarity along a stream, on the scale of ``Estimate``: about 1 is usual.

    Parameters
    ----------
    most_still
        Most ticks in a row in which no channel changed while learning.
    width
        Ticks in a window, and over which the excess is averaged: one window may err.

    """

    def __init__(self, most_still: int, width: int) -> None:
        self._most_still = most_still + width
        self._recent = np.zeros(width)
        self._count = 0

    def clear(self) -> None:
        """Forget everything."""
        self._count = 0

    def push(self, share: float, usual_share: float, still: int) -> float:
        """
        Take what is known of the newest window.

        Parameters
        ----------
        share, usual_share
            Of the features of the window, and of those of familiar windows, in the span.
        still
            Ticks in a row in which no channel changed; one window more than ever is refused.

        """
        outside = max(1.0 - share, 0.0) / max(1.0 - usual_share, SMALLEST_OUTSIDE)
        self._recent[self._count % len(self._recent)] = outside
        self._count += 1
        excess = float(self._recent[: self._count].mean())
        return max(math.pow(excess, SHARPNESS), UNFAMILIAR * still / self._most_still)
