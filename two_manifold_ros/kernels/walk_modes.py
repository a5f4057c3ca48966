# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The slowest modes of a random walk on a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import diags, identity
from scipy.sparse.linalg import ArpackNoConvergence, eigsh, LinearOperator

from two_manifold_ros.kernels.signs import fix_signs
from two_manifold_ros.kernels.smallest_modes import smallest_modes
from two_manifold_ros.kernels.start_vector import start_vector

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from two_manifold_ros.typing import Floats

FEW = 1_000
"""Points whose factors are small in any number of dimensions."""

RESTARTS = 100
"""Of Lanczos; most graphs need less than ten, points along a thread may need thousands."""


def walk_modes(graph: csr_matrix, count: int) -> tuple[Floats, Floats]:
    r"""
    Return the largest eigenvalues and the eigenfunctions of a walk, without the constant one.

    By inverse iteration where there are few points: it copes with any symmetry of the graph. The
    factors of many points in many dimensions are large; these go by products with the graph,
    unless that takes too long: then the points lie along a thread, and their factors are small.

    Parameters
    ----------
    graph : (n, n)
        Symmetric affinities W, connected; steps are the rows of W divided by their sums.
    count
        How many modes, m, at most n - 2.

    Returns
    -------
    values : (m,), functions : (n, m)
        Decreasing; of mean square 1 in the stationary distribution, with signs fixed.

    """
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    root = diags(1.0 / np.sqrt(degrees))
    symmetric = (root @ graph @ root).tocsr()
    constant = np.sqrt(degrees / degrees.sum())
    found = _by_products(symmetric, constant, count) if len(constant) > FEW else None
    if found is None:
        laplacian = (identity(len(constant)) - symmetric).tocsc()
        gaps, vectors = smallest_modes(laplacian, constant, count)
        found = 1.0 - gaps, vectors
    values, vectors = found
    return values, vectors / constant[:, None]


def _by_products(
    symmetric: csr_matrix, constant: Floats, count: int
) -> tuple[Floats, Floats] | None:
    # The constant mode becomes the last of all.
    without = LinearOperator(
        symmetric.shape,
        matvec=lambda vector: symmetric @ vector - 3.0 * constant * (constant @ vector),
        dtype=float,
    )
    start = start_vector(len(constant))
    try:
        values, vectors = eigsh(without, k=count, which='LA', v0=start, maxiter=RESTARTS)
    except ArpackNoConvergence:
        return None
    order = np.argsort(values)[::-1]
    return values[order], fix_signs(vectors[:, order])
