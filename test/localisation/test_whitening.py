# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whitening: the scatter between passes becomes a unit sphere."""

import numpy as np
import pytest

from two_manifold_ros.localisation.whitening import (
    FEWEST_PAIRS,
    LEAST_VARIANCE,
    SHRINKAGE,
    whitening,
)

RNG = np.random.default_rng(0)


def naive_metric(scatter: np.ndarray) -> np.ndarray:
    """Shrink each correlation, keep each variance, and invert."""
    shrunk = scatter.copy()
    for i in range(len(scatter)):
        for j in range(len(scatter)):
            if i != j:
                shrunk[i, j] = (1.0 - SHRINKAGE) * scatter[i, j]
    return np.linalg.inv(shrunk)


def pair_up(ticks: int) -> np.ndarray:
    """Make the first and the second half passes of each other."""
    passes = np.full((ticks, 2), -1)
    half = ticks // 2
    passes[:half, 0] = np.arange(half, 2 * half)
    passes[half : 2 * half, 0] = np.arange(half)
    return passes


def test_a_known_covariance_is_recovered() -> None:
    root = np.array([[1.0, 0.0, 0.0], [0.8, 0.5, 0.0], [-3.0, 2.0, 4.0]])
    places = 50.0 * RNG.normal(size=(20_000, 3))
    features = np.concatenate([places, places]) + RNG.normal(size=(40_000, 3)) @ root.T
    matrix = whitening(features, pair_up(40_000), np.arange(40_000))
    learned = np.linalg.inv(matrix @ matrix.T)
    expected = root @ root.T
    expected[~np.eye(3, dtype=bool)] *= 1.0 - SHRINKAGE
    scales = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    np.testing.assert_allclose(learned / scales, expected / scales, atol=0.02)


def test_distances_between_whitened_features() -> None:
    features, passes = RNG.normal(size=(300, 4)), RNG.integers(-1, 300, size=(300, 3))
    settled = np.arange(40, 300)
    scatter, count = np.zeros((4, 4)), 0
    for here in range(300):
        for there in passes[here]:
            if there >= 40 and here >= 40:
                difference = features[here] - features[there]
                scatter += np.outer(difference, difference) / 2.0
                count += 1
    metric = naive_metric(scatter / count)
    white = features @ whitening(features, passes, settled)
    for a, b in ((0, 1), (50, 290), (7, 7)):
        difference = features[a] - features[b]
        expected = difference @ metric @ difference
        assert np.sum((white[a] - white[b]) ** 2) == pytest.approx(expected, rel=1e-9)


def test_the_first_features_are_whitened_by_themselves() -> None:
    features, passes = RNG.normal(size=(300, 4)) @ RNG.normal(size=(4, 4)), pair_up(300)
    matrix = whitening(features, passes, np.arange(300))
    for first in (1, 2, 3):
        alone = whitening(features[:, :first], passes, np.arange(300))
        np.testing.assert_allclose(matrix[:first, :first], alone, rtol=1e-9)
        np.testing.assert_array_equal(matrix[first:, :first], 0.0)


@pytest.mark.parametrize('unsettled', [0, 1])
def test_ticks_whose_means_have_not_settled_do_not_count(unsettled: int) -> None:
    features, passes = RNG.normal(size=(400, 3)), pair_up(400)
    settled = np.arange(1, 400)
    expected = whitening(features, passes, settled)
    # Tick 200 is settled, but its only pass, tick 0, is not.
    features[200 * unsettled] += 1e3
    np.testing.assert_array_equal(whitening(features, passes, settled), expected)


@pytest.mark.parametrize('pairs', [0, FEWEST_PAIRS - 2, FEWEST_PAIRS])
def test_few_pairs_fall_back_to_the_whole_drive(pairs: int) -> None:
    features, passes = RNG.normal(size=(500, 3)) * [1.0, 5.0, 0.1] + 7.0, np.full((500, 5), -1)
    passes[:pairs, 0] = np.arange(pairs)[::-1]
    settled = np.arange(100 if pairs < FEWEST_PAIRS else 0, 500)
    if pairs < FEWEST_PAIRS:
        passes[:] += np.where(passes >= 0, 100, 0)
        passes[100 : 100 + pairs] = passes[:pairs]
        scatter = np.cov(features[settled].T, bias=True)
    else:
        differences = features[:pairs] - features[pairs - 1 :: -1]
        scatter = differences.T @ differences / (2.0 * pairs)
    matrix = whitening(features, passes, settled)
    np.testing.assert_allclose(matrix @ matrix.T, naive_metric(scatter), rtol=1e-9)


def test_a_feature_that_never_differs_does_not_outvote_the_others() -> None:
    features = RNG.normal(size=(400, 3))
    features[:, 1] = 4.0
    matrix = whitening(features, pair_up(400), np.arange(400))
    assert np.isfinite(matrix).all()
    assert np.linalg.norm(matrix[1]) == pytest.approx(LEAST_VARIANCE**-0.5)


def test_one_feature_and_features_that_are_the_same() -> None:
    features = RNG.normal(size=(400, 1))
    assert whitening(features, pair_up(400), np.arange(400)).shape == (1, 1)
    twice = np.hstack([features, features])
    assert np.isfinite(whitening(twice, pair_up(400), np.arange(400))).all()
