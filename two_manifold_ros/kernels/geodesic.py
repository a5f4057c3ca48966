# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Response by geodesic distances to landmarks, along edges between neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from two_manifold_ros.kernels.affinity import check_neighbours
from two_manifold_ros.windows.neighbours import nearest

if TYPE_CHECKING:
    from two_manifold_ros.kernels.bridges import Bridges
    from two_manifold_ros.typing import Floats, Ints


@dataclass(frozen=True)
class Geodesic:
    """
    Squared geodesic distances of a new point to the landmarks, through its nearest neighbours.

    A training point gets its own: each of its neighbours is a detour at best.

    Parameters
    ----------
    neighbours
        Through how many the geodesics of a new point may begin.
    lengths : (n, l)
        Geodesic distances of the training points to the landmarks.

    """

    neighbours: int
    lengths: Floats

    def weights(self, squared: Floats) -> Floats | None:
        """Return (l,) squared geodesics; ``None`` if a distance is not finite."""
        if not np.isfinite(squared).all():
            return None
        near = nearest(squared, self.neighbours)
        through = np.sqrt(squared[near])[:, None] + self.lengths[near]
        geodesics: Floats = np.square(through.min(axis=0))
        return geodesics

    def check(self, count: int) -> int:
        """Return l; refuse what does not fit ``count`` training points."""
        check_neighbours(self.neighbours)
        shape = self.lengths.shape
        if len(shape) != 2 or shape[0] != count or not shape[1]:
            msg = f'lengths has the shape {shape} instead of ({count}, at least 1)'
            raise ValueError(msg)
        if self.lengths.min() < 0.0:
            msg = 'lengths are negative'
            raise ValueError(msg)
        return int(shape[1])


def geodesic_lengths(indices: Ints, squared: Floats, bridges: Bridges, landmarks: Ints) -> Floats:
    """
    Return the (n, l) lengths of the shortest paths to the landmarks.

    Parameters
    ----------
    indices, squared : (n, kappa)
        Nearest neighbours and their squared distances; edges go both ways.
    bridges
        That join the pieces of the graph.
    landmarks : (l,) int64
        Points.

    """
    count, kappa = indices.shape
    rows = np.repeat(np.arange(count), kappa)
    first = np.concatenate([rows, indices.ravel(), bridges.first])
    second = np.concatenate([indices.ravel(), rows, bridges.second])
    lengths = np.sqrt(np.concatenate([squared.ravel(), squared.ravel(), bridges.squared]))
    # Each edge once: entries of one place would be added up. Zeros are kept; they join copies.
    _, kept = np.unique(first * count + second, return_index=True)
    places = (first[kept], second[kept])
    graph = csr_matrix((lengths[kept], places), shape=(count, count))
    return np.ascontiguousarray(dijkstra(graph, indices=landmarks).T)
