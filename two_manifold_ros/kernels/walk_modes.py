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

RESTARTS = 100
"""Of Lanczos, most graphs need less than ten; along a thread of points it may need thousands."""


def walk_modes(graph: csr_matrix, count: int) -> tuple[Floats, Floats]:
    r"""
    Return the largest eigenvalues and the eigenfunctions of a walk, without the constant one.

    By products with the graph; where these take too long, its points lie along a thread, and
    inverse iteration, whose factors are large for a graph in many dimensions, is quick.

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
    # The constant mode becomes the last of all.
    without = LinearOperator(
        graph.shape,
        matvec=lambda vector: symmetric @ vector - 3.0 * constant * (constant @ vector),
        dtype=float,
    )
    start = start_vector(len(degrees))
    try:
        values, vectors = eigsh(without, k=count, which='LA', v0=start, maxiter=RESTARTS)
    except ArpackNoConvergence:
        laplacian = (identity(len(degrees)) - symmetric).tocsc()
        gaps, vectors = smallest_modes(laplacian, constant, count)
        return 1.0 - gaps, vectors / constant[:, None]
    order = np.argsort(values)[::-1]
    return np.minimum(values[order], 1.0), fix_signs(vectors[:, order]) / constant[:, None]
