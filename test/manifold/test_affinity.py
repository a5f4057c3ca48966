# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Affinities, the points near a point, landmarks and signs."""

import naive
import numpy as np

from two_manifold_ros.manifold.affinity import near_points
from two_manifold_ros.manifold.learner import PointSet

POINTS = np.random.default_rng(0).normal(size=(40, 2))
BETWEEN = naive.squared_distances(POINTS, POINTS)
RADII = PointSet(POINTS).neighbours(5)[1][:, -1]


def test_rows_of_the_graph_and_oneself():
    graph = naive.affinities(BETWEEN, 5, 1.0) > 0.0
    for i in range(40):
        # As distances are when they come from a recursion.
        near = near_points(BETWEEN[i] * (1.0 + 1e-12), 5, RADII)
        np.testing.assert_array_equal(near, np.flatnonzero(graph[i] | (np.arange(40) == i)))


def test_a_new_point():
    squared = np.square(POINTS - [0.3, -0.2]).sum(axis=1)
    expected = set(np.argsort(squared)[:6]) | set(np.flatnonzero(squared <= RADII))
    assert len(expected) > 6
    assert set(near_points(squared, 5, RADII)) == expected
