# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The HMM against sums over all paths, EM against the truth, positions against means."""

from dataclasses import replace
import itertools
import sys

import numpy as np
import pytest
from small_trains import circle, train_of, wander, without_positions

from two_manifold_ros.comparison.hidden_markov import (
    Codebook,
    count_labels,
    hidden_markov,
    improve,
    learn_codebook,
    Learning,
    MarkovTables,
)
from two_manifold_ros.errors import InputError

TRUTH = MarkovTables(
    np.array([0.5, 0.3, 0.2]),
    np.array([[0.9, 0.1, 0.0], [0.0, 0.85, 0.15], [0.2, 0.0, 0.8]]),
    np.array([[0.7, 0.1, 0.1, 0.1], [0.05, 0.8, 0.05, 0.1], [0.1, 0.1, 0.6, 0.2]]),
)


def symbols_of(tables: MarkovTables, ticks: int, seed: int) -> np.ndarray:
    """Draw symbols."""
    rng = np.random.default_rng(seed)
    states = [rng.choice(len(tables.start), p=tables.start)]
    for _ in range(ticks - 1):
        states.append(rng.choice(len(tables.start), p=tables.transition[states[-1]]))
    return np.array([rng.choice(tables.emission.shape[1], p=tables.emission[s]) for s in states])


def over_all_paths(tables: MarkovTables, symbols: np.ndarray) -> tuple[np.ndarray, float]:
    """Sum the probability of every path of states."""
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
    tables = count_labels(labels, symbols, 2, 4)
    small = 0.01
    np.testing.assert_allclose(tables.start, [0.5, 0.5])
    for found, counts in (
        (tables.transition, [[1, 1], [1, 0]]),
        (tables.emission, [[0, 1, 2, 0], [3, 0, 0, 0]]),
    ):
        shares = np.array(counts) + small
        np.testing.assert_allclose(found, shares / shares.sum(axis=1, keepdims=True))


def test_a_symbol_never_seen_shows_and_spoils_nothing():
    pytest.importorskip('hmmlearn')
    unseen = replace(TRUTH, emission=np.hstack([TRUTH.emission, np.zeros((3, 1))]))
    learned = improve(unseen, [symbols_of(TRUTH, 500, 1)], 5)
    states, log_likelihood = learned.filter(np.array([0, 4, 4, 1]))
    assert np.isfinite(log_likelihood)
    assert (states > 0.0).all()
    np.testing.assert_allclose(states[1], states[0] @ learned.transition, rtol=0.05, atol=0.01)


def test_each_pass_of_em_raises_the_likelihood():
    pytest.importorskip('hmmlearn')
    stretches = [symbols_of(TRUTH, 300, 2)]
    rng = np.random.default_rng(6)
    begun = MarkovTables(np.full(4, 0.25), *rng.dirichlet(np.ones(4), (2, 4)))
    learned = [improve(begun, stretches, passes) for passes in range(8)]
    likelihoods = [tables.filter_all(stretches)[1] for tables in learned]
    assert (np.diff(likelihoods) > 0.0).all()


def test_a_state_that_dies_out_does_not_end_the_learning():
    """Left to itself, hmmlearn refuses a row of zeros."""
    pytest.importorskip('hmmlearn')
    symbols = np.array([0, 1] * 50)
    begun = MarkovTables(np.eye(3)[0], np.eye(3)[[1, 0, 2]], np.eye(3))
    learned = improve(begun, [symbols], 10)
    for rows in (learned.start[None], learned.transition, learned.emission):
        np.testing.assert_allclose(rows.sum(axis=1), 1.0)
        assert (rows > 0.0).all()


def test_every_code_is_used_and_no_row_is_needed_twice():
    rows = np.repeat(np.arange(7.0), 30)[:, None]
    book = learn_codebook(rows, 50, seed=0)
    np.testing.assert_array_equal(np.unique(book.symbols(rows)), np.arange(len(book)))
    assert len(book) <= 7
    with pytest.raises(InputError, match='nothing to cluster'):
        learn_codebook(np.empty((0, 2)), 5, seed=0)


def test_nearness_falls_with_the_squared_distance_in_units_of_neighbours():
    book = Codebook(np.array([[0.0], [2.0], [5.0]]))
    # Nearest others are 2, 2 and 3 away: squared 4, 4 and 9, median 4.
    shares = np.exp(-np.array([[0.0, 4.0, 25.0], [4.0, 0.0, 9.0], [25.0, 9.0, 0.0]]) / (2 * 3 * 4))
    found = book.nearness(3.0)
    np.testing.assert_allclose(found, shares / shares.sum(axis=1)[:, None])


def test_a_short_training_has_fewer_symbols_and_one_without_positions_is_refused():
    with pytest.raises(InputError, match='no velocity is known'):
        Learning(train_of(without_positions(wander(0, 40))))
    assert len(Learning(train_of(wander(0, 60))).codebook) <= 30
    assert len(Learning(train_of(wander(0, 3000))).codebook) > 350


FEW = {'states': 6, 'passes': 2, 'sharpness': 0.5, 'readout': 'mean'}


def test_states_are_filtered_with_shared_and_softened_emissions():
    learning = Learning(train_of(circle(0, 300)))
    segment = circle(1, 30)
    states = learning.follow(**FEW).predict(segment).states
    tables = learning.tables(6, 2)
    emission = tables.emission @ learning.codebook.nearness(4.0) + 1e-6
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
    fitted = Learning(train).follow(**FEW)
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


def test_without_a_block_to_choose_on_the_first_is_taken():
    chosen = hidden_markov(train_of(circle(0, 60), window=25), (7, 3)).chosen
    first = {'states': 7, 'passes': 5, 'sharpness': 0.25, 'readout': 'ridge'}
    assert chosen.items() >= first.items()


def test_the_library_is_missing(monkeypatch):
    """Candidates without a pass of EM are not chosen instead, without a word."""
    monkeypatch.setitem(sys.modules, 'hmmlearn.hmm', None)
    with pytest.raises(ImportError, match='hmmlearn'):
        hidden_markov(train_of(circle(0, 400), window=10), (5,))
