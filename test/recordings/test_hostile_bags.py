# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bags made to exhaust memory or time, or to read other files, are refused."""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
from typing import TYPE_CHECKING
import warnings

import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.bag_writer import BagWriter
from two_manifold_ros.recordings.reading import read_recording, ReadingOptions

pytest.importorskip('rosbags')

from lz4 import frame as lz4
from mcap_walk import CHANNEL, CHUNK, MAGIC, MESSAGE, SCHEMA
from rosbags.rosbag2 import storage_mcap

from two_manifold_ros.recordings import storage_files
from two_manifold_ros.recordings.damaged_files import SalvagedFile
from two_manifold_ros.recordings.storage_files import read_metadata

if TYPE_CHECKING:
    from pathlib import Path

IMU = 'sensor_msgs/msg/Imu'


def refusal(path: Path) -> str:
    """Return the one sentence with which a path is refused."""
    with pytest.raises(InputError) as caught:
        read_recording(path)
    assert '\n' not in str(caught.value)
    return str(caught.value)


def test_a_bomb_in_a_packed_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_files, 'ALWAYS_ALLOWED', 1_000_000)
    packed = tmp_path / 'bag.mcap.zstd'
    packed.write_bytes(storage_files.zstd.compress(bytes(50_000_000)))
    assert packed.stat().st_size < 10_000
    assert 'more than 1' in refusal(packed)
    assert 'bytes are packed into it' in refusal(packed)


@pytest.mark.parametrize('compression', ['zstd', 'lz4'])
def test_a_bomb_in_a_chunk(compression: str) -> None:
    """`rosbags` would unpack all of it before it looks at the size that is declared."""
    bomb = {'zstd': storage_files.zstd.compress, 'lz4': lz4.compress}[compression](
        bytes(30_000_000)
    )
    with pytest.raises(ValueError, match='more than 1000 bytes are packed into a part of it'):
        storage_mcap.decompress(bomb, compression, 1000, 0)
    assert len(storage_files.unpack(bomb, compression)) == 30_000_000


def test_many_chunks_that_are_bombs_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Salvaged messages are kept in memory until all are read."""
    monkeypatch.setattr(storage_files, 'ALWAYS_ALLOWED', 3_500_000)
    message = struct.pack('<BQHIQQ', MESSAGE, 1_000_000, 1, 0, 1, 1) + bytes(999_978)
    packed = storage_files.zstd.compress(message)
    content = struct.pack('<QQQI', 1, 1, len(message), 0) + text('zstd')
    content += struct.pack('<Q', len(packed)) + packed
    schema = struct.pack('<H', 1) + text(IMU) + text('ros2msg') + text('')
    channel = struct.pack('<HH', 1, 1) + text('/imu') + text('cdr') + text('')
    records = [(SCHEMA, schema), (CHANNEL, channel), *[(CHUNK, content)] * 20]
    file = tmp_path / 'bag.mcap'
    file.write_bytes(MAGIC + b''.join(struct.pack('<BQ', c, len(r)) + r for c, r in records))
    assert file.stat().st_size < 10_000
    assert SalvagedFile(file, '').message_count == 3


def text(words: str) -> bytes:
    """Return a text as MCAP has it."""
    return struct.pack('<I', len(words)) + words.encode()


def test_a_message_that_is_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_files.unpack, '__defaults__', (1_000_000,))
    with BagWriter(tmp_path / 'bag') as bag:
        bag.write_raw('/imu', IMU, 1, storage_files.zstd.compress(bytes(5_000_000)))
        bag.write('/pose', 'geometry_msgs/msg/PoseStamped', 1, {})
    assert 'more than 1000000 bytes are packed' in refusal(tmp_path / 'bag')


def test_a_database_that_calculates_its_rows(tmp_path: Path) -> None:
    file = tmp_path / 'bag.db3'
    database = sqlite3.connect(file)
    database.executescript(
        """
        CREATE TABLE topics(id, name, type, serialization_format);
        INSERT INTO topics VALUES (1, '/imu', 'sensor_msgs/msg/Imu', 'cdr');
        CREATE TABLE messages(
          id, topic_id, timestamp, data BLOB GENERATED ALWAYS AS (zeroblob(900000000)));
        INSERT INTO messages VALUES (1, 1, 1);
        """
    )
    database.close()
    assert 'it holds views, triggers or calculated columns' in refusal(file)


@pytest.mark.parametrize(
    'listed',
    ['[../../secret.mcap]', '[/etc/passwd]', '[..]', '[""]', '[{a: b}]', '[[[x]]]', '{a: b}'],
)
def test_paths_in_the_metadata_lead_nowhere_else(
    tmp_path: Path, ellipse_bag: Path, listed: str
) -> None:
    shutil.copy(ellipse_bag / 'ellipse.mcap', tmp_path / 'secret.mcap')
    bag = tmp_path / 'a' / 'bag'
    bag.mkdir(parents=True)
    (bag / 'metadata.yaml').write_text(
        f'rosbag2_bagfile_information: {{relative_file_paths: {listed}}}'
    )
    message = refusal(bag)
    assert 'but not there' in message or 'is damaged' in message or 'is no bag' in message


def test_metadata_that_is_a_bomb(tmp_path: Path) -> None:
    """Nested aliases of lists, which expand exponentially."""
    lines = ['a0: &a0 [x, x]'] + [f'a{n}: &a{n} [*a{n - 1}, *a{n - 1}]' for n in range(1, 60)]
    lines += ['rosbag2_bagfile_information:', '  relative_file_paths: *a59']
    (tmp_path / 'metadata.yaml').write_text('\n'.join(lines))
    assert 'is damaged' in refusal(tmp_path)
    (tmp_path / 'metadata.yaml').write_text(2_000_000 * 'a')
    assert 'is damaged' in refusal(tmp_path)
    (tmp_path / 'metadata.yaml').write_text('a: !!python/object/apply:os.system [exit]')
    assert 'is damaged' in refusal(tmp_path)


@pytest.mark.parametrize(
    'text',
    ['[' * 40_000, '[' + ','.join(['[[a]]'] * 60) + ']', '- a\n' * 20_000],
    ids=['deep', 'many', 'long'],
)
def test_metadata_that_would_take_long_is_not_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr('ruamel.yaml.YAML.load', lambda *_: pytest.fail('it was parsed'))
    (tmp_path / 'metadata.yaml').write_text(text)
    assert 'is damaged' in refusal(tmp_path)


def test_metadata_that_names_things_twice_prints_nothing(tmp_path: Path) -> None:
    (tmp_path / 'metadata.yaml').write_text('a:\n' + '- &a x\n' * 9)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert 'is damaged' in refusal(tmp_path)


@pytest.mark.parametrize('indent', ['  ', '    '])
def test_a_bag_in_thousands_of_files_is_read(tmp_path: Path, indent: str) -> None:
    """Repeated notes about each of them are ignored."""
    names = [f'x_{index}.mcap' for index in range(2000)]
    listed = ''.join(f'{indent}- {name}\n' for name in names)
    text = ''.join(
        f'{indent}- path: {name}\n{indent}  message_count: 1\n' + 20 * f'{indent}  # to fill\n'
        for name in names
    )
    (tmp_path / 'metadata.yaml').write_text(
        f'rosbag2_bagfile_information:\n  files:\n{text}  message_count: 2000\n'
        f'  topics_with_message_count:\n{indent}- message_count: 9\n'
        f'  relative_file_paths:\n{listed}  duration:\n    nanoseconds: 1500000000\n'
    )
    assert read_metadata(tmp_path / 'metadata.yaml') == (names, 2000, 1.5)


def test_a_link_out_of_the_folder_is_reported(tmp_path: Path, ellipse_bag: Path) -> None:
    (tmp_path / 'bag').mkdir()
    (tmp_path / 'bag' / 'x.mcap').symlink_to(ellipse_bag / 'ellipse.mcap')
    notes = ' '.join(read_recording(tmp_path / 'bag').notes)
    assert f'x.mcap is a link, and what is read is {ellipse_bag / "ellipse.mcap"}' in notes


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / 'x.mcap')
    assert 'is not a readable file' in refusal(tmp_path / 'x.mcap')
    assert 'is not a readable file' in refusal(tmp_path)


def test_frames_that_change_all_the_time_are_not_all_kept(tmp_path: Path) -> None:
    with BagWriter(tmp_path / 'bag') as bag:
        for stamp in range(1, 40):
            header = {'stamp': {'sec': stamp, 'nanosec': 0}, 'frame_id': f'frame_{stamp}'}
            bag.write('/imu', IMU, stamp, {'header': header})
    (note,) = read_recording(tmp_path / 'bag', ReadingOptions(need_positions=False)).notes
    assert 'frame_10' in note
    assert 'frame_11' not in note


def test_a_receive_time_beyond_all_times(tmp_path: Path) -> None:
    """Of 64 bits without a sign, where others have one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr('rosbags.rosbag2.Writer.set_compression', lambda *_: None)
        with BagWriter(tmp_path / 'bag') as bag:
            for stamp in (1, 0x7000_0000_0000_0008):
                header = {'stamp': {'sec': 1, 'nanosec': 0}, 'frame_id': ''}
                bag.write('/imu', IMU, stamp, {'header': header})
                bag.write('/pose', 'geometry_msgs/msg/PoseStamped', stamp, {'header': header})
    file = tmp_path / 'bag' / 'bag.mcap'
    file.write_bytes(file.read_bytes().replace(b'\x08' + bytes(6) + b'\x70', b'\xff' * 8))
    assert 'A message on /imu' in refusal(tmp_path / 'bag')
    assert len(read_recording(tmp_path / 'bag', ReadingOptions(salvage=True)).imu.stamps) == 1


@pytest.mark.parametrize('column', ['name', 'type'])
def test_a_topic_that_is_no_text(tmp_path: Path, column: str) -> None:
    with BagWriter(tmp_path / 'bag', storage='sqlite3') as bag:
        bag.write('/imu', IMU, 1, {})
    database = sqlite3.connect(tmp_path / 'bag' / 'bag.db3')
    database.execute(f"UPDATE topics SET {column} = x'00ff'")  # noqa: S608 - one of two words
    database.commit()
    database.close()
    assert 'the name of a topic or of its type is no text' in refusal(tmp_path / 'bag')


def test_names_do_not_reach_the_terminal_as_they_are(tmp_path: Path) -> None:
    with BagWriter(tmp_path / 'bag', storage='sqlite3') as bag:
        bag.write('/imu\n\x1b[2J', IMU, 1, {})
    assert "'/imu\\n\\x1b[2J' (sensor_msgs/msg/Imu, 1 messages)" in refusal(tmp_path / 'bag')
    assert (
        len(read_recording(tmp_path / 'bag', ReadingOptions(need_positions=False)).imu.stamps) == 1
    )
