# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The mean two-manifold state at each place of a route."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.route.merging import Places
    from two_manifold_ros.training.stretches import Stretch
    from two_manifold_ros.typing import Floats, Ints


def states_at_places(
    places: Places, stretches: Sequence[Stretch], ticks: Ints, states: Floats
) -> Floats:
    """
    Average states over the visits of each place.

    Parameters
    ----------
    places
        Of the route, with the visits of all drives.
    stretches
        Of the drives, which were embedded end to end.
    ticks : (n,) int64
        Those that have a state, in these stretches end to end.
    states : (n, k)
        Of them, the constant first.

    Returns
    -------
    (P, k)
        Where no visit has a state that of the nearest place that has one.

    """
    sums = np.zeros((len(places), states.shape[1]))
    counts = np.zeros(len(places))
    row_of = np.full(sum(each.end - each.begin for each in stretches), -1)
    row_of[ticks] = np.arange(len(ticks))
    first = 0
    for segment, begin, end in stretches:
        own = row_of[first : first + end - begin]
        first += end - begin
        when = np.rint(places.times).astype(np.int64)
        visits = np.flatnonzero((places.segments == segment) & (when >= begin) & (when < end))
        rows = own[when[visits] - begin]
        visits, rows = visits[rows >= 0], rows[rows >= 0]
        np.add.at(sums, places.visited[visits], states[rows])
        np.add.at(counts, places.visited[visits], 1.0)
    known = counts > 0.0
    means = np.zeros_like(sums)
    means[known] = sums[known] / counts[known, None]
    if known.any():
        _, nearest = cKDTree(places.positions[known]).query(places.positions[~known])
        means[~known] = means[known][nearest]
    means[:, 0] = 1.0
    return means
