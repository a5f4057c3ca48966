# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How well a square is found again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.independent_components.independent_pair import place_on_interval

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

EXPECTED = np.array([1.0, 1.0, 2.0, 4.0, 4.0, 5.0, 5.0])
"""Eigenvalues of the Laplacian of the unit square, over pi squared, without 0."""


def lines_of(eigenvalues: Floats, epsilon: float) -> Floats:
    r"""Return :math:`-2 \log(\lambda) / (\pi^2 \varepsilon)` of eigenvalues of the walk."""
    # A kernel of few points has negative ones, far down; they are no lines.
    positive = np.maximum(eigenvalues, np.finfo(float).tiny)
    lines: Floats = -2.0 * np.log(positive) / (np.pi**2 * epsilon)
    return lines


def worst_line(lines: Floats) -> float:
    """Return the largest relative distance of (..., m) lines, m at least 7, from the expected."""
    return float(np.abs(lines[..., : len(EXPECTED)] / EXPECTED - 1.0).max())


def agreement(coordinates: Floats, x: Floats) -> float:
    """Return the lesser correlation of two coordinates with the cosines of (n, 2) variables."""
    table = np.abs(np.corrcoef(coordinates.T, np.cos(np.pi * x).T)[:2, 2:])
    straight, crossed = np.diag(table), np.diag(table[::-1])
    return float(max(straight.min(), crossed.min()))


def place_error(coordinates: Floats, x: Floats) -> float:
    """Return the RMS distance in the square, up to its symmetries, of places from variables."""
    places = place_on_interval(coordinates)
    errors = []
    for order in ([0, 1], [1, 0]):
        # Of an interval nobody can tell the ends apart.
        directions = [places[:, order] - x, 1.0 - places[:, order] - x]
        squares = np.stack([np.square(each).mean(axis=0) for each in directions])
        errors.append(np.sqrt(squares.min(axis=0).sum()))
    return float(min(errors))


def best_mixture(coordinates: Floats, x: Floats) -> float:
    """Return the lesser correlation of the cosines with their best linear function of two."""
    cosines = np.cos(np.pi * x)
    cosines -= cosines.mean(axis=0)
    centred = coordinates - coordinates.mean(axis=0)
    fitted = centred @ np.linalg.lstsq(centred, cosines, rcond=None)[0]
    shares = np.square(fitted).sum(axis=0) / np.square(cosines).sum(axis=0)
    return float(np.sqrt(shares.min()))
