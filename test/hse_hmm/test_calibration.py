# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Calibrated ellipses hold the share of errors that they should."""

import numpy as np
import pytest

from two_manifold_ros.hse_hmm.readout import (
    calibration_factors,
    CHI_SQUARE,
    DOUBT,
    FEWEST,
    squared_mahalanobis,
    tempered,
)

N = 4000
RNG = np.random.default_rng(0)
ROOTS = RNG.normal(size=(N, 2, 2)) + 2.0 * np.eye(2)
COVARIANCES = ROOTS @ ROOTS.transpose(0, 2, 1)


def whiten_back(white: np.ndarray) -> np.ndarray:
    """Give white errors the covariances above."""
    return (ROOTS @ white[..., None])[..., 0]


def coverages(errors: np.ndarray, covariances: np.ndarray) -> np.ndarray:
    squared = squared_mahalanobis(errors, covariances)
    return np.array([np.mean(squared <= radius) for radius in CHI_SQUARE])


def test_radii_of_the_ellipses() -> None:
    np.testing.assert_allclose(CHI_SQUARE, [2.278869, 5.991465], atol=1e-6)
    np.testing.assert_allclose(
        coverages(whiten_back(RNG.normal(size=(N, 2))), COVARIANCES), [0.68, 0.95], atol=0.015
    )


def test_squared_mahalanobis() -> None:
    errors = RNG.normal(size=(N, 2))
    found = squared_mahalanobis(errors, COVARIANCES)
    for i in (0, 7, N - 1):
        expected = errors[i] @ np.linalg.inv(COVARIANCES[i]) @ errors[i]
        assert found[i] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize('scale', [0.05, 1.0, 3.0])
def test_coverage_of_gaussian_errors_is_restored(scale: float) -> None:
    errors = whiten_back(scale * RNG.normal(size=(N, 2)))
    factors, counts = calibration_factors(errors[:, None], COVARIANCES[:, None])
    assert factors[0] == pytest.approx(scale**2, rel=0.06)
    assert counts.tolist() == [N]
    fresh = whiten_back(scale * RNG.normal(size=(N, 2)))
    calibrated = factors[0] * COVARIANCES
    np.testing.assert_allclose(coverages(fresh, calibrated), [0.68, 0.95], atol=0.02)


def test_heavy_tails_are_a_compromise() -> None:
    white = RNG.standard_t(2.0, size=(N, 1)) * RNG.normal(size=(N, 2))
    errors = whiten_back(white)
    factors, _ = calibration_factors(errors[:, None], COVARIANCES[:, None])
    ratios = np.quantile(np.sum(white**2, axis=1), (0.68, 0.95)) / CHI_SQUARE
    assert ratios[0] < factors[0] < ratios[1]
    assert factors[0] ** 2 == pytest.approx(ratios[0] * ratios[1], rel=1e-9)
    covered = coverages(errors, factors[0] * COVARIANCES)
    assert covered[0] > 0.68
    assert 0.85 < covered[1] < 0.95


def test_each_target_by_its_known_errors() -> None:
    errors = np.stack([whiten_back(scale * RNG.normal(size=(N, 2))) for scale in (1, 2, 3)], 1)
    errors[FEWEST - 1 :, 0] = np.nan
    errors[::2, 1, 0] = np.nan
    covariances = np.repeat(COVARIANCES[:, None], 3, axis=1)
    factors, counts = calibration_factors(errors, covariances)
    assert counts.tolist() == [FEWEST - 1, N / 2, N]
    assert factors[0] == 1.0
    np.testing.assert_allclose(factors[1:], [4.0, 9.0], rtol=0.1)
    errors[FEWEST - 1, 0] = 0.0
    factors, counts = calibration_factors(errors, covariances)
    assert counts[0] == FEWEST
    assert factors[0] != 1.0


def test_errors_of_nothing_leave_a_positive_factor() -> None:
    factors, _ = calibration_factors(np.zeros((30, 1, 2)), COVARIANCES[:30, None])
    assert factors[0] > 0.0


def test_a_shrinking_is_believed_as_far_as_the_errors_are_independent() -> None:
    factors = np.array([0.25, 1.0, 4.0])
    np.testing.assert_allclose(tempered(factors, 0.0), [1.0, 1.0, 4.0])
    np.testing.assert_allclose(tempered(factors, DOUBT), [0.5, 1.0, 4.0])
    np.testing.assert_allclose(tempered(factors, 1e9), factors, rtol=1e-6)
