# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Couplings of two embeddings, and the directions that they share."""

import naive
import numpy as np
import pytest
from two_views import cosines, coupled_features, ridged_covariance

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.tables import couple, shared_directions, SMALLEST_RATIO
from two_manifold_ros.names import COUPLINGS

FUTURE, PAST = coupled_features()


def test_cross_covariance_is_the_kernel_svd():
    found = couple(FUTURE, PAST, 'cross-covariance')
    left, values, right = np.linalg.svd(FUTURE.T @ PAST / len(FUTURE), full_matrices=False)
    np.testing.assert_allclose(found.singular_values, values, rtol=1e-12)
    signs = naive.align(left, found.first_map)
    np.testing.assert_allclose(found.first_map * signs, left, atol=1e-12)
    np.testing.assert_allclose(found.second_map * signs, right.T, atol=1e-12)
    # As in mathematics (4.4).
    products = np.linalg.eigvals(PAST @ PAST.T @ FUTURE @ FUTURE.T)
    squares = np.sort(np.real(products))[::-1][:5] / len(PAST) ** 2
    np.testing.assert_allclose(found.singular_values**2, squares, rtol=1e-11)


def test_gram_product_is_the_dense_svd():
    """Also of repeated and constant columns."""
    wider = np.hstack([FUTURE, FUTURE[:, :2], np.zeros((len(FUTURE), 1))])
    found = couple(wider, PAST, 'gram-product')
    left, values, _ = np.linalg.svd(wider @ wider.T @ PAST @ PAST.T)
    np.testing.assert_allclose(found.singular_values, values[:5], rtol=1e-10)
    np.testing.assert_allclose(cosines(wider @ found.first_map, left[:, :5]), 1.0, atol=1e-10)
    found = couple(FUTURE, PAST, 'gram-product')
    left, values, right = np.linalg.svd(FUTURE @ FUTURE.T @ PAST @ PAST.T)  # C_X C_Y
    np.testing.assert_allclose(found.singular_values, values[:5], rtol=1e-12)
    # As in mathematics (4.5).
    directions = FUTURE @ found.first_map / np.sqrt(len(FUTURE))
    signs = naive.align(left[:, :5], directions)
    np.testing.assert_allclose(directions * signs, left[:, :5], atol=1e-11)
    directions = PAST @ found.second_map / np.sqrt(len(PAST))
    np.testing.assert_allclose(directions * signs, right[:5].T, atol=1e-11)


def test_canonical_is_the_dense_canonical_correlation():
    """Against the eigenvalue problem C_XX^-1 C_XY C_YY^-1 C_YX a = rho^2 a."""
    found = couple(FUTURE, PAST, 'canonical')
    own, other = ridged_covariance(FUTURE), ridged_covariance(PAST)
    cross = FUTURE.T @ PAST / len(FUTURE)
    squares, maps = np.linalg.eig(np.linalg.inv(own) @ cross @ np.linalg.inv(other) @ cross.T)
    order = np.argsort(-np.real(squares))[:5]
    correlations = np.sqrt(np.real(squares)[order])
    np.testing.assert_allclose(found.singular_values, correlations, rtol=1e-9)
    wanted = np.real(maps[:, order])
    wanted /= np.sqrt((wanted * (own @ wanted)).sum(axis=0))  # of variance one, ridge included
    signs = naive.align(wanted, found.first_map)
    np.testing.assert_allclose(found.first_map * signs, wanted, atol=1e-9)
    variates = np.linalg.solve(other, cross.T @ wanted) / correlations
    np.testing.assert_allclose(found.second_map * signs, variates, rtol=1e-8, atol=1e-9)


def test_reduced_rank_is_the_best_regression_of_its_rank():
    """It is the leading part of the prediction of ordinary (here ridge) regression."""
    found = couple(FUTURE, PAST, 'reduced-rank')
    rows = len(FUTURE)
    # A ridge regression is an ordinary one on rows of the ridge below the data.
    ridge = rows * (ridged_covariance(PAST) - PAST.T @ PAST / rows)
    inputs = np.vstack([PAST, np.linalg.cholesky(ridge).T])
    outputs = np.vstack([FUTURE, np.zeros((5, 7))])
    predicted = inputs @ np.linalg.lstsq(inputs, outputs, rcond=None)[0]
    left, values, right = np.linalg.svd(predicted / np.sqrt(rows), full_matrices=False)
    np.testing.assert_allclose(found.singular_values, values[:5], rtol=1e-10)
    best = (left[:, :3] * values[:3]) @ right[:3] * np.sqrt(rows)
    first_map, second_map = found.first_map[:, :3], found.second_map[:, :3]
    ours = inputs @ (second_map * found.singular_values[:3]) @ first_map.T
    np.testing.assert_allclose(ours, best, atol=1e-9)


@pytest.mark.parametrize('coupling', COUPLINGS)
def test_spectral_regression_is_the_smallest(coupling):
    """In the metric in which the coupling measures the past."""
    found = shared_directions(FUTURE, PAST, 4, coupling)
    whitens = coupling in {'canonical', 'reduced-rank'}
    metric = ridged_covariance(PAST) if whitens else np.eye(5)
    half = np.linalg.inv(metric) @ PAST.T @ FUTURE @ found.future_map / len(PAST)
    smallest = half @ np.linalg.inv(half.T @ metric @ half)
    np.testing.assert_allclose(found.past_map, smallest, rtol=1e-8, atol=1e-9)


def test_weak_directions_are_left_out():
    left, values, right = np.linalg.svd(FUTURE.T @ PAST, full_matrices=False)
    weakened = values * [1.0, 1.0, 1.0, 1.1 * SMALLEST_RATIO * values[0] / values[3], 0.0]
    weakened[4] = 0.9 * SMALLEST_RATIO * values[0]
    orthonormal = np.linalg.qr(np.random.default_rng(1).normal(size=(60, 5)))[0]
    found = shared_directions(orthonormal @ (left * weakened).T, orthonormal @ right, 5)
    assert len(found.singular_values) == found.future_map.shape[1] == found.past_map.shape[1] == 4


def test_nothing_shared_or_an_unknown_coupling():
    for coupling in COUPLINGS:
        with pytest.raises(InputError, match='share nothing'):
            shared_directions(FUTURE, 0.0 * PAST, 3, coupling)
    with pytest.raises(InputError, match=r"'pca'.*cross-covariance, gram-product, canonical, red"):
        shared_directions(FUTURE, PAST, 3, 'pca')
