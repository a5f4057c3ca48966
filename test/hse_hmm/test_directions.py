# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The directions of an embedding that predict responses."""

from __future__ import annotations

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.mkdr import find_predictive_directions


def test_planted_directions_are_found() -> None:
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((400, 8))
    planted = np.zeros((8, 3))
    planted[[2, 5], 0] = -0.8, 0.6
    planted[7, 1] = 0.5
    planted[1, 2] = 0.1
    responses = 40.0 * (vectors @ planted + 0.01 * rng.standard_normal((400, 3)))
    found = find_predictive_directions(vectors, responses)
    assert found.rank == 3
    assert found.directions.shape == (8, 3)
    assert found.directions[:, 0] @ planted[:, 0] < -0.99, 'the largest entry is positive'
    assert found.directions[7, 1] > 0.99
    assert found.directions[1, 2] > 0.99
    assert found.predictive_eigenvectors(3).tolist() == [2, 7, 5]
    np.testing.assert_allclose(found.theta, found.theta.T)
    assert found.strengths.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(found.strengths[:3] * 1.6, [1.0, 0.5, 0.1], atol=0.05)
    responses[:, 2] *= 0.01
    assert find_predictive_directions(vectors, responses).rank == 2


@pytest.mark.parametrize(('penalty', 'count'), [(1e-3, 60), (0.5, 60), (0.1, 9)])
def test_with_one_response_it_is_ridge_regression(penalty: float, count: int) -> None:
    """The minimum over Theta and the weights of ridge regression can be swapped."""
    rng = np.random.default_rng(2)
    vectors = rng.standard_normal((count, 12)) * np.linspace(0.3, 1.0, 12) + 5.0
    responses = vectors[:, :1] + rng.standard_normal((count, 1))
    found = find_predictive_directions(vectors, responses, penalty=penalty, tolerance=1e-10)
    centred = vectors - vectors.mean(axis=0)
    ridge = penalty * np.mean(np.sum(centred**2, axis=0)) * np.eye(12)
    slope = np.linalg.solve(centred.T @ centred + ridge, centred.T @ responses)[:, 0]
    assert found.rank == 1
    assert abs(found.directions[:, 0] @ slope) / np.linalg.norm(slope) > 0.999


def test_eigenvectors_at_right_angles_have_a_solution_to_write_down() -> None:
    """Theta then is (C C')^(1/2) / level - penalty, C being covariances with the responses."""
    rng = np.random.default_rng(3)
    vectors = rng.standard_normal((50, 6))
    vectors = np.linalg.qr(vectors - vectors.mean(axis=0))[0]
    responses = vectors @ rng.standard_normal((6, 2)) + 0.05 * rng.standard_normal((50, 2))
    found = find_predictive_directions(vectors, responses, penalty=0.02, tolerance=1e-12)
    left, sizes, _ = np.linalg.svd(vectors.T @ (responses - responses.mean(axis=0)))
    strengths = sizes * (1.0 + 2 * 0.02) / sizes.sum() - 0.02
    np.testing.assert_allclose(found.strengths[:2], strengths, atol=1e-4)
    assert np.abs(np.sum(left[:, :2] * found.directions, axis=0)).min() > 0.9999


def test_turning_the_responses_changes_nothing() -> None:
    rng = np.random.default_rng(4)
    vectors = rng.standard_normal((40, 5))
    responses = vectors[:, :2] * [2.0, 1.0] + 0.3 * rng.standard_normal((40, 2))
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    found = find_predictive_directions(vectors, responses, tolerance=1e-9)
    again = find_predictive_directions(vectors, 1e3 * responses @ turn, tolerance=1e-9)
    np.testing.assert_allclose(again.theta, found.theta, atol=1e-5)


def test_it_descends_until_told_to_stop() -> None:
    rng = np.random.default_rng(5)
    vectors = rng.standard_normal((30, 10))
    responses = rng.standard_normal((30, 3))
    fine = find_predictive_directions(vectors, responses, tolerance=1e-9).objective
    assert np.all(np.diff(fine) <= 0.0)
    assert 0.0 < fine[-1] < fine[0] < 1.0
    coarse = find_predictive_directions(vectors, responses, tolerance=1e-3).objective
    assert 2 < len(coarse) < len(fine)
    np.testing.assert_array_equal(coarse, fine[: len(coarse)])
    two = find_predictive_directions(vectors, responses, tolerance=0.0, most_steps=2).objective
    np.testing.assert_array_equal(two, fine[:3])
    with pytest.raises(InputError, match='most_steps'):
        find_predictive_directions(vectors, responses, most_steps=0)
