# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The loops of a filter step: compiled and NumPy forms against plain formulas."""

from collections.abc import Callable

import numpy as np
import pytest

from two_manifold_ros.hse_hmm import belief as module

RNG = np.random.default_rng(0)
N, K, D = 300, 7, 3
TABLE = RNG.normal(size=(K, N))
WEIGHTS = RNG.normal(size=N) + 0.2
OBSERVATIONS = 3.0 * RNG.normal(size=(D, N))
FORMS = ['_loops', '_arrays']


def form_of(name: str, form: str) -> Callable[..., object]:
    return getattr(module, f'_{name}{form}')


@pytest.mark.parametrize('form', FORMS)
def test_gaussian_factors(form: str) -> None:
    fill = form_of('gaussian', form)
    factors = np.empty(N)
    for observation in (np.zeros(D), OBSERVATIONS[:, 4].copy(), np.array([4.0, -9.0, 30.0])):
        for bandwidth in (0.5, 2.0, 40.0):
            fill(OBSERVATIONS, observation, bandwidth, factors)
            squared = np.sum((OBSERVATIONS - observation[:, None]) ** 2, axis=0)
            expected = np.exp(-np.minimum(squared / (2.0 * bandwidth**2), 700.0))
            np.testing.assert_allclose(factors, expected, rtol=1e-10)


@pytest.mark.filterwarnings('ignore:overflow encountered')
@pytest.mark.parametrize('form', FORMS)
def test_gaussian_factors_stay_positive_far_away(form: str) -> None:
    fill = form_of('gaussian', form)
    factors = np.empty(N)
    for far in (1e3, 1e100, 1e200, np.inf):
        fill(OBSERVATIONS, np.array([0.0, far, 0.0]), 1.0, factors)
        np.testing.assert_allclose(factors, np.exp(-700.0), rtol=1e-9)


@pytest.mark.parametrize('form', FORMS)
def test_implied_weights(form: str) -> None:
    state, weights = RNG.normal(size=K), np.full(N, 9.0)
    form_of('implied', form)(TABLE, state, weights)
    np.testing.assert_allclose(weights, TABLE.T @ state, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize('form', FORMS)
def test_reweight(form: str) -> None:
    weights, factors = WEIGHTS.copy(), RNG.uniform(size=N)
    total, absolute = form_of('reweight', form)(weights, factors)
    np.testing.assert_allclose(weights, WEIGHTS * factors, rtol=1e-15)
    assert total == pytest.approx((WEIGHTS * factors).sum(), rel=1e-12)
    assert absolute == pytest.approx(np.abs(WEIGHTS * factors).sum(), rel=1e-12)


@pytest.mark.parametrize('form', FORMS)
def test_reweight_does_not_hide_nan(form: str) -> None:
    weights = np.where(np.arange(N) == 5, np.nan, WEIGHTS)
    total, absolute = form_of('reweight', form)(weights, np.ones(N))
    assert np.isnan(total)
    assert np.isnan(absolute)


@pytest.mark.parametrize('form', FORMS)
def test_next_state(form: str) -> None:
    state = np.full(K, 9.0)
    form_of('next_state', form)(TABLE, WEIGHTS, state)
    expected = TABLE @ WEIGHTS
    np.testing.assert_allclose(state, expected / expected[0], rtol=1e-10, atol=1e-12)
    assert state[0] == pytest.approx(1.0, abs=1e-15)
