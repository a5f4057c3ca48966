# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A damaged bag is refused in one sentence, and used as far as it goes if asked."""

from pathlib import Path
import re
import shutil
import sqlite3
import struct

import numpy as np
import pytest

from two_manifold_ros.recordings.reading import read_recording, ReadingOptions

pytest.importorskip('rosbags')

from bag_builders import (
    add_checksums,
    CHANNEL,
    CHUNK,
    file_of,
    MAGIC,
    MESSAGE,
    read_or_refused,
    records,
    refusal,
    SALVAGING,
    SCHEMA,
    WITHOUT_POSITIONS,
)
from ellipse import drive, IMU, stamped, write_bag, write_messages

from two_manifold_ros.recordings import storage_files
from two_manifold_ros.recordings.bag import SalvagedFile

SECONDS = 0.8


@pytest.fixture(scope='module')
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bag of 80 samples, with checksums and a chunk for about every 10 messages."""
    bag = write_bag(tmp_path_factory.mktemp('salvage') / 'bag', drive(seconds=SECONDS))
    add_checksums(file_of(bag), 4_000)
    return bag


@pytest.fixture
def bag(whole: Path, tmp_path: Path) -> Path:
    return shutil.copytree(whole, tmp_path / 'bag')


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Return the SQLite file of a bag of 80 samples."""
    return file_of(write_bag(tmp_path / 'sqlite', drive(seconds=SECONDS), storage='sqlite3'))


def saved(path: Path) -> tuple[int, str]:
    """Return how many samples can be salvaged, and what is said; 0 and the refusal if none."""
    found = read_or_refused(path, SALVAGING)
    return (0, found) if isinstance(found, str) else (len(found.imu.stamps), ' '.join(found.notes))


def test_every_cut(bag):
    """Each hundredth of the file less: one sentence unasked, and never more saved than before."""
    file = file_of(bag)
    content = file.read_bytes()
    whole = read_recording(file, WITHOUT_POSITIONS).imu
    most = 0
    for share in range(1, 100):
        file.write_bytes(content[: len(content) * share // 100])
        sentence = refusal(file)
        count, words = saved(file)
        assert str(file) in words
        assert most <= count <= 80
        most = count
        if count:
            assert 'is damaged, cut short or not supported' in sentence
            assert '--salvage' in sentence
            assert 'bytes' in words
            assert 'how many messages are lost is not known' in words
    assert most >= 60
    salvaged = read_recording(file, SALVAGING).imu
    places = np.searchsorted(whole.stamps, salvaged.stamps)
    assert np.array_equal(salvaged.stamps, whole.stamps[places])
    assert np.array_equal(salvaged.samples, whole.samples[places])
    assert sorted(each.name for each in bag.iterdir()) == sorted(['metadata.yaml', file.name])


def test_a_sound_bag_loses_nothing(bag):
    plain = read_recording(bag)
    asked = read_recording(bag, ReadingOptions(salvage=True))
    assert asked.notes == plain.notes == ()
    assert np.array_equal(asked.imu.samples, plain.imu.samples)


def cut_off(content: bytearray, _: list[int], __: list[int]) -> None:
    del content[len(content) * 3 // 10 :]


def wrong_bytes(content: bytearray, _: list[int], ends: list[int]) -> None:
    content[ends[4] - 40 : ends[4] - 20] = bytes(20)


def impossible_length(content: bytearray, begins: list[int], _: list[int]) -> None:
    content[begins[4] - 4] = 200
    # As long as the list of chunks is there, the length that a chunk states is not read.
    del content[-30:]


def wrong_checksum(content: bytearray, begins: list[int], _: list[int]) -> None:
    content[begins[4] + 24] = 1


def all_spoilt(content: bytearray, _: list[int], ends: list[int]) -> None:
    for end in ends:
        content[end - 9 : end] = bytes(9)


@pytest.mark.parametrize(
    ('spoil', 'least', 'most', 'words'),
    [
        (cut_off, 1, 40, r'[1-9]\d of 100 messages and 0\.[0-7] of 0\.8 s are lost'),
        (wrong_bytes, 60, 79, r' is damaged .* [1-9]\d* of 100 messages'),
        (impossible_length, 30, 39, 'bytes cannot be read'),
        (wrong_checksum, 60, 79, 'checksum'),
        (all_spoilt, 0, 0, 'Nothing is left of .* bytes cannot be read'),
    ],
)
def test_what_is_damaged_is_lost_and_reported(bag, spoil, least, most, words):
    content = bytearray(file_of(bag).read_bytes())
    chunks = [each for each in records(bytes(content), 8) if each.code == CHUNK]
    spoil(content, [each.begin for each in chunks], [each.end for each in chunks])
    file_of(bag).write_bytes(content)
    assert '--salvage' in refusal(file_of(bag))
    count, found = saved(bag)
    assert least <= count <= most
    assert re.search(words, found)
    lost, size = re.findall(r' (\d+) of its (\d+) bytes cannot be read', found)[0]
    assert int(lost) > (0 if count else int(size) // 2)


def test_a_record_that_vanishes_without_a_checksum_is_missed(tmp_path, monkeypatch):
    """In a bag of 80 samples whose only chunk has no checksum and is not packed."""
    monkeypatch.setattr('rosbags.rosbag2.Writer.set_compression', lambda *_: None)
    bag = write_bag(tmp_path / 'unvouched', drive(seconds=SECONDS))
    content = bytearray(file_of(bag).read_bytes())
    chunk = next(each for each in records(bytes(content), 8) if each.code == CHUNK)
    # Its head is 40 bytes long where nothing is packed.
    inside = bytes(content[chunk.begin + 40 : chunk.end])
    messages = [each for each in records(inside) if each.code == MESSAGE]
    content[chunk.begin + 40 + messages[60].begin - 9] = 77
    file_of(bag).write_bytes(content)
    assert re.search(r'1 of [82]0 messages on .* are not there', refusal(file_of(bag)))
    count, words = saved(bag)
    assert count == 79
    assert '1 of 100 messages' in words


@pytest.mark.parametrize(('said', 'lost'), [(130, 30), (70, 0)])
def test_metadata_that_count_otherwise_refuse_nothing(bag, said, lost):
    """As of a recorder that dropped messages which it had counted, or was taken up again."""
    metadata = (bag / 'metadata.yaml').read_text()
    changed = metadata.replace('message_count: 100', f'message_count: {said}')
    (bag / 'metadata.yaml').write_text(changed)
    notes = read_recording(bag).notes
    assert len(notes) == bool(lost)
    assert all(f'holds 100 messages, and its metadata count {said}' in note for note in notes)
    file_of(bag).write_bytes(file_of(bag).read_bytes()[:-20])
    assert 'is damaged' in refusal(file_of(bag))
    words = f' {lost} of {said} messages' if lost else 'how many messages are lost is not'
    assert words in saved(bag)[1]


def test_flipped_bits_never_raise_anything_else(bag):
    file = file_of(bag)
    whole = file.read_bytes()
    chance = np.random.default_rng(2)
    counts = []
    for _ in range(15):
        content = np.frombuffer(whole, np.uint8).copy()
        content[chance.integers(len(content), size=8)] ^= np.uint8(1) << np.uint8(
            chance.integers(8)
        )
        file.write_bytes(content.tobytes())
        counts.append(saved(bag)[0])
    assert max(counts) > 40


@pytest.mark.parametrize(
    ('listed', 'refused', 'noted'),
    [
        (None, '--salvage', 'metadata.yaml is damaged'),
        ('b.mcap', 'b.mcap is listed', 'b.mcap is listed in metadata.yaml but not there'),
    ],
)
def test_damaged_metadata_and_missing_files_are_passed_over(bag, listed, refused, noted):
    metadata, name = bag / 'metadata.yaml', file_of(bag).name
    text = metadata.read_text().replace(f'- {name}', f'- {name}\n  - {listed}', 1)
    metadata.write_text(text if listed else '{')
    assert refused in refusal(bag)
    count, words = saved(bag)
    assert count == 80
    assert noted in words


def test_a_packed_file_that_is_cut_off(bag, tmp_path):
    packed = tmp_path / f'{file_of(bag).name}.zstd'
    content = file_of(bag).read_bytes()
    parts = content[: len(content) // 2], content[-9000:]
    first, second = (storage_files.zstd.compress(part) for part in parts)
    packed.write_bytes(first + second[:-5000])
    assert '--salvage' in refusal(packed)
    count, words = saved(packed)
    assert 0 < count < 80
    assert f'{packed} is damaged' in words


def test_many_chunks_that_are_bombs_together(tmp_path, monkeypatch):
    """Salvaged messages are kept in memory until all are read."""
    monkeypatch.setattr(storage_files, 'ALWAYS_ALLOWED', 3_500_000)
    message = struct.pack('<BQHIQQ', MESSAGE, 1_000_000, 1, 0, 1, 1) + bytes(999_978)
    packed = storage_files.zstd.compress(message)
    content = struct.pack('<QQQI', 1, 1, len(message), 0) + text('zstd')
    content += struct.pack('<Q', len(packed)) + packed
    schema = struct.pack('<H', 1) + text(IMU) + text('ros2msg') + text('')
    channel = struct.pack('<HH', 1, 1) + text('/imu') + text('cdr') + text('')
    parts = [(SCHEMA, schema), (CHANNEL, channel), *[(CHUNK, content)] * 20]
    file = tmp_path / 'bag.mcap'
    file.write_bytes(MAGIC + b''.join(struct.pack('<BQ', c, len(r)) + r for c, r in parts))
    assert file.stat().st_size < 10_000
    assert SalvagedFile(file, '').message_count == 3


def text(words: str) -> bytes:
    """Return a text as MCAP has it."""
    return struct.pack('<I', len(words)) + words.encode()


def test_messages_that_cannot_be_decoded_are_counted(tmp_path):
    rows = [('/imu', IMU, stamp, stamped(stamp)) for stamp in range(1, 5)]
    bag = write_messages(tmp_path / 'bag', *rows, ('/imu', IMU, 5, b'\x00\x01\x00\x00\x01\x00'))
    assert '--salvage' in refusal(bag)
    assert saved(bag) == (4, '1 messages on /imu are damaged and left out.')


def test_damaged_sqlite_is_refused_with_the_tool_that_saves_it(database):
    content = bytearray(database.read_bytes())
    for damaged in (content[:-20], content[: 8 * 4096] + bytes([77]) + content[8 * 4096 + 1 :]):
        database.write_bytes(damaged)
        for words in (refusal(database), saved(database)[1]):
            assert str(database) in words
            assert 'is damaged, cut short or not supported' in words
            assert 'sqlite3 FILE .recover' in words


def test_a_log_that_was_never_merged_is_named(database, tmp_path):
    """As a recorder leaves it that was killed."""
    connection = sqlite3.connect(database)
    connection.execute('PRAGMA journal_mode = WAL')
    connection.execute('PRAGMA wal_autocheckpoint = 0')
    rows = connection.execute('SELECT topic_id, timestamp, data FROM messages').fetchall()
    statement = 'INSERT INTO messages (topic_id, timestamp, data) VALUES (?, ?, ?)'
    connection.executemany(statement, rows[:50])
    connection.commit()
    killed = tmp_path / 'killed'
    killed.mkdir()
    for name in (database.name, f'{database.name}-wal'):
        shutil.copyfile(database.with_name(name), killed / name)
    connection.close()
    before = {each.name: each.read_bytes() for each in killed.iterdir()}
    recording = read_recording(killed / database.name)
    assert len(recording.imu.stamps) == 80
    assert any('PRAGMA wal_checkpoint' in note for note in recording.notes)
    assert {each.name: each.read_bytes() for each in killed.iterdir()} == before


def test_a_ros_1_bag_is_refused_as_ever(tmp_path):
    (tmp_path / 'old.bag').write_bytes(b'#ROSBAG V2.0\n' + bytes(100))
    assert 'try "rosbag reindex"' in saved(tmp_path / 'old.bag')[1]
