# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bags that we write are whole, readable by rosbags itself, or not there."""

import gc
import sys
from unittest.mock import Mock

import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.bag_writer import BagWriter
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
def test_a_full_disk_is_named_and_nothing_stays_of_it_or_of_a_broken_run(
    tmp_path, monkeypatch, step
):
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
