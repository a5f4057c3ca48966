# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Edges between the pieces of a neighbour graph."""

import numpy as np

from two_manifold_ros.manifold.graph import find_bridges
from two_manifold_ros.manifold.learner import PointSet


def test_one_piece_needs_none() -> None:
    points = PointSet(np.arange(6.0)[:, None])
    bridges = find_bridges(points, points.neighbours(2)[0])
    assert [len(each) for each in bridges] == [0, 0, 0, 0]


def test_pieces_are_joined_where_they_are_nearest() -> None:
    points = PointSet(np.array([0.0, 1.0, 2.0, 9.0, 10.0, 11.0])[:, None])
    bridges = find_bridges(points, points.neighbours(2)[0])
    edges = set(zip(bridges.first.tolist(), bridges.second.tolist(), strict=True))
    assert edges == {(2, 3), (3, 2)}
    np.testing.assert_array_equal(bridges.squared, 49.0)
    (note,) = bridges.notes
    assert 'fell into 2 pieces' in note
    assert 'more than 2 neighbours' in note
