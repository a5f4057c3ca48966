# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Observation operators against kernel matrices and the ridge solve (4.3)."""

import naive
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm import tables as module
from two_manifold_ros.hse_hmm.tables import (
    gaussian_kernel,
    make_ridge_kernel,
    median_observation_distance,
    RawKernel,
)

OBSERVATIONS = np.random.default_rng(0).normal(size=(70, 3))
NEW = np.random.default_rng(1).normal(size=(10, 3))


def test_kernel() -> None:
    np.testing.assert_allclose(
        gaussian_kernel(NEW, OBSERVATIONS, 1.3), naive.gaussian(NEW, OBSERVATIONS, 1.3), rtol=1e-12
    )


def test_raw_kernel() -> None:
    operator = RawKernel(OBSERVATIONS, 1.3)
    expected = naive.gaussian(NEW, OBSERVATIONS, 1.3)
    for new, factors in zip(NEW, expected, strict=True):
        np.testing.assert_allclose(operator.factors(new), factors, rtol=1e-12)


@pytest.mark.parametrize('ridge', [1e-3, 0.1, 1.0])
def test_ridge_at_full_rank(ridge: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, 'FEATURES', 70)
    operator = make_ridge_kernel(OBSERVATIONS, 1.0, ridge)
    for new in NEW:
        expected = 70 * naive.gram_ridge(OBSERVATIONS, 1.0, ridge, new)  # (4.3), (5.1)
        np.testing.assert_allclose(operator.factors(new), expected, atol=1e-8)


def test_ridge_of_leading_features(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, 'FEATURES', 9)
    operator = make_ridge_kernel(OBSERVATIONS, 1.0, 0.2)
    gram = naive.gaussian(OBSERVATIONS, OBSERVATIONS, 1.0)
    values, vectors = np.linalg.eigh(gram)
    projection = vectors[:, -9:] / np.sqrt(values[-9:])
    features = gram @ projection
    assert operator.features.shape == (70, 9)
    for new in NEW:
        feature = projection.T @ naive.gaussian(OBSERVATIONS, new[None], 1.0)[:, 0]
        c = np.linalg.solve(features.T @ features / 70 + 0.2 * np.eye(9), feature)
        np.testing.assert_allclose(operator.factors(new), features @ c, atol=1e-10)


def test_large_ridge_is_the_raw_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, 'FEATURES', 70)
    operator = make_ridge_kernel(OBSERVATIONS, 1.0, 1e6)
    raw = RawKernel(OBSERVATIONS, 1.0)
    for new in NEW:
        np.testing.assert_allclose(1e6 * operator.factors(new), raw.factors(new), atol=1e-5)


def test_usual_number_of_features() -> None:
    assert make_ridge_kernel(OBSERVATIONS, 1.0, 0.2).features.shape == (70, module.FEATURES)


def test_identical_observations_are_one_feature() -> None:
    operator = make_ridge_kernel(np.tile(OBSERVATIONS[:2], (20, 1)), 1.0, 0.2)
    assert operator.features.shape == (40, 2)
    assert np.isfinite(operator.factors(NEW[0])).all()


def test_landmarks_stand_for_many_observations(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = make_ridge_kernel(OBSERVATIONS, 2.0, 0.2)
    monkeypatch.setattr(module, 'LANDMARKS', 35)
    operator = make_ridge_kernel(OBSERVATIONS, 2.0, 0.2)
    np.testing.assert_array_equal(operator.kernel_points, OBSERVATIONS[::2])
    assert operator.features.shape[0] == 70
    for new in NEW:
        np.testing.assert_allclose(operator.factors(new), whole.factors(new), atol=0.1)


def test_median_distance() -> None:
    squared = naive.squared_distances(OBSERVATIONS, OBSERVATIONS)[np.triu_indices(70, 1)]
    expected = np.median(np.sqrt(squared))
    assert median_observation_distance(OBSERVATIONS) == pytest.approx(expected)
    many = np.repeat(OBSERVATIONS, 50, axis=0)
    assert median_observation_distance(many) == pytest.approx(expected, rel=0.05)


def test_identical_observations_are_refused() -> None:
    with pytest.raises(InputError, match='identical'):
        median_observation_distance(np.ones((30, 3)))
