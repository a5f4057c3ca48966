# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Locally linear embedding beside dense eigenvectors and scikit-learn; mixtures of neighbours."""

import numpy as np
import pytest

from two_manifold_ros.manifold.learner import PointSet
from two_manifold_ros.manifold.locally_linear import (
    Barycentric,
    LocallyLinear,
    pair_keys,
    pairs_within,
    relative_weights,
    usual_weights,
)

POINTS = np.random.default_rng(0).uniform(size=(70, 2)) @ np.array([[3.0, 1, 0], [0, 1, 2.0]])
POINTS[:, 2] += np.sin(POINTS[:, 0])


def test_locally_linear_embedding_of_scikit_learn():
    manifold = pytest.importorskip('sklearn.manifold')
    embedding = LocallyLinear(3, 9).fit(PointSet(POINTS))
    other = manifold.LocallyLinearEmbedding(
        n_neighbors=9, n_components=3, eigen_solver='dense'
    ).fit(POINTS)
    expected = np.sqrt(70) * other.embedding_
    signs = np.sign((embedding.coordinates * expected).sum(axis=0))
    np.testing.assert_allclose(embedding.coordinates, expected * signs, atol=1e-5)
    assert embedding.eigenvalues.sum() == pytest.approx(other.reconstruction_error_, rel=1e-6)


def test_dense_eigenvectors():
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


def test_new_points_lie_between_their_neighbours():
    embedding = LocallyLinear(2, 9).fit(PointSet(POINTS))
    middle = (POINTS[5] + POINTS[PointSet(POINTS).neighbours(1)[0][5, 0]]) / 2.0
    squared = np.square(POINTS - middle).sum(axis=1)
    found = embedding.extension.transform(squared)
    ends = embedding.coordinates[np.argsort(squared)[:2]]
    np.testing.assert_allclose(found, ends.mean(axis=0), atol=0.05)


RNG = np.random.default_rng(0)
FEW = RNG.normal(size=(12, 2))
APART = np.square(FEW[:, None] - FEW).sum(axis=2)
NEAREST = np.argsort(APART, axis=1)[:, :5]
PAIRS = np.unique(pair_keys(NEAREST, 12))
RESPONSE = Barycentric(NEAREST, PAIRS, APART[PAIRS // 12, PAIRS % 12])


def test_weights_minimise_their_objective():
    point = FEW[3] + 0.1
    squared = np.square(FEW - point).sum(axis=1)
    weights = RESPONSE.weights(squared)
    assert set(np.flatnonzero(weights)) == set(NEAREST[squared.argmin()])
    assert weights.sum() == pytest.approx(1.0)
    # 1e-3 of the trace where all neighbours are equally far.
    penalties = 5e-3 * squared

    def objective(tried: np.ndarray) -> float:
        return np.square(point - tried @ FEW).sum() + penalties @ np.square(tried)

    for first, second in RNG.permuted(np.tile(NEAREST[3], (8, 1)), axis=1)[:, :2]:
        moved = weights.copy()
        moved[first] += 1e-4
        moved[second] -= 1e-4
        assert objective(moved) > objective(weights)


def test_nearly_on_a_training_point():
    squared = np.square(FEW - FEW[3]).sum(axis=1)
    np.testing.assert_array_equal(RESPONSE.weights(squared), np.arange(12) == 3)
    squared = np.square(FEW - FEW[3] - 1e-7).sum(axis=1)
    np.testing.assert_allclose(RESPONSE.weights(squared), np.arange(12) == 3, atol=1e-6)


def test_copies_share():
    apart = APART[np.ix_([3, 3, 4], [3, 3, 4])]
    np.testing.assert_array_equal(relative_weights(APART[3, [3, 3, 4]], apart), [0.5, 0.5, 0.0])


def test_usual_weights():
    away = RNG.normal(size=(4, 2))
    gram = away @ away.T
    expected = np.linalg.inv(gram + 1e-3 * np.trace(gram) * np.eye(4)).sum(axis=1)
    np.testing.assert_allclose(usual_weights(gram), expected / expected.sum())
    np.testing.assert_array_equal(usual_weights(np.zeros((4, 4))), 0.25)


def test_distances_that_contradict_each_other():
    # Exact in binary, so that the cosine is minus the diagonal: 1 + 2 / 1024.
    far = 4.0 + 2.0**-8
    with pytest.raises(np.linalg.LinAlgError):
        relative_weights(np.ones(2), np.array([[0.0, far], [far, 0.0]]), 2.0**-10)
    assert RESPONSE.weights(np.full(12, np.nan)) is None
    two = Barycentric(np.array([[0, 1], [1, 0]]), np.array([1]), np.array([1e308]))
    assert two.check(2) == 2
    with np.errstate(over='ignore', invalid='ignore'):
        assert two.weights(np.full(2, 1e-9)) is None


def test_pairs_within_come_once_and_increase():
    found = list(pairs_within(NEAREST, block=5))  # more points than a block
    assert all((keys // 12 == point).all() for point, keys in found)
    np.testing.assert_array_equal(np.concatenate([keys for _, keys in found]), PAIRS)
