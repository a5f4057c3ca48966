# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A damaged bag is refused in one sentence that names the tool that saves the rest."""

from pathlib import Path
import re
import shutil
import sqlite3

import pytest

from two_manifold_ros.recordings.reading import read_recording

pytest.importorskip('rosbags')

from bag_builders import (
    add_checksums,
    CHUNK,
    file_of,
    MESSAGE,
    records,
    refusal,
)
from ellipse import drive, write_bag

SECONDS = 0.8


@pytest.fixture(scope='module')
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bag of 80 samples, with checksums and a chunk for about every 10 messages."""
    bag = write_bag(tmp_path_factory.mktemp('damaged') / 'bag', drive(seconds=SECONDS))
    add_checksums(file_of(bag), 4_000)
    return bag


@pytest.fixture
def bag(whole: Path, tmp_path: Path) -> Path:
    return shutil.copytree(whole, tmp_path / 'bag')


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Return the SQLite file of a bag of 80 samples."""
    return file_of(write_bag(tmp_path / 'sqlite', drive(seconds=SECONDS), storage='sqlite3'))


def test_every_cut(bag):
    file = file_of(bag)
    content = file.read_bytes()
    for share in range(1, 100):
        file.write_bytes(content[: len(content) * share // 100])
        assert str(file) in refusal(file)
    assert 'mcap recover' in refusal(file)
    assert sorted(each.name for each in bag.iterdir()) == sorted(['metadata.yaml', file.name])


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
    'spoil', [cut_off, wrong_bytes, impossible_length, wrong_checksum, all_spoilt]
)
def test_what_is_damaged_is_refused(bag, spoil):
    content = bytearray(file_of(bag).read_bytes())
    chunks = [each for each in records(bytes(content), 8) if each.code == CHUNK]
    spoil(content, [each.begin for each in chunks], [each.end for each in chunks])
    file_of(bag).write_bytes(content)
    assert 'mcap recover' in refusal(file_of(bag))


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


@pytest.mark.parametrize(('said', 'lost'), [(130, 30), (70, 0)])
def test_metadata_that_count_otherwise_refuse_nothing(bag, said, lost):
    """As of a recorder that dropped messages which it had counted, or was taken up again."""
    metadata = (bag / 'metadata.yaml').read_text()
    changed = metadata.replace('message_count: 100', f'message_count: {said}')
    (bag / 'metadata.yaml').write_text(changed)
    notes = read_recording(bag).notes
    assert len(notes) == bool(lost)
    assert all(f'holds 100 messages, and its metadata count {said}' in note for note in notes)


@pytest.mark.parametrize(
    ('listed', 'refused'), [(None, 'remove it'), ('b.mcap', 'b.mcap is listed')]
)
def test_damaged_metadata_and_missing_files_are_passed_over_once_removed(bag, listed, refused):
    metadata, name = bag / 'metadata.yaml', file_of(bag).name
    text = metadata.read_text().replace(f'- {name}', f'- {name}\n  - {listed}', 1)
    metadata.write_text(text if listed else '{')
    assert refused in refusal(bag)
    metadata.unlink()
    assert len(read_recording(bag).imu.stamps) == 80


def test_damaged_sqlite_is_refused_with_the_tool_that_saves_it(database):
    content = bytearray(database.read_bytes())
    for damaged in (content[:-20], content[: 8 * 4096] + bytes([77]) + content[8 * 4096 + 1 :]):
        database.write_bytes(damaged)
        words = refusal(database)
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
