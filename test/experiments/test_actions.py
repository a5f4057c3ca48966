# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Importance weights make a TPSR predict what is observed if actions are done, as Bayes does."""

import itertools
from itertools import pairwise

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.experiments.actions import drive, Features, MODELS, score, Settings
from two_manifold_ros.tpsr.features import (
    ActionObservationFeatures,
    importance_weights,
    IndicatorFeatures,
)
from two_manifold_ros.tpsr.learner import learn, Triples
from two_manifold_ros.tpsr.parameters import TpsrBelief

# By action, from state to state: one keeps to a place, the other moves on.
MOVES = np.array(
    [
        [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7]],
        [[0.1, 0.8, 0.1], [0.1, 0.2, 0.7], [0.6, 0.1, 0.3]],
    ]
)
SEEN = np.array([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]])
"""From state to symbol."""
POLICY = np.array([[0.9, 0.1], [0.5, 0.5], [0.15, 0.85]])
"""From the last symbol to the action: this driver looks at what he sees."""


FEATURES = ActionObservationFeatures(IndicatorFeatures(2, 1), IndicatorFeatures(3, 1))


def one_step(states: np.ndarray, action: int, symbol: int) -> np.ndarray:
    """Return (3,) joint chances of the next state and that its symbol is seen."""
    return (states @ MOVES[action]) * SEEN[:, symbol]


def population(*, weighted: bool) -> Triples:
    """Every history, action and test, each as often as the driver makes it."""
    # Chances of state and last symbol in the long run.
    usual = np.full((3, 3), 1 / 9)
    for _ in range(500):
        after = np.zeros((3, 3))
        for last, action, symbol in itertools.product(range(3), range(2), range(3)):
            moved = one_step(usual[:, last], action, symbol)
            after[:, symbol] += POLICY[last, action] * moved
        usual = after
    rows, chances, chosen = [], [], []
    steps = list(itertools.product(range(2), range(3)))
    for last, *word in itertools.product(range(3), steps, steps, steps):
        states, before, policies = usual[:, last], last, []
        for action, symbol in word:
            states = one_step(states, action, symbol)
            policies.append(POLICY[before, action])
            before = symbol
        rows.append(np.array(word).ravel())
        chances.append(states.sum() * np.prod(policies))
        chosen.append(policies[1:])
    words = np.array(rows, dtype=float)
    histories, tests, next_tests = (FEATURES.transform(words[:, at : at + 2]) for at in (0, 2, 4))
    weights = np.array(chances)
    if weighted:
        weights = weights * importance_weights(np.array(chosen)) / 4.0
    return Triples(tests, next_tests, histories, tests, weights)


def largest_error(tpsr, ahead: int) -> float:
    """Return the worst error against Bayes over a drive by another driver."""
    random, worst = np.random.default_rng(0), 0.0
    belief, believed, place = TpsrBelief(tpsr), np.full(3, 1 / 3), 0
    by_action = tpsr.operators.reshape(2, 3, tpsr.states, tpsr.states)
    for tick in range(60):
        actions = random.integers(0, 2, ahead).tolist()
        # Whatever is seen before the last action.
        predicted, state = believed @ MOVES[actions[0]], belief.state
        for before, action in pairwise(actions):
            predicted, state = predicted @ MOVES[action], by_action[before].sum(axis=0) @ state
        found = by_action[actions[-1]] @ state @ tpsr.normaliser
        if tick >= 30:
            worst = max(worst, float(np.abs(found / found.sum() - predicted @ SEEN).max()))
        place = random.choice(3, p=MOVES[actions[0], place])
        symbol = random.choice(3, p=SEEN[place])
        believed = one_step(believed, actions[0], symbol)
        believed /= believed.sum()
        belief.update(FEATURES.transform(np.array([[actions[0], symbol]], dtype=float))[0])
    return worst


def test_with_importance_weights_alone_it_predicts_as_bayes_does_whoever_drives():
    tpsr = learn(population(weighted=True), np.ones(6), 3, 1e-12)
    assert max(largest_error(tpsr, ahead) for ahead in (1, 2, 3)) < 1e-6
    # Without them it takes actions for what the driver saw.
    tpsr = learn(population(weighted=False), np.ones(6), 3, 1e-12)
    assert largest_error(tpsr, 2) > 0.02
    # Probabilities that no policy has are refused.
    for bad in (0.0, -0.1, np.nan, np.inf):
        with pytest.raises(InputError, match='no positive finite'):
            importance_weights(np.array([[0.5, 0.5], [0.5, bad]]))
    with pytest.raises(InputError, match='too improbable'):
        importance_weights(np.full((1, 400), 0.1))


SMALL = Settings(1, 300, 100, window_features=40, observation_features=20, states=6, rank=12)


def test_samples_hold_what_came_before_and_after_an_action():
    timid = drive('timid', 5, SMALL.training_ticks, SMALL)
    timid = timid.scaled(*(form(timid.observations, axis=(0, 1)) for form in (np.mean, np.std)))
    features = Features(timid, SMALL, actions=True)
    samples = features.triples(timid, weighted=True)
    assert len(samples) == 300 - 3 - 2
    for index in (0, 40):
        tick = index + 3
        weight = np.prod(0.5 / timid.chances[tick : tick + 3])
        assert samples.importance[index] == pytest.approx(weight)
        present = samples.observations[index].reshape(2, -1)
        assert not present[1 - timid.actions[tick]].any()
        assert present[timid.actions[tick], -1] == 1.0
    np.testing.assert_array_equal(samples.tests[1:], samples.next_tests[:-1])
    # Seven out of ten samples are of the driver's favourites, and count for less than one.
    assert 0.8 < samples.importance.mean() < 1.2
    alone = Features(timid, SMALL, actions=False)
    turned = timid.__class__(1 - timid.actions, timid.chances, timid.observations)
    both = [vars(alone.triples(each, weighted=False)) for each in (timid, turned)]
    np.testing.assert_equal(*both)


def test_claims_compare_means_and_count_cars():
    car = {name: np.full(2, 0.5 if 'weights' in name else 1.0) for name in MODELS}
    cars = [{name: each.copy() for name, each in car.items()} for _ in range(10)]
    assert not [each for each in score(Settings(), cars) if each.passed is False]
    for each in cars[:2]:
        each['actions and weights'][0] = 1.1
    failed = [each.what for each in score(Settings(), cars) if each.passed is False]
    assert len(failed) == 2
    assert all('1 s' in each and 'cars' in each for each in failed)
