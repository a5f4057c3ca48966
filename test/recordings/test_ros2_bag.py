# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where rosbags is missing, ROS's rosbag2_py reads the same bags."""

from dataclasses import asdict
from pathlib import Path
import shutil
import sys
from types import ModuleType, SimpleNamespace

from ellipse import drive, pack_bag, stamped, write_bag
import numpy as np
import pytest

from two_manifold_ros.__main__ import main
from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.bag_writer import BagWriter
from two_manifold_ros.recordings.reading import read_recording, ReadingOptions

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
rosbag2 = pytest.importorskip('rosbags.rosbag2')


def without_rosbags(monkeypatch):
    """Have the package import the stand-in, and none of its modules that need rosbags."""
    monkeypatch.setitem(sys.modules, 'rosbag2_py', stand_in())
    for name in ('bag', 'message_building'):
        monkeypatch.setitem(sys.modules, f'two_manifold_ros.recordings.{name}', None)
    # A stand-in of another test must not stay in it.
    monkeypatch.delitem(sys.modules, 'two_manifold_ros.recordings.ros2_bag', raising=False)


@pytest.fixture
def bag(tmp_path):
    return write_bag(tmp_path / 'bag', drive(seconds=2.0))


@pytest.mark.parametrize('storage', list(rosbag2.StoragePlugin), ids=str)
@pytest.mark.parametrize('mode', ['NONE', 'FILE', 'MESSAGE'])
def test_it_reads_the_same_recording(bag, tmp_path, monkeypatch, storage, mode):
    pack_bag(bag, tmp_path / 'copy', storage, mode)
    # One file is read as its folder, where no metadata have to say how it is packed.
    files = [file for ending in ('mcap', 'db3') for file in tmp_path.glob(f'copy/*.{ending}')]
    paths = [tmp_path / 'copy', *(files if mode == 'NONE' else [])]
    expected = list(map(read_recording, paths))
    without_rosbags(monkeypatch)
    for path, recording in zip(paths, expected, strict=True):
        np.testing.assert_equal(asdict(read_recording(path)), asdict(recording))


def test_messages_that_were_counted_and_are_not_there_are_a_note(bag, monkeypatch):
    without_rosbags(monkeypatch)
    library = sys.modules['rosbag2_py']
    read = library.Info.read_metadata

    def counting_more(self: object, uri: str, storage: str) -> object:
        metadata = read(self, uri, storage)
        metadata.topics_with_message_count[0].message_count += 3
        return metadata

    monkeypatch.setattr(library.Info, 'read_metadata', counting_more)
    (note,) = read_recording(bag).notes
    assert f'{bag}: 3 messages that its metadata count' in note


def test_what_it_cannot_read_is_refused_in_a_sentence(bag, tmp_path, monkeypatch):
    without_rosbags(monkeypatch)
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
    without_rosbags(monkeypatch)
    monkeypatch.setitem(sys.modules, 'stereo_msgs.msg', None)
    options = ReadingOptions(imu_field='t,f,t,f,t,f', need_positions=False)
    with pytest.raises(InputError, match=r'stereo_msgs.* ros-.*-stereo-msgs'):
        read_recording(tmp_path / 'with', options)


def test_a_robot_without_pip_trains_and_evaluates(tmp_path, monkeypatch):
    bag = str(write_bag(tmp_path / 'bag', drive(seconds=64.0)))
    without_rosbags(monkeypatch)
    model = str(tmp_path / 'model.npz')
    assert main(['train', bag, '-o', model, '--window', '60']) == 0
    assert main(['evaluate', model, bag]) == 0


class Info:
    def read_metadata(self, uri: str, storage_id: str) -> SimpleNamespace:
        path = Path(uri)
        folder_fits = path.is_dir() and (path / 'metadata.yaml').exists()
        if not folder_fits and not (path.is_file() and storage_id in {'mcap', 'sqlite3'}):
            raise RuntimeError(f'No plugin detected that could open {path}')
        with rosbag2.Reader(path) as reader:
            topics = []
            for each in reader.connections:
                form = each.ext.serialization_format
                of = SimpleNamespace(name=each.topic, type=each.msgtype, serialization_format=form)
                topics.append(SimpleNamespace(topic_metadata=of, message_count=each.msgcount))
            return SimpleNamespace(
                topics_with_message_count=topics,
                compression_format=reader.compression_format or '',
            )


class SequentialReader:
    compressed = False

    def open(self, storage: SimpleNamespace, converter: tuple[str, str]) -> None:
        assert converter == ('', '')
        metadata = Info().read_metadata(storage.uri, storage.storage_id)
        if bool(metadata.compression_format) != self.compressed:
            raise RuntimeError('No storage could be initialized from the inputs.')
        self._path = Path(storage.uri)

    def set_filter(self, storage_filter: SimpleNamespace) -> None:
        with rosbag2.Reader(self._path) as reader:
            wanted = [each for each in reader.connections if each.topic in storage_filter.topics]
            self._rows = [(of.topic, bytes(raw), at) for of, at, raw in reader.messages(wanted)]

    def has_next(self) -> bool:
        return bool(self._rows)

    def read_next(self) -> tuple[str, bytes, int]:
        return self._rows.pop(0)


class SequentialCompressionReader(SequentialReader):
    compressed = True


def stand_in() -> ModuleType:
    module = ModuleType('rosbag2_py')
    kinds = {kind.__name__: kind for kind in (Info, SequentialCompressionReader, SequentialReader)}
    plain = dict.fromkeys(('StorageFilter', 'StorageOptions'), SimpleNamespace)
    vars(module).update(kinds | plain, ConverterOptions=lambda *given: given)
    return module
