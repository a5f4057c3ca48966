# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sensors beside the IMU of the slot car."""

import numpy as np
import pytest

from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import (
    EARTH_FIELD,
    room_field,
    sensor_readings,
    SENSORS,
    simulate,
    SlotCarRun,
)


@pytest.fixture(scope='module')
def run() -> SlotCarRun:
    return simulate(SlotCarSettings(seed=3, rate_hz=50.0), laps=3)


@pytest.mark.parametrize('name', SENSORS)
def test_one_call_or_many_give_the_same_readings(run, name):
    whole = sensor_readings(run, name)
    read = SENSORS[name].reader(run.settings)
    parts = [
        read(run.positions[each], run.quaternions[each], run.speeds[each])
        for each in (slice(0, 1), slice(1, 70), slice(70, None))
    ]
    np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-12)
    other = SENSORS[name].reader(SlotCarSettings(seed=4, rate_hz=50.0))
    assert not np.array_equal(other(run.positions, run.quaternions, run.speeds), whole)


def test_the_field_has_no_source_and_is_that_of_the_earth_but_for_some_microteslas():
    random = np.random.default_rng(0)
    places = random.uniform(-3.0, 3.0, (2000, 3))
    apart = room_field(places) - EARTH_FIELD
    assert 3e-6 < apart.std() < 9e-6
    step = 1e-4
    both = [
        [room_field(places + sign * step * axis) for axis in np.eye(3)] for sign in (1.0, -1.0)
    ]
    gradients = np.moveaxis(np.subtract(*both) / (2.0 * step), 0, 1)
    # It is a gradient: its derivatives are symmetric.
    np.testing.assert_allclose(gradients, gradients.transpose(0, 2, 1), atol=1e-9)


def test_readings_are_near_the_truth(run):
    wheel = sensor_readings(run, 'wheel')[:, 0]
    assert abs(np.mean(wheel / run.speeds) - 1.0) < 0.07
    field = np.linalg.norm(sensor_readings(run, 'magnetometer'), axis=1)
    np.testing.assert_allclose(field, np.linalg.norm(room_field(run.positions), axis=1), atol=6e-6)
