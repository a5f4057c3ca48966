# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Geodesics along the edges of a neighbour graph."""

import numpy as np
import pytest

from two_manifold_ros.manifold.graph import find_bridges
from two_manifold_ros.manifold.isomap import Geodesic, geodesic_lengths
from two_manifold_ros.manifold.learner import PointSet

# Around three sides of a square, then two copies of the last point.
CORNERS = PointSet(np.array([[0, 0], [1, 0], [2, 0], [2, 1], [2, 2], [1, 2], [0, 2], [0, 2.0]]))


def lengths_to(points: PointSet, neighbours: int, *landmarks: int) -> np.ndarray:
    indices, squared = points.neighbours(neighbours)
    bridges = find_bridges(points, indices)
    return geodesic_lengths(indices, squared, bridges, np.array(landmarks))


def test_shortest_paths_keep_to_the_edges() -> None:
    found = lengths_to(CORNERS, 1, 0, 7)
    np.testing.assert_allclose(found[:, 0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 6.0])
    np.testing.assert_allclose(found[:, 1], [6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0, 0.0])


def test_new_point_goes_through_its_neighbours() -> None:
    response = Geodesic(2, lengths_to(CORNERS, 1, 0, 4))
    squared = np.square(CORNERS.points - [1.5, 0.0]).sum(axis=1)
    np.testing.assert_allclose(response.weights(squared), [1.5**2, 2.5**2])
    assert response.weights(np.full(8, np.nan)) is None
    assert response.check(8) == 2


@pytest.mark.parametrize(
    ('response', 'words'),
    [
        (Geodesic(0, np.zeros((8, 2))), 'neighbours is 0'),
        (Geodesic(2, np.zeros((7, 2))), r'lengths has the shape \(7, 2\) instead of \(8, '),
        (Geodesic(2, np.zeros((8, 0))), 'at least 1'),
        (Geodesic(2, np.full((8, 2), -1.0)), 'negative'),
    ],
)
def test_what_does_not_fit(response: Geodesic, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        response.check(8)
