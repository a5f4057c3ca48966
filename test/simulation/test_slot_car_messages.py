# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Messages of the simulated sensors."""

import numpy as np

from two_manifold_ros.simulation.slot_car_run import imu_message, reference_message

STAMP = 1_700_000_000_000_000_007


def test_imu_message() -> None:
    message = imu_message(STAMP, np.arange(6.0), np.arange(1.0, 7.0))
    assert message['header'] == {
        'stamp': {'sec': 1_700_000_000, 'nanosec': 7},
        'frame_id': 'imu_link',
    }
    assert message['linear_acceleration'] == {'x': 0.0, 'y': 1.0, 'z': 2.0}
    assert message['angular_velocity'] == {'x': 3.0, 'y': 4.0, 'z': 5.0}
    assert message['orientation_covariance'].tolist() == [-1.0] + [0.0] * 8
    np.testing.assert_array_equal(
        message['linear_acceleration_covariance'], np.diag([1.0, 2.0, 3.0])
    )
    np.testing.assert_array_equal(message['angular_velocity_covariance'], np.diag([4.0, 5.0, 6.0]))


def test_reference_message() -> None:
    message = reference_message(STAMP, np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.5, 0.5, -0.5]))
    assert message['header']['frame_id'] == 'map'
    assert message['header']['stamp']['nanosec'] == 7
    assert message['pose']['position'] == {'x': 1.0, 'y': 2.0, 'z': 3.0}
    assert message['pose']['orientation'] == {'x': 0.5, 'y': 0.5, 'z': 0.5, 'w': -0.5}
