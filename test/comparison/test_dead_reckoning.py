# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Dead reckoning where the drive is known, its drift computed by hand."""

from dataclasses import replace

import numpy as np
import pytest
from small_trains import driven, GRAVITY, MOUNT, PERIOD_S, recorded_train, steady, train_of, varied

from two_manifold_ros.comparison.dead_reckoning import (
    DeadReckoning,
    FittedDeadReckoning,
    FORWARD,
    ImuAxes,
    learn_axes,
    LEFT,
    PlanarEkf,
    X,
    Y,
)
from two_manifold_ros.errors import InputError
from two_manifold_ros.ticks.segments import Segment
from two_manifold_ros.training.dataset import build_dataset

WEIGHTS = np.linalg.pinv(MOUNT)
"""Of the axes that give yaw rate, forward and lateral acceleration back."""


def test_the_mount_is_found():
    axes = learn_axes(train_of(varied(600), varied(300)))
    np.testing.assert_allclose(axes.weights, WEIGHTS, atol=2e-3)
    np.testing.assert_allclose(axes.offsets, -WEIGHTS @ GRAVITY, atol=0.02)
    assert axes.errors.max() < 0.01
    assert axes.speed_m_s == pytest.approx(2.0, abs=0.2)
    assert axes.fastest_m_s == pytest.approx(2.6, abs=0.1)


def disturbed(noise: float, jump: float) -> Segment:
    segment = varied(900)
    rng = np.random.default_rng(0)
    positions = segment.positions + rng.normal(scale=noise, size=segment.positions.shape)
    positions[400:] += jump
    positions[600:640] = np.nan
    values = segment.values + rng.normal(scale=0.05, size=segment.values.shape)
    return replace(segment, positions=positions, values=values)


def test_noise_jumps_and_holes_of_the_positions_are_borne():
    axes = learn_axes(train_of(disturbed(noise=0.01, jump=3.0)))
    turned = axes.weights[[0, 1, 2], [5, 1, 0]]
    assert (np.abs(turned - [-2.0, -1.0, 1.0]) < [0.1, 0.1, 0.05]).all()
    still = learn_axes(train_of(disturbed(noise=0.01, jump=0.0)))
    np.testing.assert_allclose(axes.weights, still.weights, atol=0.05)
    assert 0.003 < axes.position_m < 0.012


def test_dead_axes_and_too_little_known_motion_are_refused():
    for dead, named in ((slice(0, 3), 'accelerometer'), (slice(3, 6), 'gyroscope')):
        segment = varied(200)
        segment.values[:, dead] = 0.0
        with pytest.raises(InputError, match=f'no {named} axis'):
            learn_axes(train_of(segment))
    segment = varied(200)
    for known in (14, 0):
        segment.positions[known:] = np.nan
        with pytest.raises(InputError, match='too few'):
            learn_axes(train_of(segment, window=9))


def test_slow_driving_does_not_count():
    """A parked vehicle has a course made of noise; its ticks change nothing much."""
    parked = steady(400, 0.0, 0.0)
    parked.positions[:] += np.random.default_rng(1).normal(scale=0.002, size=(400, 2))
    axes = learn_axes(train_of(varied(900), parked))
    assert axes.weights[0, 5] == pytest.approx(-2.0, abs=0.05)
    assert axes.speed_m_s == pytest.approx(2.0, abs=0.2)


SIZE = 8
STATE = np.array([3.0, -2.0, 0.7, 2.5, 0.1, 0.02, -0.1, 0.05])
INPUTS = np.array([0.8, 0.5, 1.9])
NOTHING = np.zeros(3)
TICK_S = 0.05


def make(state: np.ndarray = STATE, deviations: float | np.ndarray = 0.1) -> PlanarEkf:
    return PlanarEkf(state, np.broadcast_to(deviations, SIZE), NOTHING, 100.0)


def moved(state: np.ndarray, inputs: np.ndarray = INPUTS) -> np.ndarray:
    ekf = make(state)
    ekf.predict(inputs, TICK_S)
    return ekf.state


def slopes(function: object, point: np.ndarray) -> np.ndarray:
    """Differentiate by central differences, a column a coordinate."""
    steps = 1e-5 * np.eye(len(point))
    return np.stack([(function(point + s) - function(point - s)) / 2e-5 for s in steps], axis=1)


def test_covariance_moves_by_the_derivatives_and_grows_by_the_noise_of_a_tick():
    deviations, densities = np.linspace(0.1, 0.8, SIZE), np.array([0.01, 0.2, 0.3])
    ekf = PlanarEkf(STATE, deviations, densities, 100.0)
    ekf.predict(INPUTS, TICK_S)
    change, push = slopes(moved, STATE), slopes(lambda inputs: moved(STATE, inputs), INPUTS)
    expected = change @ np.diag(deviations**2) @ change.T
    expected += push @ np.diag(densities / TICK_S) @ push.T
    np.testing.assert_allclose(ekf.covariance, expected, atol=1e-8)


def test_measurements_are_taken_in_as_by_the_information_form():
    ekf = make(deviations=np.linspace(0.1, 0.8, SIZE))
    ekf.predict(INPUTS, TICK_S)
    before, state, measured = ekf.covariance, ekf.state.copy(), np.array([3.3, -2.2])
    ekf.correct((X, Y), measured, 0.2)
    seen = np.eye(SIZE)[:2]
    after = np.linalg.inv(np.linalg.inv(before) + seen.T @ seen / 0.2**2)
    np.testing.assert_allclose(ekf.covariance, after, atol=1e-9)
    expected = state + after @ seen.T @ (measured - state[:2]) / 0.2**2
    np.testing.assert_allclose(ekf.state, expected, atol=1e-9)


def test_covariance_stays_symmetric_and_positive_for_long():
    rng = np.random.default_rng(0)
    ekf = PlanarEkf(STATE, np.full(SIZE, 0.1), np.array([1e-3, 0.1, 0.1]), 8.0)
    for tick in range(3000):
        ekf.predict(rng.normal([0.5, 0.0, 1.2], [0.5, 1.0, 1.0]), 0.18)
        ekf.correct((LEFT,), np.zeros(1), 0.1)
        if tick % 300 == 0:
            np.testing.assert_array_equal(ekf.covariance, ekf.covariance.T)
            values = np.linalg.eigvalsh(ekf.covariance)
            assert values[0] > -1e-12 * values[-1]
            assert np.diag(ekf.covariance).min() > 0.0
    assert np.isfinite(ekf.state).all()


def test_speed_has_a_limit():
    ekf = PlanarEkf(STATE, np.full(SIZE, 0.1), NOTHING, 8.0)
    for push, limit in ((1e6, 8.0), (-1e6, -8.0)):
        ekf.predict(np.array([0.0, push, 0.0]), TICK_S)
        assert ekf.state[FORWARD] == limit
        ekf.correct((FORWARD,), np.array([3.0 * limit]), 1e-3)
        assert ekf.state[FORWARD] == limit


@pytest.mark.parametrize('rate', [0.0, 0.6, -2.0])
def test_ahead_is_an_arc(rate):
    ekf = make(np.array([1.0, 2.0, 0.3, 2.5, 0.0, 0.0, 0.0, 0.0]))
    ekf.rate = rate
    seconds = np.array([0.0, 0.5, 4.0])
    fine = np.linspace(0.0, 1.0, 20_001)
    for place, after in zip(ekf.ahead(seconds), seconds, strict=True):
        course = 0.3 + rate * after * fine
        line = 2.5 * after * np.array([np.cos(course).mean(), np.sin(course).mean()])
        np.testing.assert_allclose(place, np.array([1.0, 2.0]) + line, atol=1e-3)


GIVEN = 20


@pytest.fixture(scope='module')
def fitted() -> FittedDeadReckoning:
    return DeadReckoning().fit(train_of(varied(900), horizons=(0, 5, 20)))


def errors_of(fitted: FittedDeadReckoning, segment: Segment) -> np.ndarray:
    predicted = fitted.predict(segment).positions[:, 0]
    return np.asarray(np.linalg.norm(predicted - segment.positions, axis=1))


def exact(errors: tuple[float, float, float]) -> FittedDeadReckoning:
    """Return the method with the true axes, which it believes to have some errors."""
    axes = ImuAxes(WEIGHTS, -WEIGHTS @ GRAVITY, np.array(errors), 0.01, 2.0, 3.0)
    return FittedDeadReckoning(axes, (0, 5, 20), PERIOD_S)


@pytest.mark.parametrize(('rate', 'speed'), [(0.5, 2.0), (-1.0, 2.0), (0.1, 3.0), (0.0, 1.0)])
def test_a_circle_is_followed_within_centimetres(rate, speed):
    errors = errors_of(exact((0.01, 0.1, 0.1)), steady(600, rate, speed))
    assert errors[GIVEN:].max() < 0.05


@pytest.mark.parametrize('bias', [0.01, -0.02])
def test_a_gyroscope_bias_drifts_as_by_hand(bias):
    """Heading b t, and sideways v b t^2 / 2, after the positions are no longer given."""
    segment = steady(220, 0.0, 2.0)
    segment.values[:, 5] -= 0.5 * bias  # in the units and the sense of the mount
    course = exact((1e-3, 0.5, 0.5)).predict(segment)
    since = PERIOD_S * (len(segment) - GIVEN / 2)
    assert course.states[-1, 2] == pytest.approx(bias * since, rel=0.1)
    sideways = course.positions[-1, 0, 1] - segment.positions[-1, 1]
    assert sideways == pytest.approx(2.0 * bias * since**2 / 2.0, rel=0.1)


def test_ahead_it_drives_on_as_now(fitted):
    segment = steady(120, 0.5, 2.0)
    predicted = fitted.predict(segment).positions
    for column, horizon in ((1, 5), (2, 20)):
        apart = predicted[GIVEN:-horizon, column] - segment.positions[GIVEN + horizon :]
        assert np.linalg.norm(apart, axis=1).max() < 0.15


def test_later_positions_change_nothing(fitted):
    segment = varied(300)
    moved = segment.positions.copy()
    moved[GIVEN:150] += [50.0, -20.0]
    moved[150:] = np.nan
    before = fitted.predict(segment)
    after = fitted.predict(replace(segment, positions=moved))
    np.testing.assert_array_equal(before.positions, after.positions)
    np.testing.assert_array_equal(before.states, after.states)


def test_standing_is_reported_until_it_sets_off(fitted):
    """Without a course there is nothing to integrate; the start is where it drives off."""
    segment = driven(200, lambda t: 0.2 * np.tanh(t - 8.0) + 0.2, lambda t: 1.0 + np.tanh(t - 8.0))
    course = fitted.predict(segment)
    begun = int(np.flatnonzero(np.isfinite(course.states[:, 0]))[0])
    assert 60 < begun < 90
    np.testing.assert_array_equal(
        course.positions[:begun], segment.positions[:1, None] + np.zeros((begun, 3, 2))
    )
    assert errors_of(fitted, segment)[begun + GIVEN :].max() < 0.5


def test_it_waits_for_the_first_position(fitted):
    segment = varied(200)
    segment.positions[:40] = np.nan
    predicted = fitted.predict(segment).positions
    assert np.isnan(predicted[:40]).all()
    assert np.isfinite(predicted[40:]).all()
    segment.positions[:] = np.nan
    nowhere = fitted.predict(segment)
    assert np.isnan(nowhere.positions).all()
    assert nowhere.states is not None


def test_it_is_never_nan_once_started(fitted):
    segment = varied(1000)
    rng = np.random.default_rng(0)
    segment.values[50:] += rng.normal(scale=3.0, size=segment.values[50:].shape)
    segment.values[500] = 1e6
    course = fitted.predict(segment)
    assert np.isfinite(course.positions).all()
    assert np.nanmax(np.abs(np.asarray(course.states)[:, 3])) < 6.0


def test_a_real_car_is_followed_for_some_seconds(recordings_folder):
    pytest.importorskip('rosbags')
    from two_manifold_ros.recordings.reading import read_recording  # noqa: PLC0415 - an extra

    whole = read_recording(recordings_folder / 'f1tenth_ipz10')
    train = recorded_train(whole.between(0.0, 31.0), window=60, horizons=(0,))
    segment = build_dataset([whole.between(31.0, 44.0)], train.settings).segments[0]
    assert errors_of(DeadReckoning().fit(train), segment)[20:100].max() < 1.0
