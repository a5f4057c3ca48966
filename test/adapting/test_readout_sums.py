# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Recursive least squares against the same problem solved at once."""

from __future__ import annotations

import numpy as np
import pytest

from two_manifold_ros.adapting.readout_sums import doubt, pair_up, ReadoutSums, RIDGE

RNG = np.random.default_rng(3)
STATES = RNG.normal(size=(60, 2, 4))
TARGETS = RNG.normal(size=(60, 2, 2))
TARGETS[10:20, 0] = np.nan
STATES[30, 1, 2] = np.nan
MEMORY = 25.0


def naive(column: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the weighted ridge solution of one column and the inverse, in a batch."""
    known = np.isfinite(TARGETS[:, column]).all(axis=1)
    known &= np.isfinite(STATES[:, column]).all(axis=1)
    states, targets = STATES[known, column], TARGETS[known, column]
    weights = np.exp(-np.arange(len(states))[::-1] / MEMORY)
    gram = (states.T * weights) @ states + RIDGE * np.eye(4)
    return np.linalg.solve(gram, (states.T * weights) @ targets).T, np.linalg.inv(gram)


@pytest.mark.parametrize('size', [1, 7, 60])
def test_it_is_weighted_least_squares_however_it_is_fed(size: int) -> None:
    sums = ReadoutSums(2, 4, MEMORY)
    for first in range(0, 60, size):
        sums.add(STATES[first : first + size], TARGETS[first : first + size])
    readout = sums.solve()
    for column in range(2):
        coefficients, inverse = naive(column)
        np.testing.assert_allclose(readout.coefficients[column], coefficients, atol=1e-10)
        np.testing.assert_allclose(readout.inverses[column], inverse, atol=1e-10)
    state = STATES[0, 0]
    assert doubt(readout, state)[0] == pytest.approx(state @ naive(0)[1] @ state)


def test_it_moves_with_the_bases() -> None:
    matrix = RNG.normal(size=(4, 4))
    moved, fresh = ReadoutSums(2, 4, MEMORY), ReadoutSums(2, 4, MEMORY)
    moved.add(STATES[:30], TARGETS[:30])
    moved.move(matrix)
    moved.add(STATES[30:] @ matrix.T, TARGETS[30:])
    fresh.add(STATES @ matrix.T, TARGETS)
    np.testing.assert_allclose(moved.gram, fresh.gram, atol=1e-10)
    np.testing.assert_allclose(moved.cross, fresh.cross, atol=1e-10)


def test_without_a_reference_nothing_fades() -> None:
    sums = ReadoutSums(2, 4, MEMORY)
    sums.add(STATES, TARGETS)
    before = sums.gram.copy()
    sums.add(STATES, np.full_like(TARGETS, np.nan))
    np.testing.assert_array_equal(sums.gram, before)


def test_positions_are_paired_with_states_of_before() -> None:
    ticks = np.arange(10.0)
    states = np.stack([ticks, np.ones(10)], axis=1)
    positions = np.stack([ticks**2, -ticks], axis=1)
    own, targets = pair_up(states, positions, (0, 3), 0.5)
    assert own.shape == (7, 3, 2)
    # Tick 5 is the third that is paired: with itself, with tick 2, and tick 4 for its velocity.
    assert own[2, :, 0].tolist() == [5.0, 2.0, 4.0]
    assert targets[2].tolist() == [[25.0, -5.0], [25.0, -5.0], [16.0, -2.0]]
