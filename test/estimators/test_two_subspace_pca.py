# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two-subspace PCA against the equations of section 3.1.1, linear and with kernels."""

from __future__ import annotations

import naive
import numpy as np
import pytest

pytest.importorskip('sklearn')

from sklearn.cross_decomposition import CCA
from two_views import cosines, coupled_features

from two_manifold_ros.errors import InputError
from two_manifold_ros.estimators import TwoSubspaceKernelPCA, TwoSubspacePCA
from two_manifold_ros.manifold.affinity import median_distance
from two_manifold_ros.manifold.learner import PointSet


def test_linear_is_the_svd_of_the_cross_covariance() -> None:
    first, second = coupled_features()
    shift = np.arange(7.0)
    fitted = TwoSubspacePCA(3).fit(first + shift, second)
    left, values, right = np.linalg.svd(first.T @ second / len(first))
    np.testing.assert_allclose(fitted.singular_values_, values[:3])
    signs = naive.align(left[:, :3], fitted.components_.T)[:, None]
    np.testing.assert_allclose(signs * fitted.components_, left[:, :3].T, atol=1e-12)
    np.testing.assert_allclose(signs * fitted.second_components_, right[:3], atol=1e-12)
    np.testing.assert_allclose(fitted.mean_, shift, atol=1e-12)
    np.testing.assert_allclose(fitted.second_mean_, 0.0, atol=1e-12)
    np.testing.assert_allclose(fitted.embedding_, first @ fitted.components_.T, atol=1e-12)


def test_a_rotated_view_has_the_same_embedding() -> None:
    first, second = coupled_features()
    rotation = np.linalg.qr(np.random.default_rng(3).normal(size=(7, 7)))[0]
    plain = TwoSubspacePCA(3).fit_transform(first, second)
    turned = TwoSubspacePCA(3).fit_transform(first @ rotation, second)
    np.testing.assert_allclose(turned * naive.align(plain, turned), plain, atol=1e-10)


def test_canonical_variates_are_those_of_scikit_learn() -> None:
    first, second = coupled_features(n=400)
    ours = TwoSubspacePCA(2, coupling='canonical').fit(first, second)
    theirs = CCA(2, scale=False, tol=1e-10, max_iter=5000).fit(first, second)
    scores = theirs.transform(first, second)
    for mine, other in zip((ours.embedding_, ours.second_embedding_), scores, strict=True):
        # The ridge of ours is small.
        np.testing.assert_allclose(cosines(mine, other), 1.0, atol=1e-4)


@pytest.mark.parametrize('kernel', ['gaussian', 'polynomial', 'linear'])
def test_kernels_give_the_singular_vectors_of_the_gram_form(kernel: str) -> None:
    """Eigenvectors v of C_Y C_X; the unit vector Phi H v projects Phi H on C_X v / norm."""
    first, second = coupled_features(n=30)
    fitted = TwoSubspaceKernelPCA(3, kernel=kernel, degree=2).fit(first, second)
    centring = np.eye(30) - 1.0 / 30
    own, other = (centring @ gram(view, kernel) @ centring / 30 for view in (first, second))
    squares, vectors = np.linalg.eig(other @ own)
    order = np.argsort(-np.real(squares))[:3]
    vectors = np.real(vectors[:, order])
    np.testing.assert_allclose(
        fitted.singular_values_, np.sqrt(np.real(squares[order])), rtol=1e-5
    )
    norms = np.sqrt(30 * np.einsum('ij,ik,kj->j', vectors, own, vectors))
    wanted = 30 * own @ vectors / norms
    signs = naive.align(wanted, fitted.embedding_)
    np.testing.assert_allclose(fitted.embedding_ * signs, wanted, atol=1e-4 * wanted.max())


def gram(view: np.ndarray, kernel: str) -> np.ndarray:
    """Return the Gram matrix of a view, column means of which are zero."""
    if kernel == 'gaussian':
        return naive.gaussian(view, view, median_distance(PointSet(view)))
    if kernel == 'linear':
        return view @ view.T
    return (view @ view.T / np.trace(view @ view.T / len(view)) + 1.0) ** 2


def test_rank_limits_what_kernels_see() -> None:
    first, second = coupled_features()
    exact, same, coarse = (
        TwoSubspaceKernelPCA(2, rank=rank).fit_transform(first, second) for rank in (500, 59, 2)
    )
    assert np.array_equal(exact, same)
    assert np.abs(cosines(exact, coarse)).min() < 0.99


def test_unknown_kernel() -> None:
    with pytest.raises(InputError, match="'rbf'; choose one of gaussian, polynomial, linear"):
        TwoSubspaceKernelPCA(kernel='rbf').fit(*coupled_features())
