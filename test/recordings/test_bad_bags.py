# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One sentence names each defect of a bag and its cure."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.bag_writer import BagWriter
from two_manifold_ros.recordings.reading import read_recording, ReadingOptions

pytest.importorskip('rosbags')
rosbag1 = pytest.importorskip('rosbags.rosbag1')
rosbag2 = pytest.importorskip('rosbags.rosbag2')

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from two_manifold_ros.recordings.recording import Recording

IMU = 'sensor_msgs/msg/Imu'


def refusal(path: Path) -> str:
    """Return the one sentence with which a path is refused; it names the path."""
    with pytest.raises(InputError) as caught:
        read_recording(path)
    message = str(caught.value)
    assert str(path) in message
    assert '\n' not in message
    assert message.endswith('.')
    return message


def read_or_refused(path: Path) -> Recording | None:
    """Return the recording, or nothing where the path is refused in a sentence that names it."""
    try:
        return read_recording(path, ReadingOptions(need_positions=False))
    except InputError as error:
        if str(path) not in str(error):
            raise
        return None


def cut(file: Path, share: float = 0.7) -> None:
    """Keep the first part of a file only."""
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    assert 'does not exist: check the path' in refusal(tmp_path / 'none')


def test_an_empty_folder(tmp_path: Path) -> None:
    assert 'is no bag: it holds neither metadata.yaml nor' in refusal(tmp_path)


@pytest.mark.parametrize('name', ['a.mcap', 'a.db3', 'a.bag', 'a.db3.zstd'])
def test_an_empty_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    assert 'is empty, so it was never finished' in refusal(tmp_path / name)


@pytest.mark.parametrize('name', ['a.txt', 'a', 'a.zip', 'a.csv.zstd'])
def test_a_file_of_another_kind(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('stamp,x,y\n')
    assert 'is no bag: give a rosbag2 folder' in refusal(tmp_path / name)


@pytest.mark.parametrize('name', ['a.mcap', 'a.db3', 'a.bag', 'a.mcap.zstd'])
def test_a_text_file_with_the_name_of_a_bag(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('not found\n')
    assert 'does not start like a' in refusal(tmp_path / name)


@pytest.mark.parametrize(
    ('storage', 'cure'), [('mcap', 'what is left of it with --salvage'), ('sqlite3', '.recover')]
)
def test_a_truncated_bag(
    tmp_path: Path,
    drive: Callable[..., Recording],
    write_bag: Callable[..., Path],
    storage: str,
    cure: str,
) -> None:
    bag = write_bag(tmp_path / 'bag', drive(seconds=4.0), storage=storage)
    (file,) = (each for each in bag.iterdir() if each.suffix != '.yaml')
    cut(file)
    message = refusal(bag)
    assert f'{file} is damaged, cut short or not supported' in message
    assert cure in message


def test_a_truncated_zstd_file(tmp_path: Path, ellipse_bag: Path) -> None:
    zstd = pytest.importorskip('backports.zstd')
    packed = tmp_path / 'bag.mcap.zstd'
    packed.write_bytes(zstd.compress((ellipse_bag / 'ellipse.mcap').read_bytes()))
    assert len(read_recording(packed).imu.stamps) == 4800
    cut(packed)
    assert 'is damaged, cut short' in refusal(packed)


def test_a_truncated_ros_1_bag(tmp_path: Path) -> None:
    with rosbag1.Writer(tmp_path / 'old.bag') as writer:
        text = writer.add_connection('/s', 'std_msgs/msg/String', msgdef='string data', md5sum='0')
        for stamp in range(100):
            writer.write(text, stamp, b'\x01\x00\x00\x00a')
    assert 'holds no IMU topic' in refusal(tmp_path / 'old.bag')
    cut(tmp_path / 'old.bag')
    assert 'try "rosbag reindex"' in refusal(tmp_path / 'old.bag')


def test_an_empty_ros_1_bag(tmp_path: Path) -> None:
    with rosbag1.Writer(tmp_path / 'old.bag'):
        pass
    assert 'holds no messages at all' in refusal(tmp_path / 'old.bag')


def test_an_empty_ros_2_bag(tmp_path: Path) -> None:
    with BagWriter(tmp_path / 'bag'):
        pass
    assert 'holds no messages at all' in refusal(tmp_path / 'bag')


def test_a_file_of_a_split_bag_is_missing(tmp_path: Path, ellipse_bag: Path) -> None:
    shutil.copytree(ellipse_bag, tmp_path / 'bag')
    (tmp_path / 'bag' / 'ellipse.mcap').unlink()
    assert 'ellipse.mcap is listed in metadata.yaml but not there' in refusal(tmp_path / 'bag')


@pytest.mark.parametrize(
    'content',
    ['', '{', 'a: b', 'rosbag2_bagfile_information: 3', 'rosbag2_bagfile_information:\n'],
)
def test_damaged_metadata_can_be_removed(tmp_path: Path, ellipse_bag: Path, content: str) -> None:
    bag = tmp_path / 'bag'
    shutil.copytree(ellipse_bag, bag)
    (bag / 'metadata.yaml').write_text(content)
    assert 'metadata.yaml is damaged: remove it' in refusal(bag)
    (bag / 'metadata.yaml').unlink()
    assert len(read_recording(bag).imu.stamps) == 4800


def test_metadata_without_files(tmp_path: Path) -> None:
    (tmp_path / 'metadata.yaml').write_text(
        'rosbag2_bagfile_information: {relative_file_paths: []}'
    )
    assert 'lists no files, so the recording is empty' in refusal(tmp_path)


def test_a_message_that_is_cut_short(tmp_path: Path) -> None:
    with BagWriter(tmp_path / 'bag') as bag:
        bag.write_raw('/imu', IMU, 1, b'\x00\x01\x00\x00\x01\x00')
        bag.write('/pose', 'geometry_msgs/msg/PoseStamped', 1, {})
    assert 'A message on /imu in' in refusal(tmp_path / 'bag')


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_flipped_bytes_never_raise_anything_else(
    tmp_path: Path, drive: Callable[..., Recording], write_bag: Callable[..., Path], storage: str
) -> None:
    bag = write_bag(tmp_path / 'bag', drive(seconds=0.5), storage=storage)
    (file,) = (each for each in bag.iterdir() if each.suffix != '.yaml')
    whole = file.read_bytes()
    chance = np.random.default_rng(5)
    refused = 0
    for _ in range(60):
        content = np.frombuffer(whole, np.uint8).copy()
        content[chance.integers(len(content), size=20)] = chance.integers(256, size=20)
        file.write_bytes(content.tobytes())
        refused += read_or_refused(bag) is None
    assert refused > 5


def test_other_peoples_bags_are_read_or_refused_clearly(recordings_folder: Path) -> None:
    others = recordings_folder / 'others'
    paths = [*others.rglob('*.bag'), *others.rglob('*.txt')]
    paths += [file.parent for file in others.rglob('metadata.yaml')]
    paths += [*others.rglob('*.mcap'), *others.rglob('*.db3')]
    assert len(paths) > 60
    read = set()
    for path in paths:
        recording = read_or_refused(path)
        if recording is not None:
            assert len(recording.imu.stamps)
            read.add(path.name)
    assert read >= {'robot_localization_test1.bag', 'test_bag_mcap', 'test_bag_sqlite3'}


@pytest.mark.parametrize(
    ('topic', 'count'), [('/fix', 989), ('husky_velocity_controller/odom', 3952)]
)
def test_a_husky_of_ros_1(recordings_folder: Path, topic: str, count: int) -> None:
    path = recordings_folder / 'others' / 'robot_localization_test1.bag'
    recording = read_recording(path, ReadingOptions(position_topic=topic))
    assert recording.positions is not None
    assert len(recording.positions.positions) == count
    assert (recording.positions.origin is not None) == (topic == '/fix')
