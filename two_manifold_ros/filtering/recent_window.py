# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The newest observations as one point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


class RecentWindow:
    """
    Keep the newest observations.

    Parameters
    ----------
    width
        Ticks in a window.
    channels
        Numbers in an observation, d.

    Attributes
    ----------
    count
        Ticks in a row that were seen.

    """

    def __init__(self, width: int, channels: int) -> None:
        self._width = width
        # Each observation is there twice, so that the newest window is always in one piece.
        self._twice = np.zeros((2 * width, channels))
        self.count = 0

    @property
    def full(self) -> bool:
        """Whether a whole window was seen."""
        return self.count >= self._width

    @property
    def point(self) -> Floats:
        """The newest window (w d,): the oldest observation first, its channels together."""
        begin = self.count % self._width
        return self._twice[begin : begin + self._width].reshape(-1)

    def clear(self) -> None:
        """Forget everything, as after a gap."""
        self.count = 0

    def push(self, observation: Floats) -> None:
        """Append one (d,) observation."""
        place = self.count % self._width
        self._twice[place] = observation
        self._twice[place + self._width] = observation
        self.count += 1
