# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Steps of the map without a position that another step with one can stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

if TYPE_CHECKING:
    from two_manifold_ros.typing import Bools, Floats, Ints

ALIKE = 2.0
"""Times the usual distance between two passes of a place, on the manifold."""


def find_twins(positions: Floats, states: Floats, passes: Ints) -> Bools:
    """
    Find the steps that know no position though the vehicle was there again when one was known.

    A belief on such a step says nothing that one on its twin does not, but not where it is: where
    a camera failed for some laps the vehicle would be lost in them. Where no lap ever had a
    position there is no twin, and the belief may be there and say that it does not know.

    Parameters
    ----------
    positions : (N, 2), states : (N, k)
        Of the steps, NaN where unknown.
    passes : (N, p) int64
        From ``find_passes``.

    Returns
    -------
    (N,)
        Whether the step is better left out.

    """
    placed: Bools = np.all(np.isfinite(positions), axis=1)
    embedded: Bools = np.all(np.isfinite(states), axis=1)
    twins: Bools = np.zeros(len(positions), dtype=np.bool_)
    wanting = np.flatnonzero(~placed & embedded)
    known = np.flatnonzero(placed & embedded)
    paired = known[np.isin(passes[known, 0], known)]
    if not len(wanting) or not len(paired):
        return twins
    usual = np.median(np.linalg.norm(states[paired] - states[passes[paired, 0]], axis=1))
    nearest, _ = cKDTree(states[known]).query(states[wanting])
    twins[wanting] = nearest <= ALIKE * usual
    return twins
