# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from two_manifold_ros.tpsr.moments import BLOCK, OperatorTensor, TOGETHER
from two_manifold_ros.tpsr.thin_svd import Move


def rotation(rng: np.random.Generator, size: int) -> np.ndarray:
    return np.linalg.qr(rng.normal(size=(size, size)))[0]


@pytest.mark.parametrize('asked_often', [False, True])
def test_is_the_sum_in_the_last_bases(asked_often: bool) -> None:
    rng = np.random.default_rng(0)
    observations = BLOCK + 2
    tensor = OperatorTensor(observations)
    tensor.move(Move(np.zeros((4, 0)), np.zeros((4, 0))))
    left = right = np.eye(4)
    total = np.zeros((observations + 1, 4, 4))
    for count in (5, TOGETHER - 1, 1, 3, 2 * TOGETHER + 3, 1):
        turn_left, turn_right = rotation(rng, 4), rotation(rng, 4)
        left, right = turn_left @ left, turn_right @ right
        next_tests, histories = rng.normal(size=(2, count, 4))
        seen = np.hstack([rng.normal(size=(count, observations)), np.ones((count, 1))])
        total = 0.9 * total + np.einsum('no,nt,nh->oth', seen, next_tests, histories)
        tensor.move(Move(turn_left, turn_right), 0.9)
        tensor.add(next_tests @ left.T, seen[:, :-1], histories @ right.T)
        assert len(tensor.observations) < TOGETHER
        if asked_often:
            np.testing.assert_allclose(tensor.moments, left @ total @ right.T, atol=1e-11)
    np.testing.assert_allclose(tensor.moments, left @ total @ right.T, atol=1e-11)
    np.testing.assert_array_equal(tensor.moments, tensor.moments)


def test_follows_bases_that_grow_and_shrink() -> None:
    rng = np.random.default_rng(1)
    tensor = OperatorTensor(2)
    expected = np.zeros((3, 0, 0))
    for before, after in ((0, 2), (2, 5), (5, 3)):
        left, right = rng.normal(size=(2, after, before))
        next_tests, histories = rng.normal(size=(2, 7, after))
        seen = rng.normal(size=(7, 2))
        expected = left @ expected @ right.T
        expected = expected + np.einsum(
            'no,nt,nh->oth', np.hstack([seen, np.ones((7, 1))]), next_tests, histories
        )
        tensor.move(Move(left, right))
        tensor.add(next_tests, seen, histories)
    np.testing.assert_allclose(tensor.moments, expected, atol=1e-12)
