# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Frames with a leading slash, and fields of an Imu that are marked as not given."""

from ellipse import IMU, imu_fields, stamped
import pytest

from two_manifold_ros.recordings.decoding import ImuDecoder

pytest.importorskip('rosbags')

from two_manifold_ros.recordings.decoding import position_decoder
from two_manifold_ros.recordings.message_building import MessageBuilder

BUILDER = MessageBuilder()
MARKED = [-1.0] + [0.0] * 8


def imu(force, rate, force_given=True, rate_given=True, frame='imu'):
    message = stamped(10**9, frame) | imu_fields([0.0, 0.0, force, 0.0, 0.0, rate])
    for name, given in (('linear_acceleration', force_given), ('angular_velocity', rate_given)):
        message |= {} if given else {f'{name}_covariance': MARKED}
    return BUILDER.serialise(IMU, message)


@pytest.mark.parametrize('frame', ['map', '/map', '//map'])
def test_a_leading_slash_is_no_part_of_a_frame(frame):
    assert ImuDecoder()(imu(9.8, 0.1, frame=frame))[1] == 'map'
    kind = 'geometry_msgs/msg/PointStamped'
    raw = BUILDER.serialise(kind, stamped(10**9, frame))
    assert position_decoder(BUILDER.typestore.deserialize_cdr, kind)(raw)[1] == 'map'


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
