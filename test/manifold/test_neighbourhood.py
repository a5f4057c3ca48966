# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The neighbours of a new point."""

import naive
import numpy as np
import pytest

from two_manifold_ros.manifold.affinity import check_neighbourhood, near_points
from two_manifold_ros.manifold.learner import PointSet

POINTS = np.random.default_rng(0).normal(size=(40, 2))
SQUARED = naive.squared_distances(POINTS, POINTS)
RADII = PointSet(POINTS).neighbours(5)[1][:, -1]


def test_rows_of_the_graph_and_oneself() -> None:
    graph = naive.affinities(SQUARED, 5, 1.0) > 0.0
    for i in range(40):
        # As distances are when they come from a recursion.
        near = near_points(SQUARED[i] * (1.0 + 1e-12), 5, RADII)
        np.testing.assert_array_equal(near, np.flatnonzero(graph[i] | (np.arange(40) == i)))


def test_a_new_point() -> None:
    squared = np.square(POINTS - [0.3, -0.2]).sum(axis=1)
    expected = set(np.argsort(squared)[:6]) | set(np.flatnonzero(squared <= RADII))
    assert len(expected) > 6
    assert set(near_points(squared, 5, RADII)) == expected


@pytest.mark.parametrize(
    ('neighbours', 'radii', 'words'),
    [
        (0, RADII, 'neighbours is 0'),
        (40, RADII, 'neighbours is 40'),
        (5, RADII[1:], 'radii are not 40'),
        (5, -RADII, 'radii are not 40'),
    ],
)
def test_what_does_not_fit(neighbours: int, radii: np.ndarray, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check_neighbourhood(neighbours, radii, 40)
