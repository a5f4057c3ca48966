# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The last minute of ticks, from which a read-out can be learned anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Bools, Floats


class RecentTicks:
    """
    A ring of ticks by number.

    Parameters
    ----------
    room
        Ticks that are kept.
    observations
        Number of observation features, p.

    Attributes
    ----------
    newest
        Number of the newest tick, -1 before the first.

    """

    def __init__(self, room: int, observations: int) -> None:
        self.numbers = np.full(room, -1, dtype=np.int64)
        self.features = np.zeros((room, observations))
        self.positions = np.zeros((room, 2))
        self.good = np.zeros(room, dtype=np.bool_)
        self.newest = -1

    def __len__(self) -> int:
        return len(self.numbers)

    def push(self, number: int, features: Floats, *, good: bool) -> None:
        """
        Append a tick.

        Parameters
        ----------
        number
            Larger than the ones before; numbers that are left out were not seen.
        features : (p,)
            NaN if the observation could not be used.
        good
            Whether it may be learned from.

        """
        index = number % len(self)
        self.numbers[index] = number
        self.features[index] = features
        self.positions[index] = np.nan
        self.good[index] = good
        self.newest = number

    def place(self, number: int, position: Floats) -> bool:
        """Tell where the vehicle was at a tick; return whether the tick is still there."""
        index = number % len(self)
        if self.numbers[index] != number:
            return False
        self.positions[index] = position
        return True

    def judge(self, first: int, *, good: bool) -> None:
        """Say of all ticks from a number on whether they may be learned from."""
        self.good[self.numbers >= first] = good

    def part(self, first: int, stop: int) -> tuple[Bools, Floats, Floats, Bools]:
        """
        Return ticks by number.

        Returns
        -------
        there : (n,) bool
            Whether the tick was seen and is still kept.
        features : (n, p), positions : (n, 2)
            NaN where it is not.
        good : (n,) bool
            Whether it may be learned from.

        """
        wanted = np.arange(first, stop)
        index = wanted % len(self)
        there = self.numbers[index] == wanted
        features = np.where(there[:, None], self.features[index], np.nan)
        positions = np.where(there[:, None], self.positions[index], np.nan)
        return there, features, positions, self.good[index] & there
