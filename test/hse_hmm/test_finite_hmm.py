# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A finite HMM whose training set holds each triple of symbols as often as it is probable.

With windows of one tick and a feature for each symbol nothing is approximate, so the filter has
to predict the next symbol exactly as Bayes does.
"""

import itertools

import naive
import numpy as np
import pytest

from two_manifold_ros.hse_hmm.belief import Belief
from two_manifold_ros.hse_hmm.tables import build_tables, make_ridge_kernel, RawKernel
from two_manifold_ros.hse_hmm.two_manifold import shared_directions

# Quarters, so that triples times 3 * 4^5 are whole numbers; both sides of the transition sum to
# one, so that states are equally likely.
TRANSITION = np.array([[2, 1, 1], [1, 1, 2], [1, 2, 1]]) / 4
EMISSION = np.array([[2, 1, 1, 0, 0], [0, 1, 0, 2, 1], [0, 0, 2, 1, 1]]) / 4
SYMBOLS = 5


def triples() -> np.ndarray:
    """Return (past, observation, next) of every training tick: (3072, 3)."""
    rows = []
    for symbols in itertools.product(range(SYMBOLS), repeat=3):
        forward = np.full(3, 1 / 3)
        for symbol in symbols:
            forward = (forward * EMISSION[:, symbol]) @ TRANSITION
        count = 3072 * forward.sum()
        assert count == pytest.approx(round(count), abs=1e-9)
        rows += [symbols] * round(count)
    assert len(rows) == 3072
    return np.array(rows)


def emitted(length: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    state, symbols = 0, []
    for _ in range(length):
        symbols.append(rng.choice(SYMBOLS, p=EMISSION[state]))
        state = rng.choice(3, p=TRANSITION[state])
    return np.array(symbols)


@pytest.mark.parametrize('ridge', [None, 1e-3, 10.0])
def test_with_the_constant(ridge: float | None) -> None:
    past, observed, following = (np.eye(SYMBOLS)[column] for column in triples().T)
    directions = shared_directions(
        observed - observed.mean(axis=0), past - past.mean(axis=0), rank=2
    )
    tables = build_tables(past - past.mean(axis=0), following - observed.mean(axis=0), directions)
    # A bandwidth far below the distance of two symbols makes the kernel one or nothing.
    operator = (
        RawKernel(observed, 0.01) if ridge is None else make_ridge_kernel(observed, 0.01, ridge)
    )
    belief = Belief(tables, operator)
    symbols = emitted(300)
    expected = naive.bayes_predictions(TRANSITION, EMISSION, symbols)
    np.testing.assert_allclose(belief.weights @ observed, expected[0], atol=1e-9)
    for symbol, prediction in zip(symbols, expected[1:], strict=True):
        belief.update(np.eye(SYMBOLS)[symbol])
        np.testing.assert_allclose(tables.weights @ belief.state @ observed, prediction, atol=1e-9)


def test_without_a_constant() -> None:
    past, observed, following = (np.eye(SYMBOLS)[column] for column in triples().T)
    directions = shared_directions(observed, past, rank=3)
    weights = past @ directions.past_map / len(past)
    states = following @ directions.future_map
    belief = directions.future_map.T @ observed.mean(axis=0)
    symbols = emitted(300)
    expected = naive.bayes_predictions(TRANSITION, EMISSION, symbols)
    for symbol, prediction in zip(symbols, expected[1:], strict=True):
        matrix = states.T @ (observed[:, symbol, None] * weights)
        belief = naive.update(belief, matrix, weights.sum(axis=0))
        np.testing.assert_allclose(weights @ belief @ observed, prediction, atol=1e-9)


def test_missing_symbols_are_predicted_through() -> None:
    past, observed, following = (np.eye(SYMBOLS)[column] for column in triples().T)
    directions = shared_directions(
        observed - observed.mean(axis=0), past - past.mean(axis=0), rank=2
    )
    tables = build_tables(past - past.mean(axis=0), following - observed.mean(axis=0), directions)
    belief = Belief(tables, RawKernel(observed, 0.01))
    believed = np.full(3, 1 / 3)
    for symbol, gap in zip(emitted(50), itertools.cycle([0, 1, 3]), strict=False):
        belief.update(np.eye(SYMBOLS)[symbol])
        belief.skip(gap)
        believed = believed * EMISSION[:, symbol]
        believed = believed / believed.sum() @ np.linalg.matrix_power(TRANSITION, 1 + gap)
        np.testing.assert_allclose(
            tables.weights @ belief.state @ observed, believed @ EMISSION, atol=1e-9
        )
