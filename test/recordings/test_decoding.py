# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Our few lines of CDR against the deserialiser of rosbags."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.decoding import decode_imu_cdr

pytest.importorskip('rosbags')

from two_manifold_ros.recordings.message_building import MessageBuilder

IMU = 'sensor_msgs/msg/Imu'
BUILDER = MessageBuilder()
NUMBERS = st.lists(st.floats(allow_nan=False), min_size=6, max_size=6)


def message(sec: int, nanosec: int, frame_id: str, numbers: list[float]) -> dict:
    return {
        'header': {'stamp': {'sec': sec, 'nanosec': nanosec}, 'frame_id': frame_id},
        'orientation': {'x': 7.0, 'w': 8.0},
        'orientation_covariance': [9.0] * 9,
        'linear_acceleration': dict(zip('xyz', numbers[:3], strict=True)),
        'linear_acceleration_covariance': [10.0] * 9,
        'angular_velocity': dict(zip('xyz', numbers[3:], strict=True)),
        'angular_velocity_covariance': [11.0] * 9,
    }


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
