# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Orthonormal rows that follow new vectors, with few passes over their length."""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

OUTSIDE = 1e-6
"""
Share of the longest vector below which what lies outside of a basis counts as nothing.

Squared lengths outside are differences of squared lengths: much less would be rounding.
"""

PENDING = 32
"""Vectors that may wait before the rows are turned."""

EPSILON = float(np.finfo(np.float64).eps)

BLOCK = 1024
"""Columns that are turned at a time, so that they stay in the cache."""


class Split(NamedTuple):
    r"""
    Vectors in a basis and in what had to be added to it, written in few numbers.

    Everything refers to the orthonormal rows :math:`\bar B` that are ``recipe @ [rows; vectors]``
    and that are never computed; the first r of them span the basis.

    Parameters
    ----------
    own : (r, r)
        The rows of the basis in these, lower triangular: nearly one, because they were rounded.
    coordinates : (c, r + a)
        The vectors in these.
    recipe : (r + a, r + c)
        How they would be computed.
    products : (n + c, n + c)
        Of what is stored and of the vectors with each other.

    """

    own: Floats
    coordinates: Floats
    recipe: Floats
    products: Floats


class Basis:
    """
    Up to so many orthonormal rows, which follow new vectors.

    What is stored are the rows of some time ago and the vectors since then; the rows of now are a
    small matrix times these. So a single vector costs one pass over what is stored, and only when
    there are enough of them, or when the rows are asked for, are the rows turned.

    Parameters
    ----------
    room
        How many rows at most.
    size
        Their length, d.

    """

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

    def set_rows(self, rows: Floats) -> None:
        """Take other rows."""
        self._stored[: len(rows)] = rows
        self._measure(len(rows))

    def coordinates(self, vectors: Floats) -> Floats:
        """Return the (c, r) products of (c, d) vectors with the rows."""
        products: Floats = (vectors @ self._held.T) @ self._matrix.T
        return products

    def split(self, vectors: Floats) -> Split:
        """Split (c, d) vectors into a part inside the span and one outside, eq. (8c), (10.2)."""
        held, matrix = len(self._products), self._matrix
        products = np.zeros((held + len(vectors), held + len(vectors)))
        products[:held, :held] = self._products
        products[held:, :held] = vectors @ self._held.T
        products[:held, held:] = products[held:, :held].T
        products[held:, held:] = vectors @ vectors.T
        triangle = np.linalg.cholesky(matrix @ self._products @ matrix.T)
        upright = np.linalg.inv(triangle)
        inside = products[held:, :held] @ (upright @ matrix).T
        own = products[held:, held:]
        squares, directions = np.linalg.eigh(own - inside @ inside.T)
        kept = squares > OUTSIDE**2 * own.diagonal().max(initial=0.0)
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
        """
        Replace the rows by ``matrix @ [rows; vectors]``.

        Parameters
        ----------
        matrix : (r', r + c)
            A rotation of the recipe.
        split
            Of the vectors.
        vectors : (c, d)
            The ones that were split.

        Returns
        -------
        float
            By how much rounding may keep the rows from being orthonormal, at most.

        """
        before, held, settled = len(self._matrix), len(self._products), self._settled
        matrix = np.hstack([matrix[:, :before] @ self._matrix, matrix[:, before:]])
        longest = split.products.diagonal()[settled:].max(initial=0.0)
        rounding = EPSILON * float(longest) * float(np.square(matrix[:, settled:]).sum())
        if matrix.shape[1] >= len(self._stored):
            self._settle(matrix, vectors)
        else:
            self._stored[held : matrix.shape[1]] = vectors
            self._matrix, self._products = matrix, split.products
            self._turned = True
        return rounding

    def defect(self) -> float:
        """Return by how much the rows miss being orthonormal, largest entry."""
        rows = self.rows
        return float(np.abs(rows @ rows.T - np.eye(len(rows))).max(initial=0.0))

    @property
    def _held(self) -> Floats:
        return self._stored[: len(self._products)]

    def _settle(self, matrix: Floats, vectors: Floats) -> None:
        count, held = len(matrix), matrix.shape[1] - len(vectors)
        for begin in range(0, self._stored.shape[1], BLOCK):
            part = self._stored[:, begin : begin + BLOCK]
            turned = matrix[:, :held] @ part[:held]
            turned += matrix[:, held:] @ vectors[:, begin : begin + BLOCK]
            part[:count] = turned
        self._measure(count)

    def _measure(self, count: int) -> None:
        rows = self._stored[:count]
        self._settled, self._turned = count, False
        self._matrix, self._products = np.eye(count), rows @ rows.T
