# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Modes of a walk beside dense eigenvectors."""

import naive
import numpy as np
import pytest
from scipy.sparse import csr_matrix

from two_manifold_ros.manifold import graph as module
from two_manifold_ros.manifold.graph import smallest_modes, walk_modes


@pytest.mark.parametrize('few', [0, 1000], ids=['products', 'inverse'])
@pytest.mark.parametrize('modes', [4, 28])
def test_dense_eigenvectors(modes: int, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, 'FEW', few)
    weights = np.random.default_rng(0).uniform(size=(30, 30))
    weights += weights.T
    degrees = weights.sum(axis=1)
    values, vectors = np.linalg.eigh(weights / np.sqrt(np.outer(degrees, degrees)))
    values, vectors = values[::-1][1 : modes + 1], vectors[:, ::-1][:, 1 : modes + 1]
    found, functions = walk_modes(csr_matrix(weights), modes)
    np.testing.assert_allclose(found, values, atol=1e-12)
    expected = vectors * np.sqrt(degrees.sum() / degrees)[:, None]
    expected *= naive.align(functions, expected)
    np.testing.assert_allclose(functions, expected, atol=1e-9)
    np.testing.assert_allclose(degrees @ np.square(functions) / degrees.sum(), 1.0)


def test_points_along_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    # Products alone would need thousands of restarts.
    tried = []
    monkeypatch.setattr(
        module, 'smallest_modes', lambda *given: tried.append(1) or smallest_modes(*given)
    )
    monkeypatch.setattr(module, 'FEW', 0)
    weights = np.eye(801) + np.eye(801, k=1) + np.eye(801, k=-1)
    found, functions = walk_modes(csr_matrix(weights), 2)
    assert tried
    walk = weights / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(walk @ functions, functions * found, atol=1e-9)
    assert 1.0 - found[1] == pytest.approx(4.0 * (1.0 - found[0]), rel=1e-2)


def test_star_twice_the_same() -> None:
    # All but two of its modes share one eigenvalue, so that Lanczos by products ends early.
    weights = np.zeros((40, 40))
    weights[0, 1:] = weights[1:, 0] = 1.0
    first, second = (walk_modes(csr_matrix(weights), 10) for _ in range(2))
    np.testing.assert_allclose(first[0], 0.0, atol=1e-12)
    np.testing.assert_array_equal(first[1], second[1])
