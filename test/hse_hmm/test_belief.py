# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The belief: what every update keeps, and what it passes over."""

import numpy as np
import pytest

from two_manifold_ros.hse_hmm.belief import Belief, SMALLEST_EVIDENCE
from two_manifold_ros.hse_hmm.tables import (
    make_ridge_kernel,
    ObservationOperator,
    RawKernel,
    Tables,
)

N, K, D = 80, 4, 3


def make_tables() -> Tables:
    """Make tables of the form (3.4) with a transition well inside the unit circle."""
    rng = np.random.default_rng(0)
    past = rng.normal(size=(N, K - 1))
    past -= past.mean(axis=0)
    ones = np.ones((N, 1))
    weights = np.hstack([ones, past]) / N
    states = np.hstack([ones, 0.5 * past + 0.1 * rng.normal(size=past.shape)])
    return Tables(weights, states)


OBSERVATIONS = np.random.default_rng(1).normal(size=(N, D))
OPERATORS = [RawKernel(OBSERVATIONS, 1.5), make_ridge_kernel(OBSERVATIONS, 1.5, 0.3)]
IDS = ['raw', 'ridge']


@pytest.fixture(params=OPERATORS, ids=IDS)
def operator(request: pytest.FixtureRequest) -> ObservationOperator:
    return request.param


def test_prior(operator: ObservationOperator) -> None:
    belief = Belief(make_tables(), operator)
    np.testing.assert_array_equal(belief.state, [1.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(belief.weights, np.full(N, 1.0 / N), rtol=1e-15)


def test_start_at_a_state(operator: ObservationOperator) -> None:
    tables = make_tables()
    belief = Belief(tables, operator)
    state = np.array([1.0, 0.3, -0.2, 0.9])
    belief.update(OBSERVATIONS[0])
    belief.start(state)
    np.testing.assert_array_equal(belief.state, state)
    np.testing.assert_allclose(belief.weights, tables.weights @ state, atol=1e-15)
    belief.update(OBSERVATIONS[1])
    assert state.tolist() == [1.0, 0.3, -0.2, 0.9], 'the caller kept its array'
    belief.start()
    np.testing.assert_array_equal(belief.state, [1.0, 0.0, 0.0, 0.0])


def test_update(operator: ObservationOperator) -> None:
    tables = make_tables()
    belief = Belief(tables, operator)
    state = np.eye(K)[0]
    for observation in np.random.default_rng(2).normal(size=(100, D)):
        v = operator.factors(observation) * (tables.weights @ state)  # (6.2)
        state = tables.states.T @ v / v.sum()
        evidence = belief.update(observation)
        assert evidence == pytest.approx(v.sum() / np.abs(v).sum(), rel=1e-9)
        np.testing.assert_allclose(belief.weights, v / v.sum(), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(belief.state, state, atol=1e-9)
        assert abs(belief.weights.sum() - 1.0) < 1e-12
        assert abs((tables.weights @ belief.state).sum() - 1.0) < 1e-12
        assert belief.state[0] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize('ticks', [0, 1, 7])
def test_skip(operator: ObservationOperator, ticks: int) -> None:
    tables = make_tables()
    belief = Belief(tables, operator)
    belief.update(OBSERVATIONS[3])
    moved = np.linalg.matrix_power(tables.states.T @ tables.weights, ticks) @ belief.state
    belief.skip(ticks)
    np.testing.assert_allclose(belief.state, moved, atol=1e-13)
    np.testing.assert_allclose(belief.weights, tables.weights @ moved, atol=1e-14)
    assert abs(belief.weights.sum() - 1.0) < 1e-12


def make_cancelling(excess: float) -> tuple[Belief, np.ndarray]:
    """Make a belief with weights 1.5 and -0.5, and an observation that leaves their balance."""
    tables = Tables(np.array([[0.5, 1.0], [0.5, -1.0]]), np.array([[1.0, 0.2], [1.0, -0.3]]))
    apart = np.sqrt(2.0 * np.log(3.0 / (1.0 + excess)))
    belief = Belief(tables, RawKernel(np.array([[0.0], [apart]]), 1.0))
    belief.start(np.array([1.0, 1.0]))
    return belief, np.array([apart])


def test_cancelling_evidence_is_passed_over() -> None:
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
def test_no_observation_makes_the_belief_infinite(
    operator: ObservationOperator, value: float
) -> None:
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


def test_far_observation_tells_nothing() -> None:
    tables = make_tables()
    belief = Belief(tables, RawKernel(OBSERVATIONS, 1.5))
    belief.update(OBSERVATIONS[0])
    expected = tables.states.T @ tables.weights @ belief.state
    belief.update(np.full(D, 1e6))
    np.testing.assert_allclose(belief.state, expected, atol=1e-9)


def test_beliefs_do_not_share_anything(operator: ObservationOperator) -> None:
    tables = make_tables()
    first, second = Belief(tables, operator), Belief(tables, operator)
    first.update(OBSERVATIONS[0])
    np.testing.assert_array_equal(second.state, [1.0, 0.0, 0.0, 0.0])
    second.update(OBSERVATIONS[0])
    np.testing.assert_array_equal(first.state, second.state)
    np.testing.assert_array_equal(first.weights, second.weights)
