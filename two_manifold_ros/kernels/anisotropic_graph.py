# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The neighbour graph under distances of local metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix, identity

from two_manifold_ros.kernels.anisotropic_transition import power_mean
from two_manifold_ros.kernels.local_metric import BLOCK

if TYPE_CHECKING:
    from two_manifold_ros.kernels.local_metric import LocalMetric
    from two_manifold_ros.kernels.samples import Samples
    from two_manifold_ros.typing import Floats, Ints

CANDIDATES = 8
"""For every neighbour wanted, how many neighbours in the ordinary distance are looked at."""


@dataclass(frozen=True)
class Steps:
    """
    Pairs of near points, each pair both ways, and each point with itself.

    Parameters
    ----------
    begins : (n + 1,) int64
        Where the pairs of each point begin.
    targets : (e,) int64
        The other points, increasing for each point.
    places : (e, r)
        Coordinates of the other point in the frame of the point.
    squared : (e,)
        Squared distances, the mean of those that the two see.
    radii : (n,)
        Squared distance of each point to the last of its neighbours.

    """

    begins: Ints
    targets: Ints
    places: Floats
    squared: Floats
    radii: Floats

    def matrix(self, values: Floats) -> csr_matrix:
        """Return the (n, n) matrix with these values, one a pair."""
        count = len(self.begins) - 1
        return csr_matrix((values, self.targets, self.begins), shape=(count, count))


def anisotropic_graph(
    samples: Samples, metric: LocalMetric, neighbours: int, power: float
) -> Steps:
    """
    Join the points of which either is among the nearest ``neighbours`` of the other.

    Nearest are those under the metric among the nearest in the ordinary distance: far away, a
    difference across the directions of a metric has no length.
    """
    begins, targets = _candidates(samples, neighbours)
    places = _places(samples, metric, begins, targets)
    away = np.square(places).sum(axis=1)
    count = len(samples)
    # Of a symmetric pattern the transpose has the same, so the values stand side by side.
    back = csr_matrix((away, targets, begins), shape=(count, count)).T.tocsr().data
    squared = power_mean(away, back, power)
    rows = np.repeat(np.arange(count), np.diff(begins))
    # One more than the neighbours, since a point is among its own candidates.
    radii = np.array(
        [np.partition(each, neighbours)[neighbours] for each in np.split(squared, begins[1:-1])]
    )
    kept = squared <= np.maximum(radii[rows], radii[targets])
    begins = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=count))])
    return Steps(begins.astype(np.int64), targets[kept], places[kept], squared[kept], radii)


def _places(samples: Samples, metric: LocalMetric, begins: Ints, targets: Ints) -> Floats:
    """Return (e, r) coordinates of each point's targets in the frame of the point."""
    result = np.empty((len(targets), metric.coefficients.shape[2]))
    for begin in range(0, len(samples), BLOCK):
        block = np.arange(begin, min(begin + BLOCK, len(samples)))
        members, local = np.unique(metric.members[block], return_inverse=True)
        distances = samples.distances_to(members)
        for index, columns in zip(block, local.reshape(len(block), -1), strict=True):
            pairs = slice(begins[index], begins[index + 1])
            near = distances[targets[pairs][:, None], columns]
            result[pairs] = metric.offsets[index] - 0.5 * near @ metric.coefficients[index]
    return result


def _candidates(samples: Samples, neighbours: int) -> tuple[Ints, Ints]:
    count = len(samples)
    wanted = CANDIDATES * neighbours
    if wanted >= count - 1:
        every = np.arange(count)
        return np.arange(count + 1) * count, np.tile(every, count)
    indices, _ = samples.neighbours(wanted)
    begins = np.arange(count + 1) * wanted
    ones = np.ones(indices.size)
    graph = csr_matrix((ones, indices.ravel(), begins), shape=(count, count))
    graph = (graph + graph.T + identity(count)).tocsr()
    graph.sort_indices()
    return graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
