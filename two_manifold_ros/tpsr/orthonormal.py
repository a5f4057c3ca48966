# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Orthonormal bases as rows, and what of some vectors lies outside of them."""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

OUTSIDE = 1e-6
"""
Share of the longest vector below which what lies outside of a basis counts as nothing.

Directions are normalised, and with them their rounding errors: much less, and they would no
longer be orthogonal to the basis.
"""


class Split(NamedTuple):
    """
    Vectors in a basis and in what had to be added to it.

    Parameters
    ----------
    coordinates : (c, r + a)
        Of each vector in the rows of the basis, then in the added ones.
    added : (a, d)
        Orthonormal directions outside of the basis, as many as the vectors need.

    """

    coordinates: Floats
    added: Floats


def split(basis: Floats, vectors: Floats) -> Split:
    """
    Split vectors into a part inside the span of a basis and a part outside, eq. (8c) and (10.2).

    Parameters
    ----------
    basis : (r, d)
        Orthonormal rows.
    vectors : (c, d)
        Any.

    Returns
    -------
    Split
        With ``vectors = coordinates @ [basis; added]`` up to ``OUTSIDE``.

    """
    inside = vectors @ basis.T
    rest = vectors - inside @ basis
    longest = np.einsum('ij,ij->i', vectors, vectors).max(initial=0.0)
    added = _orthonormalise(rest, OUTSIDE**2 * longest)
    # Twice is enough: what rounding left of the basis in the first round grew when normalised.
    added -= (added @ basis.T) @ basis
    added = _orthonormalise(added, 0.5)
    return Split(np.hstack([inside, vectors @ added.T]), added)


def _orthonormalise(vectors: Floats, least: float) -> Floats:
    """Return orthonormal rows that span the vectors but for directions of less squared length."""
    squares, directions = np.linalg.eigh(vectors @ vectors.T)
    kept = squares > least
    rows: Floats = (directions[:, kept] / np.sqrt(squares[kept])).T @ vectors
    return rows
