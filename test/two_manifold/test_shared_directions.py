# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Both couplings against dense decompositions of C_X C_Y, and the regression they give."""

import naive
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.two_manifold.shared_directions import (
    CANONICAL_RIDGE,
    COUPLINGS,
    shared_directions,
    SMALLEST_RATIO,
)


def coupled_features(n: int = 60, future: int = 7, past: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Make centred features of two noisy views of one hidden signal."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(n, 5)) * [1.5, 1.3, 1.0, 0.8, 0.6]
    views = [
        hidden @ np.linalg.qr(rng.normal(size=(size, 5)))[0].T + 0.2 * rng.normal(size=(n, size))
        for size in (future, past)
    ]
    return tuple(view - view.mean(axis=0) for view in views)


def cosines(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the cosines between the spans of two sets of columns."""
    left, right = np.linalg.qr(left)[0], np.linalg.qr(right)[0]
    return np.linalg.svd(left.T @ right, compute_uv=False)


@pytest.mark.parametrize('coupling', COUPLINGS)
def test_spectral_regression_inverts_the_cross_covariance(coupling: str) -> None:
    future, past = coupled_features()
    found = shared_directions(future, past, 4, coupling)
    weights = past @ found.past_map / len(past)
    state_of_weights = found.future_map.T @ future.T @ weights  # (3.2)
    np.testing.assert_allclose(state_of_weights, np.eye(4), atol=1e-10)


def test_cross_covariance_is_the_kernel_svd() -> None:
    future, past = coupled_features()
    found = shared_directions(future, past, 5)
    left, values, right = np.linalg.svd(future.T @ past / len(past), full_matrices=False)
    np.testing.assert_allclose(found.singular_values, values, rtol=1e-12)
    signs = naive.align(left, found.future_map)
    np.testing.assert_allclose(found.future_map * signs, left, atol=1e-12)
    np.testing.assert_allclose(found.past_map * signs, right.T / values, rtol=1e-9, atol=1e-12)
    products = np.linalg.eigvals(past @ past.T @ future @ future.T)  # (4.4)
    squares = np.sort(np.real(products))[::-1][:5] / len(past) ** 2
    np.testing.assert_allclose(found.singular_values**2, squares, rtol=1e-11)


def test_gram_product_is_the_dense_svd() -> None:
    future, past = coupled_features()
    found = shared_directions(future, past, 5, 'gram-product')
    left, values, _ = np.linalg.svd(future @ future.T @ past @ past.T)  # C_X C_Y
    np.testing.assert_allclose(found.singular_values, values[:5], rtol=1e-12)
    directions = future @ found.future_map / np.sqrt(len(future))  # (4.5)
    signs = naive.align(left[:, :5], directions)
    np.testing.assert_allclose(directions * signs, left[:, :5], atol=1e-11)


def test_couplings_span_the_same_at_full_rank() -> None:
    future, past = coupled_features()
    exact, product, canonical = (
        shared_directions(future, past, 5, coupling).future_map for coupling in COUPLINGS
    )
    assert exact.shape == product.shape == canonical.shape == (7, 5)
    np.testing.assert_allclose(cosines(exact, product), 1.0, atol=1e-12)


def test_canonical_is_the_dense_canonical_correlation() -> None:
    """Against the eigenvalue problem C_FF^-1 C_FP C_PP^-1 C_PF a = rho^2 a."""
    future, past = coupled_features()
    found = shared_directions(future, past, 5, 'canonical')
    both = np.hstack([future, past])
    covariance = both.T @ both / len(both)
    own, other, cross = covariance[:7, :7], covariance[7:, 7:], covariance[:7, 7:]
    own = own + CANONICAL_RIDGE * np.trace(own) / 7 * np.eye(7)
    other = other + CANONICAL_RIDGE * np.trace(other) / 5 * np.eye(5)
    squares, maps = np.linalg.eig(np.linalg.inv(own) @ cross @ np.linalg.inv(other) @ cross.T)
    order = np.argsort(-np.real(squares))[:5]
    np.testing.assert_allclose(found.singular_values**2, np.real(squares)[order], rtol=1e-9)
    wanted = np.real(maps[:, order])
    wanted /= np.sqrt((wanted * (own @ wanted)).sum(axis=0))  # of variance one, ridge included
    signs = naive.align(wanted, found.future_map)
    np.testing.assert_allclose(found.future_map * signs, wanted, atol=1e-9)
    variates = np.linalg.solve(other, cross.T @ wanted)
    np.testing.assert_allclose(
        found.past_map * signs, variates / np.real(squares)[order], rtol=1e-8, atol=1e-9
    )


def test_canonical_correlations_do_not_depend_on_loudness() -> None:
    rng = np.random.default_rng(4)
    hidden = rng.normal(size=(5000, 2))
    past = hidden + [0.1, 1.0] * rng.normal(size=(5000, 2))
    future = hidden * [1.0, 5.0] + rng.normal(size=(5000, 2)) * [0.1, 5.0]
    plain, canonical = (
        shared_directions(future, past, 1, name) for name in ('cross-covariance', 'canonical')
    )
    shares = [np.abs(each.future_map[:, 0]) * future.std(axis=0) for each in (plain, canonical)]
    assert shares[0][1] > 5.0 * shares[0][0]
    assert shares[1][0] > 5.0 * shares[1][1]


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


@pytest.mark.parametrize('coupling', COUPLINGS)
def test_signs_are_fixed(coupling: str) -> None:
    future, past = coupled_features()
    found = shared_directions(future, past, 4, coupling).future_map
    assert (found[np.abs(found).argmax(axis=0), np.arange(4)] > 0.0).all()
    again = shared_directions(-future, past, 4, coupling).future_map
    np.testing.assert_allclose(again, found, atol=1e-12)


@pytest.mark.parametrize('coupling', COUPLINGS)
def test_noise_of_one_side_averages_out(coupling: str) -> None:
    rng = np.random.default_rng(2)
    hidden = rng.normal(size=(20_000, 1))
    noise = [3.0 * rng.normal(size=(20_000, 1)) for _ in range(2)]
    # The loudest coordinate of the future is noise, which principal components would choose.
    future = np.hstack([hidden, noise[0]])
    past = np.hstack([noise[1], hidden])
    found = shared_directions(future, past, 1, coupling)
    loudness = np.abs(found.future_map[:, 0]) * future.std(axis=0)
    assert loudness[0] > 5.0 * loudness[1]


def test_nothing_shared() -> None:
    future, past = coupled_features()
    for coupling in COUPLINGS:
        with pytest.raises(InputError, match='share nothing'):
            shared_directions(future, 0.0 * past, 3, coupling)


def test_unknown_coupling() -> None:
    future, past = coupled_features()
    with pytest.raises(InputError, match=r"'pca'.*cross-covariance, gram-product, canonical"):
        shared_directions(future, past, 3, 'pca')
