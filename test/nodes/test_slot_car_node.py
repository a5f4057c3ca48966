# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The speed ratio of the simulated car, and the node as a process, over DDS."""

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from geometry_msgs.msg import PoseStamped
import numpy as np
from ros_talk import stamp_of
from sensor_msgs.msg import Imu

from two_manifold_ros.nodes.slot_car_node import Pacing
from two_manifold_ros.simulation.slot_car import ImuNoise, SlotCar, SlotCarSettings

MS = 1_000_000


def test_what_is_due_by_the_clock():
    pacing = Pacing(10 * MS, speed=2.0)
    assert pacing.due(25 * MS) == 5
    pacing.sent += 5
    assert pacing.due(25 * MS) == 0
    assert pacing.due(30 * MS) == 1


def test_a_stall_is_caught_up_with_in_portions_and_reported_where_it_is_long():
    pacing = Pacing(10 * MS, speed=1.0)
    assert pacing.troubles(1000 * MS) == {}
    assert pacing.due(5000 * MS) == 100
    pacing.sent += 100
    assert list(pacing.troubles(5000 * MS)) == ['behind']
    assert pacing.due(5000 * MS) == 100
    pacing.sent += 300
    assert pacing.troubles(5000 * MS) == {}


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
