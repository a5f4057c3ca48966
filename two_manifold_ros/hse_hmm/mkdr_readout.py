# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Positions from coordinates on a manifold, learned where few are known.

Manifold kernel dimension reduction (Nilsson, Sha & Jordan 2007) finds the directions of the
manifold that predict position, and a ridge regression reads it from these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

from two_manifold_ros.hse_hmm.mkdr import find_predictive_directions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from two_manifold_ros.typing import Bools, Floats, Ints


FOLDS = 5

USUAL_SHARE = 0.95
REACH = 2.0
"""Times the distance that this share of what is left out keeps: beyond it a position is a guess.

Nothing is beyond where the known ones are spread over the track, most of it where they are not.
"""

SAME = 1e-9
"""Differences below this are rounding."""

TOLERANCE = 1e-3
MOST_STEPS = 30
"""More steps and a smaller tolerance changed no position by more than its error's hundredth."""


@dataclass(frozen=True)
class PositionMap:
    """
    Position as a linear function of coordinates.

    Parameters
    ----------
    centre : (m,), offset : (2,)
        Coordinates and position, metres, that belong together.
    coefficients : (m, 2)
        Metres per unit of each coordinate.

    """

    centre: Floats
    offset: Floats
    coefficients: Floats

    def positions(self, coordinates: Floats) -> Floats:
        """Return the positions (n, 2) at (n, m) coordinates."""
        return (coordinates - self.centre) @ self.coefficients + self.offset


def fit_position_map(coordinates: Floats, positions: Floats, penalty: float) -> PositionMap:
    r"""
    Learn position from points where it is known.

    The coefficients are those with which the directions explain position best under the same
    penalty: with :math:`\Theta = \Phi \Phi^\top` of the directions found, what they predict is
    the :math:`\Theta`-kernel ridge regression whose residual eq. (11.2) makes small.

    Parameters
    ----------
    coordinates : (n, m)
        Of an embedding; a column counts by how much it varies.
    positions : (n, 2)
        Metres.
    penalty
        See `find_predictive_directions`.

    Returns
    -------
    PositionMap
        Their mean everywhere where either does not vary.

    """
    centre, offset = coordinates.mean(axis=0), positions.mean(axis=0)
    centred = coordinates - centre
    if not (_varies(centred, centre) and _varies(positions - offset, offset)):
        return PositionMap(centre, offset, np.zeros((len(centre), 2)))
    found = find_predictive_directions(
        centred, positions, penalty=penalty, tolerance=TOLERANCE, most_steps=MOST_STEPS
    )
    size = np.sqrt(np.square(centred).sum() / centred.shape[1])
    root = found.directions * np.sqrt(found.strengths[: found.rank]) / size
    reduced = centred @ root
    normal = reduced.T @ reduced + penalty * np.eye(found.rank)
    coefficients = root @ np.linalg.solve(normal, reduced.T @ (positions - offset))
    return PositionMap(centre, offset, coefficients)


def _varies(differences: Floats, centre: Floats) -> bool:
    return bool(np.abs(differences).max() > SAME * (1.0 + np.abs(centre).max()))


def cross_validated(coordinates: Floats, positions: Floats, penalty: float) -> float:
    """
    Return the root mean square error, metres, on points left out in turn.

    Stretches are left out, not single points: what is known a moment before and after tells
    nothing about places where nothing is known.

    Parameters
    ----------
    coordinates : (n, m), positions : (n, 2), penalty
        As for ``fit_position_map``; the points in order of time.

    """
    squares = []
    for kept, left_out in _folds(len(positions)):
        found = fit_position_map(coordinates[kept], positions[kept], penalty)
        errors = found.positions(coordinates[left_out]) - positions[left_out]
        squares.append(np.square(errors).sum(axis=1))
    return float(np.sqrt(np.concatenate(squares).mean()))


def within_reach(known: Floats, asked: Floats) -> Bools:
    """
    Tell what is about as near to what is known as what ``cross_validated`` left out.

    Only there does its error hold.

    Parameters
    ----------
    known : (n, m), asked : (l, m)
        Coordinates, the known ones in order of time.

    Returns
    -------
    (l,)

    """
    nearest = [cKDTree(known[kept]).query(known[out])[0] for kept, out in _folds(len(known))]
    reach = REACH * np.quantile(np.concatenate(nearest), USUAL_SHARE)
    inside: Bools = cKDTree(known).query(asked)[0] <= reach
    return inside


def _folds(count: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield what is kept and what is left out."""
    every = np.arange(count)
    for left_out in np.array_split(every, FOLDS):
        yield np.setdiff1d(every, left_out), left_out
