# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The HMM against sums over all paths, N4SID and its Kalman filter against known systems."""

from dataclasses import replace
import itertools
import sys

import numpy as np
import pytest
from scipy.linalg import block_diag, solve_discrete_are
from small_trains import circle, train_of, wander, without_positions

from two_manifold_ros.comparison import hidden_markov as markov
from two_manifold_ros.comparison import linear_system
from two_manifold_ros.errors import InputError

TRUTH = markov.MarkovTables(
    np.array([0.5, 0.3, 0.2]),
    np.array([[0.9, 0.1, 0.0], [0.0, 0.85, 0.15], [0.2, 0.0, 0.8]]),
    np.array([[0.7, 0.1, 0.1, 0.1], [0.05, 0.8, 0.05, 0.1], [0.1, 0.1, 0.6, 0.2]]),
)


def symbols_of(tables: markov.MarkovTables, ticks: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    states = [rng.choice(len(tables.start), p=tables.start)]
    for _ in range(ticks - 1):
        states.append(rng.choice(len(tables.start), p=tables.transition[states[-1]]))
    return np.array([rng.choice(tables.emission.shape[1], p=tables.emission[s]) for s in states])


def over_all_paths(tables: markov.MarkovTables, symbols: np.ndarray) -> tuple[np.ndarray, float]:
    last = np.zeros(len(tables.start))
    for path in itertools.product(range(len(tables.start)), repeat=len(symbols)):
        chance = tables.start[path[0]] * tables.emission[path[0], symbols[0]]
        for tick in range(1, len(symbols)):
            chance *= tables.transition[path[tick - 1], path[tick]]
            chance *= tables.emission[path[tick], symbols[tick]]
        last[path[-1]] += chance
    return last / last.sum(), float(np.log(last.sum()))


def test_the_filter_sums_over_all_paths():
    symbols = np.array([2, 0, 3, 1, 1, 0])
    states, log_likelihood = TRUTH.filter(symbols)
    for tick in range(len(symbols)):
        wanted, wanted_log = over_all_paths(TRUTH, symbols[: tick + 1])
        np.testing.assert_allclose(states[tick], wanted, rtol=1e-12)
    assert log_likelihood == pytest.approx(wanted_log, rel=1e-12)


def test_labels_are_counted_within_stretches_and_where_they_are_known():
    labels = [np.array([0, 0, 1, -1, 1]), np.array([1, 0])]
    symbols = [np.array([2, 1, 0, 0, 0]), np.array([0, 2])]
    tables = markov.count_labels(labels, symbols, 2, 4)
    small = 0.01
    np.testing.assert_allclose(tables.start, [0.5, 0.5])
    for found, counts in (
        (tables.transition, [[1, 1], [1, 0]]),
        (tables.emission, [[0, 1, 2, 0], [3, 0, 0, 0]]),
    ):
        shares = np.array(counts) + small
        np.testing.assert_allclose(found, shares / shares.sum(axis=1, keepdims=True))


def test_each_pass_of_em_raises_the_likelihood_and_what_is_never_seen_spoils_nothing():
    pytest.importorskip('hmmlearn')
    unseen = replace(TRUTH, emission=np.hstack([TRUTH.emission, np.zeros((3, 1))]))
    learned = markov.improve(unseen, [symbols_of(TRUTH, 500, 1)], 5)
    states, log_likelihood = learned.filter(np.array([0, 4, 4, 1]))
    assert np.isfinite(log_likelihood)
    assert (states > 0.0).all()
    np.testing.assert_allclose(states[1], states[0] @ learned.transition, rtol=0.05, atol=0.01)
    stretches, rows = [symbols_of(TRUTH, 300, 2)], np.random.default_rng(6)
    begun = markov.MarkovTables(np.full(4, 0.25), *rows.dirichlet(np.ones(4), (2, 4)))
    learned = [markov.improve(begun, stretches, passes) for passes in range(8)]
    assert (np.diff([tables.filter_all(stretches)[1] for tables in learned]) > 0.0).all()
    # A state that dies out: left to itself, hmmlearn refuses a row of zeros.
    symbols = np.array([0, 1] * 50)
    begun = markov.MarkovTables(np.eye(3)[0], np.eye(3)[[1, 0, 2]], np.eye(3))
    learned = markov.improve(begun, [symbols], 10)
    for rows in (learned.start[None], learned.transition, learned.emission):
        np.testing.assert_allclose(rows.sum(axis=1), 1.0)
        assert (rows > 0.0).all()


def test_codes_are_used_and_near_by_the_squared_distance_in_units_of_neighbours():
    rows = np.repeat(np.arange(7.0), 30)[:, None]
    book = markov.learn_codebook(rows, 50, seed=0)
    np.testing.assert_array_equal(np.unique(book.symbols(rows)), np.arange(len(book)))
    assert len(book) <= 7
    book = markov.Codebook(np.array([[0.0], [2.0], [5.0]]))
    # Nearest others are 2, 2 and 3 away: squared 4, 4 and 9, median 4.
    shares = np.exp(-np.array([[0.0, 4.0, 25.0], [4.0, 0.0, 9.0], [25.0, 9.0, 0.0]]) / (2 * 4 * 4))
    np.testing.assert_allclose(book.nearness(), shares / shares.sum(axis=1)[:, None])


def test_a_short_training_has_fewer_symbols_and_without_positions_it_is_refused():
    with pytest.raises(InputError, match='no velocity is known'):
        markov.Learning(train_of(without_positions(wander(0, 40))))
    assert len(markov.Learning(train_of(wander(0, 60))).codebook) <= 30
    assert len(markov.Learning(train_of(wander(0, 3000))).codebook) > 350


FEW = {'states': 6, 'passes': 2, 'sharpness': 0.5, 'readout': 'mean'}


def test_states_are_filtered_with_shared_and_softened_emissions():
    learning = markov.Learning(train_of(circle(0, 300)))
    segment = circle(1, 30)
    states = learning.follow(**FEW).predict(segment).states
    tables = learning.tables(6, 2)
    emission = tables.emission @ learning.codebook.nearness() + 1e-6
    emission /= emission.sum(axis=1, keepdims=True)
    for tick, symbol in enumerate(
        learning.codebook.symbols(learning.channels.standardise(segment.values))
    ):
        if tick:
            believed = states[tick - 1] @ tables.transition * emission[:, symbol] ** 0.5
            np.testing.assert_allclose(states[tick], believed / believed.sum(), rtol=1e-9)


def test_positions_mix_the_mean_of_what_followed_each_state():
    first, second = wander(0, 60), circle(1, 90)
    first.positions[20:30] = np.nan
    train = train_of(first, second, horizons=(0, 3, 85))
    fitted = markov.Learning(train).follow(**FEW)
    found = [fitted.predict(segment) for segment in (first, second)]
    for place, horizon in enumerate(train.horizons):
        sums, weights = np.zeros((6, 2)), np.zeros(6)
        for segment, predicted in zip((first, second), found, strict=True):
            for tick in range(len(segment) - horizon):
                ahead = segment.positions[tick + horizon]
                if np.isfinite(ahead).all():
                    sums += predicted.states[tick][:, None] * ahead
                    weights += predicted.states[tick]
        means = sums / weights[:, None]
        for predicted in found:
            mixed = predicted.states @ means
            np.testing.assert_allclose(predicted.positions[:, place], mixed, atol=1e-9)


def test_without_a_block_the_first_is_chosen_and_nothing_without_the_library(monkeypatch):
    """Candidates without a pass of EM are not chosen instead, without a word."""
    chosen = markov.hidden_markov(train_of(circle(0, 60), window=25), (7, 3)).chosen
    first = {'states': 7, 'passes': 5, 'sharpness': 0.25, 'readout': 'ridge'}
    assert chosen.items() >= first.items()
    monkeypatch.setitem(sys.modules, 'hmmlearn.hmm', None)
    with pytest.raises(ImportError, match='hmmlearn'):
        markov.hidden_markov(train_of(circle(0, 400), window=10), (5,))


def test_settings_without_a_stable_filter_are_passed_over(monkeypatch):
    monkeypatch.setattr(linear_system, 'solve_discrete_are', lambda *_, **__: np.zeros((4, 4)))
    with pytest.raises(np.linalg.LinAlgError, match='not stable'):
        linear_system.innovation_form(2.0 * A, C, block_diag(Q, R))
    calls = iter(range(9))

    def refusing_first(*arguments: np.ndarray, **more: np.ndarray) -> np.ndarray:
        if next(calls):
            return solve_discrete_are(*arguments, **more)
        raise np.linalg.LinAlgError('no solution')

    monkeypatch.setattr(linear_system, 'solve_discrete_are', refusing_first)
    chosen = linear_system.kalman_filter(train_of(circle(0, 400), window=10), 3, 4).chosen
    assert chosen['weighting'] == 'principal'


def test_only_what_is_unstable_is_pulled_in():
    diagonal = block_diag(1.2 * turn_by(0.3), 0.7, -1.5, 0.2)
    basis = np.random.default_rng(0).normal(size=(5, 5))
    stable = linear_system.stabilised(basis @ diagonal @ np.linalg.inv(basis))
    pair = linear_system.SLOWEST * np.exp(np.array([0.3j, -0.3j]))
    wanted = np.sort_complex(np.array([*pair, 0.7, -linear_system.SLOWEST, 0.2]))
    np.testing.assert_allclose(np.sort_complex(np.linalg.eigvals(stable)), wanted, atol=1e-8)
    # So are equal ones.
    basis, jordan = basis[:3, :3], np.eye(3) + np.eye(3, k=1)
    stable = linear_system.stabilised(basis @ jordan @ np.linalg.inv(basis))
    assert np.abs(np.linalg.eigvals(stable)).max() < 1.0


def turn_by(angle: float) -> np.ndarray:
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


A = block_diag(0.9 * turn_by(0.4), [[0.95, 0.0], [0.3, -0.8]])
C = np.array([[1.0, 0.0, 0.5, 0.3], [0.0, 1.0, -0.5, 1.0]])
Q = 0.2 * np.eye(4)
R = np.array([[0.5, 0.2], [0.2, 0.3]])


def simulate(ticks: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    outputs, state = np.empty((ticks, 2)), np.zeros(4)
    measured = rng.multivariate_normal(np.zeros(2), R, ticks)
    pushed = rng.multivariate_normal(np.zeros(4), Q, ticks)
    for tick in range(ticks):
        outputs[tick] = C @ state + measured[tick]
        state = A @ state + pushed[tick]
    return outputs


def responses(transition: np.ndarray, output: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """Return C A^j K, which no choice of the state's basis changes."""
    return np.array([output @ np.linalg.matrix_power(transition, j) @ gain for j in range(8)])


@pytest.mark.parametrize('weighting', ['unweighted', 'principal'])
def test_known_system_is_recovered(weighting):
    spread = solve_discrete_are(A.T, C.T, Q, R)
    gain = A @ spread @ C.T @ np.linalg.inv(C @ spread @ C.T + R)
    outputs = simulate(15_000), simulate(9), simulate(15_000, 1)
    factor = linear_system.decompose_hankel(outputs, 15)
    form = linear_system.identify(factor, 2, linear_system.find_directions(factor, weighting), 4)
    found, true = (np.sort_complex(np.linalg.eigvals(each)) for each in (form.transition, A))
    np.testing.assert_allclose(found, true, atol=0.02)
    found = responses(form.transition, form.output, form.gain)
    np.testing.assert_allclose(found, responses(A, C, gain), atol=0.04)


def test_just_long_enough_and_too_short():
    linear_system.decompose_hankel([simulate(13 + 9)], 5)
    with pytest.raises(InputError, match=r'needs 13 windows of 10 ticks .* has 12; record longer'):
        linear_system.decompose_hankel([simulate(12 + 9)], 5)
    train = train_of(*(wander(seed, 11) for seed in range(3)), window=20)
    with pytest.raises(InputError, match=r'20 block rows of 6 channels .* record longer'):
        linear_system.kalman_filter(train)


def test_readout_is_a_regression_on_states_of_full_windows_with_known_positions():
    first, second = circle(0, 80), circle(1, 60)
    first.positions[30:40] = np.nan
    train = train_of(first, second, window=6, horizons=(0, 3))
    seen = np.random.default_rng(5).normal(size=(6, 2))
    system = linear_system.InnovationForm(0.98 * turn_by(0.2), seen, 0.1 * seen.T)
    coefficients = linear_system.fit_readout(system, train)
    for column, horizon in enumerate(train.horizons):
        rows, wanted = [], []
        for segment in (first, second):
            states = system.filter(train.dataset.channels.standardise(segment.values))
            for tick in range(6, len(segment) - horizon):
                if np.isfinite(segment.positions[tick + horizon]).all():
                    rows.append([1.0, *states[tick]])
                    wanted.append(segment.positions[tick + horizon])
        plain = np.linalg.lstsq(np.array(rows), np.array(wanted), rcond=None)[0].T
        np.testing.assert_allclose(coefficients[column], plain, rtol=0.01, atol=0.005)


def test_what_was_asked_for_is_taken_and_the_rest_chosen_within_what_data_support(monkeypatch):
    for given, segment, window, states, block_rows in (
        ({'block_rows': 9}, circle(0, 400), 8, {20, 40, 80, 160}, {9}),
        ({'states': 3}, circle(0, 400), 8, {3}, {4, 6, 8, 12, 16}),
        ({'states': 3, 'block_rows': 9}, circle(0, 400), 8, {3}, {9}),
        # As many states as block rows can distinguish, at most.
        ({'states': 20, 'block_rows': 3}, circle(0, 400), 5, {12}, {3}),
        # Too short once blocks are held out: the first candidate, of the whole.
        ({'block_rows': 12}, wander(0, 130), 12, {20}, {12}),
    ):
        chosen = linear_system.kalman_filter(train_of(segment, window=window), **given).chosen
        assert chosen['states'] in states
        assert chosen['block_rows'] in block_rows
    # As many as their limit allows.
    monkeypatch.setattr(linear_system, 'MOST_ROWS', 30)
    train = train_of(circle(0, 400), window=10)
    assert linear_system.kalman_filter(train, 3).chosen['block_rows'] == 5
