# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The two tables (3.4)."""

import naive
import numpy as np
import pytest

from two_manifold_ros.hse_hmm.tables import build_tables, spectral_radius, transition
from two_manifold_ros.hse_hmm.two_manifold import COUPLINGS, shared_directions


def make_features(growth: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make centred features of a past, its future, and the future times ``growth``."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(50, 4))
    past = hidden @ rng.normal(size=(4, 4)) + 0.3 * rng.normal(size=(50, 4))
    own = hidden @ rng.normal(size=(4, 5)) + 0.3 * rng.normal(size=(50, 5))
    own -= own.mean(axis=0)
    return past - past.mean(axis=0), own, growth * own + 0.1 * rng.normal(size=own.shape)


@pytest.mark.parametrize('coupling', COUPLINGS)
@pytest.mark.parametrize('growth', [0.6, 1.4])
def test_first_row_of_the_transition(growth: float, coupling: str) -> None:
    past, own, shifted = make_features(growth)
    tables = build_tables(past, shifted, shared_directions(own, past, 3, coupling))
    matrix = transition(tables.weights, tables.states)
    np.testing.assert_allclose(matrix[0], [1.0, 0.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(tables.weights[:, 0], 1.0 / 50.0, rtol=1e-15)
    np.testing.assert_array_equal(tables.states[:, 0], 1.0)
    assert spectral_radius(matrix) <= 1.0 + 1e-12


def test_stable_tables_are_those_of_the_equation() -> None:
    past, own, shifted = make_features(0.6)
    tables = build_tables(past, shifted, shared_directions(own, past, 3))
    weights, states = naive.with_constant(*naive.feature_tables(past, own, shifted, 3))
    signs = naive.align(tables.weights, weights)
    np.testing.assert_allclose(tables.weights, weights * signs, atol=1e-10)
    np.testing.assert_allclose(tables.states, states * signs, atol=1e-10)


def test_growing_modes_are_shrunk() -> None:
    past, own, shifted = make_features(1.4)
    tables = build_tables(past, shifted, shared_directions(own, past, 3))
    weights, states = naive.feature_tables(past, own, shifted, 3)
    before = np.abs(np.linalg.eigvals(states.T @ weights))
    after = np.abs(np.linalg.eigvals(transition(tables.weights, tables.states)[1:, 1:]))
    assert before.max() > 1.2
    np.testing.assert_allclose(np.sort(after), np.sort(np.minimum(before, 1.0)), atol=1e-10)


def test_no_direction_leaves_the_constant() -> None:
    past, own, shifted = make_features(0.6)
    tables = build_tables(past, shifted, shared_directions(own, past, 0))
    np.testing.assert_array_equal(tables.states, np.ones((50, 1)))
    np.testing.assert_allclose(tables.weights, np.full((50, 1), 0.02))
