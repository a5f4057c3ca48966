# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The slot car obeys its forces, its sensors err as stated, and runs become bags."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.simulation import slot_car
from two_manifold_ros.simulation.slot_car_run import (
    EARTH_FIELD,
    room_field,
    run_to_recording,
    sensor_readings,
    SENSORS,
    simulate,
    SlotCarRun,
    write_run,
)

TRACK = slot_car.Track()


def test_length_and_closure():
    assert TRACK.length == pytest.approx(14.0, abs=0.3)
    for value in (TRACK.position, TRACK.frame, TRACK.curvature, TRACK.turning, TRACK.bank):
        np.testing.assert_allclose(value(0.0), value(TRACK.length), atol=1e-9)
        np.testing.assert_allclose(value(1.0), value(1.0 + 3 * TRACK.length), atol=1e-9)


def test_frame_is_a_rotation_with_the_tangent_in_front():
    places = np.random.default_rng(0).uniform(0.0, TRACK.length, 200)
    frame = TRACK.frame(places)
    products = np.swapaxes(frame, 1, 2) @ frame
    np.testing.assert_allclose(products, np.broadcast_to(np.eye(3), frame.shape), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(frame), 1.0)
    step = 1e-5
    chord = (TRACK.position(places + step) - TRACK.position(places - step)) / (2.0 * step)
    np.testing.assert_allclose(np.linalg.norm(chord, axis=1), 1.0, atol=1e-4)
    np.testing.assert_allclose(frame[:, :, 0], chord, atol=1e-4)


def test_circle_has_its_analytic_bank_and_curvature():
    angles = np.linspace(0.0, 2.0 * np.pi, 60, endpoint=False)
    flat = np.zeros((60, 4))
    flat[:, :2] = 0.5 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    lifted = slot_car.Track(flat + np.array([0.0, 0.0, 0.0, 0.2])).frame(0.3)[2, 1:]
    np.testing.assert_allclose(lifted, [np.sin(0.2), np.cos(0.2)], atol=1e-6)
    circle = slot_car.Track(flat)
    assert circle.length == pytest.approx(np.pi, rel=1e-5)
    np.testing.assert_allclose(circle.turning(0.7), [0.0, 0.0, 2.0], atol=1e-2)
    np.testing.assert_allclose(np.linalg.norm(circle.curvature(0.7)), 2.0, rtol=1e-2)


@pytest.fixture(scope='module')
def truth() -> SlotCarRun:
    return simulate(slot_car.SlotCarSettings(rate_hz=1000.0, noise=0.0), samples=12_000)


def test_bad_settings_are_refused_by_name():
    bad = {
        'seed': [-1],
        'rate_hz': [0.0, 1001.0],
        'noise': [-0.1, np.nan],
        'speed_wander': [np.inf],
    }
    for name, value in [(name, each) for name, values in bad.items() for each in values]:
        with pytest.raises(InputError, match=name):
            slot_car.SlotCarSettings(**{name: value})
    with pytest.raises(InputError, match='steady, timid'):
        slot_car.SlotCarSettings(driver='nobody')
    for choice in ({}, {'laps': 0}, {'samples': 0}, {'laps': 1, 'samples': 1}):
        with pytest.raises(InputError, match='laps'):
            simulate(slot_car.SlotCarSettings(), **choice)


def test_throttle_has_the_stated_spread_and_memory():
    relative = (
        np.array(slot_car.Throttle(slot_car.SlotCarSettings(), 0.1).take(400_000))
        / slot_car.Throttle.mean
        - 1.0
    )
    assert relative.std() == pytest.approx(np.hypot(0.06, 0.025), rel=0.1)
    lag = np.corrcoef(relative[:-30], relative[30:])[0, 1]
    expected = (0.06**2 * np.exp(-1.0) + 0.025**2 * np.exp(-0.05)) / (0.06**2 + 0.025**2)
    assert lag == pytest.approx(expected, abs=0.05)


def test_motor_and_drags_on_the_level():
    motion = slot_car.Motion(TRACK)
    motion.distance = 1.0
    for speed, throttle in ((0.0, 0.5), (2.0, 0.5), (1.5, 0.6)):
        motion.speed = speed
        wanted = 4.0 * throttle - 0.04 * slot_car.GRAVITY - 0.8 * speed - 0.015 * speed**2
        assert motion.acceleration(throttle) == pytest.approx(wanted, abs=0.02)


def test_specific_force_is_the_second_difference_of_the_position(truth):
    step = 10
    places = truth.positions
    acceleration = (places[2 * step :] - 2.0 * places[step:-step] + places[: -2 * step]) / 0.01**2
    acceleration[:, 2] += slot_car.GRAVITY
    frame = TRACK.frame(truth.distances[step:-step])
    expected = np.einsum('nij,ni->nj', frame, acceleration)
    error = truth.imu[step:-step, :3] - expected
    assert np.sqrt(np.mean(error**2)) < 0.02
    # The differences round off the corners that the curvature has at the control points.
    assert np.abs(error).max() < 0.5
    assert np.ptp(expected, axis=0).min() > 1.0


def test_angular_rate_is_the_difference_of_the_orientation(truth):
    frame = TRACK.frame(truth.distances)
    spin = np.einsum('nij,nik->njk', frame[1:-1], (frame[2:] - frame[:-2]) / 0.002)
    expected = spin[:, [2, 0, 1], [1, 2, 0]]
    np.testing.assert_allclose(truth.imu[1:-1, 3:], expected, atol=0.03)


@pytest.mark.parametrize('speed', [0.0, 2.0])
def test_imu_errors_are_a_bias_and_noise_of_the_stated_variance(speed):
    noise = slot_car.ImuNoise(slot_car.SlotCarSettings())
    errors = noise.disturb(np.zeros((50_000, 6)), np.full(50_000, speed))
    np.testing.assert_allclose(errors.var(axis=0), noise.variances(speed), rtol=0.05)
    np.testing.assert_allclose(errors.mean(axis=0), noise.bias, atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize('name', ['timid', 'bold', 'random'])
def test_a_driver_chooses_once_a_second_with_the_chances_that_he_reports(name):
    run = simulate(slot_car.SlotCarSettings(seed=1, rate_hz=10.0, driver=name), samples=15_000)
    changes = np.flatnonzero(np.diff(run.commands)) + 1
    assert len(changes) > 300
    assert not (changes % 10).any()
    chosen = slice(None, None, 10)
    low = run.commands[chosen] == slot_car.Driver.levels[0]
    assert set(run.commands[chosen]) == set(slot_car.Driver.levels)
    ahead = np.abs(TRACK.turning(run.distances[chosen] + slot_car.Driver.look_ahead)[:, 2])
    bend = ahead > slot_car.Driver.bend_from
    policy = slot_car.POLICIES[name]
    for where, chance in ((bend, policy.bend), (~bend, policy.straight)):
        assert low[where].mean() == pytest.approx(chance, abs=0.06)
        expected = np.where(low[where], chance, 1.0 - chance)
        np.testing.assert_allclose(run.chances[chosen][where], expected)


def test_stepping_and_simulating_are_bit_equal():
    settings = slot_car.SlotCarSettings(seed=5)
    run = simulate(settings, samples=70)
    car = slot_car.SlotCar(settings)
    steps = [car.step() for _ in range(70)]
    imu = [np.concatenate([each.specific_force, each.angular_rate]) for each in steps]
    np.testing.assert_array_equal(imu, run.imu)
    for name in ('stamp_ns', 'position', 'quaternion', 'distance', 'speed', 'command', 'chance'):
        wanted = run.stamps_ns if name == 'stamp_ns' else getattr(run, f'{name}s')
        np.testing.assert_array_equal([getattr(each, name) for each in steps], wanted)


def test_the_car_rolls_from_the_first_sample_and_stamps_keep_the_period():
    run = simulate(slot_car.SlotCarSettings(rate_hz=30.0), samples=2500)
    assert run.speeds[0] > 0.8
    begin = slot_car.START_STAMP_NS
    assert run.stamps_ns.tolist() == [begin + 33_333_333 * i for i in range(2500)]


def test_position_and_orientation_are_those_of_the_track():
    calm_run = simulate(slot_car.SlotCarSettings(speed_wander=0.0, noise=0.0), laps=3)
    actual = Rotation.from_quat(calm_run.quaternions).as_matrix()
    np.testing.assert_allclose(actual, TRACK.frame(calm_run.distances), atol=1e-12)
    assert calm_run.quaternions[:, 3].min() >= 0.0
    np.testing.assert_array_equal(calm_run.positions, TRACK.position(calm_run.distances))
    # Laps end with the sample that completes them.
    driven = calm_run.distances - calm_run.distances[0]
    assert driven[-2] < 3 * TRACK.length <= driven[-1]


def test_bag_and_recording_hold_the_run(tmp_path):
    run = simulate(slot_car.SlotCarSettings(seed=2), samples=301)
    bags = [tmp_path / name / 'bag' for name in ('first', 'second')]
    for bag in bags:
        bag.parent.mkdir()
        write_run(run, bag)
    expected, actual = run_to_recording(run), read_recording(bags[0])
    np.testing.assert_array_equal(expected.imu.samples, run.imu)
    np.testing.assert_array_equal(expected.positions.stamps, run.stamps_ns[::2])
    assert 0.003 < (expected.positions.positions - run.positions[::2, :2]).std() < 0.007
    for name in ('imu', 'positions'):
        np.testing.assert_equal(vars(getattr(actual, name)), vars(getattr(expected, name)))
    assert not actual.notes
    first, second = ({file.name: file.read_bytes() for file in bag.iterdir()} for bag in bags)
    assert first == second


@pytest.fixture(scope='module')
def run() -> SlotCarRun:
    return simulate(slot_car.SlotCarSettings(seed=3, rate_hz=50.0), laps=3)


@pytest.mark.parametrize('name', SENSORS)
def test_one_call_or_many_give_the_same_readings(run, name):
    whole = sensor_readings(run, name)
    read = SENSORS[name].reader(run.settings)
    parts = [
        read(run.positions[each], run.quaternions[each], run.speeds[each])
        for each in (slice(0, 1), slice(1, 70), slice(70, None))
    ]
    np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-12)
    other = SENSORS[name].reader(slot_car.SlotCarSettings(seed=4, rate_hz=50.0))
    assert not np.array_equal(other(run.positions, run.quaternions, run.speeds), whole)


def test_the_field_has_no_source_and_is_that_of_the_earth_but_for_some_microteslas():
    random = np.random.default_rng(0)
    places = random.uniform(-3.0, 3.0, (2000, 3))
    apart = room_field(places) - EARTH_FIELD
    assert 3e-6 < apart.std() < 9e-6
    step = 1e-4
    both = [[room_field(places + step * axis) for axis in np.eye(3)] for step in (1e-4, -1e-4)]
    gradients = np.moveaxis(np.subtract(*both) / (2.0 * step), 0, 1)
    # It is a gradient: its derivatives are symmetric.
    np.testing.assert_allclose(gradients, gradients.transpose(0, 2, 1), atol=1e-9)


def test_readings_are_near_the_truth(run):
    wheel = sensor_readings(run, 'wheel')[:, 0]
    assert abs(np.mean(wheel / run.speeds) - 1.0) < 0.07
    field = np.linalg.norm(sensor_readings(run, 'magnetometer'), axis=1)
    np.testing.assert_allclose(field, np.linalg.norm(room_field(run.positions), axis=1), atol=6e-6)
