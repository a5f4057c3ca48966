# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The slot car obeys its forces, its sensors err as stated, and runs become bags."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.simulation.slot_car import (
    Camera,
    Driver,
    GRAVITY,
    ImuNoise,
    Motion,
    POLICIES,
    SlotCar,
    SlotCarSettings,
    START_STAMP_NS,
    Throttle,
    true_imu,
)
from two_manifold_ros.simulation.slot_car_run import (
    imu_message,
    reference_message,
    run_to_recording,
    samples_per_reference,
    simulate,
    SlotCarRun,
    write_run,
)
from two_manifold_ros.simulation.track import Track

STAMP = 1_700_000_000_000_000_007

TRACK = Track()


@pytest.fixture(scope='module')
def calm_run() -> SlotCarRun:
    return simulate(SlotCarSettings(speed_wander=0.0, noise=0.0), laps=3)


@pytest.fixture(scope='module')
def truth() -> SlotCarRun:
    return simulate(SlotCarSettings(rate_hz=1000.0, noise=0.0), samples=12_000)


@pytest.mark.parametrize(
    ('values', 'word'),
    [
        ({'seed': -1}, 'seed'),
        ({'rate_hz': 0.0}, 'rate_hz'),
        ({'rate_hz': 1001.0}, 'rate_hz'),
        ({'noise': -0.1}, 'noise'),
        ({'noise': float('nan')}, 'noise'),
        ({'speed_wander': float('inf')}, 'speed_wander'),
        ({'driver': 'nobody'}, 'steady, timid'),
    ],
)
def test_bad_settings_are_refused_by_name(values, word):
    with pytest.raises(InputError, match=word):
        SlotCarSettings(**values)


def test_random_streams_differ_by_purpose_and_seed():
    draws = [
        SlotCarSettings(seed=seed).generator(purpose).standard_normal()
        for seed in (0, 1)
        for purpose in ('bias', 'throttle', 'imu', 'camera')
    ]
    assert len(np.unique(draws)) == 8
    assert SlotCarSettings().generator('imu').standard_normal() in draws


def throttles(count: int, **choices: float) -> np.ndarray:
    return np.array(Throttle(SlotCarSettings(**choices), 0.1).take(count))


def test_throttle_has_the_stated_spread_and_memory():
    relative = throttles(400_000) / Throttle.mean - 1.0
    assert relative.std() == pytest.approx(np.hypot(0.06, 0.025), rel=0.1)
    lag = np.corrcoef(relative[:-30], relative[30:])[0, 1]
    expected = (0.06**2 * np.exp(-1.0) + 0.025**2 * np.exp(-0.05)) / (0.06**2 + 0.025**2)
    assert lag == pytest.approx(expected, abs=0.05)


def test_throttle_scales_until_it_hits_the_stops():
    np.testing.assert_array_equal(throttles(100, speed_wander=0.0), Throttle.mean)
    small = throttles(1000, speed_wander=0.5) - Throttle.mean
    np.testing.assert_allclose(throttles(1000) - Throttle.mean, 2.0 * small, atol=0.02)
    wild = throttles(100_000, speed_wander=5.0)
    assert (wild.min(), wild.max()) == (0.0, 1.0)
    pieces = Throttle(SlotCarSettings(), 0.1)
    assert pieces.take(7) + pieces.take(5) == throttles(12).tolist()


def moving(distance: float, speed: float) -> Motion:
    motion = Motion(TRACK)
    motion.distance, motion.speed = distance, speed
    return motion


def slopes() -> tuple[np.ndarray, np.ndarray]:
    s = np.linspace(0.0, TRACK.length, 5000)
    return s, TRACK.frame(s)[:, 2, 0]


def test_motor_and_drags_on_the_level():
    standing, rolling = (moving(1.0, speed).acceleration(0.5) for speed in (0.0, 2.0))
    assert standing == pytest.approx(4.0 * 0.5 - 0.04 * GRAVITY, abs=0.01)
    assert rolling == pytest.approx(standing - 0.8 * 2.0 - 0.015 * 4.0, abs=0.02)
    motion = moving(1.0, 1.5)
    assert motion.acceleration(0.6) - motion.acceleration(0.5) == pytest.approx(0.4)


def test_slopes_pull_by_gravity_and_bends_brake():
    s, slope = slopes()
    up, down = (moving(s[index], 0.1) for index in (slope.argmax(), slope.argmin()))
    difference = up.acceleration(0.5) - down.acceleration(0.5)
    assert difference == pytest.approx(-GRAVITY * np.ptp(slope), rel=0.2)
    bend = s[np.abs(TRACK.turning(s)[:, 2]).argmax()]
    assert moving(bend, 2.0).acceleration(0.5) < moving(1.0, 2.0).acceleration(0.5)


def test_a_step_integrates_and_a_standing_car_never_rolls_back():
    motion = moving(1.0, 1.0)
    expected = motion.acceleration(0.5)
    motion.step(0.5, 1e-3)
    assert (motion.distance, motion.speed) == pytest.approx((1.001, 1.0 + 1e-3 * expected))
    s, slope = slopes()
    motion = moving(s[slope.argmax()], 0.2)
    for _ in range(1000):
        motion.step(0.0, 1e-3)
    stopped = motion.distance
    motion.step(0.0, 1e-3)
    assert (motion.speed, motion.distance, motion.acceleration(0.0)) == (0.0, stopped, 0.0)


def test_rest_on_the_level_reads_gravity_upwards():
    nothing = np.zeros(1)
    imu = true_imu(TRACK, np.ones(1), nothing, nothing)[0]
    np.testing.assert_allclose(imu, [0.0, 0.0, GRAVITY, 0.0, 0.0, 0.0], atol=0.02)


def test_specific_force_is_the_second_difference_of_the_position(truth):
    step = 10
    places = truth.positions
    acceleration = (places[2 * step :] - 2.0 * places[step:-step] + places[: -2 * step]) / 0.01**2
    acceleration[:, 2] += GRAVITY
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
    expected = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
    np.testing.assert_allclose(truth.imu[1:-1, 3:], expected, atol=0.03)


@pytest.mark.parametrize('speed', [0.0, 2.0])
def test_imu_errors_are_a_bias_and_noise_of_the_stated_variance(speed):
    noise = ImuNoise(SlotCarSettings())
    errors = noise.disturb(np.zeros((50_000, 6)), np.full(50_000, speed))
    np.testing.assert_allclose(errors.var(axis=0), noise.variances(speed), rtol=0.05)
    np.testing.assert_allclose(errors.mean(axis=0), noise.bias, atol=0.02)


def test_imu_errors_scale_with_noise_rate_and_speed_and_belong_to_the_seed():
    bias = ImuNoise(SlotCarSettings(seed=3)).bias
    np.testing.assert_array_equal(ImuNoise(SlotCarSettings(seed=3, noise=2.0)).bias, 2.0 * bias)
    assert np.abs(ImuNoise(SlotCarSettings(seed=4)).bias - bias).min() > 1e-4
    slow, fast = (ImuNoise(SlotCarSettings(rate_hz=rate)) for rate in (100.0, 400.0))
    np.testing.assert_allclose(fast.variances(0.0), 4.0 * slow.variances(0.0))
    assert np.all(slow.variances(2.0) > slow.variances(1.0))
    exact, values = ImuNoise(SlotCarSettings(noise=0.0)), np.arange(12.0).reshape(2, 6)
    np.testing.assert_array_equal(exact.disturb(values, np.ones(2)), values)
    np.testing.assert_array_equal(exact.variances(), 0.0)


def test_camera_noise_is_always_five_millimetres():
    seen = Camera(SlotCarSettings()).see(np.zeros((20_000, 3)))
    assert seen.std() == pytest.approx(0.005, rel=0.02)
    twice = Camera(SlotCarSettings(noise=2.0)).see(np.zeros((20_000, 3)))
    np.testing.assert_array_equal(twice, 2.0 * seen)
    camera = Camera(SlotCarSettings())
    np.testing.assert_array_equal([camera.see(np.zeros(3)) for _ in range(3)], seen[:3])


@pytest.mark.slow
@pytest.mark.parametrize('name', ['timid', 'bold', 'random'])
def test_a_driver_chooses_once_a_second_with_the_chances_that_he_reports(name):
    run = simulate(SlotCarSettings(seed=1, rate_hz=10.0, driver=name), samples=15_000)
    changes = np.flatnonzero(np.diff(run.commands)) + 1
    assert len(changes) > 300
    assert not (changes % 10).any()
    chosen = slice(None, None, 10)
    low = run.commands[chosen] == Driver.levels[0]
    assert set(run.commands[chosen]) == set(Driver.levels)
    ahead = np.abs(TRACK.turning(run.distances[chosen] + Driver.look_ahead)[:, 2])
    bend = ahead > Driver.bend_from
    policy = POLICIES[name]
    for where, chance in ((bend, policy.bend), (~bend, policy.straight)):
        assert low[where].mean() == pytest.approx(chance, abs=0.06)
        expected = np.where(low[where], chance, 1.0 - chance)
        np.testing.assert_allclose(run.chances[chosen][where], expected)


def test_what_was_commanded_is_what_drives_but_for_the_supply():
    settings = SlotCarSettings(seed=1, rate_hz=1000.0)
    run = simulate(settings, samples=2_000)
    assert set(run.chances) == {1.0}
    motion = moving(run.distances[0], run.speeds[0])
    for command in run.commands:
        motion.step(command, 1e-3)
    # The supply is off by a few per cent, a throttle held wrong by as much.
    assert motion.speed == pytest.approx(run.speeds[-1], rel=0.05)
    assert 0.01 < np.std(run.commands) / Throttle.mean < 0.1


def test_stepping_and_simulating_are_bit_equal():
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
        assert (sample.command, sample.chance) == (run.commands[index], run.chances[index])


def test_the_car_rolls_from_the_first_sample_and_stamps_keep_the_period():
    heard = []
    settings = SlotCarSettings(rate_hz=30.0)
    run = simulate(settings, samples=2500, report=lambda *what: heard.append(what))
    assert heard == [('driving', 0.4), ('driving', 0.8)]
    assert run.speeds[0] > 0.8
    assert run.stamps_ns.tolist() == [START_STAMP_NS + 33_333_333 * i for i in range(2500)]


def lap_speeds(run: SlotCarRun, laps: int) -> np.ndarray:
    """Return the speeds at 200 places of each lap."""
    places = run.distances[0] + TRACK.length * np.linspace(0.0, laps, 200 * laps, endpoint=False)
    return np.interp(places, run.distances, run.speeds).reshape(laps, 200)


def test_laps_are_the_same_without_wander_and_differ_with_it(calm_run):
    first, second = lap_speeds(calm_run, 3)[:2]
    np.testing.assert_allclose(first, second, atol=2e-3)
    assert np.ptp(first) > 0.4
    laps = lap_speeds(simulate(SlotCarSettings(seed=1), laps=12), 12)
    assert 0.02 < np.std(laps / laps.mean(axis=0)) < 0.10
    # A lap takes nine to ten seconds.
    assert len(calm_run.stamps_ns) / 3 / 100.0 == pytest.approx(9.5, abs=0.6)
    assert calm_run.speeds.mean() == pytest.approx(1.5, abs=0.1)


def test_the_drive_depends_neither_on_the_rate_nor_on_the_noise():
    slow = simulate(SlotCarSettings(rate_hz=50.0, noise=0.0), samples=50)
    fast = simulate(SlotCarSettings(rate_hz=500.0, noise=2.0), samples=500)
    np.testing.assert_allclose(slow.distances, fast.distances[::10], rtol=1e-9)


def test_position_and_orientation_are_those_of_the_track(calm_run):
    actual = Rotation.from_quat(calm_run.quaternions).as_matrix()
    np.testing.assert_allclose(actual, TRACK.frame(calm_run.distances), atol=1e-12)
    assert calm_run.quaternions[:, 3].min() >= 0.0
    np.testing.assert_array_equal(calm_run.positions, TRACK.position(calm_run.distances))
    # Laps end with the sample that completes them.
    driven = calm_run.distances - calm_run.distances[0]
    assert driven[-2] < 3 * TRACK.length <= driven[-1]


@pytest.mark.parametrize('choice', [{}, {'laps': 0}, {'samples': 0}, {'laps': 1, 'samples': 1}])
def test_one_positive_length_is_wanted(choice):
    with pytest.raises(InputError, match='laps'):
        simulate(SlotCarSettings(), **choice)


def nearest_neighbour_rmse(imu: np.ndarray, places: np.ndarray, width: int) -> float:
    """Return the error of the mean place of the five nearest windows among the first 1500."""
    windows = np.lib.stride_tricks.sliding_window_view(imu, width, axis=0)
    windows = windows.reshape(len(windows), -1)
    train, test = windows[: 1500 - width + 1], windows[-400:]
    distances = np.square(train).sum(axis=1) - 2.0 * test @ train.T
    nearest = np.argpartition(distances, 5, axis=1)[:, :5]
    errors = places[width - 1 + nearest].mean(axis=1) - places[-400:]
    return np.sqrt(np.square(errors).sum(axis=1).mean())


def test_long_windows_give_the_place_away_and_short_ones_do_not():
    run = simulate(SlotCarSettings(), samples=20_000)
    imu = run.imu.reshape(2000, 10, 6).mean(axis=1)
    imu = (imu - imu.mean(axis=0)) / imu.std(axis=0)
    places = run.positions[9::10, :2]
    long, short = (nearest_neighbour_rmse(imu, places, width) for width in (30, 5))
    assert long < 0.25
    assert short > 2.0 * long


def test_messages_hold_what_they_are_given():
    message = imu_message(STAMP, np.arange(6.0), np.arange(1.0, 7.0))
    stamp = {'sec': 1_700_000_000, 'nanosec': 7}
    assert message['header'] == {'stamp': stamp, 'frame_id': 'imu_link'}
    assert message['linear_acceleration'] == {'x': 0.0, 'y': 1.0, 'z': 2.0}
    assert message['angular_velocity'] == {'x': 3.0, 'y': 4.0, 'z': 5.0}
    assert message['orientation_covariance'].tolist() == [-1.0] + [0.0] * 8
    for name, values in (('linear_acceleration', (1, 2, 3)), ('angular_velocity', (4, 5, 6))):
        np.testing.assert_array_equal(message[f'{name}_covariance'], np.diag(values).ravel())
    message = reference_message(STAMP, np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.5, 0.5, -0.5]))
    assert message['header'] == {'stamp': stamp, 'frame_id': 'map'}
    assert message['pose']['position'] == {'x': 1.0, 'y': 2.0, 'z': 3.0}
    assert message['pose']['orientation'] == {'x': 0.5, 'y': 0.5, 'z': 0.5, 'w': -0.5}


def test_references_come_at_fifty_hertz_at_most():
    rates = {10.0: 1, 50.0: 1, 51.0: 2, 100.0: 2, 1000.0: 20}
    assert {rate: samples_per_reference(rate) for rate in rates} == rates


def test_bag_and_recording_hold_the_run(tmp_path):
    run = simulate(SlotCarSettings(seed=2), samples=301)
    bags = [tmp_path / name / 'bag' for name in ('first', 'second')]
    for bag in bags:
        bag.parent.mkdir()
        write_run(run, bag)
    expected, actual = run_to_recording(run), read_recording(bags[0])
    assert (run.imu.shape, run.quaternions.shape) == ((301, 6), (301, 4))
    np.testing.assert_array_equal(expected.imu.samples, run.imu)
    np.testing.assert_array_equal(expected.positions.stamps, run.stamps_ns[::2])
    assert 0.003 < (expected.positions.positions - run.positions[::2, :2]).std() < 0.007
    assert (actual.imu.topic, actual.imu.frame_id) == ('/imu', 'imu_link')
    assert (actual.positions.topic, actual.positions.frame_id) == ('/reference', 'map')
    assert actual.positions.msgtype == expected.positions.msgtype
    for name in ('stamps', 'receive_stamps', 'samples'):
        np.testing.assert_array_equal(getattr(actual.imu, name), getattr(expected.imu, name))
    for name in ('stamps', 'positions'):
        found, wanted = (getattr(each.positions, name) for each in (actual, expected))
        np.testing.assert_array_equal(found, wanted)
    assert not actual.notes
    first, second = ({file.name: file.read_bytes() for file in bag.iterdir()} for bag in bags)
    assert first == second
    assert len(first) == 2
