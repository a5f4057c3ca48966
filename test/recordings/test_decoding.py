# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Nested dicts become the messages that they describe, and are decoded as rosbags does."""

from ellipse import IMU, imu_fields, stamped
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.decoding import decode_imu_cdr

pytest.importorskip('rosbags')

from two_manifold_ros.recordings.message_building import MessageBuilder

BUILDER = MessageBuilder()
NUMBERS = st.lists(st.floats(allow_nan=False), min_size=6, max_size=6)


def message(sec: int, nanosec: int, frame_id: str, numbers: list[float]) -> dict:
    return (
        stamped(10**9 * sec + nanosec, frame_id)
        | imu_fields(numbers)
        | {
            'orientation': {'x': 7.0, 'w': 8.0},
            'orientation_covariance': [9.0] * 9,
            'linear_acceleration_covariance': [10.0] * 9,
            'angular_velocity_covariance': [11.0] * 9,
        }
    )


@given(
    st.integers(-(2**31), 2**31 - 1),
    st.integers(0, 999_999_999),
    st.text(st.characters(blacklist_characters='\x00', blacklist_categories=['Cs']), max_size=20),
    NUMBERS,
    st.booleans(),
)
def test_every_imu_message_is_decoded_as_rosbags_does(
    sec: int, nanosec: int, frame_id: str, numbers: list[float], little: bool
) -> None:
    raw = BUILDER.serialise(IMU, message(sec, nanosec, frame_id, numbers))
    types = BUILDER.typestore
    read = types.deserialize_cdr(raw, IMU)
    raw = bytes(types.serialize_cdr(read, IMU, little_endian=little))
    assert raw[1] == little
    force, rate = read.linear_acceleration, read.angular_velocity
    assert decode_imu_cdr(raw) == (
        read.header.stamp.sec * 10**9 + read.header.stamp.nanosec,
        read.header.frame_id,
        (force.x, force.y, force.z, rate.x, rate.y, rate.z),
    )


def test_padding_behind_the_message_changes_nothing() -> None:
    raw = BUILDER.serialise(IMU, message(1, 2, 'imu', [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    assert decode_imu_cdr(raw + bytes(8)) == decode_imu_cdr(raw)


def test_an_encapsulation_that_aligns_otherwise_is_refused() -> None:
    raw = BUILDER.serialise(IMU, message(1, 2, 'imu', [0.0] * 6))
    with pytest.raises(InputError, match=r'starts with 00070000, which is not plain CDR'):
        decode_imu_cdr(b'\x00\x07\x00\x00' + raw[4:])


def back(msgtype: str, values: dict) -> object:
    return BUILDER.typestore.deserialize_cdr(BUILDER.serialise(msgtype, values), msgtype)


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


@pytest.mark.parametrize(
    ('msgtype', 'values', 'words'),
    [
        ('geometry_msgs/msg/Point', {'w': 1.0}, r"Point has no field 'w': it has x, y, z"),
        ('my_msgs/msg/Mine', {}, "'my_msgs/msg/Mine' is not one of ROS 2 Jazzy"),
    ],
)
def test_what_is_unknown_is_named(msgtype: str, values: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        BUILDER.serialise(msgtype, values)
