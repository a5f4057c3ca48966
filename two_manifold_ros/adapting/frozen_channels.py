# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Channels that have stopped changing.

A sensor that works is never still to the last digit; one that is stuck, or whose driver repeats
its last message, is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.windows.stillness import ROUNDING

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

LEAST = 5
"""Ticks in a row without a change that mean nothing, however lively the channel was."""


class FrozenChannels:
    """
    Count for each channel the ticks in a row in which it did not change.

    Parameters
    ----------
    most_still : (d,)
        The most such ticks while it worked.

    """

    def __init__(self, most_still: Ints) -> None:
        self._most = np.maximum(LEAST, 2 * most_still)
        self.last = np.full(len(most_still), np.inf)
        self.still = np.zeros(len(most_still), dtype=np.int64)

    def clear(self) -> None:
        """Forget everything."""
        self.last[:] = np.inf
        self.still[:] = 0

    def push(self, observation: Floats) -> float:
        """Take one (d,) observation; return how still it is, above 1 if a channel is frozen."""
        alike = np.abs(observation - self.last) <= ROUNDING
        self.still[alike] += 1
        self.still[~alike] = 0
        self.last[:] = observation
        return float((self.still / self._most).max())


def longest_stillness(observations: Floats) -> Ints:
    """Return the most ticks in a row without a change of each channel of (T, d) observations."""
    count: Ints = np.zeros(observations.shape[1], dtype=np.int64)
    most: Ints = count.copy()
    for alike in np.abs(np.diff(observations, axis=0)) <= ROUNDING:
        count = np.where(alike, count + 1, 0)
        most = np.maximum(most, count)
    return most
