# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
from copy import copy
from dataclasses import replace
import warnings

from exact_tpsr import part, unit, wandering
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.tpsr.learner import LearnerSettings, OnlineLearner, Triples
from two_manifold_ros.tpsr.parameters import SMALLEST_EVIDENCE, TpsrBelief


def learned(
    triples: Triples, states: int = 4, ridge: float = 0.3, constant: float = 1.0
) -> OnlineLearner:
    learner = OnlineLearner(LearnerSettings(states, 8, ridge), constant * unit(8), 8, 5)
    learner.add_all(triples)
    return learner


def test_no_mode_of_the_transition_grows_and_the_start_is_normal():
    learner = learned(wandering(12))
    raw, tpsr = learner.transition(), learner.parameters()
    assert np.abs(np.linalg.eigvals(raw)).max() > 1.001
    assert np.abs(np.linalg.eigvals(tpsr.transition)).max() <= 1.0 + 1e-9
    assert tpsr.normaliser @ tpsr.start == pytest.approx(1.0)
    assert np.linalg.norm(tpsr.start) < tpsr.bound
    with pytest.raises(InputError, match='append a constant feature'):
        learned(wandering(200), constant=0.01).parameters()


def test_a_likelihood_keeps_its_size_however_long_was_learned():
    triples = wandering(500)
    sizes = []
    for scale in (1.0, 1e9):
        triples.importance[:] = scale
        tpsr = learned(triples).parameters()
        sizes.append(
            [tpsr.normaliser @ tpsr.operator(row) @ tpsr.start for row in triples.observations]
        )
    np.testing.assert_allclose(sizes[0], sizes[1], rtol=1e-6)
    assert 0.1 < np.mean(sizes[0]) < 10.0


TRIPLES = wandering(600)


@pytest.fixture
def learner() -> OnlineLearner:
    return learned(part(TRIPLES, 0, 400), states=5, ridge=3.0)


@pytest.fixture
def belief(learner: OnlineLearner) -> TpsrBelief:
    belief = TpsrBelief(learner.parameters())
    for row in TRIPLES.observations[:50]:
        belief.update(row)
    return belief


@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf, 0.0, 1e200, 1e40])
def test_features_without_information_are_passed_over(belief, bad):
    expected = copy(belief)
    expected.skip(1)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert belief.update(np.full(5, bad)) == 0.0
    assert not belief.accepted
    np.testing.assert_array_equal(belief.state, expected.state)
    belief.update(TRIPLES.observations[50])
    assert belief.accepted


def test_a_contradiction_is_passed_over(belief):
    # An operator that turns the sign of every likelihood: nothing could contradict more.
    tpsr = replace(belief.tpsr, operators=-belief.tpsr.operators)
    contradicted = TpsrBelief(tpsr)
    evidence = contradicted.update(TRIPLES.observations[50])
    assert evidence == pytest.approx(-0.5)
    assert evidence < SMALLEST_EVIDENCE
    assert not contradicted.accepted
    assert np.isfinite(contradicted.state).all()


def test_no_state_is_longer_than_the_bound_and_one_that_nothing_normalises_starts_again(belief):
    short, stuck = copy(belief), copy(belief)
    short.tpsr = replace(belief.tpsr, bound=0.99 * np.linalg.norm(belief.tpsr.start))
    short.update(TRIPLES.observations[50])
    assert not short.accepted
    stuck.tpsr = replace(belief.tpsr, transition=np.zeros((5, 5)))
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        stuck.skip(1)
    for each in (short, stuck):
        np.testing.assert_array_equal(each.state, belief.tpsr.start)


def test_adopting_newer_parameters_moves_the_state_along(learner, belief):
    jumps, without = [], []
    for tick in range(400, 600):
        left, state = learner.svd.across.rows[:5].copy(), belief.state
        move = learner.add(*(array[tick] for array in vars(TRIPLES).values()))
        if move is not None:
            tpsr = learner.parameters()
            belief.adopt(tpsr, move)
            jumps.append(
                np.linalg.norm(learner.svd.across.rows[:5].T @ belief.state - left.T @ state)
            )
            without.append(np.linalg.norm((learner.svd.across.rows[:5] - left).T @ state))
            assert belief.tpsr is tpsr
        belief.update(TRIPLES.observations[tick])
    assert np.mean(jumps) < 0.05 * np.linalg.norm(belief.state)
    assert np.mean(jumps) < 0.5 * np.mean(without)
    # Adopting nonsense starts again.
    move = learner.fold()
    belief.state = np.full(5, np.nan)
    belief.adopt(learner.parameters(), move)
    np.testing.assert_array_equal(belief.state, belief.tpsr.start)
