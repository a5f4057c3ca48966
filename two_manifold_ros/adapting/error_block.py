# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Errors of two filters in a few seconds, and of who knows nothing but the mean position."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.adapting.paired_errors import SILENT

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

SILENCE = 1.25
"""Error of a filter that says nothing, in errors of the mean position."""

LOST = 2.0
"""Where an error is cut, in errors of the mean position."""


class Spread:
    """How far positions lie from their mean, as running sums from which old ones may fade."""

    def __init__(self) -> None:
        # Sums are about the first position: digits of large coordinates would cancel.
        self._origin: tuple[float, float] | None = None
        self._weight = self._x = self._y = self._squares = 0.0

    @property
    def root_mean_square(self) -> float:
        """Distance from the mean, in metres; 0 before the first position."""
        if not self._weight:
            return 0.0
        mean_square = (self._x**2 + self._y**2) / self._weight**2
        return math.sqrt(max(0.0, self._squares / self._weight - mean_square))

    def add(self, x: float, y: float) -> None:
        """Take a position."""
        if self._origin is None:
            self._origin = (x, y)
        x, y = x - self._origin[0], y - self._origin[1]
        self._weight += 1.0
        self._x += x
        self._y += y
        self._squares += x * x + y * y

    def take(self, other: Spread, keep: float) -> None:
        """Take positions that others were added to, and let the ones before count less."""
        if other._origin is None:
            return
        if self._origin is None:
            self._origin = other._origin
        x, y = (there - here for there, here in zip(other._origin, self._origin, strict=True))
        self._weight = keep * self._weight + other._weight
        across = x * other._x + y * other._y
        shifted = other._squares + 2.0 * across + other._weight * (x * x + y * y)
        self._squares = keep * self._squares + shifted
        self._x = keep * self._x + other._x + other._weight * x
        self._y = keep * self._y + other._y + other._weight * y


class ErrorBlock:
    """
    Errors of two filters in a few seconds.

    Parameters
    ----------
    index
        Of the block.
    horizons
        Number of them.

    Attributes
    ----------
    spread
        Of the reference positions in the block.

    """

    def __init__(self, index: int, horizons: int) -> None:
        self.index = index
        self.spread = Spread()
        self._sums = np.zeros((horizons, 2))
        self._counts = np.zeros(horizons)

    def add(self, horizon: int, errors: tuple[float, float], mean_error: float) -> None:
        """Take two errors at a horizon, ``SILENT`` for none; mean_error is that of the mean."""
        for side, error in enumerate(errors):
            cost = SILENCE * mean_error if error == SILENT else min(error, LOST * mean_error)
            self._sums[horizon, side] += cost
        self._counts[horizon] += 1

    def scores(self, fewest: float) -> Floats | None:
        """Return the mean error (2,) over horizons of either side, if enough were seen."""
        if self._counts.min() < fewest:
            return None
        means: Floats = (self._sums / self._counts[:, None]).mean(axis=0)
        return means
