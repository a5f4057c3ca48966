# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Second and third moments of features, beside direct sums."""

import numpy as np
import pytest

from two_manifold_ros.tpsr.learner import ObservationCovariance, OperatorTensor
from two_manifold_ros.tpsr.thin_svd import Move

SIZE = 12


@pytest.mark.parametrize('batch', [1, SIZE // 4 + 1])
@pytest.mark.parametrize('decay', [1.0, 0.99])
def test_inverse_is_that_of_the_sum_and_its_ridge(batch, decay):
    rng = np.random.default_rng(0)
    covariance = ObservationCovariance(SIZE, 0.2)
    total, count, updates = np.zeros((SIZE, SIZE)), 0.0, 0
    for _ in range(700):
        rows, weights = rng.normal(size=(batch, SIZE)), rng.random(batch)
        covariance.fold(rows, weights, decay)
        total = decay * total + (rows.T * weights) @ rows
        count = decay * count + weights.sum()
        ridge = covariance.ridge_within
        assert ridge == pytest.approx(0.2 * count, rel=0.1)
        inverse = np.linalg.inv(total + ridge * np.eye(SIZE))
        np.testing.assert_allclose(covariance.inverse, inverse, rtol=1e-9, atol=1e-13)
        np.testing.assert_array_equal(covariance.inverse, covariance.inverse.T)
        updates += covariance.since > 0
    # Both forms have to have been used, or one of them was not tested.
    assert (updates > 500) == (batch == 1)
    assert updates < 700


@pytest.mark.parametrize('batch', [2, SIZE])
@pytest.mark.parametrize('seed', range(3))
def test_long_and_parallel_features_do_not_stop_it(seed, batch):
    covariance = ObservationCovariance(SIZE, 1e-9)
    covariance.fold(np.eye(SIZE)[: SIZE // 2], np.ones(SIZE // 2))
    long = 3e5 * np.random.default_rng(seed).normal(size=SIZE)
    for scale in (1.0, 1.0, 1e-3, 1.0):
        covariance.fold(np.tile(scale * long, (batch, 1)), np.full(batch, 0.01))
        values = np.linalg.eigvalsh(covariance.inverse)
        assert values.min() > -1e-12 * values.max()


@pytest.mark.parametrize('asked_often', [False, True])
def test_is_the_sum_in_the_last_bases(asked_often):
    rng = np.random.default_rng(0)
    observations = 34
    tensor = OperatorTensor(observations)
    tensor.move(Move(np.zeros((4, 0)), np.zeros((4, 0))))
    left = right = np.eye(4)
    total = np.zeros((observations + 1, 4, 4))
    for count in (5, 127, 1, 3, 2 * 128 + 3, 1):
        turn_left, turn_right = (np.linalg.qr(each)[0] for each in rng.normal(size=(2, 4, 4)))
        left, right = turn_left @ left, turn_right @ right
        next_tests, histories = rng.normal(size=(2, count, 4))
        seen = np.hstack([rng.normal(size=(count, observations)), np.ones((count, 1))])
        total = 0.9 * total + np.einsum('no,nt,nh->oth', seen, next_tests, histories)
        tensor.move(Move(turn_left, turn_right), 0.9)
        tensor.add(next_tests @ left.T, seen[:, :-1], histories @ right.T)
        assert len(tensor.observations) < 128
        if asked_often:
            np.testing.assert_allclose(tensor.moments, left @ total @ right.T, atol=1e-11)
    np.testing.assert_allclose(tensor.moments, left @ total @ right.T, atol=1e-11)
    np.testing.assert_array_equal(tensor.moments, tensor.moments)
