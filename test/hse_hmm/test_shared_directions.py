# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the past tells of the future, and the regression it gives."""

import numpy as np
import pytest
from two_views import coupled_features, ridged_covariance

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.two_manifold import COUPLINGS, shared_directions, SMALLEST_RATIO


@pytest.mark.parametrize('coupling', COUPLINGS)
def test_spectral_regression_inverts_the_cross_covariance(coupling: str) -> None:
    future, past = coupled_features()
    found = shared_directions(future, past, 4, coupling)
    weights = past @ found.past_map / len(past)
    state_of_weights = found.future_map.T @ future.T @ weights  # (3.2)
    np.testing.assert_allclose(state_of_weights, np.eye(4), atol=1e-10)


@pytest.mark.parametrize('coupling', COUPLINGS)
def test_spectral_regression_is_the_smallest(coupling: str) -> None:
    """In the metric in which the coupling measures the past."""
    future, past = coupled_features()
    found = shared_directions(future, past, 4, coupling)
    whitens = coupling in {'canonical', 'reduced-rank'}
    metric = ridged_covariance(past) if whitens else np.eye(5)
    half = np.linalg.inv(metric) @ past.T @ future @ found.future_map / len(past)
    smallest = half @ np.linalg.inv(half.T @ metric @ half)
    np.testing.assert_allclose(found.past_map, smallest, rtol=1e-8, atol=1e-9)


def test_weak_directions_are_left_out() -> None:
    future, past = coupled_features()
    left, values, right = np.linalg.svd(future.T @ past, full_matrices=False)
    weakened = values * [1.0, 1.0, 1.0, 1.1 * SMALLEST_RATIO * values[0] / values[3], 0.0]
    weakened[4] = 0.9 * SMALLEST_RATIO * values[0]
    orthonormal = np.linalg.qr(np.random.default_rng(1).normal(size=(60, 5)))[0]
    found = shared_directions(orthonormal @ (left * weakened).T, orthonormal @ right, 5)
    assert len(found.singular_values) == found.future_map.shape[1] == found.past_map.shape[1] == 4


def test_rank_is_kept() -> None:
    future, past = coupled_features()
    for rank in (0, 2, 5, 9):
        found = shared_directions(future, past, rank)
        assert found.future_map.shape == (7, min(rank, 5))
        assert found.past_map.shape == (5, min(rank, 5))


def test_nothing_shared() -> None:
    future, past = coupled_features()
    for coupling in COUPLINGS:
        with pytest.raises(InputError, match='share nothing'):
            shared_directions(future, 0.0 * past, 3, coupling)


def test_unknown_coupling() -> None:
    future, past = coupled_features()
    with pytest.raises(InputError, match=r"'pca'.*cross-covariance, gram-product, canonical, red"):
        shared_directions(future, past, 3, 'pca')
