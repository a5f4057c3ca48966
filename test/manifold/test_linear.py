# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The linear kernel against principal components."""

import naive
import numpy as np

from two_manifold_ros.manifold.kernel_pca import LinearKernel
from two_manifold_ros.manifold.learner import PointSet

POINTS = np.random.default_rng(0).normal(size=(70, 5)) * [5.0, 4.0, 3.0, 2.0, 1.0] + 100.0


def components(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    left, values, _ = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    return values**2, left * values


def test_principal_components() -> None:
    embedding = LinearKernel(3).fit(PointSet(POINTS))
    values, expected = components(POINTS)
    np.testing.assert_allclose(embedding.eigenvalues, values[:3])
    signs = naive.align(embedding.coordinates, expected[:, :3])
    np.testing.assert_allclose(embedding.coordinates, expected[:, :3] * signs, atol=1e-9)


def test_no_more_coordinates_than_dimensions() -> None:
    embedding = LinearKernel(20).fit(PointSet(POINTS))
    assert embedding.coordinates.shape == (70, 5)
    flat = POINTS - POINTS.mean(axis=0)
    found = embedding.coordinates @ embedding.coordinates.T
    np.testing.assert_allclose(found, flat @ flat.T, atol=1e-8)


def test_landmarks_that_span_all_dimensions_lose_nothing() -> None:
    embedding = LinearKernel(20, landmarks=9).fit(PointSet(POINTS))
    assert len(embedding.extension.response.members) == 9
    flat = POINTS - POINTS.mean(axis=0)
    found = embedding.coordinates @ embedding.coordinates.T
    np.testing.assert_allclose(found, flat @ flat.T, atol=1e-8)
