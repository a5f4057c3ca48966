# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stamps and numbers out of serialised messages."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from struct import Struct
from typing import TYPE_CHECKING, TypeAlias

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from two_manifold_ros.recordings.bag import Bag, Topic

# From serialised bytes to the stamp in ns, the frame_id and the numbers.
Decode: TypeAlias = Callable[[bytes], tuple[int, str, tuple[float, ...]]]

_POSITION_FIELD = {
    'geometry_msgs/msg/PoseStamped': 'pose.position',
    'geometry_msgs/msg/PoseWithCovarianceStamped': 'pose.pose.position',
    'geometry_msgs/msg/PointStamped': 'point',
    'geometry_msgs/msg/TransformStamped': 'transform.translation',
    'nav_msgs/msg/Odometry': 'pose.pose.position',
}
_ENCAPSULATION = 4
# Doubles of an Imu before each vector: orientation 4, covariance 9; then 3 and 9 more.
_ANGULAR_VELOCITY = 8 * 13
_LINEAR_ACCELERATION = 8 * 25
# stamp and length of frame_id, one vector; by the byte order in the encapsulation.
_CDR = {
    b'\x00\x00': (Struct('>iII'), Struct('>ddd')),
    b'\x00\x01': (Struct('<iII'), Struct('<ddd')),
}


def imu_decoder(bag: Bag, topic: Topic) -> Decode:
    """Return the decoder of ``sensor_msgs/Imu``: specific force, then angular rate."""
    if topic.serialisation == 'cdr':
        return decode_imu_cdr

    def decode(raw: bytes) -> tuple[int, str, tuple[float, ...]]:
        message = bag.decode(raw, topic.msgtype)
        force, rate = message.linear_acceleration, message.angular_velocity
        return *_header(message), (force.x, force.y, force.z, rate.x, rate.y, rate.z)

    return decode


def decode_imu_cdr(raw: bytes) -> tuple[int, str, tuple[float, ...]]:
    """
    Decode a ``sensor_msgs/Imu`` in CDR, five times faster than a general decoder.

    The layout has one variable part, ``frame_id``; the doubles behind it are aligned to eight
    bytes counted from the end of the encapsulation.

    Raises
    ------
    InputError
        If the encapsulation is not plain CDR.

    """
    layout = _CDR.get(raw[:2])
    if layout is None:
        msg = (
            f'An Imu message begins with {raw[:4].hex()}, which is not plain CDR: record it '
            f'again with a middleware that uses CDR.'
        )
        raise InputError(msg)
    header, vector = layout
    seconds, nanoseconds, length = header.unpack_from(raw, _ENCAPSULATION)
    text = _ENCAPSULATION + header.size
    doubles = text + length + -(header.size + length) % 8
    frame_id = raw[text : text + length - 1].decode('utf-8', 'replace')
    force = vector.unpack_from(raw, doubles + _LINEAR_ACCELERATION)
    rate = vector.unpack_from(raw, doubles + _ANGULAR_VELOCITY)
    return seconds * 1_000_000_000 + nanoseconds, frame_id, force + rate


def position_decoder(bag: Bag, topic: Topic) -> Decode:
    """Return the decoder of a topic with positions: x and y in metres."""
    position_of = attrgetter(_POSITION_FIELD[topic.msgtype])

    def decode(raw: bytes) -> tuple[int, str, tuple[float, ...]]:
        message = bag.decode(raw, topic.msgtype)
        position = position_of(message)
        return *_header(message), (position.x, position.y)

    return decode


def fix_decoder(bag: Bag, topic: Topic) -> Decode:
    """Return the decoder of ``NavSatFix``: latitude, longitude, altitude, status."""

    def decode(raw: bytes) -> tuple[int, str, tuple[float, ...]]:
        fix = bag.decode(raw, topic.msgtype)
        numbers = (fix.latitude, fix.longitude, fix.altitude, float(fix.status.status))
        return *_header(fix), numbers

    return decode


def _header(message: object) -> tuple[int, str]:
    header = message.header  # type: ignore[attr-defined]  # every type here is stamped
    return header.stamp.sec * 1_000_000_000 + header.stamp.nanosec, header.frame_id
