# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Moving and weighing against the matrix of the Markov chain and the plain formula."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from two_manifold_ros.comparison import belief_filter as module

AGES = np.array([0, 1, 2, 3, 4, 0, 1, 0, 0, 1, 2, 3])
N = len(AGES)
RNG = np.random.default_rng(0)

both_moves = pytest.mark.parametrize('move', [module._move_loops, module._move_arrays])
both_weighs = pytest.mark.parametrize('weigh', [module._weigh_loops, module._weigh_arrays])


def chain(stay: float, skip: float, jump: float) -> np.ndarray:
    """Return the probabilities of going from a row's tick to a column's, each row a sum of one."""
    matrix = np.zeros((N, N))
    for i in range(N):
        for ticks, probability in enumerate((stay, 1.0 - stay - skip, skip)):
            if i + ticks < N and AGES[i + ticks] == AGES[i] + ticks:
                matrix[i, i + ticks] += probability
            else:
                matrix[i] += probability / N
    return (1.0 - jump) * matrix + jump / N


@both_moves
@pytest.mark.parametrize(
    ('stay', 'skip', 'jump'),
    [(0.1, 0.2, 0.01), (0.0, 0.0, 1e-4), (0.0, 1.0, 0.1), (1.0, 0.0, 1.0)],
)
def test_moving_is_the_markov_chain(
    move: Callable[..., None], stay: float, skip: float, jump: float
) -> None:
    weights = RNG.dirichlet(np.full(N, 0.3))
    moved = np.empty(N)
    move(weights, AGES, stay, skip, jump, moved)
    np.testing.assert_allclose(moved, weights @ chain(stay, skip, jump), atol=1e-15)
    assert moved.sum() == pytest.approx(1.0)
    assert moved.min() >= jump / N * (1.0 - 1e-9)


@both_moves
def test_moving_a_single_tick(move: Callable[..., None]) -> None:
    moved = np.empty(1)
    move(np.ones(1), np.zeros(1, dtype=np.int64), 0.1, 0.1, 0.01, moved)
    assert moved[0] == pytest.approx(1.0)


@both_weighs
def test_weighing_is_the_formula(weigh: Callable[..., None]) -> None:
    weights, distances = RNG.dirichlet(np.ones(N)), RNG.uniform(3.0, 9.0, N)
    expected = weights * np.exp(-distances / (2.0 * 0.7))
    weigh(weights, distances, 0.7)
    np.testing.assert_allclose(weights, expected / expected.sum(), rtol=1e-12)


@both_weighs
@given(st.lists(st.floats(0.0, 1e12), min_size=N, max_size=N), st.floats(1e-6, 1e6))
def test_no_weight_is_ever_lost(
    weigh: Callable[..., None], distances: list[float], temperature: float
) -> None:
    weights = np.full(N, 1e-8)
    weights[-1] = 1.0
    weigh(weights, np.array(distances), temperature)
    assert weights.sum() == pytest.approx(1.0)
    assert (weights**4 > 0.0).all()
