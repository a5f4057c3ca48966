# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which points stand for all."""

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.affinity import spread_landmarks
from two_manifold_ros.manifold.isomap import Isomap
from two_manifold_ros.manifold.kernel_pca import GaussianKernel, LinearKernel, PolynomialKernel
from two_manifold_ros.manifold.learner import ManifoldLearner, PointSet


def test_few_points_are_all_landmarks() -> None:
    np.testing.assert_array_equal(spread_landmarks(7, 7), np.arange(7))
    np.testing.assert_array_equal(spread_landmarks(7, 100), np.arange(7))


def test_many_points_are_spread() -> None:
    spread = spread_landmarks(90, 31)
    assert len(spread) == 31
    assert spread[[0, -1]].tolist() == [0, 89]
    # Of 29 stretches of three points each, or four in one or the other.
    assert np.diff(spread).min() >= 1
    assert np.diff(spread).max() <= 7
    assert np.bincount((spread - 1) % 3).min() > 3, 'all at the same place of a stretch'
    np.testing.assert_array_equal(spread, spread_landmarks(90, 31))


@pytest.mark.parametrize(
    'learner',
    [Isomap(2, 30, 20), LinearKernel(2, 20), PolynomialKernel(2, 2, 20), GaussianKernel(2, 20)],
)
def test_laps_as_long_as_a_stretch(learner: ManifoldLearner) -> None:
    # Ten points a lap: every tenth of 191 is always the same.
    angles = 2.0 * np.pi * np.arange(191) / 10.0
    embedding = learner.fit(PointSet(np.stack([np.cos(angles), np.sin(angles)], axis=1)))
    assert embedding.coordinates.shape == (191, 2)
    assert embedding.coordinates.std(axis=0).min() > 0.1 * embedding.coordinates.std()


@pytest.mark.parametrize(
    'learner',
    [Isomap(2, 5, 2), LinearKernel(2, 2), PolynomialKernel(2, 2, 2), GaussianKernel(2, 2)],
)
def test_landmarks_that_are_all_alike(learner: ManifoldLearner) -> None:
    # The first and the last, which are the same.
    angles = np.linspace(0.0, 2.0 * np.pi, 30)
    circle = PointSet(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    with pytest.raises(InputError, match='the 2 points that stand for all are identical'):
        learner.fit(circle)
