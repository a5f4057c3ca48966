# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Topics are found by type or by name, and nothing is guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.reading import choose_topic, IMU, POSITION

pytest.importorskip('rosbags')

from two_manifold_ros.recordings.bag import Topic

BAG = Path('drive')
FIRST = Topic('/imu/data', 'sensor_msgs/msg/Imu', 100, 'cdr')
SECOND = Topic('/imu/raw', 'sensor_msgs/msg/Imu', 90, 'cdr')
EMPTY = Topic('/imu/idle', 'sensor_msgs/msg/Imu', 0, 'cdr')
ODOMETRY = Topic('/odom', 'nav_msgs/msg/Odometry', 5, 'cdr')


def test_the_only_topic_with_messages_is_taken() -> None:
    assert choose_topic(BAG, [ODOMETRY, EMPTY, FIRST], IMU, None) == FIRST
    assert choose_topic(BAG, [ODOMETRY, EMPTY, FIRST], POSITION, None) == ODOMETRY


@pytest.mark.parametrize('name', ['/imu/raw', 'imu/raw'])
def test_a_named_topic_is_taken_with_or_without_slash(name: str) -> None:
    assert choose_topic(BAG, [FIRST, SECOND], IMU, name) == SECOND


def test_several_topics_are_listed() -> None:
    with pytest.raises(InputError) as caught:
        choose_topic(BAG, [FIRST, EMPTY, SECOND, ODOMETRY], IMU, None)
    assert str(caught.value) == (
        'drive holds 2 IMU topics, /imu/data (sensor_msgs/msg/Imu, 100 messages), '
        '/imu/raw (sensor_msgs/msg/Imu, 90 messages): name one with --imu-topic.'
    )


def test_no_topic_lists_what_there_is() -> None:
    with pytest.raises(InputError) as caught:
        choose_topic(BAG, [ODOMETRY, EMPTY], IMU, None)
    assert str(caught.value) == (
        'drive holds no IMU topic (sensor_msgs/Imu), only /odom (nav_msgs/msg/Odometry, '
        '5 messages): record one, or choose another recording.'
    )


@pytest.mark.parametrize(
    ('name', 'cause'),
    [
        ('/none', 'which is not there'),
        ('/odom', 'which is there as /odom (nav_msgs/msg/Odometry, 5 messages)'),
        ('/imu/idle', 'which is there as /imu/idle (sensor_msgs/msg/Imu, 0 messages)'),
    ],
)
def test_a_wrong_name_says_what_is_wrong_and_what_there_is(name: str, cause: str) -> None:
    with pytest.raises(InputError) as caught:
        choose_topic(BAG, [FIRST, EMPTY, ODOMETRY], IMU, name)
    message = str(caught.value)
    assert cause in message
    assert '/imu/data (sensor_msgs/msg/Imu, 100 messages)' in message
    assert '--imu-topic' in message


def test_a_long_list_is_cut() -> None:
    topics = [Topic(f'/{i}', 'std_msgs/msg/String', 1, 'cdr') for i in range(30)]
    with pytest.raises(InputError, match=r'/11 \(.*\) and 18 more: record one'):
        choose_topic(BAG, topics, IMU, None)


def test_an_unreadable_serialisation_is_refused_only_where_it_is_wanted() -> None:
    foreign = Topic('/imu', 'sensor_msgs/msg/Imu', 5, 'protobuf')
    assert choose_topic(BAG, [foreign, ODOMETRY], POSITION, None) == ODOMETRY
    with pytest.raises(InputError, match=r"/imu in drive is serialised as 'protobuf'"):
        choose_topic(BAG, [foreign, ODOMETRY], IMU, None)


def test_one_name_with_two_types_is_no_guess() -> None:
    point = Topic('/odom', 'geometry_msgs/msg/PointStamped', 5, 'cdr')
    with pytest.raises(InputError, match='keep one of them in a copy of the bag'):
        choose_topic(BAG, [ODOMETRY, point], POSITION, '/odom')
