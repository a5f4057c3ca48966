# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The rows of a matrix as points, and coordinates of new points."""

from hypothesis import given, settings
from hypothesis import strategies as st
import naive
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.affinity import spread_landmarks
from two_manifold_ros.manifold.kernel_pca import GaussianKernel, LinearKernel
from two_manifold_ros.manifold.learner import Extension, PointSet


@given(st.integers(2, 25), st.integers(1, 4), st.integers(1, 12), st.integers(0, 999))
@settings(max_examples=50)
def test_neighbours_of_every_point(n, width, count, seed):
    # Small whole numbers make many ties and duplicates.
    points = np.random.default_rng(seed).integers(-1, 2, size=(n, width)).astype(float)
    expected = naive.squared_distances(points, points)
    indices, squared = PointSet(points).neighbours(count)
    assert indices.shape == squared.shape == (n, min(count, n - 1))
    for i in range(n):
        np.testing.assert_array_equal(squared[i], np.sort(np.delete(expected[i], i))[:count])
        np.testing.assert_array_equal(expected[i, indices[i]], squared[i])
        assert i not in indices[i]
        assert len(set(indices[i].tolist())) == len(indices[i])


def test_distances():
    points = np.random.default_rng(0).normal(size=(30, 3)) + 1e6
    expected = naive.squared_distances(points, points)
    made = PointSet(points)
    assert len(made) == 30
    np.testing.assert_allclose(made.distances_to(np.array([4, 2])), expected[:, [4, 2]])
    np.testing.assert_allclose(made.distances_from(made.rows(np.array([7]))), expected[:, [7]])


@pytest.mark.parametrize(
    'points',
    [np.ones(3), np.ones((0, 3)), np.array([[1.0], [np.nan]]), np.array([[1.0], [-1e160]])],
)
def test_no_points(points):
    with pytest.raises(InputError, match='point'):
        PointSet(points)


TABLE = np.array([[1.0, 0.0], [0.0, 2.0], [5.0, 5.0]])
OFFSET = np.array([0.5, -0.5])
SQUARED = np.array([2.0, 0.0, 4.0])


class Halves:
    """A response that knows nothing far away."""

    def weights(self, squared: np.ndarray) -> np.ndarray | None:
        return None if squared.min() > 9.0 else squared / 2.0


EXTENSION = Extension(Halves(), TABLE, OFFSET)


def test_weights_of_the_table_unless_it_resembles_nothing():
    np.testing.assert_array_equal(EXTENSION.transform(SQUARED), [11.5, 9.5])
    assert EXTENSION.transform(SQUARED + 10.0) is None


def test_many_points_are_spread():
    spread = spread_landmarks(90, 31)
    assert len(spread) == 31
    assert spread[[0, -1]].tolist() == [0, 89]
    # Of 29 stretches of three points each, or four in one or the other.
    assert np.diff(spread).min() >= 1
    assert np.diff(spread).max() <= 7
    assert np.bincount((spread - 1) % 3).min() > 3, 'all at the same place of a stretch'
    np.testing.assert_array_equal(spread, spread_landmarks(90, 31))


def circle(angles: np.ndarray) -> PointSet:
    return PointSet(np.stack([np.cos(angles), np.sin(angles)], axis=1))


@pytest.mark.parametrize('learner', [LinearKernel(2, 20), GaussianKernel(2, 20)])
def test_laps_as_long_as_a_stretch(learner):
    # Ten points a lap: every tenth of 191 is always the same.
    embedding = learner.fit(circle(2.0 * np.pi * np.arange(191) / 10.0))
    assert embedding.coordinates.shape == (191, 2)
    assert embedding.coordinates.std(axis=0).min() > 0.1 * embedding.coordinates.std()
