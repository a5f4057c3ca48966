# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The same recording comes out of every kind of bag, of topics found or named; its stretches."""

from dataclasses import asdict, replace
from pathlib import Path
import shutil

from ellipse import drive, IMU, pack_bag, POSE, rows_of, stamped, write_bag, write_messages
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.bag_topics import choose_topic, POSITION, Topic
from two_manifold_ros.recordings.bag_topics import IMU as TYPE_IMU
from two_manifold_ros.recordings.reading import read_recording, read_recordings, ReadingOptions
from two_manifold_ros.recordings.recording import median_interval_ns, Recording

rosbag1 = pytest.importorskip('rosbags.rosbag1')
rosbag2 = pytest.importorskip('rosbags.rosbag2')
typesys = pytest.importorskip('rosbags.typesys')
pytest.importorskip('two_manifold_ros.recordings.bag')
building = pytest.importorskip('two_manifold_ros.recordings.message_building')


@pytest.fixture
def recording() -> Recording:
    return drive(seconds=2.0)


@pytest.fixture
def bag(tmp_path: Path, recording: Recording) -> Path:
    return write_bag(tmp_path / 'bag', recording)


def assert_same(path: Path, recording: Recording) -> None:
    read = read_recording(path)
    assert read.name == str(path)
    np.testing.assert_equal(asdict(read.imu), asdict(recording.imu))
    np.testing.assert_equal(asdict(read.positions), asdict(recording.positions))


@pytest.mark.parametrize('storage', list(rosbag2.StoragePlugin), ids=str)
@pytest.mark.parametrize('mode', ['NONE', 'FILE', 'MESSAGE'])
def test_all_compressions(bag, tmp_path, recording, storage, mode):
    pack_bag(bag, tmp_path / 'packed', storage, mode)
    assert_same(tmp_path / 'packed', recording)
    (tmp_path / 'packed' / 'metadata.yaml').unlink()
    assert_same(tmp_path / 'packed', recording)


@pytest.mark.parametrize('with_metadata', [True, False])
def test_split_bags_are_joined_in_order(tmp_path, recording, with_metadata):
    whole = tmp_path / 'whole'
    whole.mkdir()
    for part in range(10):
        piece = write_bag(tmp_path / 'part', recording.between(part * 0.2, (part + 1) * 0.2))
        (piece / 'part.mcap').rename(whole / f'whole_{part + 1}.mcap')
        shutil.rmtree(piece)
    if with_metadata:
        paths = ''.join(f'    - whole/whole_{part + 1}.mcap\n' for part in range(10))
        (whole / 'metadata.yaml').write_text(f'a:\n  relative_file_paths:\n{paths}')
    assert_same(whole, recording)
    notes = read_recording(whole).notes
    assert bool(notes) is not with_metadata
    assert with_metadata or 'has no metadata.yaml' in notes[0]


def test_a_split_file_may_lack_the_topics_and_bags_are_read_in_turn(bag, tmp_path, recording):
    shares: list[float] = []
    read = read_recordings([bag, bag / 'bag.mcap'], progress=shares.append)
    assert [each.name for each in read] == [str(bag), str(bag / 'bag.mcap')]
    assert shares == [0.0, 0.5]
    row = ('/other', 'std_msgs/msg/String', 1, {'data': 'x'})
    more = write_messages(tmp_path / 'more', row)
    (more / 'more.mcap').rename(bag / 'more.mcap')
    (bag / 'metadata.yaml').unlink()
    assert_same(bag, recording)


def test_ros_1_bags(tmp_path, recording):
    builder = building.MessageBuilder()
    builder.typestore = types = typesys.get_typestore(typesys.Stores.ROS1_NOETIC)
    with rosbag1.Writer(tmp_path / 'old.bag') as writer:
        topics = {
            name: writer.add_connection(name, kind, typestore=types)
            for name, kind in (('/imu', IMU), ('/pose', POSE))
        }
        for topic, kind, stamp, fields in rows_of(recording):
            message = builder._message(kind)(fields)
            writer.write(topics[topic], stamp, types.serialize_ros1(message, kind))
    assert_same(tmp_path / 'old.bag', recording)


def test_messages_of_other_topics_are_not_decoded(bag, tmp_path, recording):
    crowded = tmp_path / 'crowded'
    types = building.MessageBuilder().typestore
    with rosbag2.Reader(bag) as reader, rosbag2.Writer(crowded, version=9) as writer:
        odd = writer.add_connection('/odd', 'my/msg/Own', msgdef='int8 x', rihs01='RIHS01_0')
        writer.add_connection('/other', IMU, typestore=types, serialization_format='protobuf')
        for connection in reader.connections:
            copy = writer.add_connection(connection.topic, connection.msgtype, typestore=types)
            for _, stamp, raw in reader.messages([connection]):
                writer.write(copy, stamp, raw)
                writer.write(odd, stamp, b'rubbish')
    assert_same(crowded, recording)


@pytest.mark.parametrize(
    ('msgtype', 'field'),
    [
        ('geometry_msgs/msg/PoseStamped', 'pose.position'),
        ('geometry_msgs/msg/PoseWithCovarianceStamped', 'pose.pose.position'),
        ('geometry_msgs/msg/PointStamped', 'point'),
        ('geometry_msgs/msg/TransformStamped', 'transform.translation'),
        ('nav_msgs/msg/Odometry', 'pose.pose.position'),
    ],
)
def test_all_types_of_positions(tmp_path, msgtype, field):
    message: dict = {'x': 1.5, 'y': -2.5, 'z': 9.0}
    for name in reversed(field.split('.')):
        message = {name: message}
    header = stamped(3_000_000_004, 'track')
    rows = ('/imu', IMU, 1, header), ('/where', msgtype, 2, header | message)
    positions = read_recording(write_messages(tmp_path / 'bag', *rows)).positions
    assert (positions.msgtype, positions.frame_id) == (msgtype, 'track')
    assert positions.stamps.tolist() == [3_000_000_004]
    assert positions.positions.tolist() == [[1.5, -2.5]]


@pytest.mark.parametrize(
    ('topics', 'options', 'topic'),
    [
        (('/a', '/b'), {'need_positions': False}, None),
        (('/a', '/b'), {'need_positions': False, 'position_topic': '/b'}, '/b'),
        (('/a',), {'need_positions': False}, '/a'),
        (('/a',), {'need_positions': False, 'find_positions': False}, None),
        (('/a',), {'find_positions': False}, '/a'),
        ((), {'need_positions': False, 'use_receive_time': True}, None),
    ],
)
def test_which_positions_are_read(tmp_path, topics, options, topic):
    header = stamped(10**9)
    rows = [('/imu', IMU, 1, header), *((name, POSE, 1, header) for name in topics)]
    bag = write_messages(tmp_path / 'bag', *rows)
    alone = read_recording(bag, ReadingOptions(**options))
    (several,) = read_recordings([bag], ReadingOptions(**options))
    for read in (alone, several):
        assert (read.positions and read.positions.topic) == topic
        left = topic is None and len(topics) > 1
        assert [each for each in read.notes if '--position-topic' in each] == [*read.notes][:left]
        assert bool(read.notes) == (left or 'use_receive_time' in options)


def test_positions_in_another_frame_than_most_are_left_out(tmp_path):
    rows = []
    for second, frame in enumerate(['odom', 'map', 'map', '', 'map'], start=1):
        stamp, point = second * 10**9, {'point': {'x': float(second)}}
        rows.append(('/imu', IMU, second, stamped(stamp)))
        at = stamped(stamp, frame) | point
        rows.append(('/at', 'geometry_msgs/msg/PointStamped', second, at))
    recording = read_recording(write_messages(tmp_path / 'bag', *rows))
    assert recording.positions.frame_id == 'map'
    assert recording.positions.positions[:, 0].tolist() == [2.0, 3.0, 5.0]
    (note,) = recording.notes
    assert "/at changes its frame_id ('odom', 'map', '')" in note
    assert "2 of 5 messages are not in 'map' and are left out" in note


@pytest.mark.parametrize(
    ('imu', 'pose', 'asked', 'stamps', 'words'),
    [
        ([5, 0, 4, 4], [7, 6], False, ([5, 0, 4, 4], [7, 6]), ''),
        ([5, 6], [7], True, ([1000, 1001], [2000]), 'as asked'),
        ([5, 6], [0], False, ([1000, 1001], [2000]), 'stamps of /pose are zero'),
        ([0, 0], [0], False, ([1000, 1001], [2000]), 'stamps of /imu and /pose are zero'),
    ],
)
def test_receive_times_are_taken_if_asked_or_needed(tmp_path, imu, pose, asked, stamps, words):
    rows = [('/imu', IMU, 1000 + i, stamped(stamp)) for i, stamp in enumerate(imu)]
    rows += [('/pose', POSE, 2000 + i, stamped(stamp)) for i, stamp in enumerate(pose)]
    bag = write_messages(tmp_path / 'bag', *rows)
    recording = read_recording(bag, ReadingOptions(use_receive_time=asked))
    assert (recording.imu.stamps.tolist(), recording.positions.stamps.tolist()) == stamps
    assert recording.imu.receive_stamps.tolist() == list(range(1000, 1000 + len(imu)))
    assert words in ''.join(recording.notes)
    assert len(recording.notes) == bool(words)


BAG = Path('drive')
FIRST = Topic('/imu/data', IMU, 100, 'cdr')
SECOND = Topic('/imu/raw', IMU, 90, 'cdr')
EMPTY = Topic('/imu/idle', IMU, 0, 'cdr')
FOREIGN = Topic('/imu', IMU, 5, 'protobuf')
ODOMETRY = Topic('/odom', 'nav_msgs/msg/Odometry', 5, 'cdr')
POINT = Topic('/odom', 'geometry_msgs/msg/PointStamped', 5, 'cdr')
MANY = [Topic(f'/{i}', 'std_msgs/msg/String', 1, 'cdr') for i in range(30)]


@pytest.mark.parametrize(
    ('topics', 'role', 'name', 'chosen'),
    [
        ([ODOMETRY, EMPTY, FIRST], TYPE_IMU, None, FIRST),
        ([FIRST, SECOND], TYPE_IMU, '/imu/raw', SECOND),
        ([FIRST, SECOND], TYPE_IMU, 'imu/raw', SECOND),
        ([FOREIGN, ODOMETRY], POSITION, None, ODOMETRY),
    ],
)
def test_a_topic_is_the_only_one_with_messages_or_named(topics, role, name, chosen):
    assert choose_topic(BAG, topics, role, name) == chosen


@pytest.mark.parametrize(
    ('topics', 'role', 'name', 'words'),
    [
        ([FIRST, EMPTY, SECOND, ODOMETRY], TYPE_IMU, None,
         r'drive holds 2 IMU topics, /imu/data .*, 100 .*, /imu/raw .*: name one with --imu-'),
        ([ODOMETRY, EMPTY], TYPE_IMU, None,
         r'no IMU topic \(sensor_msgs/Imu\), only /odom \(nav_msgs/msg/Odometry, 5 messages\)'),
        ([FIRST], TYPE_IMU, '/none',
         'which is not there: .* --imu-topic; .*/imu/data .*, 100 messages'),
        ([FIRST, ODOMETRY], TYPE_IMU, '/odom', r'is there as /odom \(nav_msgs/msg/Odometry, 5'),
        (MANY, TYPE_IMU, None, r'/11 \(.*\) and 18 more: record one'),
        ([FOREIGN, ODOMETRY], TYPE_IMU, None, "/imu in drive is serialised as 'protobuf'"),
        ([ODOMETRY, POINT], POSITION, '/odom', 'keep one of them in a copy of the bag'),
    ],
)  # fmt: skip
def test_what_is_no_clear_choice_lists_what_there_is(topics, role, name, words):
    with pytest.raises(InputError, match=words):
        choose_topic(BAG, topics, role, name)


def test_a_stretch_includes_its_start_and_not_its_end():
    """And seconds count from the first stamp that is not zero."""
    recording = drive()
    part = recording.between(2.0, 3.0)
    first = recording.imu.stamps[0]
    assert (part.imu.stamps[0] - first, part.imu.stamps[-1] - first) == (2 * 10**9, 299 * 10**7)
    assert (len(part.imu.samples), len(part.positions.positions)) == (100, 25)
    # Open ends and adjoining parts lose nothing.
    parts = [recording.between(None, 20.0), recording.between(20.0, None)]
    stamps = np.concatenate([part.imu.stamps for part in parts])
    np.testing.assert_array_equal(stamps, recording.imu.stamps)
    assert replace(recording.imu, stamps=np.zeros(4800, dtype=np.int64)).first_stamp == 0


def test_positions_are_made_earlier_and_it_is_remembered():
    recording = drive(4.0)
    moved = recording.with_positions_earlier(0.25).with_positions_earlier(-0.05)
    assert set((recording.positions.stamps - moved.positions.stamps).tolist()) == {200_000_000}
    assert moved.positions.earlier_s == 0.2
    none = replace(recording, positions=None)
    assert none.with_positions_earlier(1.0) == none


@pytest.mark.parametrize('wild', [5 * 10**9, -86_400 * 10**9, 86_400 * 10**9, 50 * 10**7])
@pytest.mark.parametrize('index', [0, -1])
def test_seconds_are_not_counted_from_a_wild_stamp_nor_to_one(wild, index):
    recording = drive()
    stamps = recording.imu.stamps.copy()
    stamps[index] = wild if wild == 5 * 10**9 else stamps[index] + wild
    recording = replace(recording, imu=replace(recording.imu, stamps=stamps))
    first, last = stamps[1 if index == 0 else 0], stamps[-2 if index else -1]
    assert (recording.imu.first_stamp, recording.imu.last_stamp) == (first, last)
    assert len(recording.between(None, 9.0).imu.stamps) in {900, 901}
    assert len(recording.between(9.0, None).imu.stamps) in {3898, 3899, 3900}


def test_a_stream_that_is_slowed_down_lasts_to_its_end_and_duplicates_count_for_no_interval():
    assert median_interval_ns(np.array([5, 5, 15, 25, 3, 13])) == 10
    assert median_interval_ns(np.array([5, 5])) == 0
    assert median_interval_ns(np.array([], dtype=np.int64)) == 0
    stamps = drive(4.0).imu.stamps
    slow = stamps[-1] + 10**9 * np.arange(1, 60)
    wild = slow[-1] + 3600 * 10**9
    imu = replace(drive(4.0).imu, stamps=np.concatenate([stamps, slow, [wild]]))
    assert (imu.first_stamp, imu.last_stamp) == (stamps[0], slow[-1])
