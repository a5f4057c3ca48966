# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Isomap beside that of scikit-learn, its geodesics and landmarks."""

import naive
import numpy as np
import pytest

from two_manifold_ros.manifold.graph import find_bridges
from two_manifold_ros.manifold.isomap import Geodesic, geodesic_lengths, Isomap
from two_manifold_ros.manifold.learner import PointSet


def sheet(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return points of a rolled sheet, and where they are on it."""
    across = np.random.default_rng(seed).uniform(size=(count, 2)) * [10.0, 4.0]
    angle = 2.0 + across[:, 0] / 4.0
    rolled = np.stack([4.0 * np.cos(angle), 4.0 * np.sin(angle), across[:, 1]], axis=1)
    return rolled, across


def distances(new: np.ndarray, points: np.ndarray) -> np.ndarray:
    return np.square(points - new).sum(axis=1)


def test_isomap_of_scikit_learn():
    manifold = pytest.importorskip('sklearn.manifold')
    points, _ = sheet(80)
    embedding = Isomap(3, 7).fit(PointSet(points))
    other = manifold.Isomap(n_neighbors=7, n_components=3)
    expected = other.fit_transform(points)
    signs = naive.align(embedding.coordinates, expected)
    np.testing.assert_allclose(embedding.coordinates, expected * signs, atol=1e-9)
    np.testing.assert_allclose(embedding.eigenvalues, np.square(expected).sum(axis=0))
    new, _ = sheet(5, seed=1)
    found = [embedding.extension.transform(distances(row, points)) for row in new]
    np.testing.assert_allclose(found, other.transform(new) * signs, atol=1e-9)


def test_few_landmarks_unroll_the_sheet():
    points, across = sheet(400)
    embedding = Isomap(2, 10, landmarks=30).fit(PointSet(points))
    assert embedding.extension.response.lengths.shape == (400, 30)
    np.testing.assert_allclose(embedding.coordinates.mean(axis=0), 0.0, atol=1e-9)
    # Its own axes are those of the sheet, and its unit is that of the points.
    for found, wanted in zip(embedding.coordinates.T, across.T, strict=True):
        assert abs(np.corrcoef(found, wanted)[0, 1]) > 0.95
        assert found.std() == pytest.approx(wanted.std(), rel=0.1)
    found = embedding.extension.transform(distances(points[7], points))
    np.testing.assert_allclose(found, embedding.coordinates[7], atol=1e-9)


def test_only_positive_eigenvalues_are_kept():
    # On a ring every second mode is negative: geodesics around it are no distances.
    angles = 2.0 * np.pi * np.arange(40) / 40.0
    embedding = Isomap(38, 2).fit(PointSet(np.stack([np.cos(angles), np.sin(angles)], axis=1)))
    assert 10 <= embedding.coordinates.shape[1] < 30
    assert (embedding.eigenvalues > 0.0).all()


# Around three sides of a square, then two copies of the last point.
CORNERS = PointSet(np.array([[0, 0], [1, 0], [2, 0], [2, 1], [2, 2], [1, 2], [0, 2], [0, 2.0]]))


def lengths_to(points: PointSet, neighbours: int, *landmarks: int) -> np.ndarray:
    indices, squared = points.neighbours(neighbours)
    bridges = find_bridges(points, indices)
    return geodesic_lengths(indices, squared, bridges, np.array(landmarks))


def test_shortest_paths_keep_to_the_edges():
    found = lengths_to(CORNERS, 1, 0, 7)
    np.testing.assert_allclose(found[:, 0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 6.0])
    np.testing.assert_allclose(found[:, 1], [6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0, 0.0])


def test_new_point_goes_through_its_neighbours():
    response = Geodesic(2, lengths_to(CORNERS, 1, 0, 4))
    squared = np.square(CORNERS.points - [1.5, 0.0]).sum(axis=1)
    np.testing.assert_allclose(response.weights(squared), [1.5**2, 2.5**2])
    assert response.weights(np.full(8, np.nan)) is None
    assert response.check(8) == 2
