# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Locally linear embedding beside that of scikit-learn and a dense computation."""

import numpy as np
import pytest

from two_manifold_ros.manifold.learner import PointSet
from two_manifold_ros.manifold.locally_linear import LocallyLinear, usual_weights

POINTS = np.random.default_rng(0).uniform(size=(70, 2)) @ np.array([[3.0, 1, 0], [0, 1, 2.0]])
POINTS[:, 2] += np.sin(POINTS[:, 0])


def test_locally_linear_embedding_of_scikit_learn() -> None:
    manifold = pytest.importorskip('sklearn.manifold')
    embedding = LocallyLinear(3, 9).fit(PointSet(POINTS))
    other = manifold.LocallyLinearEmbedding(
        n_neighbors=9, n_components=3, eigen_solver='dense'
    ).fit(POINTS)
    expected = np.sqrt(70) * other.embedding_
    signs = np.sign((embedding.coordinates * expected).sum(axis=0))
    np.testing.assert_allclose(embedding.coordinates, expected * signs, atol=1e-5)
    assert embedding.eigenvalues.sum() == pytest.approx(other.reconstruction_error_, rel=1e-6)


def test_dense_eigenvectors() -> None:
    embedding = LocallyLinear(5, 9).fit(PointSet(POINTS))
    errors = np.eye(70)
    for point, near in enumerate(PointSet(POINTS).neighbours(9)[0]):
        away = POINTS[near] - POINTS[point]
        errors[point, near] -= usual_weights(away @ away.T)
    values, vectors = np.linalg.eigh(errors.T @ errors)
    np.testing.assert_allclose(embedding.eigenvalues, values[1:6], rtol=1e-6)
    overlap = (embedding.coordinates * vectors[:, 1:6]).sum(axis=0) / np.sqrt(70)
    np.testing.assert_allclose(np.abs(overlap), 1.0, rtol=1e-6)
    np.testing.assert_allclose(embedding.coordinates.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(embedding.coordinates.std(axis=0), 1.0)


def test_new_points_lie_between_their_neighbours() -> None:
    embedding = LocallyLinear(2, 9).fit(PointSet(POINTS))
    middle = (POINTS[5] + POINTS[PointSet(POINTS).neighbours(1)[0][5, 0]]) / 2.0
    squared = np.square(POINTS - middle).sum(axis=1)
    found = embedding.extension.transform(squared)
    ends = embedding.coordinates[np.argsort(squared)[:2]]
    np.testing.assert_allclose(found, ends.mean(axis=0), atol=0.05)


def test_pieces_are_told_apart() -> None:
    apart = np.concatenate([POINTS[:30], POINTS[:30] + 50.0])
    embedding = LocallyLinear(3, 6).fit(PointSet(apart))
    assert 'fell into 2 pieces' in embedding.notes[0]
    # Mixed of the other piece too, if ever so little.
    assert embedding.eigenvalues[0] > 1e-12
    sides = embedding.coordinates[:, 0]
    np.testing.assert_allclose(np.abs(sides), 1.0, atol=0.1)
    assert sides[:30].std() < 0.05
