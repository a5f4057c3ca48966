# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tables and operators from features against those from Gram matrices alone."""

from dataclasses import dataclass

import naive
import numpy as np
import pytest

from two_manifold_ros.hse_hmm import tables as module
from two_manifold_ros.hse_hmm.belief import Belief
from two_manifold_ros.hse_hmm.tables import build_tables, make_ridge_kernel, RawKernel, Tables
from two_manifold_ros.hse_hmm.two_manifold import shared_directions

RANK = 5
BANDWIDTH = 0.7
RIDGE = 0.2
N = 60


@dataclass(frozen=True)
class Problem:
    """Gram matrices K, L and F of pasts and futures, and features that give them exactly."""

    pasts: np.ndarray
    futures: np.ndarray
    shifted_futures: np.ndarray
    past: np.ndarray
    own: np.ndarray
    shifted: np.ndarray
    observations: np.ndarray
    new: np.ndarray


def make_problem(*, centred: bool) -> Problem:
    rng = np.random.default_rng(3)
    angle = 0.3 * np.arange(N + 30)
    signal = np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.6 * rng.normal(size=(N + 30, 2))
    past, observations, own, shifted = (
        np.array([row.ravel() for row in rows])
        for rows in zip(*naive.training_rows([signal[: N + 8]], 4), strict=True)
    )
    futures = np.concatenate([own, shifted[-1:]])
    pasts = naive.gaussian(past, past, 2.0)
    every = naive.gaussian(futures, futures, 2.0)
    if centred:
        middle = np.eye(N) - 1.0 / N
        pasts = middle @ pasts @ middle
        mean = np.append(np.full(N, 1.0 / N), 0.0)
        move = np.eye(N + 1) - mean[:, None]
        every = move.T @ every @ move
    past_features, future_features = root(pasts), root(every)
    return Problem(
        pasts,
        every[:N, :N],
        every[:N, 1:],
        past_features,
        future_features[:N],
        future_features[1:],
        observations,
        signal[N + 8 :],
    )


def root(gram: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(gram)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def feature_and_gram_tables(problem: Problem) -> tuple[Tables, np.ndarray, np.ndarray]:
    """Return the tables of the package, and Q and X of the Gram form with the same signs."""
    directions = shared_directions(problem.own, problem.past, RANK)
    tables = build_tables(problem.past, problem.shifted, directions)
    weights, states, _ = naive.gram_tables(
        problem.pasts, problem.futures, problem.shifted_futures, RANK
    )
    weights, states = naive.with_constant(weights, states)
    growth = np.abs(np.linalg.eigvals(states.T @ weights)).max()
    assert growth <= 1.0 + 1e-12, 'the tables would be stabilised, which the oracle is not'
    signs = naive.align(tables.states, states)
    return tables, weights * signs, states * signs


def test_plain_tables() -> None:
    problem = make_problem(centred=False)
    found = shared_directions(problem.own, problem.past, RANK)
    weights, states, omega = naive.gram_tables(
        problem.pasts, problem.futures, problem.shifted_futures, RANK
    )
    signs = naive.align(states, problem.shifted @ found.future_map)
    np.testing.assert_allclose(omega, (N * found.singular_values) ** 2, rtol=1e-8)
    np.testing.assert_allclose(problem.past @ found.past_map / N * signs, weights, atol=1e-8)
    np.testing.assert_allclose(problem.shifted @ found.future_map * signs, states, atol=1e-8)


def test_tables_with_the_constant() -> None:
    problem = make_problem(centred=True)
    tables, weights, states = feature_and_gram_tables(problem)
    np.testing.assert_allclose(tables.weights, weights, atol=1e-8)
    np.testing.assert_allclose(tables.states, states, atol=1e-8)
    naive_weights, own = naive.with_constant(
        *naive.feature_tables(problem.past, problem.own, problem.own, RANK)
    )
    np.testing.assert_allclose(own.T @ naive_weights, np.eye(RANK + 1), atol=1e-10)  # (3.2)
    signs = naive.align(tables.weights, naive_weights)
    np.testing.assert_allclose(tables.weights, naive_weights * signs, atol=1e-10)


def test_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, 'FEATURES', N)
    problem = make_problem(centred=True)
    tables, weights, states = feature_and_gram_tables(problem)
    ridge = make_ridge_kernel(problem.observations, BANDWIDTH, RIDGE)
    features = root(naive.gaussian(problem.observations, problem.observations, BANDWIDTH))
    inverse = np.linalg.pinv(features, rcond=1e-9)
    for new in problem.new[:5]:
        gamma = naive.gram_ridge(problem.observations, BANDWIDTH, RIDGE, new)
        expected = naive.operator(weights, states, N * gamma)
        found = naive.operator(tables.weights, tables.states, ridge.factors(new))
        np.testing.assert_allclose(found, expected, atol=1e-7)
        feature = inverse @ naive.gaussian(problem.observations, new[None], BANDWIDTH)[:, 0]
        tensor = naive.tensor_operator(weights, states, features, RIDGE, feature)
        np.testing.assert_allclose(tensor, expected, atol=1e-7)


@pytest.mark.parametrize('raw', [False, True])
def test_filter(monkeypatch: pytest.MonkeyPatch, *, raw: bool) -> None:
    monkeypatch.setattr(module, 'FEATURES', N)
    problem = make_problem(centred=True)
    tables, weights, states = feature_and_gram_tables(problem)
    if raw:
        belief = Belief(tables, RawKernel(problem.observations, BANDWIDTH))
    else:
        belief = Belief(tables, make_ridge_kernel(problem.observations, BANDWIDTH, RIDGE))
    expected = np.eye(RANK + 1)[0]
    for new in problem.new:
        if raw:
            gamma = naive.gaussian(problem.observations, new[None], BANDWIDTH)[:, 0]
        else:
            gamma = naive.gram_ridge(problem.observations, BANDWIDTH, RIDGE, new)
        at_tick = gamma * (weights @ expected)
        matrix = naive.operator(weights, states, gamma)
        expected = naive.update(expected, matrix, weights.sum(axis=0))
        assert belief.update(new) > 0.05
        np.testing.assert_allclose(belief.weights, at_tick / at_tick.sum(), atol=1e-7)
        np.testing.assert_allclose(belief.state, expected, atol=1e-7)
