# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The node of the simulated car as a process, over DDS."""

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from geometry_msgs.msg import PoseStamped
import numpy as np
from ros_talk import stamp_of
from sensor_msgs.msg import Imu

from two_manifold_ros.simulation.slot_car import ImuNoise, SlotCar, SlotCarSettings


def test_slot_car_is_the_simulator_with_exact_stamps(talk, start):
    chosen = {'seed': 3, 'noise': 0.5, 'speed_wander': 2.0, 'driver': 'bold'}
    node = start('slot_car_node', imu_rate_hz=200.0, reference_rate_hz=50.0, **chosen)
    heard = talk.listen(Imu, 'imu')
    poses = talk.listen(PoseStamped, 'reference')
    talk.until(lambda: len(heard) > 100 and len(poses) > 20, 'samples')
    car = SlotCar(SlotCarSettings(rate_hz=200.0, **chosen))
    samples = [car.step() for _ in range(20_000)]
    forces = [each.specific_force.tolist() for each in samples]
    got = [[getattr(each.linear_acceleration, axis) for axis in 'xyz'] for each in heard]
    first = forces.index(got[0])
    assert got == forces[first : first + len(got)]
    assert set(np.diff(list(map(stamp_of, heard)))) == {5_000_000}
    assert set(np.diff(list(map(stamp_of, poses)))) == {20_000_000}
    assert (heard[0].header.frame_id, poses[0].header.frame_id) == ('imu_link', 'map')
    variances = ImuNoise(SlotCarSettings(rate_hz=200.0, **chosen)).variances()
    for part, wanted in (('linear_acceleration', slice(3)), ('angular_velocity', slice(3, 6))):
        got = {tuple(getattr(each, f'{part}_covariance')) for each in heard}
        assert got == {tuple(np.diag(variances[wanted]).ravel())}
    assert node.stop() == 0
