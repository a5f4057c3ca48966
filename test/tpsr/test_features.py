# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Feature maps: the constant, words, and products of actions and observations."""

import itertools

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.tpsr.features import (
    ActionObservationFeatures,
    fourier_features,
    importance_weights,
    IndicatorFeatures,
    WithConstant,
)


def test_rows_are_kronecker_products():
    actions = WithConstant(fourier_features(2, 4, 1.0, seed=0))
    observations = fourier_features(3, 6, 1.0, seed=1)
    both = ActionObservationFeatures(actions, observations)
    points = np.random.default_rng(0).normal(size=(7, 5))
    expected = [
        np.kron(actions.transform(p[None, :2])[0], observations.transform(p[None, 2:])[0])
        for p in points
    ]
    np.testing.assert_allclose(both.transform(points), expected, rtol=1e-13, atol=1e-15)
    assert (both.inputs, both.size) == (5, 30)


def outcomes() -> tuple[np.ndarray, ...]:
    """
    Return every run of two steps: its actions and observations, and three probabilities.

    These are of the policy for each action, of the run under it, and of the observations if the
    actions are done. The policy repeats what it saw in nine of ten cases, and the system answers
    by both its last observation and the action.
    """
    rows = []
    for a, o, b, p in itertools.product(range(2), repeat=4):
        policy = (0.8 if a else 0.2, 0.9 if b == o else 0.1)
        first = 0.7 if o == a else 0.3
        second = (0.6 if o else 0.1) if b else 0.25
        done = first * (second if p else 1.0 - second)
        rows.append(((a, b), (o, p), policy, done * policy[0] * policy[1], done))
    return tuple(np.array(column, dtype=float) for column in zip(*rows, strict=True))


def test_weights_undo_a_policy_that_looks_at_what_it_sees():
    actions, observations, policy, chance, done = outcomes()
    assert chance.sum() == pytest.approx(1.0)
    words = IndicatorFeatures(2, 2)
    features = ActionObservationFeatures(words, words).transform(
        np.concatenate([actions, observations], axis=1)
    )
    weighted = chance * importance_weights(policy) @ features
    np.testing.assert_allclose(weighted, done @ features, atol=1e-15)
    # For each pair of actions the probabilities of its observations, which then add up to one.
    np.testing.assert_allclose(weighted.reshape(4, 4).sum(axis=1), 1.0, atol=1e-15)
    # Conditioning on the actions chosen is no substitute: they show what was seen before.
    plain = (chance @ features).reshape(4, 4)
    assert np.abs(plain / plain.sum(axis=1, keepdims=True) - weighted.reshape(4, 4)).max() > 0.1


@pytest.mark.parametrize('bad', [0.0, -0.1, np.nan, np.inf])
def test_probabilities_that_no_policy_has(bad):
    with pytest.raises(InputError, match='no positive finite'):
        importance_weights(np.array([[0.5, 0.5], [0.5, bad]]))
    with pytest.raises(InputError, match='too improbable'):
        importance_weights(np.full((1, 400), 0.1))


@pytest.mark.parametrize(('symbols', 'length'), [(2, 3), (3, 2), (5, 1), (1, 4)])
def test_every_word_has_its_own_feature_in_order(symbols, length):
    words = np.array(list(itertools.product(range(symbols), repeat=length)), dtype=float)
    made = IndicatorFeatures(symbols, length)
    np.testing.assert_array_equal(made.transform(words), np.eye(len(words)))
    assert (made.inputs, made.size) == (length, len(words))
    with pytest.raises(InputError, match='the codes 0 to'):
        made.transform(np.full((1, length), float(symbols)))
