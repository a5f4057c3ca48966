# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Mean and covariance of each target over training."""

import numpy as np
import pytest

from two_manifold_ros.hse_hmm.readout import second_moments


def test_unknown_targets_are_passed_over() -> None:
    values = np.random.default_rng(0).normal(size=(40, 3, 2)) * [5.0, 2.0] + [100.0, -3.0]
    values[::3, 0, 1] = np.nan
    values[:, 2] = np.nan
    means, covariances = second_moments(values)
    for column, known in ((0, values[np.arange(40) % 3 > 0, 0]), (1, values[:, 1])):
        off = known - known.mean(axis=0)
        np.testing.assert_allclose(means[column], known.mean(axis=0))
        np.testing.assert_allclose(covariances[column], off.T @ off / len(known), atol=2e-4)
    np.testing.assert_array_equal(means[2], 0.0)
    np.testing.assert_array_equal(covariances[2], np.eye(2))


@pytest.mark.parametrize('known', [1, 2, 30])
def test_covariance_of_a_straight_track_has_an_inverse(known: int) -> None:
    values = np.full((30, 1, 2), np.nan)
    values[:known, 0] = np.outer(np.arange(known), [3.0, 4.0])
    _, covariances = second_moments(values)
    assert np.linalg.eigvalsh(covariances[0]).min() > 1e-5


def test_a_target_known_once_has_that_mean() -> None:
    values = np.full((3, 1, 2), np.nan)
    values[1, 0] = [4.0, -2.0]
    means, covariances = second_moments(values)
    assert means.tolist() == [[4.0, -2.0]]
    assert covariances.tolist() == [np.eye(2).tolist()]
