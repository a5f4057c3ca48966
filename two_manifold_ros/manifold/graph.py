# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The neighbour graph, the bridges between its pieces, and the modes of matrices over it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.manifold.affinity import affinity, fix_signs

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix, csr_matrix

    from two_manifold_ros.manifold.learner import Samples
    from two_manifold_ros.typing import Bools, Floats, Ints


def affinity_graph(indices: Ints, squared: Floats, bandwidth: float) -> csr_matrix:
    r"""
    Build the affinity matrix W of mathematics, section 2.3, from (n, kappa) neighbours.

    Entries are :math:`\exp(-d^2/2\sigma^2)`, or 1 for a bandwidth of 0, where either point is a
    neighbour of the other.
    """
    from scipy.sparse import csr_matrix

    count, kappa = indices.shape
    weights = affinity(squared, bandwidth)
    rows = np.repeat(np.arange(count), kappa)
    graph = csr_matrix((weights.ravel(), (rows, indices.ravel())), shape=(count, count))
    return graph.maximum(graph.T).tocsr()


def connect(
    graph: csr_matrix, samples: Samples, bandwidth: float, neighbours: int, probes: int = 200
) -> tuple[csr_matrix, tuple[str, ...]]:
    """
    Join the pieces of an affinity graph, each by one edge to its nearest point outside.

    Every extra piece would add a null vector to the Laplacian, whose inverse root explodes.
    ``probes`` points of a piece are compared with all others. Returned is the connected graph and,
    if there were several pieces, a sentence about these and the number of neighbours.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    components, labels = connected_components(graph, directed=False)
    notes: tuple[str, ...] = ()
    if components > 1:
        note = (
            f'the neighbour graph fell into {components} pieces, joined by their nearest points; '
            f'more than {neighbours} neighbours would connect it'
        )
        notes = (note,)
    while components > 1:
        sizes = np.bincount(labels)
        bridges = [
            _bridge(samples, labels == label, probes)
            for label in range(components)
            if label != sizes.argmax()
        ]
        first, second, squared = (np.array(column) for column in zip(*bridges, strict=True))
        weight = np.maximum(affinity(squared, bandwidth), 1e-3)
        edges = coo_matrix((weight, (first, second)), shape=graph.shape).tocsr()
        graph = graph.maximum(edges).maximum(edges.T).tocsr()
        components, labels = connected_components(graph, directed=False)
    return graph, notes


def _bridge(samples: Samples, inside: Bools, probes: int) -> tuple[int, int, float]:
    """Return the ends and the squared length of the edge that joins a piece to the others."""
    members = np.flatnonzero(inside)
    step = max(1, len(members) // probes)
    some = members[::step][:probes]
    distances = samples.distances_to(some)
    distances[members] = np.inf
    outside, probe = np.unravel_index(int(distances.argmin()), distances.shape)
    return int(some[probe]), int(outside), float(distances[outside, probe])


def smallest_modes(matrix: csc_matrix, null: Floats, count: int) -> tuple[Floats, Floats]:
    """
    Return the smallest eigenvalues (m,) of a positive semidefinite matrix without a known zero.

    By inverse iteration on the complement of ``null`` (n,), the eigenvector of unit length with
    eigenvalue 0 of the symmetric sparse matrix (n, n): a second eigenvalue that is zero to
    rounding, as of a nearly split graph, is distinguished from the first, and clustered ones
    converge. At most n - 2 modes; the vectors (n, m) are orthonormal, orthogonal to ``null``, with
    signs fixed.
    """
    from scipy.sparse import identity
    from scipy.sparse.linalg import eigsh, LinearOperator, splu

    size = len(null)
    # Added to the diagonal so that the matrix can be factored.
    shift = 1e-9 * matrix.diagonal().mean()
    factors = splu(
        (matrix + shift * identity(size)).tocsc(),
        # For a matrix that is symmetric and, with the shift, positive: fewer entries, no pivots.
        permc_spec='MMD_AT_PLUS_A',
        diag_pivot_thresh=0.0,
        options={'SymmetricMode': True},
    )

    def project(vector: Floats) -> Floats:
        return vector - null * (null @ vector)

    inverse = LinearOperator(
        (size, size), matvec=lambda vector: project(factors.solve(project(vector))), dtype=float
    )
    start = project(_start_vector(size))
    values, vectors = eigsh(matrix, k=count, sigma=-shift, OPinv=inverse, v0=start)
    order = np.argsort(values)
    # Up to SciPy 1.14 ARPACK leaves in what rounding, a billion times as large here, let in.
    vectors = vectors - np.outer(null, null @ vectors)
    return np.maximum(values[order], 0.0), fix_signs(vectors[:, order])


def walk_modes(graph: csr_matrix, count: int, few: int = 1_000) -> tuple[Floats, Floats]:
    r"""
    Return the largest eigenvalues (m,) and the eigenfunctions (n, m) of a walk.

    Its steps are the rows of symmetric affinities (n, n), connected, divided by their sums. The
    constant mode is left out, at most n - 2 are kept; functions have mean square 1 in the
    stationary distribution, with signs fixed.

    By inverse iteration for ``few`` points: it copes with any symmetry of the graph. The
    factors of many points in many dimensions are large; these use products with the graph,
    unless that takes too long: then the points lie along a thread, and their factors are small.
    """
    from scipy.sparse import diags, identity

    degrees = np.asarray(graph.sum(axis=1)).ravel()
    root = diags(1.0 / np.sqrt(degrees))
    symmetric = (root @ graph @ root).tocsr()
    constant = np.sqrt(degrees / degrees.sum())
    found = _modes_by_products(symmetric, constant, count) if len(constant) > few else None
    if found is None:
        laplacian = (identity(len(constant)) - symmetric).tocsc()
        gaps, vectors = smallest_modes(laplacian, constant, count)
        found = 1.0 - gaps, vectors
    values, vectors = found
    return values, vectors / constant[:, None]


def _modes_by_products(
    symmetric: csr_matrix, constant: Floats, count: int
) -> tuple[Floats, Floats] | None:
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh, LinearOperator

    # The constant mode becomes the last of all.
    without = LinearOperator(
        symmetric.shape,
        matvec=lambda vector: symmetric @ vector - 3.0 * constant * (constant @ vector),
        dtype=float,
    )
    start = _start_vector(len(constant))
    try:
        # Most graphs need less than ten restarts, points along a thread may need thousands.
        values, vectors = eigsh(without, k=count, which='LA', v0=start, maxiter=100)
    except ArpackNoConvergence:
        return None
    order = np.argsort(values)[::-1]
    return values[order], fix_signs(vectors[:, order])


def _start_vector(count: int) -> Floats:
    # A constant vector will not do: where it is itself an eigenvector the solver goes on at
    # random, and where it shares a symmetry of the matrix the solver finds no mode without it.
    return np.random.default_rng(0).standard_normal(count)
