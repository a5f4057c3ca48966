# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A topic of a bag is the only one that fits, or the one that is named."""

from pathlib import Path

from ellipse import IMU as IMU_TYPE
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.bag_topics import choose_topic, IMU, POSITION, Topic

BAG = Path('drive')
FIRST = Topic('/imu/data', IMU_TYPE, 100, 'cdr')
SECOND = Topic('/imu/raw', IMU_TYPE, 90, 'cdr')
EMPTY = Topic('/imu/idle', IMU_TYPE, 0, 'cdr')
FOREIGN = Topic('/imu', IMU_TYPE, 5, 'protobuf')
ODOMETRY = Topic('/odom', 'nav_msgs/msg/Odometry', 5, 'cdr')
POINT = Topic('/odom', 'geometry_msgs/msg/PointStamped', 5, 'cdr')
MANY = [Topic(f'/{i}', 'std_msgs/msg/String', 1, 'cdr') for i in range(30)]


@pytest.mark.parametrize(
    ('topics', 'role', 'name', 'chosen'),
    [
        ([ODOMETRY, EMPTY, FIRST], IMU, None, FIRST),
        ([ODOMETRY, EMPTY, FIRST], POSITION, None, ODOMETRY),
        ([FIRST, SECOND], IMU, '/imu/raw', SECOND),
        ([FIRST, SECOND], IMU, 'imu/raw', SECOND),
        ([FOREIGN, ODOMETRY], POSITION, None, ODOMETRY),
    ],
)
def test_a_topic_is_the_only_one_with_messages_or_named(topics, role, name, chosen):
    assert choose_topic(BAG, topics, role, name) == chosen


@pytest.mark.parametrize(
    ('topics', 'role', 'name', 'words'),
    [
        (
            [FIRST, EMPTY, SECOND, ODOMETRY],
            IMU,
            None,
            r'drive holds 2 IMU topics, /imu/data .*, 100 .*, /imu/raw .*: name one with --imu-',
        ),
        (
            [ODOMETRY, EMPTY],
            IMU,
            None,
            r'no IMU topic \(sensor_msgs/Imu\), only /odom \(nav_msgs/msg/Odometry, 5 messages\)',
        ),
        (
            [FIRST],
            IMU,
            '/none',
            'which is not there: .* --imu-topic; .*/imu/data .*, 100 messages',
        ),
        (
            [FIRST, ODOMETRY],
            IMU,
            '/odom',
            r'which is there as /odom \(nav_msgs/msg/Odometry, 5 ',
        ),
        (
            [FIRST, EMPTY],
            IMU,
            '/imu/idle',
            r'which is there as /imu/idle \(.*, 0 messages\)',
        ),
        (MANY, IMU, None, r'/11 \(.*\) and 18 more: record one'),
        ([FOREIGN, ODOMETRY], IMU, None, "/imu in drive is serialised as 'protobuf'"),
        ([ODOMETRY, POINT], POSITION, '/odom', 'keep one of them in a copy of the bag'),
    ],
)
def test_what_is_no_clear_choice_lists_what_there_is(topics, role, name, words):
    with pytest.raises(InputError, match=words):
        choose_topic(BAG, topics, role, name)
