# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Frames with a leading slash, and fields of an Imu that are marked as not given."""

import numpy as np
import pytest
from rosbags.typesys import get_typestore, Stores

from two_manifold_ros.recordings.reading import position_decoder
from two_manifold_ros.recordings.ros_messages import ImuDecoder

STORE = get_typestore(Stores.ROS2_JAZZY)
TYPES = STORE.types


def header(frame):
    stamp = TYPES['builtin_interfaces/msg/Time'](1, 0)
    return TYPES['std_msgs/msg/Header'](stamp, frame)


def imu(force, rate, force_given=True, rate_given=True, frame='imu', order='little'):
    vector, covariance = TYPES['geometry_msgs/msg/Vector3'], np.zeros(9)
    marked = covariance + np.array([-1.0] + [0.0] * 8)
    message = TYPES['sensor_msgs/msg/Imu'](
        header(frame),
        TYPES['geometry_msgs/msg/Quaternion'](0.0, 0.0, 0.0, 1.0),
        marked,
        vector(0.0, 0.0, rate),
        covariance if rate_given else marked,
        vector(0.0, 0.0, force),
        covariance if force_given else marked,
    )
    raw = STORE.serialize_cdr(message, message.__msgtype__, little_endian=order == 'little')
    return bytes(raw)


@pytest.mark.parametrize('order', ['little', 'big'])
@pytest.mark.parametrize('frame', ['map', '/map', '//map'])
def test_a_leading_slash_is_no_part_of_a_frame(frame, order):
    assert ImuDecoder()(imu(9.8, 0.1, frame=frame, order=order))[1] == 'map'
    point = TYPES['geometry_msgs/msg/Point'](1.0, 2.0, 0.0)
    message = TYPES['geometry_msgs/msg/PointStamped'](header(frame), point)
    raw = bytes(STORE.serialize_cdr(message, message.__msgtype__))
    assert position_decoder(STORE.deserialize_cdr, message.__msgtype__)(raw)[1] == 'map'


@pytest.mark.parametrize(
    ('messages', 'expected', 'said'),
    [
        ([(9.8, 0.1), (0.0, 0.2, False), (9.9, 0.3)], [(9.8, 0.1), (9.8, 0.2), (9.9, 0.3)], 1),
        ([(9.8, 0.1), (9.9, 0.0, True, False)], [(9.8, 0.1), (9.9, 0.1)], 1),
        # Some drivers mark what they give.
        ([(9.8, 0.1, False, False), (9.9, 0.2, False, False)], [(9.8, 0.1), (9.9, 0.2)], 0),
        ([(9.8, 0.1), (9.9, 0.2, False, False)], [(9.8, 0.1), (9.9, 0.2)], 0),
    ],
)
def test_what_is_marked_as_not_given_is_held(messages, expected, said):
    decoder = ImuDecoder()
    numbers = [decoder(imu(*each))[2] for each in messages]
    assert [(each[2], each[5]) for each in numbers] == expected
    assert len(decoder.notes('/imu')) == said
