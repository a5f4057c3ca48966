# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The belief of the HMM against plain formulas."""

from dataclasses import dataclass

import numpy as np
import pytest
from small_hmm import factors_of, kernel_of

from two_manifold_ros.hse_hmm.belief import (
    Belief,
    gaussian_factors,
    Recollection,
    SHARE,
    SMALLEST_EVIDENCE,
)
from two_manifold_ros.hse_hmm.tables import ObservationOperator, RawKernel, Tables
from two_manifold_ros.manifold.learner import Extension
from two_manifold_ros.ticks.sliding import SlidingWindow

N, K, D = 80, 4, 3


def make_tables(count: int = N) -> Tables:
    """Make tables of mathematics (3.4) with a transition well inside the unit circle."""
    rng = np.random.default_rng(0)
    past = rng.normal(size=(count, K - 1))
    past -= past.mean(axis=0)
    ones = np.ones((count, 1))
    states = np.hstack([ones, 0.5 * past + 0.1 * rng.normal(size=past.shape)])
    return Tables(np.hstack([ones, past]) / count, states)


OBSERVATIONS = np.random.default_rng(1).normal(size=(N, D))


@pytest.fixture(params=[None, 0.3], ids=['raw', 'ridge'])
def operator(request: pytest.FixtureRequest) -> ObservationOperator:
    return kernel_of(OBSERVATIONS, 1.5, request.param)


def test_update(operator):
    tables = make_tables()
    belief = Belief(tables, operator)
    state = np.eye(K)[0]
    for observation in np.random.default_rng(2).normal(size=(100, D)):
        # As in mathematics (6.2).
        v = factors_of(operator, observation) * (tables.weights @ state)
        state = tables.states.T @ v / v.sum()
        evidence = belief.update(observation)
        assert evidence == pytest.approx(v.sum() / np.abs(v).sum(), rel=1e-9)
        np.testing.assert_allclose(belief.weights, v / v.sum(), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(belief.state, state, atol=1e-9)
        assert abs(belief.weights.sum() - 1.0) < 1e-12
        assert abs((tables.weights @ belief.state).sum() - 1.0) < 1e-12
        assert belief.state[0] == pytest.approx(1.0, abs=1e-12)


def make_cancelling(excess: float) -> tuple[Belief, np.ndarray]:
    """Make a belief with weights 1.5 and -0.5, and an observation that leaves their balance."""
    tables = Tables(np.array([[0.5, 1.0], [0.5, -1.0]]), np.array([[1.0, 0.2], [1.0, -0.3]]))
    apart = np.sqrt(2.0 * np.log(3.0 / (1.0 + excess)))
    belief = Belief(tables, RawKernel(np.array([[0.0], [apart]]), 1.0))
    belief.start(np.array([1.0, 1.0]))
    return belief, np.array([apart])


def test_cancelling_evidence_is_passed_over():
    # The weights become 0.5 (1 + excess) and -0.5, of which excess / 2 is left.
    for excess, passed_over in ((-0.5, True), (0.0, True), (0.21, True), (0.23, False)):
        belief, observation = make_cancelling(excess)
        evidence = belief.update(observation)
        assert evidence == pytest.approx(excess / (2.0 + excess), abs=1e-12)
        assert (evidence <= SMALLEST_EVIDENCE) == passed_over
        moved = np.array([1.0, 0.2 * 1.5 + 0.3 * 0.5])
        assert np.allclose(belief.state, moved, atol=1e-12) == passed_over
        if passed_over:
            np.testing.assert_allclose(belief.weights, [1.5, -0.5], atol=1e-12)
        assert belief.weights.sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.filterwarnings('ignore:overflow encountered')
@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf, 1e3, 1e9, 1e155, 1e300])
def test_no_observation_makes_the_belief_infinite(operator, value):
    belief = Belief(make_tables(), operator)
    belief.update(OBSERVATIONS[0])
    for channels in ([0], [0, 1, 2]):
        observation = OBSERVATIONS[1].copy()
        observation[channels] = value
        belief.update(observation)
        assert np.isfinite(belief.state).all()
        assert np.isfinite(belief.weights).all()
        assert abs(belief.weights.sum() - 1.0) < 1e-9
    for observation in OBSERVATIONS[:30]:
        assert belief.update(observation) > SMALLEST_EVIDENCE


@pytest.mark.filterwarnings('ignore:overflow encountered')
def test_gaussian_factors():
    """They stay positive far away."""
    many, factors = 3.0 * np.random.default_rng(0).normal(size=(3, 300)), np.empty(300)
    far = [np.array([0.0, away, 0.0]) for away in (1e3, 1e100, 1e200, np.inf)]
    near = np.zeros(3), many[:, 4].copy(), np.array([4.0, -9.0, 30.0])
    for observation in (*near, *far):
        for bandwidth in (0.5, 2.0, 40.0):
            gaussian_factors(many, observation, bandwidth, factors)
            squared = np.sum((many - observation[:, None]) ** 2, axis=0)
            expected = np.exp(-np.minimum(squared / (2.0 * bandwidth**2), 700.0))
            np.testing.assert_allclose(factors, expected, rtol=1e-10)


N_WINDOW, WIDTH, FAR = 40, 5, 1e6
SERIES = np.random.default_rng(0).normal(size=(D, N_WINDOW + WIDTH - 1))
STATES = np.random.default_rng(1).normal(size=(N_WINDOW, K - 1))


@dataclass(frozen=True)
class Nearest:
    """Weight 1 on the nearest training window, none where it is out of reach."""

    reach: float

    def weights(self, squared: np.ndarray) -> np.ndarray | None:
        return np.eye(len(squared))[squared.argmin()] if squared.min() < self.reach else None

    def check(self, count: int) -> int:
        return count


def test_the_next_observation_decides_between_what_is_recalled_and_believed():
    """As if both hypotheses were updated alone and weighed by how well they predicted it."""
    window = SlidingWindow(SERIES, np.arange(N_WINDOW), WIDTH)
    recollection = Recollection(window, Extension(Nearest(FAR), STATES, np.zeros(K - 1)))
    belief = Belief(make_tables(N_WINDOW), RawKernel(SERIES.T[WIDTH - 1 :], 1.5))
    belief.start(np.array([1.0, 0.5, -0.2, 0.1]))
    believed, before = belief.weights.copy(), belief.state.copy()
    # A window unlike all of training says nothing.
    for _ in range(WIDTH):
        assert recollection.state() is None
        recollection.window.push(np.full(D, FAR))
    recollection.remind(belief)
    np.testing.assert_array_equal(belief.state, before)
    for observation in SERIES[:, 7 : 7 + WIDTH].T:
        assert recollection.state() is None
        recollection.window.push(observation)
    np.testing.assert_array_equal(recollection.state(), [1.0, *STATES[7]])
    recollection.remind(belief)
    mixed = belief.state.copy()
    belief.start(np.array([1.0, *STATES[7]]))
    recalled = belief.weights.copy()
    belief.start(mixed)
    observation = SERIES[:, 20]
    belief.update(observation)
    factors = np.exp(-np.square(SERIES.T[WIDTH - 1 :] - observation).sum(axis=1) / (2.0 * 1.5**2))
    joint = ((1.0 - SHARE) * believed + SHARE * recalled) * factors
    np.testing.assert_allclose(belief.weights, joint / joint.sum(), rtol=1e-9, atol=1e-12)
