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
from two_manifold_ros.manifold.learner import PointSet


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


@pytest.mark.parametrize(
    'points',
    [np.ones(3), np.ones((0, 3)), np.array([[1.0], [np.nan]]), np.array([[1.0], [-1e160]])],
)
def test_no_points(points):
    with pytest.raises(InputError, match='point'):
        PointSet(points)


def test_many_points_are_spread():
    spread = spread_landmarks(90, 31)
    assert len(spread) == 31
    assert spread[[0, -1]].tolist() == [0, 89]
    # Of 29 stretches of three points each, or four in one or the other.
    assert np.diff(spread).min() >= 1
    assert np.diff(spread).max() <= 7
    assert np.bincount((spread - 1) % 3).min() > 3, 'all at the same place of a stretch'
    np.testing.assert_array_equal(spread, spread_landmarks(90, 31))
