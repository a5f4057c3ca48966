# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The anisotropic diffusion beside a dense computation, and what it does not see."""

from dataclasses import replace

import naive
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.anisotropic_diffusion import AnisotropicDiffusion, power_mean
from two_manifold_ros.manifold.learner import Embedding, PointSet
from two_manifold_ros.manifold.local_metric import GivenCovariances

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(70, 2))
BENT = np.stack([X[:, 0] + X[:, 1] ** 3, X[:, 1] - X[:, 0] ** 3], axis=1)
JACOBIANS = np.stack(
    [
        np.stack([np.ones(70), 3.0 * X[:, 1] ** 2], axis=1),
        np.stack([-3.0 * X[:, 0] ** 2, np.ones(70)], axis=1),
    ],
    axis=1,
)
COVARIANCES = JACOBIANS @ JACOBIANS.transpose(0, 2, 1)
KAPPA = 9


def fitted(**changes: object) -> Embedding:
    learner = AnisotropicDiffusion(4, KAPPA, GivenCovariances(COVARIANCES, 2))
    return replace(learner, **changes).fit(PointSet(BENT))


def squared_lengths() -> np.ndarray:
    """Return (n, n) squared lengths of differences as the point of the row sees them."""
    inverses = np.linalg.inv(COVARIANCES)
    differences = BENT[:, None] - BENT
    return np.einsum('ijk,ikl,ijl->ij', differences, inverses, differences)


@pytest.mark.parametrize(('density', 'power'), [(0.0, 1.0), (0.5, 0.0), (1.0, 0.5)])
def test_dense_eigenvectors(density: float, power: float) -> None:
    embedding = fitted(density=density, power=power)
    seen = squared_lengths()
    squared = power_mean(seen, seen.T, power)
    last = np.sort(squared, axis=1)[:, KAPPA]
    assert embedding.bandwidth == pytest.approx(np.sqrt(np.median(last) / 2.0))
    weights = naive.affinities(squared, KAPPA, embedding.bandwidth)
    np.fill_diagonal(weights, 1.0)
    sums = weights.sum(axis=1)
    weights /= np.outer(sums, sums) ** density
    values, functions = np.linalg.eig(weights / weights.sum(axis=1, keepdims=True))
    order = np.argsort(-values.real)[1:5]
    np.testing.assert_allclose(embedding.eigenvalues, values.real[order], rtol=1e-9)
    stationary = weights.sum(axis=1) / weights.sum()
    expected = functions.real[:, order]
    expected *= values.real[order] / np.sqrt(stationary @ np.square(expected))
    expected -= expected.mean(axis=0)
    signs = naive.align(embedding.coordinates, expected)
    np.testing.assert_allclose(embedding.coordinates, expected * signs, atol=1e-8)


def test_power_means() -> None:
    first, second = np.array([1.0, 0.0]), np.array([4.0, 0.0])
    assert power_mean(first, second, 1.0).tolist() == [2.5, 0.0]
    assert power_mean(first, second, 0.0).tolist() == [2.0, 0.0]
    assert power_mean(first, second, 0.5)[0] == pytest.approx(2.25)


def test_a_linear_map_of_the_points_is_not_seen() -> None:
    mix = np.array([[1.0, 0.4, 0.0], [-0.3, 2.0, 0.0]])
    every = KAPPA * 8  # so that all are candidates, whatever the distances
    assert every >= len(X)
    plain = GivenCovariances(np.tile(np.eye(2), (70, 1, 1)), 2)
    mixed = GivenCovariances(np.tile(mix.T @ mix, (70, 1, 1)), 2)
    one = AnisotropicDiffusion(3, KAPPA, plain).fit(PointSet(X))
    other = AnisotropicDiffusion(3, KAPPA, mixed).fit(PointSet(X @ mix))
    np.testing.assert_allclose(one.eigenvalues, other.eigenvalues, rtol=1e-6)
    np.testing.assert_allclose(one.coordinates, other.coordinates, atol=1e-5)


def test_epsilon_is_the_bandwidth_squared() -> None:
    embedding = fitted(epsilon=0.04)
    assert embedding.bandwidth == pytest.approx(0.2)
    assert (embedding.eigenvalues < fitted(epsilon=0.01).eigenvalues).all()


def test_a_new_point_takes_the_covariance_of_the_nearest() -> None:
    embedding = fitted(density=0.5)
    new = BENT[20] + [0.004, -0.003]
    squared = np.square(BENT - new).sum(axis=1)
    assert squared.argmin() == 20
    response = embedding.extension.response
    found = response.weights(squared)
    inverses = np.linalg.inv(COVARIANCES)
    away = np.einsum('ij,jk,ik->i', BENT - new, inverses[20], BENT - new)
    back = np.einsum('ij,ijk,ik->i', BENT - new, inverses, BENT - new)
    near = np.exp(-(away + back) / (4.0 * embedding.bandwidth**2)) * response.factors
    near[np.setdiff1d(np.arange(70), np.flatnonzero(found))] = 0.0
    np.testing.assert_allclose(found, near / near.sum(), atol=1e-12)
    assert response.weights(squared + 1e6) is None, 'across all directions'
    assert response.weights(100.0 * squared + 10.0) is None, 'along them'


@pytest.mark.parametrize('changes', [{'density': 1.5}, {'power': -1.0}, {'epsilon': 0.0}])
def test_numbers_out_of_range(changes: dict[str, float]) -> None:
    with pytest.raises(InputError, match=f'{next(iter(changes))} is '):
        fitted(**changes)


def test_copies_as_many_as_neighbours() -> None:
    copies = np.repeat(RNG.normal(size=(4, 2)), 10, axis=0)
    source = GivenCovariances(np.tile(np.eye(2), (40, 1, 1)), 2)
    with pytest.raises(InputError, match='identical'):
        AnisotropicDiffusion(2, KAPPA, source).fit(PointSet(copies))


def test_points_across_a_circle_are_not_near() -> None:
    angles = 2.0 * np.pi * np.arange(100) / 100
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    along = np.stack([-circle[:, 1], circle[:, 0]], axis=1)
    source = GivenCovariances(along[:, :, None] * along[:, None], 1)
    found = AnisotropicDiffusion(2, 4, source).fit(PointSet(circle)).coordinates
    # Each point sees no distance to the one opposite.
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), np.linalg.norm(found[0]), rtol=1e-6)
    np.testing.assert_allclose(found[:50], -found[50:], atol=1e-6)
