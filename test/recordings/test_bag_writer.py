# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bags that we write are whole or not there, and messages in them are decoded as by rosbags."""

import gc
from operator import attrgetter
import sys
from unittest.mock import Mock

from ellipse import IMU, imu_fields, stamped
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.bag_writer import BagWriter
from two_manifold_ros.recordings.decoding import imu_decoder, ImuDecoder, position_decoder
from two_manifold_ros.recordings.message_building import MessageBuilder
from two_manifold_ros.recordings.reading import read_recording

rosbag2 = pytest.importorskip('rosbags.rosbag2')
interfaces = pytest.importorskip('rosbags.interfaces')
typesys = pytest.importorskip('rosbags.typesys')
TWIST = 'geometry_msgs/msg/Twist'


@pytest.mark.parametrize(('storage', 'suffix'), [('mcap', '.mcap'), ('sqlite3', '.db3')])
def test_messages_come_back_with_their_receive_times(tmp_path, storage, suffix):
    types = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    text = types.types['std_msgs/msg/String']('ü')
    raw = bytes(types.serialize_cdr(text, 'std_msgs/msg/String'))
    with BagWriter(tmp_path / 'bag', storage=storage) as bag:
        bag.write('/a', TWIST, 5, {'linear': {'x': 1.5}})
        bag.write_raw('/b', 'std_msgs/msg/String', 7, raw)
        with pytest.raises(ValueError, match='/a holds geometry_msgs/msg/Twist'):
            bag.write('/a', 'std_msgs/msg/String', 2, {})
    assert [file.suffix for file in sorted((tmp_path / 'bag').iterdir())] == [suffix, '.yaml']
    assert [path.name for path in tmp_path.iterdir()] == ['bag']
    with rosbag2.Reader(tmp_path / 'bag') as reader:
        read = {
            connection.topic: (stamp, types.deserialize_cdr(raw, connection.msgtype))
            for connection, stamp, raw in reader.messages()
        }
    assert read['/a'][0] == 5
    assert (read['/a'][1].linear.x, read['/a'][1].angular.z) == (1.5, 0.0)
    assert read['/b'][1].data == 'ü'


def test_only_latched_topics_are_offered_as_transient_local(tmp_path):
    with BagWriter(tmp_path / 'bag', latched=['/map']) as bag:
        bag.write('/map', TWIST, 1, {})
        # It has its name when it is whole.
        assert not (tmp_path / 'bag').exists()
        bag.write('/other', TWIST, 1, {})
    with rosbag2.Reader(tmp_path / 'bag') as reader:
        offered = {each.topic: each.ext.offered_qos_profiles for each in reader.connections}
    assert offered['/other'] == []
    (qos,) = offered['/map']
    assert qos.durability == interfaces.QosDurability.TRANSIENT_LOCAL


@pytest.mark.parametrize('step', ['open', 'add_connection', 'write', 'close'])
def test_a_full_disk_is_named_and_nothing_stays_of_a_broken_run(tmp_path, monkeypatch, step):
    refused = r'bag: the bag cannot be written \(No space left on device\)'
    for failure, raised, words in (
        (OSError(28, 'No space left on device'), InputError, refused),
        (KeyboardInterrupt(), KeyboardInterrupt, None),
    ):
        monkeypatch.setattr(rosbag2.Writer, step, Mock(side_effect=failure))
        with pytest.raises(raised, match=words), BagWriter(tmp_path / 'bag') as bag:
            bag.write('/a', TWIST, 1, {})
        assert list(tmp_path.iterdir()) == []


def test_a_target_that_cannot_be_made_is_refused_and_a_bag_never_begun_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match='exists already: remove it'):
        BagWriter(tmp_path)
    with pytest.raises(InputError, match='none does not exist'):
        BagWriter(tmp_path / 'none' / 'bag')
    writer = BagWriter(tmp_path / 'bag')
    writer.__enter__()
    assert list(tmp_path.iterdir())
    del writer
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_without_a_library_it_is_said_what_to_install(tmp_path, monkeypatch):
    for name in ('rosbag2_py', *sys.modules):
        if name.split('.')[0] in {'rosbags', 'rosbag2_py'}:
            monkeypatch.setitem(sys.modules, name, None)
    for name in ('bag', 'message_building', 'ros2_bag'):
        monkeypatch.delitem(sys.modules, f'two_manifold_ros.recordings.{name}', raising=False)
    monkeypatch.delattr('two_manifold_ros.recordings.bag_writer', raising=False)
    for use, words in (
        (read_recording, 'neither rosbags nor rosbag2_py .* or install .* pip install rosbags'),
        (BagWriter, 'written: rosbags cannot .* pip install rosbags'),
    ):
        with pytest.raises(InputError, match=words):
            use(tmp_path / 'bag')


MANY = list(range(36))
BUILDER = MessageBuilder()
NUMBERS = st.lists(st.floats(allow_nan=False), min_size=6, max_size=6)


def message(sec: int, nanosec: int, frame_id: str, numbers: list[float]) -> dict:
    others = {'orientation': {'x': 7.0, 'w': 8.0}, 'orientation_covariance': [9.0] * 9}
    others |= {f'{name}_covariance': [9.0] * 9 for name in imu_fields(numbers)}
    return stamped(10**9 * sec + nanosec, frame_id) | imu_fields(numbers) | others


@given(
    st.integers(-(2**31), 2**31 - 1),
    st.integers(0, 999_999_999),
    st.text(st.characters(blacklist_characters='\x00', blacklist_categories=['Cs']), max_size=20),
    NUMBERS,
    st.booleans(),
)
def test_every_imu_message_is_decoded_as_rosbags_does(sec, nanosec, frame_id, numbers, little):
    raw = BUILDER.serialise(IMU, message(sec, nanosec, frame_id, numbers))
    types = BUILDER.typestore
    read = types.deserialize_cdr(raw, IMU)
    raw = bytes(types.serialize_cdr(read, IMU, little_endian=little))
    assert raw[1] == little
    force, rate = read.linear_acceleration, read.angular_velocity
    assert ImuDecoder()(raw) == (
        read.header.stamp.sec * 10**9 + read.header.stamp.nanosec,
        read.header.frame_id.lstrip('/'),
        (force.x, force.y, force.z, rate.x, rate.y, rate.z),
    )


def test_padding_changes_nothing_and_an_encapsulation_that_aligns_otherwise_is_refused():
    raw = imu(9.8, 0.1)
    assert ImuDecoder()(raw + bytes(8)) == ImuDecoder()(raw)
    with pytest.raises(InputError, match=r'starts with 00070000, which is not plain CDR'):
        ImuDecoder()(b'\x00\x07\x00\x00' + raw[4:])


@pytest.mark.parametrize(
    ('msgtype', 'values', 'field', 'wanted'),
    [
        # Fields that are not named are zero or empty.
        ('visualization_msgs/msg/Marker', {}, 'ns', ''),
        ('visualization_msgs/msg/Marker', {}, 'texture.data', []),
        (IMU, {}, 'orientation_covariance', [0.0] * 9),
        # Arrays may have any shape and type, and a byte may be an int or bytes as in rclpy.
        *(
            ('nav_msgs/msg/Odometry', {'pose': {'covariance': given}}, 'pose.covariance', MANY)
            for given in (np.reshape(MANY, (6, 6)), MANY, np.array(MANY, dtype=np.float32))
        ),
        ('diagnostic_msgs/msg/DiagnosticStatus', {'level': b'\x02'}, 'level', 2),
        # NumPy's scalars are taken.
        (IMU, {'header': {'stamp': {'sec': np.int64(3)}}}, 'header.stamp.sec', 3),
        (IMU, {'linear_acceleration': {'x': np.float32(0.5)}}, 'linear_acceleration.x', 0.5),
        # Sequences of strings and numbers.
        ('sensor_msgs/msg/JointState', {'name': ['a', 'b']}, 'name', ['a', 'b']),
        # A pose that names no rotation has none.
        ('geometry_msgs/msg/Pose', {'position': {'x': 1.0}}, 'orientation.w', 1.0),
    ],
)
def test_fields_of_a_message(msgtype, values, field, wanted):
    raw = BUILDER.serialise(msgtype, values)
    found = attrgetter(field)(BUILDER.typestore.deserialize_cdr(raw, msgtype))
    assert (found.tolist() if isinstance(found, np.ndarray) else found) == wanted


def test_what_is_unknown_is_named():
    with pytest.raises(ValueError, match=r"Point has no field 'w': it has x, y, z"):
        BUILDER.serialise('geometry_msgs/msg/Point', {'w': 1.0})
    with pytest.raises(ValueError, match="'my_msgs/msg/Mine' is not one of ROS 2 Jazzy"):
        BUILDER.serialise('my_msgs/msg/Mine', {})


MARKED = [-1.0] + [0.0] * 8


def imu(force, rate, force_given=True, rate_given=True, frame='imu'):
    message = stamped(10**9, frame) | imu_fields([0.0, 0.0, force, 0.0, 0.0, rate])
    for name, there in (('linear_acceleration', force_given), ('angular_velocity', rate_given)):
        message |= {} if there else {f'{name}_covariance': MARKED}
    return BUILDER.serialise(IMU, message)


def test_a_leading_slash_is_no_part_of_a_frame():
    kind = 'geometry_msgs/msg/PointStamped'
    for frame in ('map', '/map', '//map'):
        assert ImuDecoder()(imu(9.8, 0.1, frame=frame))[1] == 'map'
        raw = BUILDER.serialise(kind, stamped(10**9, frame))
        assert position_decoder(BUILDER.typestore.deserialize_cdr, kind)(raw)[1] == 'map'


@pytest.mark.parametrize(
    ('messages', 'expected', 'said'),
    [
        ([(9.8, 0.1), (0.0, 0.2, False), (9.9, 0.3)], [(9.8, 0.1), (9.8, 0.2), (9.9, 0.3)], 1),
        ([(9.8, 0.1), (9.9, 0.0, True, False)], [(9.8, 0.1), (9.9, 0.1)], 1),
        # Some drivers mark what they give.
        ([(9.8, 0.1), (9.9, 0.2, False, False)], [(9.8, 0.1), (9.9, 0.2)], 0),
    ],
)
@pytest.mark.parametrize('plain', [True, False])
def test_what_is_marked_as_not_given_is_held(messages, expected, said, plain):
    decoder = imu_decoder(BUILDER.typestore.deserialize_cdr, '/imu', IMU, plain=plain)
    numbers = [decoder(imu(*each))[2] for each in messages]
    assert [(each[2], each[5]) for each in numbers] == expected
    assert len(decoder.notes('/imu')) == said
