# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Topics are found by type or by name, nothing is guessed, and header stamps are the time base."""

from pathlib import Path

from ellipse import IMU as IMU_TYPE
from ellipse import POSE, stamped, write_messages
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.reading import (
    choose_topic,
    IMU,
    POSITION,
    read_recording,
    ReadingOptions,
    TopicRole,
)

pytest.importorskip('rosbags')

from two_manifold_ros.recordings.bag import Topic

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
def test_a_topic_is_the_only_one_with_messages_or_named(
    topics: list[Topic], role: TopicRole, name: str | None, chosen: Topic
) -> None:
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
        ([FIRST, ODOMETRY], IMU, '/odom', r'which is there as /odom \(nav_msgs/msg/Odometry, 5 '),
        ([FIRST, EMPTY], IMU, '/imu/idle', r'which is there as /imu/idle \(.*, 0 messages\)'),
        (MANY, IMU, None, r'/11 \(.*\) and 18 more: record one'),
        ([FOREIGN, ODOMETRY], IMU, None, "/imu in drive is serialised as 'protobuf'"),
        ([ODOMETRY, POINT], POSITION, '/odom', 'keep one of them in a copy of the bag'),
    ],
)
def test_what_is_no_clear_choice_lists_what_there_is(
    topics: list[Topic], role: TopicRole, name: str | None, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        choose_topic(BAG, topics, role, name)


@pytest.mark.parametrize(
    ('imu', 'pose', 'asked', 'stamps', 'words'),
    [
        ([5, 0, 4, 4], [7, 6], False, ([5, 0, 4, 4], [7, 6]), ''),
        ([5, 6], [7], True, ([1000, 1001], [2000]), 'as asked'),
        ([0, 0], [7], False, ([1000, 1001], [2000]), 'stamps of /imu are zero'),
        ([5, 6], [0], False, ([1000, 1001], [2000]), 'stamps of /pose are zero'),
        ([0, 0], [0], False, ([1000, 1001], [2000]), 'stamps of /imu and /pose are zero'),
    ],
)
def test_receive_times_are_taken_for_both_topics_if_asked_or_without_stamps(
    tmp_path: Path,
    imu: list[int],
    pose: list[int],
    asked: bool,
    stamps: tuple[list[int], list[int]],
    words: str,
) -> None:
    rows = [('/imu', IMU_TYPE, 1000 + i, stamped(stamp)) for i, stamp in enumerate(imu)]
    rows += [('/pose', POSE, 2000 + i, stamped(stamp)) for i, stamp in enumerate(pose)]
    bag = write_messages(tmp_path / 'bag', *rows)
    recording = read_recording(bag, ReadingOptions(use_receive_time=asked))
    assert (recording.imu.stamps.tolist(), recording.positions.stamps.tolist()) == stamps
    assert recording.imu.receive_stamps.tolist() == list(range(1000, 1000 + len(imu)))
    assert words in ''.join(recording.notes)
    assert len(recording.notes) == bool(words)
