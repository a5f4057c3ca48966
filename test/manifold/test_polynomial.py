# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The polynomial kernel against scikit-learn's kernel PCA."""

import naive
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.kernel_pca import PolynomialKernel
from two_manifold_ros.manifold.learner import PointSet

POINTS = np.random.default_rng(0).normal(size=(70, 2)) * [3.0, 2.0] + 40.0
NEW = np.array([[41.0, 38.0], [37.5, 40.0]])


@pytest.mark.parametrize('degree', [2, 3])
def test_same_as_scikit_learn(degree: int) -> None:
    decomposition = pytest.importorskip('sklearn.decomposition')
    embedding = PolynomialKernel(4, degree).fit(PointSet(POINTS))
    flat = POINTS - POINTS.mean(axis=0)
    scale = np.square(flat).sum(axis=1).mean()
    other = decomposition.KernelPCA(
        4, kernel='poly', degree=degree, gamma=1.0 / scale, coef0=1.0, eigen_solver='dense'
    ).fit(flat)
    expected = other.transform(flat)
    signs = naive.align(embedding.coordinates, expected)
    np.testing.assert_allclose(embedding.eigenvalues, other.eigenvalues_)
    np.testing.assert_allclose(embedding.coordinates, expected * signs, atol=1e-9)
    squared = PointSet(POINTS).distances_from(NEW).T
    found = [embedding.extension.transform(row) for row in squared]
    wanted = other.transform(NEW - POINTS.mean(axis=0)) * signs
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_landmarks_that_span_all_products_lose_nothing() -> None:
    # The products of two numbers are x, y, x^2, xy and y^2.
    embedding = PolynomialKernel(20, 2, landmarks=11).fit(PointSet(POINTS))
    assert embedding.coordinates.shape == (70, 5)
    members = embedding.extension.response.members
    away = POINTS - POINTS[members].mean(axis=0)
    kernel = (away @ away.T / np.square(away[members]).sum(axis=1).mean() + 1.0) ** 2
    middle = np.eye(70) - 1.0 / 70.0
    found = embedding.coordinates @ embedding.coordinates.T
    np.testing.assert_allclose(found, middle @ kernel @ middle, atol=1e-9)


def test_no_degree() -> None:
    with pytest.raises(InputError, match=r'degree is 2\.5, but must be a whole number'):
        PolynomialKernel(4, 2.5)
    with pytest.raises(InputError, match='degree is 0'):
        PolynomialKernel(3, 0)
