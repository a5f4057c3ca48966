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
    longest
        Length of the longest vector.

    """

    own: Floats
    coordinates: Floats
    recipe: Floats
    longest: float


class Basis:
    """
    Up to so many orthonormal rows.

    Parameters
    ----------
    room
        How many at most.
    size
        Their length, d.

    """

    def __init__(self, room: int, size: int) -> None:
        self._room = np.zeros((room, size))
        self._count = 0

    @property
    def rows(self) -> Floats:
        """The (r, d) rows, in memory that the next turn overwrites."""
        return self._room[: self._count]

    def set_rows(self, rows: Floats) -> None:
        """Take other rows."""
        self._count = len(rows)
        self._room[: self._count] = rows

    def split(self, vectors: Floats) -> Split:
        """Split (c, d) vectors into a part inside the span and one outside, eq. (8c), (10.2)."""
        rows = self.rows
        triangle = np.linalg.cholesky(rows @ rows.T)
        upright = np.linalg.inv(triangle)
        inside = (vectors @ rows.T) @ upright.T
        products = vectors @ vectors.T
        longest = np.sqrt(products.diagonal().max(initial=0.0))
        squares, directions = np.linalg.eigh(products - inside @ inside.T)
        kept = squares > (OUTSIDE * longest) ** 2
        lengths = np.sqrt(squares[kept])
        outside = directions[:, kept] * lengths
        added = (directions[:, kept] / lengths).T
        before = len(rows)
        recipe = np.zeros((before + len(added), before + len(vectors)))
        recipe[:before, :before] = upright
        recipe[before:, :before] = -(added @ inside) @ upright
        recipe[before:, before:] = added
        return Split(triangle, np.hstack([inside, outside]), recipe, float(longest))

    def turn(self, matrix: Floats, vectors: Floats) -> None:
        """Replace the rows by ``matrix @ [rows; vectors]``, in place."""
        before, self._count = self._count, len(matrix)
        for begin in range(0, self._room.shape[1], BLOCK):
            part = self._room[:, begin : begin + BLOCK]
            turned = matrix[:, :before] @ part[:before]
            turned += matrix[:, before:] @ vectors[:, begin : begin + BLOCK]
            part[: self._count] = turned

    def defect(self) -> float:
        """Return by how much the rows miss being orthonormal, largest entry."""
        rows = self.rows
        return float(np.abs(rows @ rows.T - np.eye(len(rows))).max(initial=0.0))
