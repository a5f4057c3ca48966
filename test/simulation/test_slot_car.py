# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The car that is stepped live."""

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from two_manifold_ros.simulation.slot_car import SlotCar, SlotCarSettings, START_STAMP_NS
from two_manifold_ros.simulation.slot_car_run import simulate, SlotCarRun


@pytest.fixture(scope='module')
def calm_run() -> SlotCarRun:
    return simulate(SlotCarSettings(speed_wander=0.0, noise=0.0), laps=3)


def speeds_by_place(run: SlotCarRun, lap: int, length: float) -> np.ndarray:
    places = np.linspace(0.0, length, 200) + run.distances[0] + lap * length
    return np.interp(places, run.distances, run.speeds)


def test_stepping_and_simulating_are_bit_equal() -> None:
    settings = SlotCarSettings(seed=5)
    run = simulate(settings, samples=70)
    car = SlotCar(settings)
    for index in range(70):
        sample = car.step()
        assert sample.stamp_ns == run.stamps_ns[index]
        imu = np.concatenate([sample.specific_force, sample.angular_rate])
        np.testing.assert_array_equal(imu, run.imu[index])
        np.testing.assert_array_equal(sample.position, run.positions[index])
        np.testing.assert_array_equal(sample.quaternion, run.quaternions[index])
        assert (sample.distance, sample.speed) == (run.distances[index], run.speeds[index])


def test_stamps_keep_the_period() -> None:
    car = SlotCar(SlotCarSettings(rate_hz=30.0))
    stamps = [car.step().stamp_ns for _ in range(40)]
    assert stamps[0] == START_STAMP_NS
    assert {after - before for before, after in itertools.pairwise(stamps)} == {33_333_333}


def test_the_car_rolls_from_the_first_sample() -> None:
    assert SlotCar(SlotCarSettings()).step().speed > 0.8


def test_without_wander_every_lap_is_the_same(calm_run: SlotCarRun) -> None:
    length = SlotCar(SlotCarSettings()).track.length
    first, second = (speeds_by_place(calm_run, lap, length) for lap in (0, 1))
    np.testing.assert_allclose(first, second, atol=2e-3)
    assert np.ptp(first) > 0.4


def test_with_wander_no_two_laps_are_the_same() -> None:
    run = simulate(SlotCarSettings(seed=1), laps=12)
    length = SlotCar(SlotCarSettings()).track.length
    laps = np.array([speeds_by_place(run, lap, length) for lap in range(12)])
    spread = np.std(laps / laps.mean(axis=0))
    assert 0.02 < spread < 0.10


def test_a_lap_takes_nine_to_ten_seconds(calm_run: SlotCarRun) -> None:
    assert len(calm_run.stamps_ns) / 3 / 100.0 == pytest.approx(9.5, abs=0.6)
    assert calm_run.speeds.mean() == pytest.approx(1.5, abs=0.1)


def test_the_drive_depends_neither_on_the_rate_nor_on_the_noise() -> None:
    slow = simulate(SlotCarSettings(rate_hz=50.0, noise=0.0), samples=50)
    quick = simulate(SlotCarSettings(rate_hz=500.0, noise=2.0), samples=500)
    np.testing.assert_allclose(slow.distances, quick.distances[::10], rtol=1e-9)


def test_quaternion_is_the_frame_of_the_track(calm_run: SlotCarRun) -> None:
    track = SlotCar(SlotCarSettings()).track
    expected = track.frame(calm_run.distances)
    actual = Rotation.from_quat(calm_run.quaternions).as_matrix()
    np.testing.assert_allclose(actual, expected, atol=1e-12)
    assert calm_run.quaternions[:, 3].min() >= 0.0


def test_position_is_on_the_track(calm_run: SlotCarRun) -> None:
    track = SlotCar(SlotCarSettings()).track
    np.testing.assert_array_equal(calm_run.positions, track.position(calm_run.distances))
