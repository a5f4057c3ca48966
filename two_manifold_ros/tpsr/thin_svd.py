# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A thin singular value decomposition that follows a growing sum of outer products."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.tpsr.move import Move
from two_manifold_ros.tpsr.orthonormal import Basis

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

NOTHING = 1e-14
"""Share of the largest singular value below which one is rounding, and its direction arbitrary."""

ROUNDING = 1e-11
"""By how much rounding may spoil the bases before they are made orthonormal at once."""


class ThinSvd:
    r"""
    The leading singular vectors of :math:`\sum_t w_tx_ty_t^\top`, kept up to date (Brand 2006).

    A batch of c terms is one update of rank c, eq. (8c-e); a batch of one is eq. (9). What is cut
    off at an update is lost for good, so keep more directions than will be needed.

    Orthogonalisation is double, as it has to be, but both rounds are in small matrices: each
    update counts with what the last one really left, and so mends it in the one pass in which it
    turns the bases. When an update could leave more than ``ROUNDING`` (directions that were tiny
    before they were normalised), an empty one follows at once.

    Parameters
    ----------
    rows, columns
        Lengths of x and y.
    rank
        Directions to keep.

    Attributes
    ----------
    values : (r,)
        Singular values, largest first; r grows from 0 to ``rank``.
    newest : (c, r)
        Coordinates of the last y in the right basis.

    """

    def __init__(self, rows: int, columns: int, rank: int) -> None:
        self.rank = min(rank, rows, columns)
        self._across = Basis(self.rank, rows)
        self._down = Basis(self.rank, columns)
        self.values = np.zeros(0)
        self.newest = np.zeros((0, 0))

    @property
    def left(self) -> Floats:
        r"""The (r, rows) rows of :math:`\hat U^\top`; the next fold overwrites them."""
        return self._across.rows

    @property
    def right(self) -> Floats:
        r"""The (r, columns) rows of :math:`\hat V^\top`; the next fold overwrites them."""
        return self._down.rows

    def fold(self, x: Floats, y: Floats, weights: Floats, decay: float = 1.0) -> Move:
        """
        Add the weighted outer products of the rows of x and y to the decayed sum.

        Parameters
        ----------
        x : (c, rows), y : (c, columns)
            Finite.
        weights : (c,)
            Of the products.
        decay
            By what the sum is multiplied first; 1 forgets nothing.

        Returns
        -------
        Move
            Of coordinates in the old bases; signs are chosen so that axes keep their sense.

        """
        before = len(self.values)
        across, down = self._across.split(x), self._down.split(y)
        core = (across.coordinates * weights[:, None]).T @ down.coordinates
        core[:before, :before] += decay * (across.own.T * self.values) @ down.own
        left, values, right = np.linalg.svd(core, full_matrices=False)
        kept = min(self.rank, count_directions(values))
        left, right = left[:, :kept].T, right[:kept]
        sense = senses(left[:, :before] @ across.own.T)[:, None]
        left, right = sense * left, sense * right
        self.values, self.newest = values[:kept], down.coordinates @ right.T
        spoiled = max(
            self._across.turn(left @ across.recipe, across, x),
            self._down.turn(right @ down.recipe, down, y),
        )
        move = Move(left[:, :before] @ across.own.T, right[:, :before] @ down.own.T)
        return self._mended(move) if spoiled > ROUNDING else move

    def coordinates(self, x: Floats) -> Floats:
        """Return the (c, r) coordinates of (c, rows) vectors in the left basis."""
        return self._across.coordinates(x)

    def right_coordinates(self, y: Floats) -> Floats:
        """Return the (c, r) coordinates of (c, columns) vectors in the right basis."""
        return self._down.coordinates(y)

    def settle(self) -> None:
        """Compute the bases as of now, which fold puts off; they stay the same to rounding."""
        _ = self._across.rows, self._down.rows

    def orthonormalise(self) -> Move:
        """Make the bases orthonormal to the last digit, and return the move: next to nothing."""
        none = np.zeros(0)
        return self.fold(self.left[:0].copy(), self.right[:0].copy(), none)

    def _mended(self, move: Move) -> Move:
        newest, mending = self.newest, self.orthonormalise()
        self.newest = newest @ mending.right.T
        return mending.after(move)

    def defect(self) -> float:
        """Return by how much the bases miss being orthonormal, largest entry."""
        return max(self._across.defect(), self._down.defect())


def count_directions(values: Floats) -> int:
    """Return how many of the (r,) singular values are more than rounding."""
    return int(np.count_nonzero(values > NOTHING * values.max(initial=0.0)))


def senses(move: Floats) -> Floats:
    """Return -1 for each new axis that points away from the old axis of its number."""
    found = np.ones(len(move))
    found[: min(move.shape)][np.diagonal(move) < 0.0] = -1.0
    return found
