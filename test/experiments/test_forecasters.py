# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The forecasts of the models of the slot car, against naive versions."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('hmmlearn')

from two_manifold_ros.experiments.forecasters import (
    hidden_markov,
    hse_hmms,
    mean_measurement,
    StreamLearner,
    StreamSettings,
)

WINDOW, HORIZONS = 12, 5
SMALL = StreamSettings(
    window_features=60, observation_features=20, states=5, rank=70, fold_every=16
)


@pytest.fixture(scope='module')
def stream() -> np.ndarray:
    """Return 400 ticks of two channels that go round, with noise."""
    angle = 0.35 * np.arange(400)
    noise = np.random.default_rng(0).normal(scale=0.2, size=(400, 2))
    return np.sqrt(2) * np.stack([np.cos(angle), np.sin(angle)], axis=1) + noise


def _naive_states_and_table(
    learner: StreamLearner, stream: np.ndarray, ridge: float, seen: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the states of a batch TPSR with the learner's features, and its forecasts' table."""
    rows = np.stack([stream[s : s + WINDOW].ravel() for s in range(len(stream) - WINDOW + 1)])
    features = learner.window_map.transform(rows)
    ticks = np.arange(WINDOW, len(stream) - WINDOW)
    pasts, tests, shifted = (features[ticks + by] for by in (-WINDOW, 0, 1))
    left, values, right = np.linalg.svd(tests.T @ pasts)
    weights = pasts @ right[: SMALL.states].T / values[: SMALL.states]
    ahead = shifted @ left[:, : SMALL.states]
    shown = learner.observation_map.transform(stream[ticks])
    inverse = np.linalg.inv(shown.T @ shown + ridge * len(ticks) * np.eye(shown.shape[1]))
    state = values[: SMALL.states] * right[: SMALL.states, -1]
    states = []
    for given in learner.observation_map.transform(seen):
        state = ahead.T @ ((shown @ inverse @ given) * (weights @ state))
        state /= weights.sum(axis=0) @ state
        states.append(state)
    table = np.stack([stream[ticks + h].T @ weights for h in range(HORIZONS)])
    return np.array(states), table


def test_the_stream_learner_predicts_what_the_batch_does(stream: np.ndarray) -> None:
    learner = StreamLearner(stream[:300], WINDOW, HORIZONS, SMALL)
    learner.learn(stream)
    forecaster = learner.forecaster(0.3)
    seen = stream[7:60]
    states, table = _naive_states_and_table(learner, stream, 0.3, seen)
    ours = np.einsum('hdk,tk->thd', forecaster.table, forecaster.filter(seen))
    # The last next test of each of the first folds lies partly outside of the directions so far.
    np.testing.assert_allclose(ours, np.einsum('hdk,tk->thd', table, states), atol=5e-3)


def test_learning_in_parts_is_learning_all(stream: np.ndarray) -> None:
    seen = stream[7:60]
    forecasts = []
    for parts in ((400,), (20, 250, 251, 400)):
        learner = StreamLearner(stream[:300], WINDOW, HORIZONS, SMALL)
        for end in parts:
            learner.learn(stream[:end])
        assert learner.learner.samples == 400 - 2 * WINDOW
        forecaster = learner.forecaster(0.3)
        states = forecaster.filter(seen)
        forecasts.append(np.einsum('hdk,tk->thd', forecaster.table, states))
    np.testing.assert_allclose(*forecasts, atol=1e-4)


def test_the_ridge_is_that_asked_for(stream: np.ndarray) -> None:
    learner = StreamLearner(stream, WINDOW, HORIZONS, SMALL)
    learner.learn(stream)
    states = [learner.forecaster(ridge).filter(stream[:30]) for ridge in (0.1, 10.0, 0.1)]
    np.testing.assert_array_equal(states[0], states[2])
    assert np.abs(states[0] - states[1]).max() > 1e-3


def test_every_model_predicts_a_circle_better_than_the_mean(stream: np.ndarray) -> None:
    training, test = stream[:300], stream[300:]
    online = StreamLearner(training, WINDOW, HORIZONS, SMALL)
    online.learn(training)
    models = {
        'mean': mean_measurement(training, HORIZONS),
        'hmm': hidden_markov(training, HORIZONS),
        'hse': hse_hmms(training, WINDOW, HORIZONS, [0.3])[0.3],
        'online': online.forecaster(0.3),
    }
    errors = {}
    for name, model in models.items():
        assert model.table.shape[:2] == (HORIZONS, 2)
        predicted = np.einsum('hdk,tk->htd', model.table, model.filter(test[:90]))
        wanted = np.stack([test[h : h + 90] for h in range(1, HORIZONS + 1)])
        errors[name] = np.square(wanted - predicted)[:, 30:].sum(axis=2).mean(axis=1)
    np.testing.assert_allclose(errors['mean'], 2.0, rtol=0.3)
    for name in ('hmm', 'hse', 'online'):
        assert (errors[name] < 0.35).all(), (name, errors[name])
