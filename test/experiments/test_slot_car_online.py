# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Courses, scores against a loop over every start, length and horizon, and claims."""

from dataclasses import replace

import numpy as np
from other_recordings import without_imu
import pytest

pytest.importorskip('hmmlearn')
pytest.importorskip('matplotlib')

from two_manifold_ros.errors import InputError
from two_manifold_ros.experiments import slot_car_online
from two_manifold_ros.experiments.slot_car_online import (
    Course,
    Forecaster,
    hidden_markov,
    hse_hmms,
    make_course,
    mean_measurement,
    OnlineTpsr,
    Protocol,
    StreamSettings,
)


def test_the_small_experiment_holds_on_a_recording_too(drive):
    shares: list[float] = []
    claims, figure = slot_car_online.run(
        lambda _, share: shares.append(share), quick=True, recordings=[drive()]
    )
    assert [claim.what for claim in claims if not claim.passed] == []
    names = [claim.what.split(':')[0] for claim in claims]
    assert names == 4 * ['simulated slot cars'] + 4 * ['ellipse']
    assert len(figure.axes) == 2
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_claims_fail_where_the_online_curve_is_above():
    course = Course('a', np.zeros((1, 2)), np.zeros((400, 2)), 10.0, 2)
    one = np.ones(2)

    def failed(online: list[float]) -> list[int]:
        curves = {'mean': 1.2 * one, 'hmm': 1.1 * one, 'hse': one, 'online': np.array(online)}
        claims = slot_car_online.claims_of(slot_car_online.Outcome(course, curves, {}), 1.05)
        return [index for index, claim in enumerate(claims) if not claim.passed]

    assert failed([1.04, 1.04]) == []
    assert failed([0.9, 1.06]) == [0]
    assert failed([1.06, 1.06]) == [0, 1]
    assert failed([1.0, 1.3]) == [0, 1, 2]
    assert failed([1.3, 1.3]) == [0, 1, 2, 3]
    assert failed([np.nan, 1.0]) == [0, 1, 2, 3]


def test_a_course_is_the_longest_stretch_in_two_parts(drive):
    holed = without_imu(drive(seconds=60.0), 19.5, 20.5)
    course = make_course(replace(holed, name='some/bag', positions=None), 0.7)
    assert course.name == 'bag'
    assert course.rate_hz == 20.0
    assert len(course.training) + len(course.test) == pytest.approx(20 * 39.5, abs=2)
    assert len(course.training) == pytest.approx(0.7 * 20 * 39.5, abs=2)
    # Two of the channels of the ellipse are noise about a constant, but none is constant.
    np.testing.assert_allclose(course.training.mean(axis=0), np.zeros(6), atol=1e-12)
    np.testing.assert_allclose(course.training.std(axis=0), np.ones(6))
    assert course.window == len(course.training) // 10
    # That of a long recording lasts as in the paper.
    assert make_course(drive(seconds=240.0), 0.7).window == 300
    held = course.held_out(0.25)
    np.testing.assert_array_equal(np.vstack([held.training, held.test]), course.training)
    assert len(held.test) == pytest.approx(0.25 * len(course.training), abs=1)


def test_too_short_a_recording_is_refused_by_name(drive):
    with pytest.raises(InputError, match=r'^ellipse: the longest .* 199 ticks, but 400'):
        make_course(drive(seconds=10.0), 0.7)
    short = drive(seconds=10.0)
    with pytest.raises(InputError, match='has 0 ticks'):
        make_course(without_imu(short, 0.0, 10.0), 0.7)


def _last(observations: np.ndarray) -> np.ndarray:
    return observations


def test_errors_are_means_over_starts_and_lengths_of_what_the_filter_sees():
    """It restarts each time, and sees nothing of what it predicts."""
    seen = []

    def spy(observations: np.ndarray) -> np.ndarray:
        seen.append(observations.copy())
        return observations

    observations = np.random.default_rng(0).normal(size=(40, 2))
    protocol = Protocol(shortest=4, longest=9, horizons=3)
    starts = protocol.starts(40).tolist()
    assert starts[0] == 0
    assert starts[-1] == 28
    naive = np.zeros(3)
    for start in starts:
        for length in range(4, 10):
            newest = start + length - 1
            for ahead in (1, 2, 3):
                difference = observations[newest + ahead] - observations[newest]
                naive[ahead - 1] += (difference**2).sum() / (6 * len(starts))
    persistence = Forecaster(spy, np.broadcast_to(np.eye(2), (5, 2, 2)))
    np.testing.assert_allclose(protocol.errors(persistence, observations), naive)
    np.testing.assert_array_equal(seen, [observations[start : start + 9] for start in starts])


def test_the_protocol_is_the_papers_where_it_fits_and_shorter_elsewhere():
    assert Protocol.fitting(1_000, 150) == Protocol(100, 250, 100)
    assert Protocol.fitting(1_000, 60).horizons == 60
    for ticks in (60, 200, 399):
        short = Protocol.fitting(ticks, 30)
        assert 0 < short.shortest <= short.longest
        assert short.longest + short.horizons < ticks


def test_the_best_on_the_test_part_is_chosen():
    observations = np.cumsum(np.random.default_rng(1).normal(size=(400, 2)), axis=0)
    course = Course('any', observations[:300], observations[300:], 10.0, 3)
    table = np.broadcast_to(np.eye(2), (3, 2, 2))
    candidates = {size: Forecaster(_last, size * table) for size in (0.0, 0.5, 1.0, 2.0)}
    assert course.choose(candidates) == 1.0


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


def forecasts(forecaster: Forecaster, seen: np.ndarray) -> np.ndarray:
    return np.einsum('hdk,tk->thd', forecaster.table, forecaster.filter(seen))


def _naive_states_and_table(
    learner: OnlineTpsr, stream: np.ndarray, ridge: float, seen: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the states of a batch TPSR with the learner's features, and its forecasts' table."""
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
    return np.array(states), table


def test_the_stream_learner_predicts_what_the_batch_does(stream):
    learner = OnlineTpsr(stream[:300], WINDOW, HORIZONS, SMALL, 400)
    learner.learn(stream)
    seen = stream[7:60]
    states, table = _naive_states_and_table(learner, stream, 0.3, seen)
    ours = forecasts(learner.forecaster(0.3), seen)
    np.testing.assert_allclose(ours, np.einsum('hdk,tk->thd', table, states), atol=1e-4)


def test_learning_in_parts_is_learning_all(stream):
    found = []
    for parts in ((400,), (20, 250, 251, 400)):
        learner = OnlineTpsr(stream[:300], WINDOW, HORIZONS, SMALL, 400)
        for end in parts:
            learner.learn(stream[:end])
        found.append(forecasts(learner.forecaster(0.3), stream[7:60]))
    np.testing.assert_allclose(*found, atol=1e-4)


def test_the_ridge_is_that_asked_for(stream):
    learner = OnlineTpsr(stream, WINDOW, HORIZONS, SMALL, 400)
    learner.learn(stream)
    states = [learner.forecaster(ridge).filter(stream[:30]) for ridge in (0.1, 10.0, 0.1)]
    np.testing.assert_array_equal(states[0], states[2])
    assert np.abs(states[0] - states[1]).max() > 1e-3


def test_every_model_predicts_a_circle_better_than_the_mean(stream):
    training, test = stream[:300], stream[300:]
    online = OnlineTpsr(training, WINDOW, HORIZONS, SMALL, 400)
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
        wanted = np.stack([test[h : h + 90] for h in range(1, HORIZONS + 1)], axis=1)
        apart = np.square(wanted - forecasts(model, test[:90]))[30:]
        errors[name] = apart.sum(axis=2).mean(axis=0)
    np.testing.assert_allclose(errors['mean'], 2.0, rtol=0.3)
    for name in ('hmm', 'hse', 'online'):
        assert (errors[name] < 0.35).all(), (name, errors[name])
