# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse iteration beside dense eigenvectors."""

import numpy as np
import pytest
from scipy.sparse import csc_matrix

from two_manifold_ros.manifold.graph import smallest_modes


def laplacian_of(weights: np.ndarray) -> csc_matrix:
    return csc_matrix(np.diag(weights.sum(axis=1)) - weights)


def ring(count: int) -> np.ndarray:
    apart = np.abs(np.arange(count)[:, None] - np.arange(count))
    return np.isin(apart, (1, count - 1)).astype(float)


@pytest.mark.parametrize('modes', [5, 28])
def test_dense_eigenvectors(modes: int) -> None:
    weights = np.random.default_rng(0).uniform(size=(30, 30))
    matrix = laplacian_of(weights + weights.T)
    values, vectors = np.linalg.eigh(matrix.toarray())
    found, columns = smallest_modes(matrix, np.full(30, 30**-0.5), modes)
    np.testing.assert_allclose(found, values[1 : modes + 1], rtol=1e-11)
    overlap = np.abs((columns * vectors[:, 1 : modes + 1]).sum(axis=0))
    np.testing.assert_allclose(overlap, 1.0, atol=1e-9)
    assert (columns[np.abs(columns).argmax(axis=0), np.arange(modes)] > 0.0).all()


def test_a_second_zero_is_told_from_the_known_one() -> None:
    apart = np.kron(np.eye(2), ring(40))
    found, columns = smallest_modes(laplacian_of(apart), np.full(80, 80**-0.5), 3)
    assert found[0] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(np.abs(columns[:, 0]), 80**-0.5, rtol=1e-6)
    np.testing.assert_allclose(columns.sum(axis=0), 0.0, atol=1e-12)


def test_symmetric_matrix_twice_the_same() -> None:
    first, second = (smallest_modes(laplacian_of(ring(60)), np.full(60, 60**-0.5), 8)
                     for _ in range(2))  # fmt: skip
    np.testing.assert_array_equal(first[1], second[1])
    pairs = 2.0 - 2.0 * np.cos(2.0 * np.pi * np.repeat(np.arange(1, 5), 2) / 60.0)
    np.testing.assert_allclose(first[0], pairs, rtol=1e-9)
