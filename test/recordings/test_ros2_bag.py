# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where rosbags is missing, ROS's rosbag2_py reads and writes the same bags."""

from pathlib import Path
import shutil
import sys

from bag_builders import pack_bag
from ellipse import drive, stamped, write_bag
import numpy as np
import pytest

from two_manifold_ros.__main__ import main
from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.bag_writer import BagWriter
from two_manifold_ros.recordings.reading import read_recording, ReadingOptions

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
rosbag2 = pytest.importorskip('rosbags.rosbag2')
from rosbag2_stand_in import stand_in, TYPES  # noqa: E402 - needs rosbags

RELEASES = ('humble', 'jazzy')


def without_rosbags(monkeypatch, release, storages=('mcap', 'sqlite3')):
    """Have the package import the stand-in, and none of its modules that need rosbags."""
    monkeypatch.setitem(sys.modules, 'rosbag2_py', stand_in(release, storages))
    for name in ('bag', 'message_building'):
        monkeypatch.setitem(sys.modules, f'two_manifold_ros.recordings.{name}', None)
    # A stand-in of another test must not stay in it.
    monkeypatch.delitem(sys.modules, 'two_manifold_ros.recordings.ros2_bag', raising=False)


@pytest.fixture
def bag(tmp_path):
    return write_bag(tmp_path / 'bag', drive(seconds=2.0))


def assert_same(one, other):
    for name in ('stamps', 'receive_stamps', 'samples'):
        np.testing.assert_array_equal(getattr(one.imu, name), getattr(other.imu, name))
    np.testing.assert_array_equal(one.positions.positions, other.positions.positions)
    np.testing.assert_array_equal(one.positions.stamps, other.positions.stamps)
    assert one.imu.frame_id == other.imu.frame_id
    assert one.positions.frame_id == other.positions.frame_id
    assert one.notes == other.notes


@pytest.mark.parametrize('release', RELEASES)
@pytest.mark.parametrize('storage', list(rosbag2.StoragePlugin), ids=str)
@pytest.mark.parametrize('mode', ['NONE', 'FILE', 'MESSAGE'])
def test_it_reads_the_same_recording(bag, tmp_path, monkeypatch, release, storage, mode):
    pack_bag(bag, tmp_path / 'copy', storage, mode)
    expected = read_recording(tmp_path / 'copy')
    without_rosbags(monkeypatch, release)
    assert_same(read_recording(tmp_path / 'copy'), expected)


@pytest.mark.parametrize('release', RELEASES)
def test_one_file_is_read_as_its_folder(bag, monkeypatch, release):
    (file,) = bag.glob('*.mcap')
    expected = read_recording(file)
    without_rosbags(monkeypatch, release)
    assert_same(read_recording(file), expected)


@pytest.mark.parametrize('release', RELEASES)
@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_what_it_writes_rosbags_reads_the_same(tmp_path, monkeypatch, release, storage):
    recording = drive(seconds=2.0)
    expected = read_recording(write_bag(tmp_path / 'own', recording))
    with monkeypatch.context() as context:
        without_rosbags(context, release)
        write_bag(tmp_path / 'bag', recording, storage=storage)
    assert_same(read_recording(tmp_path / 'bag'), expected)


@pytest.mark.parametrize('release', RELEASES)
def test_messages_have_the_same_content(tmp_path, monkeypatch, release):
    stamp = stamped(1_000_000_007, 'map')
    upright = {'orientation': {'w': 1.0}}
    poses = [stamp | {'pose': {'position': {'y': 2.0}} | upright}, stamp | {'pose': upright}]
    uncertain = {'pose': upright, 'covariance': np.arange(36.0).reshape(6, 6)}
    messages = {
        '/pose': ('geometry_msgs/msg/PoseWithCovarianceStamped', stamp | {'pose': uncertain}),
        '/path': ('nav_msgs/msg/Path', stamp | {'poses': poses}),
        '/numbers': (
            'std_msgs/msg/Float64MultiArray',
            {'data': np.array([[1.0, 2.0], [3.0, 4.0]])},
        ),
        '/health': (
            'diagnostic_msgs/msg/DiagnosticStatus',
            {'level': 2, 'name': 'ü', 'values': [{'key': 'a', 'value': 'b'}]},
        ),
    }

    def write(path: Path) -> Path:
        with BagWriter(path, latched=['/path']) as writer:
            for topic, (msgtype, fields) in messages.items():
                writer.write(topic, msgtype, 5, fields)
        return path

    def again(raw: bytes, msgtype: str) -> bytes:
        # ROS leaves whatever was there between the fields.
        return bytes(TYPES.serialize_cdr(TYPES.deserialize_cdr(raw, msgtype), msgtype))

    def rows(path: Path) -> dict[str, tuple[str, int, bytes, list[object]]]:
        with rosbag2.Reader(path) as reader:
            return {
                each.topic: (
                    each.msgtype,
                    stamp,
                    again(raw, each.msgtype),
                    each.ext.offered_qos_profiles,
                )
                for each, stamp, raw in reader.messages()
            }

    with monkeypatch.context() as context:
        without_rosbags(context, release)
        write(tmp_path / 'bag')
    own = rows(write(tmp_path / 'own'))
    assert rows(tmp_path / 'bag') == own
    assert len(own['/path'][3]) == 1
    assert own['/pose'][3] == []


def test_without_the_plugin_for_mcap_it_writes_sqlite(tmp_path, monkeypatch):
    with monkeypatch.context() as context:
        without_rosbags(context, 'humble', storages=['sqlite3'])
        write_bag(tmp_path / 'bag', drive(seconds=0.1))
    assert sorted(file.suffix for file in (tmp_path / 'bag').iterdir()) == ['.db3', '.yaml']


def test_dropped_messages_are_a_note(bag, monkeypatch):
    without_rosbags(monkeypatch, 'jazzy')
    library = sys.modules['rosbag2_py']
    read = library.Info.read_metadata

    def counting_more(self: object, uri: str, storage: str) -> object:
        metadata = read(self, uri, storage)
        metadata.topics_with_message_count[0].message_count += 3
        return metadata

    monkeypatch.setattr(library.Info, 'read_metadata', counting_more)
    (note,) = read_recording(bag).notes
    assert str(bag) in note
    assert 'dropped' in note


@pytest.mark.parametrize('release', RELEASES)
def test_what_it_cannot_read_is_refused_in_a_sentence(bag, tmp_path, monkeypatch, release):
    without_rosbags(monkeypatch, release)
    (tmp_path / 'old.bag').write_bytes(b'#ROSBAG V2.0\n')
    (tmp_path / 'broken.mcap').write_bytes(b'no bag at all')
    shutil.copytree(bag, tmp_path / 'cut')
    (tmp_path / 'cut' / 'metadata.yaml').unlink()
    for name, cure in {
        'absent': 'check the path',
        'old.bag': 'pip install rosbags',
        'broken.mcap': 'ros2 bag reindex',
        'cut': 'ros2 bag reindex',
    }.items():
        with pytest.raises(InputError, match=rf'{name} .*{cure}'):
            read_recording(tmp_path / name)


def test_a_type_that_is_not_installed_names_its_package(tmp_path, monkeypatch):
    msgtype = 'stereo_msgs/msg/DisparityImage'
    with BagWriter(tmp_path / 'with') as writer:
        writer.write('/stereo', msgtype, 1, stamped(1))
    without_rosbags(monkeypatch, 'jazzy')
    monkeypatch.setitem(sys.modules, 'stereo_msgs.msg', None)
    options = ReadingOptions(imu_field='t,f,t,f,t,f', need_positions=False)
    with pytest.raises(InputError, match=r'stereo_msgs.* ros-.*-stereo-msgs'):
        read_recording(tmp_path / 'with', options)


def test_a_robot_without_pip_trains_evaluates_and_replays(tmp_path, monkeypatch, capsys):
    recording = drive(seconds=64.0)
    bag = str(write_bag(tmp_path / 'bag', recording))
    without_rosbags(monkeypatch, 'jazzy')
    model = str(tmp_path / 'model.npz')
    assert main(['train', bag, '-o', model, '--window', '60']) == 0
    assert main(['evaluate', model, bag]) == 0
    assert main(['replay', model, bag, '-o', str(tmp_path / 'replayed')]) == 0
    assert main(['inspect', str(tmp_path / 'replayed'), '--imu-topic', '/imu']) == 2
    assert '/position' in capsys.readouterr().err


@pytest.mark.parametrize('release', RELEASES)
def test_a_full_disk_is_named_and_nothing_stays(tmp_path, monkeypatch, release):
    without_rosbags(monkeypatch, release)

    def full(*_: object) -> None:
        msg = 'No space left on device'
        raise RuntimeError(msg)

    monkeypatch.setattr(sys.modules['rosbag2_py'].SequentialWriter, 'write', full)
    with pytest.raises(InputError, match=r'bag: .* \(No space left on device\)'):
        write_bag(tmp_path / 'bag', drive(seconds=0.1))
    assert list(tmp_path.iterdir()) == []
