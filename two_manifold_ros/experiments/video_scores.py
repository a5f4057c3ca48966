# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How well the states of a film tell where the camera is, and whether their map is closed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

FIRST, LAST = 0.1, 0.7
"""Shares of the frames between which a read-out is fitted; after the last one it is judged."""

LEADING = slice(1, 4)
"""Coordinates of a map: the first one holds the constant."""

_RIDGE = 1e-3


@dataclass(frozen=True)
class Reading:
    """
    Angle and direction read from states of which the read-out saw none.

    Parameters
    ----------
    first
        Row of the first of them.
    angles, directions : (n,)
        Radians, and +1 or -1.
    r2
        Share of the variance of the cosine and sine of the true angle that is told.
    right
        Share of right directions.

    """

    first: int
    angles: Floats
    directions: Floats
    r2: float
    right: float


def read(states: Floats, angles: Floats, directions: Ints) -> Reading:
    """Fit a linear read-out to (n, k) states in the middle, and use it on those at the end."""
    first, last = (round(share * len(states)) for share in (FIRST, LAST))
    spread = np.sqrt((states[first:last] ** 2).mean(axis=0))
    inputs = np.column_stack([states / np.where(spread > 0.0, spread, 1.0), np.ones(len(states))])
    targets = np.column_stack([np.cos(angles), np.sin(angles), directions])
    seen = inputs[first:last]
    square = seen.T @ seen + _RIDGE * len(seen) * np.eye(seen.shape[1])
    found = inputs[last:] @ np.linalg.solve(square, seen.T @ targets[first:last])
    true = targets[last:, :2]
    missed = ((found[:, :2] - true) ** 2).sum() / ((true - true.mean(axis=0)) ** 2).sum()
    way = np.where(found[:, 2] > 0.0, 1.0, -1.0)
    return Reading(
        first=last,
        angles=np.arctan2(found[:, 1], found[:, 0]) % (2 * np.pi),
        directions=way,
        r2=1.0 - float(missed),
        right=float((way == directions[last:]).mean()),
    )


def gap(views: Floats, older: int) -> float:
    """
    Return how far the newest view is from the nearest one of the circuit before.

    Parameters
    ----------
    views : (n, k)
        Coordinates, the newest ones last.
    older
        Views that are too new to be of the circuit before.

    Returns
    -------
    float
        In units of the distance between two views drawn at random (root mean square); NaN while
        all views are new.

    """
    places = views[:, LEADING]
    if len(places) <= older:
        return np.nan
    distances = np.linalg.norm(places[:-older] - places[-1], axis=1)
    return float(distances.min() / np.sqrt(2.0 * places.var(axis=0).sum()))
