# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The trainer and the simulated car as processes, over DDS."""

from dataclasses import replace

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from ellipse import drive as ellipse_drive
from ellipse import write_bag
from geometry_msgs.msg import PoseStamped
from imu_feed import Feed
import numpy as np
from ros_talk import Health, stamp_of
from sensor_msgs.msg import Imu
from std_srvs.srv import Trigger

from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.simulation.slot_car import ImuNoise, SlotCar, SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import write_run

SMALL = {'rate_hz': 10.0, 'window': 20, 'states': 8, 'horizons': '[0, 5, 10]'}


def test_trains_from_bags_warns_once_of_what_inspection_finds_and_exits(
    start, drive, model_path, tmp_path
):
    pytest.importorskip('rosbags', reason='rosbags is not installed')
    bag, path = tmp_path / 'bag', tmp_path / 'model.npz'
    write_run(replace(drive, imu=drive.imu * ([1 / 9.81] * 3 + [180 / np.pi] * 3)), bag)
    chosen = SMALL | {'imu_topic': '/imu', 'position_topic': '/reference'}
    node = start('trainer_node', model=path, bags=f'[{bag}]', **chosen)
    log = node.log()
    assert node.process.returncode == 0, log
    assert f'Training from {bag}' in log
    (warning,) = [line for line in log.splitlines() if '[WARN]' in line and 'rad/s' in line]
    assert str(bag) in warning
    np.testing.assert_array_equal(load_model(path).track, load_model(model_path).track)


@pytest.mark.parametrize(
    ('chosen', 'status', 'named'),
    [
        ({'imu_topic': '/other'}, 1, '/other'),
        ({'position_topic': '/other'}, 1, '/other'),
        ({'model': '{0}/none/model.npz'}, 2, 'missing or not writable'),
        ({}, 3, 'there are 2.0 laps; drive at least five'),
        ({'force': 'true'}, 0, 'there are 2.0 laps; drive at least five'),
    ],
    ids=str,
)
def test_what_cannot_be_trained_or_is_of_no_use_is_named(start, tmp_path, chosen, status, named):
    pytest.importorskip('rosbags', reason='rosbags is not installed')
    write_bag(tmp_path / 'bag', ellipse_drive(16.0))
    given = {'model': '{0}/model.npz', 'bags': '[{0}/bag]', **chosen}
    node = start('trainer_node', **{key: each.format(tmp_path) for key, each in given.items()})
    log = node.log()
    assert node.process.returncode == status, log
    lines = [line for line in log.splitlines() if named in line]
    assert '[WARN]' in lines[0] if status == 0 else '[WARN]' not in lines[0]
    assert 'Traceback' not in log
    assert (tmp_path / 'model.npz').exists() == (status == 0)


def test_records_until_reported_to_finish_and_no_longer(talk, start, drive, tmp_path):
    path = tmp_path / 'model.npz'
    node = start('trainer_node', model=path, exit_when_done='false', **SMALL)
    health, imu = Health(talk), talk.publisher(Imu, 'imu')
    assert 'No IMU message came on /imu' in talk.call(Trigger, 'trainer_node/finish').message
    reference = talk.publisher(PoseStamped, 'reference')
    feed = Feed(talk, drive, imu, reference, every=5)
    feed.send(100)
    health.until('recording until the service')
    assert talk.call(Trigger, 'trainer_node/finish').success
    # Two seconds are too short, which must not cost what was recorded.
    feed.send(len(drive.stamps_ns) - 100)
    nearly_all = 0.95 * len(drive.stamps_ns)
    talk.until(lambda: int(health.values.get('imu_messages', 0)) > nearly_all, 'the drive')
    assert health.values['reference_type'] == 'geometry_msgs/msg/PoseStamped'
    assert talk.call(Trigger, 'trainer_node/finish').success
    health.until(f'trained: the model is in {path}')
    model = load_model(path)
    assert (model.states, model.window, model.horizons) == (8, 20, (0, 5, 10))
    assert (model.frame_id, model.imu_frame_id) == ('map', 'imu_link')
    talk.until(lambda: not imu.get_subscription_count(), 'the end of recording the IMU')
    talk.until(lambda: not reference.get_subscription_count(), 'the end of recording references')
    said = talk.call(Trigger, 'trainer_node/finish').message
    assert f'the model is in {path}; restart the node' in said
    assert node.stop() == 0
    assert '[ERROR]' in node.log()


def test_a_recording_of_given_length_ends_when_training_starts(talk, start, drive, tmp_path):
    """From the first IMU message. Nobody would call finish again, so a failure is the end."""
    chosen = SMALL | {'window': 2000, 'record_seconds': 2.0, 'exit_when_done': 'false'}
    node = start('trainer_node', model=tmp_path / 'm.npz', **chosen)
    health, imu = Health(talk), talk.publisher(Imu, 'imu')
    reference = talk.publisher(PoseStamped, 'reference')
    talk.until(reference.get_subscription_count, 'the reference')
    reference.publish(PoseStamped())
    talk.rest(3.0)
    assert 'No IMU message came' not in node.said
    Feed(talk, drive, imu, reference, every=5).send(200)
    talk.until(lambda: not imu.get_subscription_count(), 'the end of recording')
    talk.until(lambda: health.level == 2, 'the failure')
    answer = talk.call(Trigger, 'trainer_node/finish')
    assert (answer.success, 'restart the node' in answer.message) == (False, True)


def test_slot_car_is_the_simulator_with_exact_stamps(talk, start):
    chosen = {'seed': 3, 'noise': 0.5, 'speed_wander': 2.0, 'driver': 'bold'}
    node = start('slot_car_node', imu_rate_hz=200.0, reference_rate_hz=50.0, **chosen)
    heard = talk.listen(Imu, 'imu')
    poses = talk.listen(PoseStamped, 'reference')
    talk.until(lambda: len(heard) > 100 and len(poses) > 20, 'samples')
    settings = SlotCarSettings(rate_hz=200.0, **chosen)
    car, variances = SlotCar(settings), ImuNoise(settings).variances()
    samples = [car.step() for _ in range(20_000)]
    forces = [each.specific_force.tolist() for each in samples]
    got = [[getattr(each.linear_acceleration, axis) for axis in 'xyz'] for each in heard]
    first = forces.index(got[0])
    assert got == forces[first : first + len(got)]
    assert set(np.diff(list(map(stamp_of, heard)))) == {5_000_000}
    assert set(np.diff(list(map(stamp_of, poses)))) == {20_000_000}
    assert (heard[0].header.frame_id, poses[0].header.frame_id) == ('imu_link', 'map')
    for part, wanted in (('linear_acceleration', slice(3)), ('angular_velocity', slice(3, 6))):
        got = {tuple(getattr(each, f'{part}_covariance')) for each in heard}
        assert got == {tuple(np.diag(variances[wanted]).ravel())}
    assert node.stop() == 0
