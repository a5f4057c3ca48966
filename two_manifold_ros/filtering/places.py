# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The places where the vehicle may be, each with its chance: more than an ellipse can tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Bools, Floats

MOST_PLACES = 50

CELLS_ACROSS = 100
"""Cells along the longer side of the track: what is in one cell is told as one."""

FAINTEST = 1e-3
"""Chance below which a place is not worth telling."""


class Places:
    """
    Gather the weights of the places of a route by where these are.

    They lie half a tick apart, so the likeliest alone would all be beside one another.

    Parameters
    ----------
    positions : (N, 2)
        Of the places, metres, NaN where unknown.

    """

    def __init__(self, positions: Floats) -> None:
        known: Bools = np.asarray(np.isfinite(positions).all(axis=1))
        self._known = np.flatnonzero(known)
        self._positions = positions[self._known]
        corner = self._positions.min(axis=0)
        size = float(np.ptp(self._positions, axis=0).max()) / CELLS_ACROSS
        squares = np.rint((self._positions - corner) / (size or 1.0)).astype(np.int64)
        _, cells = np.unique(squares, axis=0, return_inverse=True)
        self._cells = cells.reshape(-1)

    def read(self, weights: Floats) -> Floats:
        """
        Return the likeliest places.

        Parameters
        ----------
        weights : (N,)
            Chances of the places, summing to one.

        Returns
        -------
        (m, 3)
            x and y in metres and chance, the likeliest first; at most ``MOST_PLACES``, none
            below ``FAINTEST``.

        """
        own = weights[self._known]
        chances = np.bincount(self._cells, own)
        chosen = np.flatnonzero(chances >= FAINTEST)
        chosen = chosen[np.argsort(-chances[chosen], kind='stable')][:MOST_PLACES]
        sums = [np.bincount(self._cells, own * axis)[chosen] for axis in self._positions.T]
        return np.column_stack([*(each / chances[chosen] for each in sums), chances[chosen]])
