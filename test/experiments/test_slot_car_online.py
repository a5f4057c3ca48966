# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Courses, scores against a loop over every start, length and horizon, and claims."""

import numpy as np
import pytest

pytest.importorskip('hmmlearn')
pytest.importorskip('matplotlib')

from two_manifold_ros.experiments.slot_car_online import (
    Course,
    Curves,
    Forecaster,
    make_course,
    OnlineSettings,
    OnlineTpsr,
    score,
)


@pytest.mark.parametrize(
    ('online', 'failed'),
    [
        ([1.04, 1.04], []), ([0.9, 1.06], [0]), ([1.06, 1.06], [0, 1]), ([1.0, 1.3], [0, 1, 2]),
        ([1.3, 1.3], [0, 1, 2, 3]), ([np.nan, 1.0], [0, 1, 2, 3]),
    ],
)  # fmt: skip
def test_claims_fail_where_the_online_curve_is_above(online, failed):
    one = np.ones(2)
    claims = score(OnlineSettings(), [Curves(1.2 * one, 1.1 * one, one, np.array(online))])
    assert [index for index, claim in enumerate(claims) if claim.passed is False] == failed


def test_the_protocol_is_the_papers_where_it_fits_and_shorter_elsewhere():
    course = make_course(0, 3_000)
    assert (course.window, course.horizons, course.lengths) == (150, 100, (100, 250))
    np.testing.assert_allclose(course.training.std(axis=0), np.ones(6))
    held = course.held_out()
    np.testing.assert_array_equal(np.vstack([held.training, held.test]), course.training)
    for ticks in (60, 200, 399):
        short = Course(course.training, course.test[:ticks], 30)
        assert 0 < short.lengths[0] <= short.lengths[1] < ticks - short.horizons


def test_errors_are_means_over_starts_and_lengths_of_what_the_filter_sees():
    """It restarts each time, and sees nothing of what it predicts."""
    seen = []

    def spy(observations: np.ndarray) -> np.ndarray:
        seen.append(observations.copy())
        return observations

    course = Course(np.zeros((1, 2)), np.random.default_rng(0).normal(size=(60, 2)), 3)
    shortest, longest = course.lengths
    starts = np.unique(np.linspace(0, 60 - longest - 3, 15).astype(int))
    naive = np.zeros(3)
    for start in starts:
        for length in range(shortest, longest + 1):
            newest = start + length - 1
            for ahead in (1, 2, 3):
                difference = course.test[newest + ahead] - course.test[newest]
                lengths = longest - shortest + 1
                naive[ahead - 1] += (difference**2).sum() / (lengths * len(starts))
    table = np.broadcast_to(np.eye(2), (5, 2, 2))
    np.testing.assert_allclose(course.errors(Forecaster(spy, table)), naive)
    np.testing.assert_array_equal(seen, [course.test[start : start + longest] for start in starts])
    # Of cumulated noise the last observation is the best guess.
    walk = Course(course.training, np.cumsum(course.test, axis=0), 3)
    guesses = {size: Forecaster(spy, size * table) for size in (0.0, 0.5, 1.0, 2.0)}
    assert walk.choose(guesses) == 1.0


WINDOW, HORIZONS = 12, 5
SMALL = OnlineSettings(
    window_features=60, observation_features=20, states=5, rank=70, fold_every=16
)


def naive_forecasts(
    learner: OnlineTpsr, stream: np.ndarray, ridge: float, seen: np.ndarray
) -> np.ndarray:
    """Return (T, h, d) forecasts of a batch TPSR with the features of the learner."""
    rows = np.stack([stream[s : s + WINDOW].T.ravel() for s in range(len(stream) - WINDOW + 1)])
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
    return np.einsum('hdk,tk->thd', table, states)


def test_learning_in_parts_is_learning_all_and_predicts_what_the_batch_does():
    # Two channels that go round, with noise.
    angle = 0.35 * np.arange(400)
    stream = np.sqrt(2) * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    stream += np.random.default_rng(0).normal(scale=0.2, size=(400, 2))
    seen = stream[7:60]
    for parts in ((400,), (20, 250, 251, 400)):
        learner = OnlineTpsr(stream[:300], WINDOW, HORIZONS, SMALL, 400)
        for end in parts:
            learner.learn(stream[:end])
        forecaster = learner.forecaster(0.3)
        found = np.einsum('hdk,tk->thd', forecaster.table, forecaster.filter(seen))
        np.testing.assert_allclose(found, naive_forecasts(learner, stream, 0.3, seen), atol=1e-4)
