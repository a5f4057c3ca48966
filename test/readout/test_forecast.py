# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The read-out of a belief: weighted moments, moved on by the pace."""

from collections.abc import Callable

from hypothesis import example, given
from hypothesis import strategies as st
import numpy as np
import pytest

from two_manifold_ros.readout import forecast as module
from two_manifold_ros.readout.forecast import FAINTEST, ForecastReadout, LEAST_KNOWN
from two_manifold_ros.readout.reading import FLOOR

pytestmark = pytest.mark.filterwarnings('error')

RNG = np.random.default_rng(0)
N, C = 60, 3
TARGETS = RNG.normal(size=(N, C, 2)) * [4.0, 1.0] + [300.0, -20.0]
TARGETS[50:, 1] = np.nan
TARGETS[:, 2, 0] = 7.0
DRIFT = RNG.normal(size=(N, C, 2))
STATE = np.empty(0)
FACTORS = np.array([0.5, 1.0, 4.0])


def make_readout(factors: np.ndarray | None = None) -> ForecastReadout:
    return ForecastReadout(TARGETS, DRIFT, np.ones(C) if factors is None else factors)


def make_weights(seed: int) -> np.ndarray:
    weights = np.random.default_rng(seed).uniform(size=N) ** 6
    return weights / weights.sum()


def naive_reading(weights: np.ndarray, pace: float) -> tuple[np.ndarray, np.ndarray]:
    means, covariances = np.zeros((C, 2)), np.zeros((C, 2, 2))
    heard = [i for i in range(N) if weights[i] > FAINTEST * weights.max()]
    for c in range(C):
        known = [i for i in heard if np.isfinite(TARGETS[i, c]).all()]
        total = sum(weights[i] for i in known)
        mean = sum(weights[i] * TARGETS[i, c] for i in known) / total
        for i in known:
            off = TARGETS[i, c] - mean
            covariances[c] += weights[i] / total * np.outer(off, off)
        gain = sum(weights[i] * DRIFT[i, c] for i in known) / total
        means[c] = mean + (pace - 1.0) * gain
    return means, covariances + FLOOR * np.eye(2)


@pytest.mark.parametrize('pace', [0.86, 1.0, 1.1])
@pytest.mark.parametrize('seed', range(5))
def test_moments(pace: float, seed: int) -> None:
    weights = make_weights(seed)
    means, covariances = make_readout().read(weights, STATE, pace)
    expected_means, expected_covariances = naive_reading(weights, pace)
    np.testing.assert_allclose(means, expected_means, rtol=1e-12)
    np.testing.assert_allclose(covariances, expected_covariances, atol=1e-10)


def test_weights_too_faint_to_count_move_nothing() -> None:
    weights = np.full(N, 0.9 * FAINTEST)
    weights[7] = 1.0
    means, covariances = make_readout().read(weights, STATE, 1.0)
    np.testing.assert_allclose(means, TARGETS[7], rtol=1e-12)
    np.testing.assert_allclose(covariances, np.tile(FLOOR * np.eye(2), (C, 1, 1)), atol=1e-12)


def test_the_factors_multiply_the_covariances() -> None:
    weights = make_weights(0)
    means, plain = make_readout().read(weights, STATE, 1.1)
    for readout in (
        make_readout(FACTORS),
        make_readout().scaled(FACTORS),
        make_readout(np.full(C, 2.0)).scaled(0.5 * FACTORS),
    ):
        same, covariances = readout.read(weights, STATE, 1.1)
        np.testing.assert_array_equal(same, means)
        np.testing.assert_allclose(covariances, FACTORS[:, None, None] * plain, rtol=1e-12)


def test_a_target_that_no_weighted_tick_knows_gives_the_prior() -> None:
    weights = np.where(np.arange(N) >= 50, 0.1, 0.0)
    means, covariances = make_readout(FACTORS).read(weights, STATE, 1.1)
    known = TARGETS[:50, 1]
    prior = np.cov(known.T, bias=True) + FLOOR * np.eye(2)
    np.testing.assert_allclose(means[1], known.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(covariances[1], prior, rtol=1e-10)
    # The other targets are read as ever.
    np.testing.assert_allclose(
        means[0], (TARGETS[50:, 0] + 0.1 * DRIFT[50:, 0]).mean(axis=0), rtol=1e-12
    )


@pytest.mark.parametrize(
    ('share', 'told'), [(1.01 * LEAST_KNOWN, True), (0.99 * LEAST_KNOWN, False)]
)
def test_a_remainder_that_knows_a_target_is_not_believed(share: float, told: bool) -> None:
    """The vehicle is all but surely where no position was recorded."""
    weights = np.zeros(N)
    weights[7], weights[55] = share, 1.0 - share
    means, covariances = make_readout(FACTORS).read(weights, STATE, 1.1)
    known = TARGETS[:50, 1]
    if told:
        np.testing.assert_allclose(means[1], TARGETS[7, 1] + 0.1 * DRIFT[7, 1], rtol=1e-12)
        np.testing.assert_allclose(covariances[1], FLOOR * np.eye(2), atol=1e-9)
    else:
        np.testing.assert_allclose(means[1], known.mean(axis=0), rtol=1e-12)
        prior = np.cov(known.T, bias=True) + FLOOR * np.eye(2)
        np.testing.assert_allclose(covariances[1], prior, rtol=1e-10)


def test_the_calibration_is_not_about_the_prior() -> None:
    weights = np.where(np.arange(N) >= 50, 0.1, 0.0)
    _, plain = make_readout().read(weights, STATE, 1.0)
    _, scaled = make_readout(np.full(C, 0.1)).read(weights, STATE, 1.0)
    np.testing.assert_array_equal(scaled[1], plain[1])
    np.testing.assert_allclose(scaled[0], 0.1 * plain[0], rtol=1e-12)


def test_a_target_that_is_never_known() -> None:
    targets = TARGETS.copy()
    targets[:, 0] = np.nan
    readout = ForecastReadout(targets, DRIFT, np.ones(C))
    means, covariances = readout.read(make_weights(0), STATE, 1.1)
    np.testing.assert_array_equal(means[0], 0.0)
    np.testing.assert_array_equal(covariances[0], np.eye(2))


# Weights sum to one or are all zero; a sum without a reciprocal does not occur.
WEIGHTS = st.just(0.0) | st.floats(1e-290, 1.0)


@given(st.lists(WEIGHTS, min_size=N, max_size=N), st.integers(0, N), st.floats(0.8, 1.2))
@example([0.0] * N, 0, 1.1)
@example([1e-300] * N, 5, 1.0)
@example([0.0] * 50 + [1.0] * 10, 0, 1.1)
def test_finite_and_positive_definite(values: list[float], certain: int, pace: float) -> None:
    weights = np.array(values)
    weights[certain:] *= 1e-9
    means, covariances = make_readout().read(weights, STATE, pace)
    assert np.isfinite(means).all()
    assert np.linalg.eigvalsh(covariances).min() > 0.5 * FLOOR
    np.testing.assert_array_equal(covariances, np.swapaxes(covariances, 1, 2))


def test_answers_are_the_callers() -> None:
    readout, weights = make_readout(FACTORS), make_weights(0)
    means, covariances = readout.read(weights, STATE, 1.1)
    expected = means.copy(), covariances.copy()
    means += 1.0
    covariances *= 9.0
    again = readout.read(weights, STATE, 1.1)
    np.testing.assert_array_equal(again[0], expected[0])
    np.testing.assert_array_equal(again[1], expected[1])


@pytest.mark.parametrize('choose', [module._choose_loops, module._choose_arrays])
def test_chosen_weights(choose: Callable[..., int]) -> None:
    for weights in (make_weights(1), np.zeros(N), np.full(N, 1.0 / N), make_weights(2) ** 4):
        chosen, shares = np.full(N, -1), np.full(N, -1.0)
        count = choose(weights, chosen, shares)
        expected = [i for i in range(N) if weights[i] > FAINTEST * max(weights)]
        np.testing.assert_array_equal(chosen[:count], expected)
        np.testing.assert_array_equal(shares[:count], weights[expected])


def test_the_form_that_is_used() -> None:
    used = module._choose_loops if module.HAVE_NUMBA else module._choose_arrays
    assert module.choose_weights is used
