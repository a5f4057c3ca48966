# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Errors of two filters in a few seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.adapting.paired_errors import SILENT
from two_manifold_ros.adapting.spread import Spread

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

SILENCE = 1.25
"""Error of a filter that says nothing, in errors of the mean position."""

LOST = 2.0
"""Where an error is cut, in errors of the mean position."""


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
