# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tables of a small HMM against sums over all paths, and EM against the truth."""

from __future__ import annotations

import itertools
import logging
import sys

import numpy as np
import pytest

from two_manifold_ros.comparison.hidden_markov import count_labels, improve, MarkovTables
from two_manifold_ros.errors import InputError

TRUTH = MarkovTables(
    np.array([0.5, 0.3, 0.2]),
    np.array([[0.9, 0.1, 0.0], [0.0, 0.85, 0.15], [0.2, 0.0, 0.8]]),
    np.array([[0.7, 0.1, 0.1, 0.1], [0.05, 0.8, 0.05, 0.1], [0.1, 0.1, 0.6, 0.2]]),
)


def sample(tables: MarkovTables, ticks: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw states and symbols."""
    rng = np.random.default_rng(seed)
    states = [rng.choice(len(tables.start), p=tables.start)]
    for _ in range(ticks - 1):
        states.append(rng.choice(len(tables.start), p=tables.transition[states[-1]]))
    symbols = [rng.choice(tables.emission.shape[1], p=tables.emission[state]) for state in states]
    return np.array(states), np.array(symbols)


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


def test_the_filter_sums_over_all_paths() -> None:
    symbols = np.array([2, 0, 3, 1, 1, 0])
    states, log_likelihood = TRUTH.filter(symbols)
    for tick in range(len(symbols)):
        wanted, wanted_log = over_all_paths(TRUTH, symbols[: tick + 1])
        np.testing.assert_allclose(states[tick], wanted, rtol=1e-12)
    assert log_likelihood == pytest.approx(wanted_log, rel=1e-12)


def test_stretches_are_filtered_each_from_the_start() -> None:
    stretches = [np.array([2, 0, 3]), np.array([1, 1])]
    states, log_likelihood = TRUTH.filter_all(stretches)
    parts = [TRUTH.filter(symbols) for symbols in stretches]
    np.testing.assert_array_equal(states, np.concatenate([part[0] for part in parts]))
    assert log_likelihood == parts[0][1] + parts[1][1]


def test_to_begin_anywhere_is_to_begin_as_in_the_middle_of_training() -> None:
    _, symbols = sample(TRUTH, 4000, 0)
    values, vectors = np.linalg.eig(TRUTH.transition.T)
    stationary = np.real(vectors[:, np.argmax(np.real(values))])
    found = TRUTH.begun_anywhere([symbols])
    np.testing.assert_allclose(found.start, stationary / stationary.sum(), atol=0.05)
    assert found.start.sum() == pytest.approx(1.0)


def test_labels_are_counted_within_stretches_and_where_they_are_known() -> None:
    labels = [np.array([0, 0, 1, -1, 1]), np.array([1, 0])]
    symbols = [np.array([2, 1, 0, 0, 0]), np.array([0, 2])]
    tables = count_labels(labels, symbols, 2, 4)
    small = 0.01
    np.testing.assert_allclose(tables.start, [0.5, 0.5])
    np.testing.assert_allclose(
        tables.transition,
        [
            [(1 + small) / (2 + 2 * small), (1 + small) / (2 + 2 * small)],
            [(1 + small) / (1 + 2 * small), small / (1 + 2 * small)],
        ],
    )
    np.testing.assert_allclose(
        tables.emission,
        np.array([[small, 1 + small, 2 + small, small], [3 + small, small, small, small]])
        / (3 + 4 * small),
    )


def test_a_symbol_never_seen_tells_nothing_and_spoils_nothing() -> None:
    _, symbols = sample(TRUTH, 500, 1)
    pytest.importorskip('hmmlearn')
    unseen = MarkovTables(
        TRUTH.start, TRUTH.transition, np.hstack([TRUTH.emission, np.zeros((3, 1))])
    )
    learned = improve(unseen, [symbols], 5)
    states, log_likelihood = learned.filter(np.array([0, 4, 4, 1]))
    assert np.isfinite(log_likelihood)
    assert (states > 0.0).all()
    np.testing.assert_allclose(states[1], states[0] @ learned.transition, rtol=0.05, atol=0.01)


def test_emissions_are_shared_with_alike_symbols() -> None:
    nearness = np.array([[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])
    found = TRUTH.shared(nearness).emission
    np.testing.assert_allclose(found[0], [0.4, 0.4, 0.1, 0.1], atol=1e-5)
    np.testing.assert_allclose(found[1], [0.425, 0.425, 0.05, 0.1], atol=1e-5)


def test_em_finds_the_model_that_drew_the_symbols() -> None:
    pytest.importorskip('hmmlearn')
    stretches = [sample(TRUTH, 6000, seed)[1] for seed in range(3)]
    rng = np.random.default_rng(5)
    near = MarkovTables(
        np.full(3, 1 / 3),
        0.5 * np.eye(3) + rng.dirichlet(np.ones(3), 3) / 2,
        0.5 * TRUTH.emission + 0.5 * rng.dirichlet(np.ones(4), 3),
    )
    learned = improve(near, stretches, 200)
    np.testing.assert_allclose(learned.transition, TRUTH.transition, atol=0.04)
    np.testing.assert_allclose(learned.emission, TRUTH.emission, atol=0.04)
    assert learned.filter_all(stretches)[1] > near.filter_all(stretches)[1] + 100.0


def test_each_pass_of_em_raises_the_likelihood() -> None:
    pytest.importorskip('hmmlearn')
    stretches = [sample(TRUTH, 300, 2)[1]]
    rng = np.random.default_rng(6)
    begun = MarkovTables(
        np.full(4, 0.25), rng.dirichlet(np.ones(4), 4), rng.dirichlet(np.ones(4), 4)
    )
    likelihoods = [
        improve(begun, stretches, passes).filter_all(stretches)[1] for passes in range(8)
    ]
    assert (np.diff(likelihoods) > 0.0).all()


def test_em_ends_when_the_likelihood_settles() -> None:
    pytest.importorskip('hmmlearn')
    stretches = [sample(TRUTH, 300, 3)[1]]
    many, more = (improve(TRUTH, stretches, passes) for passes in (500, 1000))
    np.testing.assert_array_equal(many.emission, more.emission)


def test_a_state_that_dies_out_does_not_end_the_learning() -> None:
    """Left to itself, hmmlearn refuses a row of zeros."""
    pytest.importorskip('hmmlearn')
    symbols = np.array([0, 1] * 50)
    begun = MarkovTables(
        np.array([1.0, 0.0, 0.0]),
        np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1.0]]),
        np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1.0]]),
    )
    learned = improve(begun, [symbols], 10)
    for rows in (learned.start[None], learned.transition, learned.emission):
        np.testing.assert_allclose(rows.sum(axis=1), 1.0)
        assert (rows > 0.0).all()


def test_the_library_keeps_its_advice_to_itself(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip('hmmlearn')
    caplog.set_level(logging.INFO, logger='hmmlearn')
    improve(TRUTH, [np.array([0, 1, 2, 3, 0])], 3)
    assert not caplog.records
    assert logging.getLogger('hmmlearn').level == logging.INFO


def test_the_library_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, 'hmmlearn.hmm', None)
    with pytest.raises(InputError, match=r"'hmmlearn.*pip install 'two_manifold_ros\[train\]'"):
        improve(TRUTH, [np.array([0, 1, 2])], 3)
