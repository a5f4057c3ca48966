# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Diffusion maps, isotropic and anisotropic, beside a dense computation."""

from dataclasses import replace

import naive
from noisy_lap import noisy_lap
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.diffusion_map import (
    AnisotropicDiffusion,
    DiffusionMap,
    GivenCovariances,
    LocalMetric,
    NeighboursInTime,
    power_mean,
    Transition,
)
from two_manifold_ros.manifold.learner import Embedding, PointSet, Samples
from two_manifold_ros.ticks.windows import WindowSet

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(70, 2))
BENT = np.stack([X[:, 0] + X[:, 1] ** 3, X[:, 1] - X[:, 0] ** 3], axis=1)
JACOBIANS = np.array([[[1.0, 3.0 * y**2], [-3.0 * x**2, 1.0]] for x, y in X])
COVARIANCES = JACOBIANS @ JACOBIANS.transpose(0, 2, 1)
KAPPA = 9


def fitted(**changes: object) -> Embedding:
    learner = AnisotropicDiffusion(4, KAPPA, GivenCovariances(COVARIANCES, 2))
    return replace(learner, **changes).fit(PointSet(BENT))


def assert_is_dense(
    found: Embedding, squared: np.ndarray, near: int, density: float, dimension: int
) -> None:
    last = np.sort(squared, axis=1)[:, near]
    assert found.bandwidth == pytest.approx(np.sqrt(np.median(last) / 2.0))
    weights = naive.affinities(squared, near, found.bandwidth)
    np.fill_diagonal(weights, 1.0)
    values, expected = naive.diffusion_map(weights, density, dimension)
    np.testing.assert_allclose(found.eigenvalues, values, rtol=1e-9)
    naive.assert_same_to_signs(found.coordinates, expected, atol=1e-8)


@pytest.mark.parametrize(('density', 'power'), [(0.0, 1.0), (0.5, 0.0), (1.0, 0.5)])
def test_dense_eigenvectors(density, power):
    # Squared lengths of differences as the point of the row sees them.
    apart = BENT[:, None] - BENT
    seen = np.einsum('ijk,ikl,ijl->ij', apart, np.linalg.inv(COVARIANCES), apart)
    squared = power_mean(seen, seen.T, power)
    assert_is_dense(fitted(density=density, power=power), squared, KAPPA, density, 4)
    windows = noisy_lap()
    rows = windows.rows(np.arange(len(windows)))
    isotropic = DiffusionMap(6, 8, density).fit(windows)
    assert_is_dense(isotropic, naive.squared_distances(rows, rows), 8, density, 6)


def test_a_new_point_takes_the_covariance_of_the_nearest():
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


POINTS = PointSet(np.random.default_rng(0).normal(size=(40, 3)))


def assert_lengths(
    metric: LocalMetric, samples: Samples, covariance: np.ndarray, index: int, rank: int
) -> None:
    """Squared lengths of differences to all points are as one sees them."""
    squared = samples.distances_to(np.arange(len(samples)))
    found = np.square(metric.frame(index, squared)).sum(axis=1)
    values, vectors = np.linalg.eigh(covariance)
    inverse = (vectors[:, -rank:] / values[-rank:]) @ vectors[:, -rank:].T
    rows = samples.rows(np.arange(len(samples)))
    expected = np.einsum('ni,ij,nj->n', rows - rows[index], inverse, rows - rows[index])
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize('rank', [1, 2, 3])
def test_given_covariances(rank):
    factors = RNG.normal(size=(40, 3, 3))
    covariances = factors @ factors.transpose(0, 2, 1) + 0.1 * np.eye(3)
    metric = GivenCovariances(covariances, rank).measure(POINTS)
    for index in (0, 17, 39):
        assert_lengths(metric, POINTS, covariances[index], index, rank)
    # No variance is that of the nearest.
    covariances = np.tile(np.eye(3), (40, 1, 1))
    covariances[4] = 0.0
    distances = POINTS.distances_to(np.array([4]))[:, 0]
    near = int(np.argsort(distances)[1])
    covariances[near] = 25.0 * np.eye(3)
    metric = GivenCovariances(covariances, 3).measure(POINTS)
    assert_lengths(metric, POINTS, covariances[near], 4, 3)


@pytest.mark.parametrize(('index', 'first', 'last'), [(10, 7, 13), (25, 22, 25), (26, 26, 29)])
def test_neighbours_in_time_end_at_a_seam(index, first, last):
    starts = np.concatenate([np.arange(0, 26), np.arange(30, 56)])
    windows = WindowSet(RNG.normal(size=(2, 60)).cumsum(axis=1), starts, 5)
    metric = NeighboursInTime(3, 2).measure(windows)
    covariance = np.cov(windows.rows(np.arange(first, last + 1)).T, ddof=0)
    assert_lengths(metric, windows, covariance, index, 2)


def test_other_points_follow_each_other():
    metric = NeighboursInTime(2, 3).measure(POINTS)
    assert_lengths(metric, POINTS, np.cov(POINTS.points[6:11].T, ddof=0), 8, 3)
    # More rank than there is.
    metric = NeighboursInTime(1, 5).measure(POINTS)
    assert metric.coefficients.shape == (40, 3, 5)
    assert not metric.coefficients[:, :, 2:].any()


@pytest.mark.parametrize(
    ('source', 'points', 'words'),
    [
        (NeighboursInTime(3, 2), PointSet(np.ones((9, 2))), 'no point moves'),
        (GivenCovariances(np.zeros((40, 3, 3)), 2), POINTS, 'no point moves'),
        (GivenCovariances(np.ones((40, 2, 2)), 2), POINTS, r'instead of \(40, 3, 3\)'),
    ],
)
def test_what_does_not_move_or_fit(source, points, words):
    with pytest.raises(InputError, match=words):
        source.measure(points)


def test_steps_to_the_nearest_and_to_those_it_is_near_to():
    squared = np.array([4.0, 1.0, 25.0, 9.0])
    near = Transition(2.0, 1, np.array([0.0, 0.0, 0.0, 9.0 - 1e-12]), np.array([1.0, 2.0, 1.0, 3]))
    # The two nearest, since a training point would be one of them, and the last by its radius.
    expected = np.exp(-squared / 8.0) * [1.0, 2.0, 0.0, 3.0]
    np.testing.assert_allclose(near.weights(squared), expected / expected.sum())
    # And to none that are out of reach.
    assert near.weights(squared + 200.0) is not None
    assert near.weights(squared + 240.0) is None
