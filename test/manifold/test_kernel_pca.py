# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Eigenvectors of kernel matrices."""

import numpy as np

from two_manifold_ros.manifold.kernel_pca import _leading


def test_equal_blocks_keep_all_their_eigenvalues() -> None:
    # A solver that starts from a vector with the symmetry of the blocks sees only one of them.
    place = np.arange(40)
    block = np.exp(-((place[:, None] - place) ** 2) / 50.0)
    kernel = np.kron(np.eye(3), block)
    values, vectors = _leading(kernel, 8)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(kernel)[:-9:-1], rtol=1e-9)
    np.testing.assert_allclose(kernel @ vectors, vectors * values, atol=1e-9)


def test_eigenvalues_that_are_rounding_are_left_out() -> None:
    factors = np.random.default_rng(0).normal(size=(30, 3))
    values, vectors = _leading(factors @ factors.T, 10)
    assert values.shape == (3,)
    assert vectors.shape == (30, 3)
