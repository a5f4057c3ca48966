# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the newest window says of the state, and how a belief is reminded of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from two_manifold_ros.hse_hmm.belief import Belief, Recollection, SHARE
from two_manifold_ros.hse_hmm.tables import RawKernel, Tables
from two_manifold_ros.manifold.learner import Extension
from two_manifold_ros.ticks.sliding import SlidingWindow

N, K, D, WIDTH = 40, 4, 3, 5
FAR = 1e6


@dataclass(frozen=True)
class Nearest:
    """Weight 1 on the nearest training window, none where it is out of reach."""

    reach: float

    def weights(self, squared: np.ndarray) -> np.ndarray | None:
        return np.eye(len(squared))[squared.argmin()] if squared.min() < self.reach else None

    def check(self, count: int) -> int:
        return count


@pytest.fixture
def series() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(D, N + WIDTH - 1))


@pytest.fixture
def states() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(N, K - 1))


@pytest.fixture
def recollection(series: np.ndarray, states: np.ndarray) -> Recollection:
    window = SlidingWindow(series, np.arange(N), WIDTH)
    return Recollection(window, Extension(Nearest(FAR), states, np.zeros(K - 1)))


@pytest.fixture
def belief(series: np.ndarray) -> Belief:
    rng = np.random.default_rng(2)
    past = rng.normal(size=(N, K - 1))
    past -= past.mean(axis=0)
    weights = np.hstack([np.ones((N, 1)), past]) / N
    tables = Tables(weights, np.hstack([np.ones((N, 1)), 0.3 * past]))
    belief = Belief(tables, RawKernel(series.T[WIDTH - 1 :], 1.5))
    belief.start(np.array([1.0, 0.5, -0.2, 0.1]))
    return belief


def test_it_is_the_state_of_the_window(
    recollection: Recollection, series: np.ndarray, states: np.ndarray
) -> None:
    for observation in series[:, 7 : 7 + WIDTH].T:
        assert recollection.state() is None
        recollection.push(observation)
    np.testing.assert_array_equal(recollection.state(), [1.0, *states[7]])


def test_a_window_unlike_all_of_training_says_nothing(
    recollection: Recollection, belief: Belief
) -> None:
    for _ in range(WIDTH):
        recollection.push(np.full(D, FAR))
    assert recollection.state() is None
    before = belief.state.copy()
    recollection.remind(belief)
    np.testing.assert_array_equal(belief.state, before)


def test_the_next_observation_decides_between_the_two(
    recollection: Recollection, belief: Belief, series: np.ndarray, states: np.ndarray
) -> None:
    """As if both hypotheses were updated alone and weighed by how well they foretold it."""
    believed = belief.weights.copy()
    for observation in series[:, 7 : 7 + WIDTH].T:
        recollection.push(observation)
    recollection.remind(belief)
    mixed = belief.state.copy()
    belief.start(np.array([1.0, *states[7]]))
    recalled = belief.weights.copy()
    belief.start(mixed)
    observation = series[:, 20]
    belief.update(observation)
    factors = np.exp(-np.square(series.T[WIDTH - 1 :] - observation).sum(axis=1) / (2.0 * 1.5**2))
    joint = ((1.0 - SHARE) * believed + SHARE * recalled) * factors
    np.testing.assert_allclose(belief.weights, joint / joint.sum(), rtol=1e-9, atol=1e-12)
