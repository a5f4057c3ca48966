# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter in the plane against differences, the information form and long drives."""

import numpy as np
import pytest

from two_manifold_ros.comparison.dead_reckoning import FORWARD, LEFT, PlanarEkf, SIZE, X, Y

STATE = np.array([3.0, -2.0, 0.7, 2.5, 0.1, 0.02, -0.1, 0.05])
INPUTS = np.array([0.8, 0.5, 1.9])
NOTHING = np.zeros(3)
PERIOD_S = 0.05


def make(state: np.ndarray = STATE, deviations: float | np.ndarray = 0.1) -> PlanarEkf:
    return PlanarEkf(state, np.broadcast_to(deviations, SIZE), NOTHING, 100.0)


def moved(state: np.ndarray, inputs: np.ndarray = INPUTS) -> np.ndarray:
    ekf = make(state)
    ekf.predict(inputs, PERIOD_S)
    return ekf.state


def slopes(function: object, point: np.ndarray) -> np.ndarray:
    """Differentiate by central differences, a column a coordinate."""
    steps = 1e-5 * np.eye(len(point))
    return np.stack([(function(point + s) - function(point - s)) / 2e-5 for s in steps], axis=1)


def test_covariance_moves_by_the_derivatives() -> None:
    deviations = np.linspace(0.1, 0.8, SIZE)
    ekf = make(deviations=deviations)
    ekf.predict(INPUTS, PERIOD_S)
    change = slopes(moved, STATE)
    expected = change @ np.diag(deviations**2) @ change.T
    np.testing.assert_allclose(ekf.covariance, expected, atol=1e-8)


def test_noise_of_the_inputs_is_that_of_a_tick() -> None:
    densities = np.array([0.01, 0.2, 0.3])
    ekf = PlanarEkf(STATE, np.zeros(SIZE), densities, 100.0)
    ekf.predict(INPUTS, PERIOD_S)
    change = slopes(lambda inputs: moved(STATE, inputs), INPUTS)
    expected = change @ np.diag(densities / PERIOD_S) @ change.T
    np.testing.assert_allclose(ekf.covariance, expected, atol=1e-8)


def test_measurements_are_taken_in_as_by_the_information_form() -> None:
    ekf = make(deviations=np.linspace(0.1, 0.8, SIZE))
    ekf.predict(INPUTS, PERIOD_S)
    before, state, measured = ekf.covariance, ekf.state.copy(), np.array([3.3, -2.2])
    ekf.correct((X, Y), measured, 0.2)
    seen = np.eye(SIZE)[[X, Y]]
    after = np.linalg.inv(np.linalg.inv(before) + seen.T @ seen / 0.2**2)
    np.testing.assert_allclose(ekf.covariance, after, atol=1e-9)
    expected = state + after @ seen.T @ (measured - state[:2]) / 0.2**2
    np.testing.assert_allclose(ekf.state, expected, atol=1e-9)


def test_covariance_stays_symmetric_and_positive_for_an_hour() -> None:
    rng = np.random.default_rng(0)
    ekf = PlanarEkf(STATE, np.full(SIZE, 0.1), np.array([1e-3, 0.1, 0.1]), 8.0)
    for tick in range(20_000):
        ekf.predict(rng.normal([0.5, 0.0, 1.2], [0.5, 1.0, 1.0]), 0.18)
        ekf.correct((LEFT,), np.zeros(1), 0.1)
        if tick % 1000 == 0:
            np.testing.assert_array_equal(ekf.covariance, ekf.covariance.T)
            values = np.linalg.eigvalsh(ekf.covariance)
            assert values[0] > -1e-12 * values[-1]
            assert np.diag(ekf.covariance).min() > 0.0
    assert np.isfinite(ekf.state).all()


def test_speed_has_a_limit() -> None:
    ekf = PlanarEkf(STATE, np.full(SIZE, 0.1), NOTHING, 8.0)
    for push, limit in ((1e6, 8.0), (-1e6, -8.0)):
        ekf.predict(np.array([0.0, push, 0.0]), PERIOD_S)
        assert ekf.state[FORWARD] == limit
        ekf.correct((FORWARD,), np.array([3.0 * limit]), 1e-3)
        assert ekf.state[FORWARD] == limit


@pytest.mark.parametrize('rate', [0.0, 0.6, -2.0])
def test_ahead_is_an_arc(rate: float) -> None:
    ekf = make(np.array([1.0, 2.0, 0.3, 2.5, 0.0, 0.0, 0.0, 0.0]))
    ekf.rate = rate
    seconds = np.array([0.0, 0.5, 4.0])
    fine = np.linspace(0.0, 1.0, 20_001)
    for place, after in zip(ekf.ahead(seconds), seconds, strict=True):
        course = 0.3 + rate * after * fine
        line = 2.5 * after * np.array([np.cos(course).mean(), np.sin(course).mean()])
        np.testing.assert_allclose(place, np.array([1.0, 2.0]) + line, atol=1e-3)
