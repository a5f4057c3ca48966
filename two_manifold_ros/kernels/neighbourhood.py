# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which training points are the neighbours of a point, told from its distances alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

SLACK = 1e-9
"""Relative; a distance that is a radius stays one when it is computed in another way."""


def near_points(squared: Floats, neighbours: int, radii: Floats) -> Ints:
    """
    Return the training points near a point, itself among them if it is one.

    They are the nearest ones, as many as ``neighbours`` and one more, and those that have the
    point within their own radius. For a training point these are the points of its row in the
    symmetric neighbour graph and itself, if no two distances from it are equal.

    Parameters
    ----------
    squared : (n,)
        Squared distances to all training points.
    neighbours
        How many others are near in the graph, fewer than n.
    radii : (n,)
        Squared distance of each training point to the last of its own neighbours.

    """
    # One more than the neighbours, since a training point counts itself.
    radius = np.partition(squared, neighbours)[neighbours]
    return np.flatnonzero(squared <= np.maximum(radii, radius) * (1.0 + SLACK))


def check_neighbourhood(neighbours: int, radii: Floats, count: int) -> None:
    """
    Refuse what are not the neighbours and radii of ``count`` training points.

    Raises
    ------
    ValueError
        Naming the first thing that does not fit.

    """
    if not 1 <= neighbours < count:
        msg = f'neighbours is {neighbours}, not a number from 1 to {count - 1}'
        raise ValueError(msg)
    if radii.shape != (count,) or radii.min() < 0.0:
        msg = f'radii are not {count} squared distances'
        raise ValueError(msg)
