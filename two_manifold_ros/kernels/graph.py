# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The neighbour graph of a Laplacian eigenmap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components

from two_manifold_ros.kernels.affinity import affinity

if TYPE_CHECKING:
    from two_manifold_ros.kernels.samples import Samples
    from two_manifold_ros.typing import Floats, Ints

PROBES = 200
"""Points of a small component that are compared with all others to find its bridge."""


def affinity_graph(indices: Ints, squared: Floats, bandwidth: float) -> csr_matrix:
    r"""
    Build the symmetric affinity matrix W of section 2.3.

    Parameters
    ----------
    indices, squared : (n, kappa)
        Nearest neighbours and their squared distances.
    bandwidth
        :math:`\sigma`; entries are :math:`\exp(-d^2/2\sigma^2)` where either point is a
        neighbour of the other, or 1 if it is 0.

    """
    count, kappa = indices.shape
    weights = affinity(squared, bandwidth)
    rows = np.repeat(np.arange(count), kappa)
    graph = csr_matrix((weights.ravel(), (rows, indices.ravel())), shape=(count, count))
    return graph.maximum(graph.T).tocsr()


def connect(graph: csr_matrix, samples: Samples, bandwidth: float) -> tuple[csr_matrix, int]:
    """
    Join the components of a graph, each by one edge to its nearest point outside.

    Every extra component would add a null vector to the Laplacian, whose inverse root explodes.

    Returns
    -------
    graph
        Connected.
    components
        How many there were.

    """
    components, labels = connected_components(graph, directed=False)
    found = int(components)
    while components > 1:
        sizes = np.bincount(labels)
        bridges = [
            _bridge(samples, labels == label)
            for label in range(components)
            if label != sizes.argmax()
        ]
        first, second, squared = (np.array(column) for column in zip(*bridges, strict=True))
        weight = np.maximum(affinity(squared, bandwidth), 1e-3)
        edges = coo_matrix((weight, (first, second)), shape=graph.shape).tocsr()
        graph = graph.maximum(edges).maximum(edges.T).tocsr()
        components, labels = connected_components(graph, directed=False)
    return graph, found


def _bridge(samples: Samples, inside: Floats) -> tuple[int, int, float]:
    members = np.flatnonzero(inside)
    step = max(1, len(members) // PROBES)
    probes = members[::step][:PROBES]
    distances = samples.distances_to(probes)
    distances[members] = np.inf
    outside, probe = np.unravel_index(int(distances.argmin()), distances.shape)
    return int(probes[probe]), int(outside), float(distances[outside, probe])
