# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The steps of the belief: compiled and NumPy forms against plain formulas."""

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from two_manifold_ros.localisation import steps as module
from two_manifold_ros.localisation.pace import make_paces
from two_manifold_ros.localisation.steps import FAINT, SLIGHT

pytestmark = pytest.mark.filterwarnings('error')

RNG = np.random.default_rng(0)
R, N, P, K = 5, 60, 3, 4
PACES = make_paces(2)
LENGTHS = [20, 1, 2, 3, 34]
SINCE = np.concatenate([np.arange(length) for length in LENGTHS])
SEGMENT = np.repeat(np.arange(len(LENGTHS)), LENGTHS)
FORMS = pytest.mark.parametrize('form', ['_loops', '_arrays'])


def form_of(name: str, form: str) -> Callable[..., Any]:
    return getattr(module, f'_{name}{form}')


def make_belief(seed: int = 0) -> np.ndarray:
    belief = np.random.default_rng(seed).uniform(size=(R, N)) ** 8
    return belief / belief.sum()


def make_passes(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    passes = np.full((N, P), -1)
    for tick in range(N):
        others = rng.permutation(np.delete(np.arange(N), tick))
        count = rng.integers(0, P + 1)
        passes[tick, :count] = others[:count]
    return passes, np.where(passes >= 0, rng.integers(-R, R + 1, size=(N, P)), 0)


def naive_move(belief: np.ndarray, moves: np.ndarray, since_begin: np.ndarray) -> np.ndarray:
    moved = np.zeros_like(belief)
    for pace in range(belief.shape[0]):
        for tick in range(belief.shape[1]):
            for step, chance in enumerate(moves[pace]):
                there = tick + step
                if there < belief.shape[1] and since_begin[there] >= step:
                    moved[pace, there] += chance * belief[pace, tick]
    return moved


def naive_hop(
    belief: np.ndarray, passes: np.ndarray, shifts: np.ndarray, chance: float
) -> np.ndarray:
    hopped = belief.copy()
    for tick in range(belief.shape[1]):
        there = [p for p in range(passes.shape[1]) if passes[tick, p] >= 0]
        if not there or belief[:, tick].sum() <= FAINT:
            continue
        for pace in range(belief.shape[0]):
            hopped[pace, tick] -= chance * belief[pace, tick]
            for p in there:
                other = int(np.clip(pace + shifts[tick, p], 0, belief.shape[0] - 1))
                hopped[other, passes[tick, p]] += chance * belief[pace, tick] / len(there)
    return hopped


@FORMS
def test_move(form: str) -> None:
    belief, moved = make_belief(), np.full((R, N), 9.0)
    before = belief.copy()
    form_of('move', form)(belief, PACES.moves, SINCE, moved)
    np.testing.assert_allclose(moved, naive_move(belief, PACES.moves, SINCE), rtol=1e-12)
    np.testing.assert_array_equal(belief, before)


@FORMS
@pytest.mark.parametrize('ticks', [1, 2, 3, 4])
def test_move_over_fewer_ticks_than_it_goes(form: str, ticks: int) -> None:
    belief, moved = RNG.uniform(size=(R, ticks)), np.full((R, ticks), 9.0)
    for since_begin in (np.arange(ticks), np.zeros(ticks, dtype=np.int64)):
        form_of('move', form)(belief, PACES.moves, since_begin, moved)
        np.testing.assert_allclose(moved, naive_move(belief, PACES.moves, since_begin), rtol=1e-12)


@FORMS
@given(st.integers(0, N - 1))
def test_nothing_crosses_a_seam(form: str, tick: int) -> None:
    belief, moved = np.zeros((R, N)), np.zeros((R, N))
    belief[:, tick] = 1.0
    moves = np.full((R, 6), 1.0 / 6.0)
    form_of('move', form)(belief, moves, SINCE, moved)
    np.testing.assert_array_equal(moved[:, SEGMENT[tick] != SEGMENT], 0.0)
    left = np.count_nonzero(SEGMENT[tick : tick + 6] == SEGMENT[tick])
    np.testing.assert_allclose(moved.sum(axis=1), left / 6.0)


@FORMS
def test_change_pace(form: str) -> None:
    moved, belief = make_belief(), np.full((R, N), 9.0)
    form_of('change', form)(moved, PACES.changes, belief)
    expected = np.zeros((R, N))
    for before in range(R):
        for after in range(R):
            expected[after] += PACES.changes[before, after] * moved[before]
    np.testing.assert_allclose(belief, expected, rtol=1e-12)


@FORMS
@pytest.mark.parametrize('seed', range(4))
def test_hop(form: str, seed: int) -> None:
    belief, (passes, shifts) = make_belief(seed), make_passes(seed)
    belief[:, ::7] *= 1e-12
    expected = naive_hop(belief, passes, shifts, 0.2)
    form_of('hop', form)(belief, passes, shifts, 0.2, np.full((R, N), 9.0))
    np.testing.assert_allclose(belief, expected, rtol=1e-12)


@FORMS
def test_two_hops_to_one_tick_add_up(form: str) -> None:
    # Two paces that are clipped to the same one, and two passes at one tick.
    belief, spare = np.zeros((2, 3)), np.zeros((2, 3))
    belief[:, 0] = 0.5
    passes, shifts = np.array([[2, 2], [-1, -1], [-1, -1]]), np.array([[1, 1], [0, 0], [0, 0]])
    form_of('hop', form)(belief, passes, shifts, 0.5, spare)
    np.testing.assert_allclose(belief, [[0.25, 0.0, 0.0], [0.25, 0.0, 0.5]])


@FORMS
def test_faint_chances_do_not_hop(form: str) -> None:
    for share, hops in ((0.9, False), (1.1, True)):
        belief = np.zeros((2, 2))
        belief[:, 0] = 0.5 * share * FAINT
        before = belief.copy()
        passes, shifts = np.array([[1], [-1]]), np.zeros((2, 1), dtype=np.int64)
        form_of('hop', form)(belief, passes, shifts, 0.5, np.zeros((2, 2)))
        assert (belief != before).any() == hops


@FORMS
@given(st.integers(0, 10_000), st.floats(0.0, 1.0))
def test_changing_and_hopping_lose_nothing(form: str, seed: int, chance: float) -> None:
    belief, spare = make_belief(seed), np.zeros((R, N))
    form_of('change', form)(belief, PACES.changes, spare)
    assert spare.sum() == pytest.approx(1.0, abs=1e-12)
    form_of('hop', form)(spare, *make_passes(seed), chance, belief)
    assert spare.sum() == pytest.approx(1.0, abs=1e-12)
    assert spare.min() >= 0.0


@FORMS
@pytest.mark.parametrize('jump', [0.0, 1e-4, 0.3, 1.0])
@pytest.mark.parametrize('scale', [1.0, 0.2])
def test_weigh(form: str, jump: float, scale: float) -> None:
    belief, factors, weights = scale * make_belief(), RNG.uniform(size=N), np.full(N, 9.0)
    posterior = np.zeros((R, N))
    for pace in range(R):
        for tick in range(N):
            predicted = (1.0 - jump) * belief[pace, tick] / belief.sum()
            predicted += jump * PACES.prior[pace] / N
            posterior[pace, tick] = predicted * factors[tick]
    evidence = form_of('weigh', form)(belief, PACES.prior, jump, factors, weights)
    assert evidence == pytest.approx(posterior.sum(), rel=1e-12)
    np.testing.assert_allclose(belief, posterior / posterior.sum(), rtol=1e-12)
    np.testing.assert_allclose(weights, (posterior / posterior.sum()).sum(axis=0), rtol=1e-12)


@FORMS
def test_a_belief_that_was_lost_begins_anywhere(form: str) -> None:
    belief, weights = np.zeros((R, N)), np.zeros(N)
    factors = RNG.uniform(size=N)
    evidence = form_of('weigh', form)(belief, PACES.prior, 1e-4, factors, weights)
    assert evidence == pytest.approx(factors.mean())
    np.testing.assert_allclose(belief, np.outer(PACES.prior, factors / factors.sum()))


@FORMS
def test_weigh_by_the_faintest_likelihoods_that_are_accepted(form: str) -> None:
    belief, weights = np.zeros((R, N)), np.zeros(N)
    belief[2, 5] = 1.0
    factors = np.full(N, 1e-304)
    factors[9] = 1e-12
    form_of('weigh', form)(belief, PACES.prior, 1e-4, factors, weights)
    assert weights.sum() == pytest.approx(1.0)
    assert weights[9] == pytest.approx(1.0)


@FORMS
def test_expected_state(form: str) -> None:
    weights = make_belief().sum(axis=0)
    weights[3] = 0.5 * SLIGHT
    weights /= weights.sum()
    states = np.hstack([np.ones((N, 1)), RNG.normal(size=(N, K))])
    state = np.full(1 + K, 9.0)
    form_of('expected_state', form)(weights, states, state)
    chosen = [tick for tick in range(N) if weights[tick] > SLIGHT]
    total = sum(weights[tick] for tick in chosen)
    expected = sum(weights[tick] * states[tick] for tick in chosen) / total
    assert 3 not in chosen
    np.testing.assert_allclose(state, expected, rtol=1e-12)
    assert state[0] == 1.0


def test_the_forms_that_are_used() -> None:
    form = '_loops' if module.HAVE_NUMBA else '_arrays'
    used = [module.move, module.change_pace, module.hop, module.weigh, module.expected_state]
    names = ['move', 'change', 'hop', 'weigh', 'expected_state']
    assert used == [form_of(name, form) for name in names]
