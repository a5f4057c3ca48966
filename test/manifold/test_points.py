# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The rows of a matrix as points, compared one by one."""

from hypothesis import given, settings
from hypothesis import strategies as st
import naive
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.learner import PointSet


@given(st.integers(2, 25), st.integers(1, 4), st.integers(1, 12), st.integers(0, 999))
@settings(derandomize=True, deadline=None, max_examples=50)
def test_neighbours_of_every_point(n: int, width: int, count: int, seed: int) -> None:
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


def test_distances() -> None:
    points = np.random.default_rng(0).normal(size=(30, 3)) + 1e6
    expected = naive.squared_distances(points, points)
    made = PointSet(points)
    assert len(made) == 30
    np.testing.assert_allclose(made.distances_to(np.array([4, 2])), expected[:, [4, 2]])
    np.testing.assert_allclose(made.distances_from(made.rows(np.array([7]))), expected[:, [7]])


def test_pairs_are_different_points() -> None:
    points = PointSet(np.array([[0.0], [1.0], [10.0]]))
    drawn = points.pair_distances(2)
    assert drawn.shape == (2,)
    assert set(points.pair_distances(2, seed=1)) | set(drawn) <= {1.0, 81.0, 100.0}
    np.testing.assert_array_equal(drawn, points.pair_distances(2))
    assert sorted(points.pair_distances(3000)) == [1.0, 81.0, 100.0], 'not each pair once'


@pytest.mark.parametrize(
    'points',
    [np.ones(3), np.ones((0, 3)), np.array([[1.0], [np.nan]]), np.array([[1.0], [-1e160]])],
)
def test_no_points(points: np.ndarray) -> None:
    with pytest.raises(InputError, match='point'):
        PointSet(points)
