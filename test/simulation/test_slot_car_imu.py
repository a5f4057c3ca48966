# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The IMU agrees with the motion it rides on, and errs as stated."""

import numpy as np
import pytest

from two_manifold_ros.simulation.slot_car import GRAVITY, ImuNoise, SlotCarSettings, true_imu
from two_manifold_ros.simulation.slot_car_run import simulate, SlotCarRun
from two_manifold_ros.simulation.track import Track


@pytest.fixture(scope='module')
def truth() -> SlotCarRun:
    return simulate(SlotCarSettings(rate_hz=1000.0, noise=0.0), samples=12_000)


def test_rest_on_the_level_reads_gravity_upwards() -> None:
    nothing = np.zeros(1)
    imu = true_imu(Track(), np.ones(1), nothing, nothing)[0]
    np.testing.assert_allclose(imu, [0.0, 0.0, GRAVITY, 0.0, 0.0, 0.0], atol=0.02)


def test_specific_force_is_the_second_difference_of_the_position(truth: SlotCarRun) -> None:
    step = 10
    places = truth.positions
    acceleration = (places[2 * step :] - 2.0 * places[step:-step] + places[: -2 * step]) / 0.01**2
    acceleration[:, 2] += GRAVITY
    frame = Track().frame(truth.distances[step:-step])
    expected = np.einsum('nij,ni->nj', frame, acceleration)
    error = truth.imu[step:-step, :3] - expected
    assert np.sqrt(np.mean(error**2)) < 0.02
    # The differences round off the corners that the curvature has at the control points.
    assert np.abs(error).max() < 0.5
    assert np.ptp(expected, axis=0).min() > 1.0


def test_angular_rate_is_the_difference_of_the_orientation(truth: SlotCarRun) -> None:
    frame = Track().frame(truth.distances)
    spin = np.einsum('nij,nik->njk', frame[1:-1], (frame[2:] - frame[:-2]) / 0.002)
    expected = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
    np.testing.assert_allclose(truth.imu[1:-1, 3:], expected, atol=0.03)


def test_no_noise_changes_nothing() -> None:
    values = np.arange(12.0).reshape(2, 6)
    noise = ImuNoise(SlotCarSettings(noise=0.0))
    np.testing.assert_array_equal(noise.disturb(values, np.ones(2)), values)
    np.testing.assert_array_equal(noise.variances(), 0.0)


@pytest.mark.parametrize('speed', [0.0, 2.0])
def test_errors_are_a_bias_and_noise_of_the_stated_variance(speed: float) -> None:
    noise = ImuNoise(SlotCarSettings())
    errors = noise.disturb(np.zeros((50_000, 6)), np.full(50_000, speed))
    np.testing.assert_allclose(errors.var(axis=0), noise.variances(speed), rtol=0.05)
    np.testing.assert_allclose(errors.mean(axis=0), noise.bias, atol=0.02)


def test_bias_belongs_to_the_seed_and_scales_with_noise() -> None:
    bias = ImuNoise(SlotCarSettings(seed=3)).bias
    np.testing.assert_array_equal(ImuNoise(SlotCarSettings(seed=3, noise=2.0)).bias, 2.0 * bias)
    assert np.abs(ImuNoise(SlotCarSettings(seed=4)).bias - bias).min() > 1e-4


def test_a_quicker_imu_is_noisier_and_speed_shakes() -> None:
    slow, quick = (ImuNoise(SlotCarSettings(rate_hz=rate)) for rate in (100.0, 400.0))
    np.testing.assert_allclose(quick.variances(0.0), 4.0 * slow.variances(0.0))
    assert np.all(slow.variances(2.0) > slow.variances(1.0))
