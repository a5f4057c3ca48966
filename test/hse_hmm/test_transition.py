# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The transition without observations is kept from growing, and otherwise left alone."""

import numpy as np
import pytest

from two_manifold_ros.hse_hmm.tables import spectral_radius, stabilised, transition

TURN = np.exp(0.3j)
BASIS = np.random.default_rng(0).normal(size=(5, 5))
WEIGHTS = np.random.default_rng(1).normal(size=(30, 6))


def inner_matrix(pair: complex, *real: float) -> np.ndarray:
    """Return A with a pair of conjugate eigenvalues and three real ones, in a skew basis."""
    block = np.array([[pair.real, -pair.imag], [pair.imag, pair.real]])
    normal = np.zeros((5, 5))
    normal[:2, :2] = block
    normal[2:, 2:] = np.diag(real)
    return BASIS @ normal @ np.linalg.inv(BASIS)


def states_with(inner: np.ndarray) -> np.ndarray:
    """Return a state table whose transition with ``WEIGHTS`` is [[1, 0], [c, A]]."""
    matrix = np.zeros((6, 6))
    matrix[0, 0] = 1.0
    matrix[1:, 0] = [0.1, 0.2, -0.3, 0.4, -0.5]
    matrix[1:, 1:] = inner
    return np.linalg.pinv(WEIGHTS).T @ matrix.T


def test_radius() -> None:
    matrix = transition(WEIGHTS, states_with(inner_matrix(0.9 * TURN, 0.5, -1.2, 0.1)))
    assert spectral_radius(matrix) == pytest.approx(1.2, rel=1e-9)
    assert spectral_radius(np.eye(1)) == 0.0


def test_only_growing_modes_shrink() -> None:
    states = states_with(inner_matrix(1.05 * TURN, 0.5, -1.2, 0.9))
    found = transition(WEIGHTS, stabilised(WEIGHTS, states))
    expected = inner_matrix(TURN, 0.5, -1.0, 0.9)
    np.testing.assert_allclose(found[0], np.eye(6)[0], atol=1e-12)
    np.testing.assert_allclose(found[1:, 1:], expected, atol=1e-9)
    # What the constant drives moves with its modes: c becomes S c.
    shrink = inner_matrix(1.0 / 1.05 + 0.0j, 1.0, 1.0 / 1.2, 1.0)
    np.testing.assert_allclose(found[1:, 0], shrink @ [0.1, 0.2, -0.3, 0.4, -0.5], atol=1e-9)


def test_stable_tables_are_left_alone() -> None:
    states = states_with(inner_matrix(0.99 * TURN, 0.5, -0.8, 0.9))
    assert stabilised(WEIGHTS, states) is states


def test_a_long_gap_does_not_grow() -> None:
    states = stabilised(WEIGHTS, states_with(inner_matrix(1.05 * TURN, 0.5, -1.2, 0.9)))
    matrix = transition(WEIGHTS, states)
    start = np.array([1.0, 0.5, -0.5, 0.2, 0.1, 0.3])
    norms = [np.linalg.norm(np.linalg.matrix_power(matrix, h) @ start) for h in (1, 100, 10_000)]
    assert max(norms) < 100.0
