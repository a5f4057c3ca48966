# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
import numpy as np

from two_manifold_ros.tpsr.parameters import stable


def with_modes(*values: complex) -> np.ndarray:
    rng = np.random.default_rng(0)
    blocks = np.zeros((2 * len(values), 2 * len(values)))
    for place, value in enumerate(map(complex, values)):
        blocks[2 * place : 2 * place + 2, 2 * place : 2 * place + 2] = [
            [value.real, value.imag],
            [-value.imag, value.real],
        ]
    turn = rng.normal(size=blocks.shape)
    return turn @ blocks @ np.linalg.inv(turn)


def test_only_growing_modes_are_shrunk() -> None:
    matrix = with_modes(1.02 + 0.3j, 0.9 + 0.1j, 0.5)
    wanted = (1.02 + 0.3j) / abs(1.02 + 0.3j)
    np.testing.assert_allclose(stable(matrix), with_modes(wanted, 0.9 + 0.1j, 0.5), atol=1e-10)
    assert np.abs(np.linalg.matrix_power(stable(matrix), 5000)).max() < 100.0


def test_a_stable_transition_stays_as_it_is() -> None:
    matrix = with_modes(0.6 + 0.7j, 0.9)
    np.testing.assert_array_equal(stable(matrix), matrix)


def test_modes_that_cannot_be_told_apart_are_all_scaled() -> None:
    turn = np.array([[1.1, 0.6], [-0.6, 1.1]])
    twice = np.block([[turn, np.eye(2)], [np.zeros((2, 2)), turn]])
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    matrix = rotation @ twice @ rotation.T
    found = stable(matrix)
    np.testing.assert_allclose(found / found[0, 0], matrix / matrix[0, 0], rtol=1e-9)
    assert np.abs(np.linalg.eigvals(found)).max() <= 1.0 + 1e-7


def test_a_mode_that_is_there_twice_is_no_harm() -> None:
    found = stable(np.array([[1.5, 1.0], [0.0, 1.5]]))
    assert np.abs(np.linalg.eigvals(found)).max() <= 1.0 + 1e-7


def test_nothing_is_stable() -> None:
    assert stable(np.zeros((0, 0))).shape == (0, 0)
