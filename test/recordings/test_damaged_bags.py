# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A damaged bag is refused in one sentence that names the tool that saves the rest."""

from pathlib import Path
import re
import shutil
import sqlite3

import numpy as np
import pytest

from two_manifold_ros.recordings.reading import read_recording

pytest.importorskip('rosbags')

from bag_builders import add_checksums, file_of, read_or_refused, refusal
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
    for share in range(1, 100, 3):
        file.write_bytes(content[: len(content) * share // 100])
        assert 'mcap recover' in refusal(file) or share < 2
    assert sorted(each.name for each in bag.iterdir()) == sorted(['metadata.yaml', file.name])


def test_changed_bytes_are_refused_or_change_nothing(bag, whole):
    """Wherever they are: in the data, a length, a checksum, or what nobody reads."""
    file, known, rng = file_of(bag), read_recording(whole), np.random.default_rng(3)
    content, refused = file.read_bytes(), 0
    for begin in rng.integers(len(content), size=80):
        changed = bytearray(content)
        changed[begin : begin + 20] = rng.bytes(len(changed[begin : begin + 20]))
        file.write_bytes(changed)
        found = read_or_refused(file)
        if isinstance(found, str):
            refused += 1
        else:
            np.testing.assert_array_equal(found.imu.samples, known.imu.samples)
            np.testing.assert_array_equal(found.imu.stamps, known.imu.stamps)
    assert refused > 40


def test_a_record_that_vanishes_without_a_checksum_is_missed(tmp_path, monkeypatch):
    monkeypatch.setattr('rosbags.rosbag2.Writer.set_compression', lambda *_: None)
    bag = write_bag(tmp_path / 'unvouched', drive(seconds=SECONDS))
    content = bytearray(file_of(bag).read_bytes())
    # Each record begins with its code, 5 of a message, and its length.
    begins = [each.start() for each in re.finditer(rb'\x05.\x01\0{6}', content, re.DOTALL)]
    assert len(begins) == 80
    content[begins[60]] = 77
    file_of(bag).write_bytes(content)
    assert '1 of 80 messages on' in refusal(file_of(bag))


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
        assert 'is damaged, cut short or not supported' in words
        assert 'sqlite3 FILE .recover' in words


def test_a_log_that_was_never_merged_is_named(database, tmp_path):
    """As a recorder leaves it that was killed."""
    connection = sqlite3.connect(database)
    connection.execute('PRAGMA journal_mode = WAL')
    connection.execute('PRAGMA wal_autocheckpoint = 0')
    columns = 'topic_id, timestamp, data'
    connection.execute(f'INSERT INTO messages ({columns}) SELECT {columns} FROM messages')  # noqa: S608
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
