# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A thin singular value decomposition that follows a growing sum of outer products."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.tpsr.move import Move
from two_manifold_ros.tpsr.orthonormal import split

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

NOTHING = 1e-14
"""Share of the largest singular value below which one is rounding, and its direction arbitrary."""


class ThinSvd:
    r"""
    The leading singular vectors of :math:`\sum_t x_ty_t^\top`, kept up to date (Brand 2006).

    A batch of c terms is one update of rank c, eq. (8c-e); a batch of one is eq. (9). What is cut
    off at an update is lost for good, so keep more directions than will be needed.

    Parameters
    ----------
    rows, columns
        Lengths of x and y.
    rank
        Directions to keep.

    Attributes
    ----------
    left : (r, rows), right : (r, columns)
        Orthonormal rows: :math:`\hat U^\top` and :math:`\hat V^\top`; r grows from 0 to ``rank``.
    values : (r,)
        Singular values, largest first.

    """

    def __init__(self, rows: int, columns: int, rank: int) -> None:
        self.rank = rank
        self.left = np.zeros((0, rows))
        self.right = np.zeros((0, columns))
        self.values = np.zeros(0)

    def fold(self, x: Floats, y: Floats, decay: float = 1.0) -> Move:
        """
        Add the outer products of the rows of x and y to the decayed sum.

        Parameters
        ----------
        x : (c, rows), y : (c, columns)
            Finite.
        decay
            By what the sum is multiplied first; 1 forgets nothing.

        Returns
        -------
        Move
            Of coordinates in the old bases; signs are chosen so that axes keep their sense.

        """
        before = len(self.values)
        across, down = split(self.left, x), split(self.right, y)
        core = across.coordinates.T @ down.coordinates
        core[:before, :before] += np.diag(decay * self.values)
        left, values, right = _svd(core)
        kept = min(self.rank, int(np.count_nonzero(values > NOTHING * values.max(initial=0.0))))
        left, right = left[:, :kept].T, right[:kept]
        sense = _senses(left)
        left, right = left * sense[:, None], right * sense[:, None]
        self.left = left[:, :before] @ self.left + left[:, before:] @ across.added
        self.right = right[:, :before] @ self.right + right[:, before:] @ down.added
        self.values = values[:kept]
        return Move(left[:, :before], right[:, :before])

    def orthonormalise(self) -> Move:
        """
        Make the bases orthonormal again after many updates, by QR and a small SVD.

        Returns
        -------
        Move
            Of coordinates; next to nothing, but exactly what was done.

        """
        left_q, left_r = np.linalg.qr(self.left.T)
        right_q, right_r = np.linalg.qr(self.right.T)
        left, values, right = _svd((left_r * self.values) @ right_r.T)
        sense = _senses(left.T @ left_r)
        left, right = left.T * sense[:, None], right * sense[:, None]
        self.left, self.right, self.values = left @ left_q.T, right @ right_q.T, values
        return Move(left @ left_r, right @ right_r)

    def defect(self) -> float:
        """Return by how much the bases miss being orthonormal, largest entry."""
        return max(
            float(np.abs(basis @ basis.T - np.eye(len(basis))).max(initial=0.0))
            for basis in (self.left, self.right)
        )


def _svd(matrix: Floats) -> tuple[Floats, Floats, Floats]:
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    return left, values, right


def _senses(move: Floats) -> Floats:
    """Return -1 for each new axis that points away from the old axis of its number."""
    senses = np.ones(len(move))
    common = min(move.shape)
    senses[:common][np.diagonal(move)[:common] < 0.0] = -1.0
    return senses
