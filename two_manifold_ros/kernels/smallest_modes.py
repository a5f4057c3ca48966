# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The smallest modes of a sparse matrix whose null vector is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import identity
from scipy.sparse.linalg import eigsh, LinearOperator, splu

from two_manifold_ros.kernels.signs import fix_signs
from two_manifold_ros.kernels.start_vector import start_vector

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

    from two_manifold_ros.typing import Floats

SHIFT = 1e-9
"""Added to the diagonal, relative to its mean, so that the matrix can be factored."""


def smallest_modes(matrix: csc_matrix, null: Floats, count: int) -> tuple[Floats, Floats]:
    """
    Return the smallest eigenvalues of a positive semidefinite matrix, but for one that is known.

    By inverse iteration on the complement of the null vector: a second eigenvalue that is zero
    to rounding, as of a nearly split graph, is told from the first, and clustered ones converge.

    Parameters
    ----------
    matrix : (n, n)
        Symmetric and sparse.
    null : (n,)
        Eigenvector with eigenvalue 0, of unit length.
    count
        How many modes, m, at most n - 2.

    Returns
    -------
    values : (m,), vectors : (n, m)
        Increasing; orthonormal columns, orthogonal to ``null``, with signs fixed.

    """
    size = len(null)
    shift = SHIFT * matrix.diagonal().mean()
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
    values, vectors = eigsh(
        matrix,
        k=count,
        sigma=-shift,
        OPinv=inverse,
        v0=project(start_vector(size)),
    )
    order = np.argsort(values)
    # Up to SciPy 1.14 ARPACK leaves in what rounding, a billion times as large here, let in.
    vectors = vectors - np.outer(null, null @ vectors)
    return np.maximum(values[order], 0.0), fix_signs(vectors[:, order])
