# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The ridge read-out against stacked least squares."""

import numpy as np
import pytest

from two_manifold_ros.hse_hmm.readout import fit_ridge, PENALTY, second_moments

RNG = np.random.default_rng(0)
STATES = np.hstack([np.ones((80, 1)), RNG.normal(size=(80, 4)) * [3.0, 1.0, 0.2, 0.1]])
TRUTH = RNG.normal(size=(5, 3, 2))
TARGETS = np.einsum('nk,kcx->ncx', STATES, TRUTH) + 0.3 * RNG.normal(size=(80, 3, 2)) + 50.0


def penalised_least_squares(states: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Penalise all coefficients but the constant's by extra rows that should give zero."""
    strength = PENALTY * len(states) * np.mean(STATES[:, 1:] ** 2)
    extra = np.sqrt(strength) * np.eye(5)[1:]
    rows = np.vstack([states, extra])
    return np.linalg.lstsq(rows, np.vstack([wanted, np.zeros((4, 2))]), rcond=None)[0]


def test_coefficients_and_covariances() -> None:
    readout = fit_ridge(STATES, TARGETS)
    means, covariances = readout.read(np.empty(0), STATES[7])
    for column in range(3):
        expected = penalised_least_squares(STATES, TARGETS[:, column])
        np.testing.assert_allclose(readout.coefficients[column].T, expected, atol=1e-9)
        np.testing.assert_allclose(means[column], STATES[7] @ expected, atol=1e-9)
        residuals = TARGETS[:, column] - STATES @ expected
        spread = residuals.T @ residuals / 80 + 1e-4 * np.eye(2)
        np.testing.assert_allclose(covariances[column], spread, atol=1e-9)


def test_unknown_targets_are_passed_over() -> None:
    targets = TARGETS.copy()
    targets[10:40, 1, 0] = np.nan
    readout = fit_ridge(STATES, targets)
    known = np.r_[0:10, 40:80]
    expected = penalised_least_squares(STATES[known], TARGETS[known, 1])
    np.testing.assert_allclose(readout.coefficients[1].T, expected, atol=1e-9)


@pytest.mark.parametrize('known', [0, 1, 5])
def test_too_few_known_targets_give_the_prior(known: int) -> None:
    targets = TARGETS.copy()
    targets[known:, 1] = np.nan
    means, covariances = fit_ridge(STATES, targets).read(np.empty(0), STATES[3])
    prior = second_moments(targets)
    np.testing.assert_allclose(means[1], prior[0][1])
    np.testing.assert_allclose(covariances[1], prior[1][1])
    assert np.linalg.eigvalsh(covariances).min() > 0.0


def test_scaled_covariances() -> None:
    readout = fit_ridge(STATES, TARGETS)
    factors = np.array([0.5, 1.0, 4.0])
    means, covariances = readout.read(np.empty(0), STATES[0])
    scaled_means, scaled_covariances = readout.scaled(factors).read(np.empty(0), STATES[0])
    np.testing.assert_array_equal(scaled_means, means)
    np.testing.assert_allclose(scaled_covariances, covariances * factors[:, None, None])


def test_answers_are_the_callers() -> None:
    readout = fit_ridge(STATES, TARGETS)
    _, covariances = readout.read(np.empty(0), STATES[0])
    expected = covariances.copy()
    covariances *= 9.0
    np.testing.assert_array_equal(readout.read(np.empty(0), STATES[0])[1], expected)
