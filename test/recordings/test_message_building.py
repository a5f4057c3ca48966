# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Nested dicts become the very messages that they describe."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rosbags')

from two_manifold_ros.recordings.message_building import MessageBuilder


def back(msgtype: str, values: dict) -> object:
    builder = MessageBuilder()
    return builder.typestore.deserialize_cdr(builder.serialise(msgtype, values), msgtype)


def test_fields_that_are_not_named_are_zero_or_empty() -> None:
    marker = back('visualization_msgs/msg/Marker', {})
    assert marker.header.stamp.nanosec == 0
    assert marker.ns == ''
    assert marker.frame_locked is False
    assert marker.points == []
    assert marker.texture.data.tolist() == []
    assert back('sensor_msgs/msg/Imu', {}).orientation_covariance.tolist() == [0.0] * 9


@pytest.mark.parametrize(
    'covariance', [np.arange(36.0).reshape(6, 6), list(range(36)), np.arange(36, dtype=np.float32)]
)
def test_arrays_may_have_any_shape_and_type(covariance: object) -> None:
    odometry = back('nav_msgs/msg/Odometry', {'pose': {'covariance': covariance}})
    assert odometry.pose.covariance.tolist() == list(range(36))


def test_sequences_of_messages_and_strings() -> None:
    path = back(
        'nav_msgs/msg/Path',
        {'poses': [{'pose': {'position': {'x': x}}} for x in (1.0, 2.0)]},
    )
    assert [pose.pose.position.x for pose in path.poses] == [1.0, 2.0]
    joints = back('sensor_msgs/msg/JointState', {'name': ['a', 'b'], 'position': [1, 2]})
    assert joints.name == ['a', 'b']
    assert joints.position.tolist() == [1.0, 2.0]


@pytest.mark.parametrize('level', [2, b'\x02'])
def test_a_byte_may_be_an_int_or_bytes_as_in_rclpy(level: object) -> None:
    status = back('diagnostic_msgs/msg/DiagnosticStatus', {'level': level})
    assert status.level == 2


def test_numpy_scalars_are_taken() -> None:
    imu = back(
        'sensor_msgs/msg/Imu',
        {
            'header': {'stamp': {'sec': np.int64(3), 'nanosec': np.int32(4)}},
            'linear_acceleration': {'x': np.float32(0.5)},
        },
    )
    assert (imu.header.stamp.sec, imu.header.stamp.nanosec) == (3, 4)
    assert imu.linear_acceleration.x == 0.5


def test_an_unknown_field_is_named_together_with_the_known() -> None:
    with pytest.raises(ValueError, match=r"Point has no field 'w': it has x, y, z"):
        MessageBuilder().serialise('geometry_msgs/msg/Point', {'w': 1.0})


def test_an_unknown_type_is_named() -> None:
    with pytest.raises(ValueError, match="'my_msgs/msg/Mine' is not one of ROS 2 Jazzy"):
        MessageBuilder().serialise('my_msgs/msg/Mine', {})
