# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A thin singular value decomposition that follows a growing sum of outer products."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from two_manifold_ros.typing import Floats


class Move(NamedTuple):
    r"""From coordinates in the old bases to coordinates in the new ones."""

    left: Floats  # (r', r), U_new' U for the space of tests, which the state lives in
    right: Floats  # (r', r), V_new' V for the space of histories

    @staticmethod
    def none(rank: int) -> Move:
        """Return the move that leaves everything where it is."""
        return Move(np.eye(rank), np.eye(rank))

    def after(self, earlier: Move) -> Move:
        """Return the move that does the earlier one first and then this one."""
        return Move(self.left @ earlier.left, self.right @ earlier.right)


PENDING = 32
"""Vectors that may wait before the rows of a basis are turned."""


class Split(NamedTuple):
    """
    Vectors in a basis and in what had to be added to it, written in few numbers.

    Orthonormal rows, ``recipe @ [rows; vectors]``, are never computed; the first r span the basis.
    """

    own: Floats  # (r, r), the rows of the basis in these, lower triangular and nearly one
    coordinates: Floats  # (c, r + a), the vectors in these
    recipe: Floats  # (r + a, r + c), how they would be computed
    # (n + c, n + c), inner products of what is stored and the vectors with each other.
    products: Floats


class Basis:
    """Up to ``room`` orthonormal rows of length ``size``: a small matrix times stored vectors."""

    def __init__(self, room: int, size: int) -> None:
        self._stored = np.zeros((room + PENDING, size))
        self._settled = 0
        self._turned = False
        self._matrix = np.zeros((0, 0))
        self._products = np.zeros((0, 0))

    @property
    def rows(self) -> Floats:
        """The (r, d) rows, in memory that later vectors overwrite."""
        if self._turned:
            self._settle(self._matrix, self._stored[:0])
        return self._stored[: len(self._matrix)]

    def coordinates(self, vectors: Floats) -> Floats:
        """Return the (c, r) products of (c, d) vectors with the rows."""
        products: Floats = (vectors @ self._stored[: len(self._products)].T) @ self._matrix.T
        return products

    def split(self, vectors: Floats) -> Split:
        """Split (c, d) vectors into parts inside and outside the span, mathematics (10.2)."""
        held, matrix = len(self._products), self._matrix
        products = np.zeros((held + len(vectors), held + len(vectors)))
        products[:held, :held] = self._products
        products[held:, :held] = vectors @ self._stored[:held].T
        products[:held, held:] = products[held:, :held].T
        products[held:, held:] = vectors @ vectors.T
        triangle = np.linalg.cholesky(matrix @ self._products @ matrix.T)
        upright = np.linalg.inv(triangle)
        inside = products[held:, :held] @ (upright @ matrix).T
        own = products[held:, held:]
        squares, directions = np.linalg.eigh(own - inside @ inside.T)
        # Squared lengths outside are differences of squared lengths: much less would be rounding.
        kept = squares > 1e-6**2 * own.diagonal().max(initial=0.0)
        lengths = np.sqrt(squares[kept])
        added = (directions[:, kept] / lengths).T
        before = len(matrix)
        recipe = np.zeros((before + len(added), before + len(vectors)))
        recipe[:before, :before] = upright
        recipe[before:, :before] = -(added @ inside) @ upright
        recipe[before:, before:] = added
        coordinates = np.hstack([inside, directions[:, kept] * lengths])
        return Split(triangle, coordinates, recipe, products)

    def turn(self, matrix: Floats, split: Split, vectors: Floats) -> float:
        """Replace the rows by ``matrix @ [rows; vectors]``; return the rounding, at most."""
        before, held, settled = len(self._matrix), len(self._products), self._settled
        matrix = np.hstack([matrix[:, :before] @ self._matrix, matrix[:, before:]])
        longest = split.products.diagonal()[settled:].max(initial=0.0)
        largest = float(np.square(matrix[:, settled:]).sum())
        rounding = float(np.finfo(np.float64).eps) * float(longest) * largest
        if matrix.shape[1] >= len(self._stored):
            self._settle(matrix, vectors)
        else:
            self._stored[held : matrix.shape[1]] = vectors
            self._matrix, self._products = matrix, split.products
            self._turned = True
        return rounding

    def _settle(self, matrix: Floats, vectors: Floats) -> None:
        count, held = len(matrix), matrix.shape[1] - len(vectors)
        block = 1024  # columns turned at a time, so that they stay in the cache
        for begin in range(0, self._stored.shape[1], block):
            part = self._stored[:, begin : begin + block]
            turned = matrix[:, :held] @ part[:held]
            turned += matrix[:, held:] @ vectors[:, begin : begin + block]
            part[:count] = turned
        rows = self._stored[:count]
        self._settled, self._turned = count, False
        self._matrix, self._products = np.eye(count), rows @ rows.T


class ThinSvd:
    r"""
    The leading singular vectors of :math:`\sum_t w_tx_ty_t^\top`, kept up to date (Brand 2006).

    A batch of c terms is one update of rank c, mathematics (10.2) and (10.3). What is cut off at
    an update is lost for good, so keep more directions than will be needed. Orthogonalisation is
    double, but both rounds are in small matrices: each update counts with what the last one really
    left, and so mends it in the one pass in which it turns the bases. When an update could leave
    more than 1e-11, an empty one follows at once.

    The singular ``values`` (r,) are largest first; r grows from 0 to ``rank``. The rows of
    ``across`` and ``down`` are the left and right vectors; ``newest`` (c, r) are the coordinates
    of the last y in the latter.
    """

    def __init__(self, rows: int, columns: int, rank: int) -> None:
        self.rank = min(rank, rows, columns)
        self.across = Basis(self.rank, rows)
        self.down = Basis(self.rank, columns)
        self.values = np.zeros(0)
        self.newest = np.zeros((0, 0))

    def fold(self, x: Floats, y: Floats, weights: Floats, decay: float = 1.0) -> Move:
        """Add outer products of rows of (c, ...) x and y to the decayed sum; return the move."""
        before = len(self.values)
        across, down = self.across.split(x), self.down.split(y)
        core = (across.coordinates * weights[:, None]).T @ down.coordinates
        core[:before, :before] += decay * (across.own.T * self.values) @ down.own
        left, values, right = np.linalg.svd(core, full_matrices=False)
        # Smaller ones are rounding.
        known = np.count_nonzero(values > 1e-14 * values.max(initial=0.0))
        kept = min(self.rank, int(known))
        left, right = left[:, :kept].T, right[:kept]
        # An axis that points away from the old axis of its number is turned.
        sense, moved = np.ones((kept, 1)), left[:, :before] @ across.own.T
        sense[: min(moved.shape)][np.diagonal(moved) < 0.0] = -1.0
        left, right = sense * left, sense * right
        self.values, self.newest = values[:kept], down.coordinates @ right.T
        spoiled = max(
            self.across.turn(left @ across.recipe, across, x),
            self.down.turn(right @ down.recipe, down, y),
        )
        move = Move(left[:, :before] @ across.own.T, right[:, :before] @ down.own.T)
        if not spoiled > 1e-11:
            return move
        # An empty fold makes the bases orthonormal to the last digit.
        newest = self.newest
        none = self.across.rows[:0].copy(), self.down.rows[:0].copy(), np.zeros(0)
        mending = self.fold(*none)
        self.newest = newest @ mending.right.T
        return mending.after(move)
