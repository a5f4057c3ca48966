# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One sentence names each defect of a bag and its cure, hostile or not, in bounded memory."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from io import BytesIO
import os
from pathlib import Path
import re
import shutil
import sqlite3

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.reading import read_recording, ReadingOptions
from two_manifold_ros.recordings.recording import Recording

pytest.importorskip('rosbags')

from ellipse import drive, IMU, POSE, stamped, write_bag, write_messages
from lz4 import frame as lz4
from rosbags import rosbag1
from rosbags.rosbag2 import storage_mcap

from two_manifold_ros.recordings import bag as opening
from two_manifold_ros.recordings.bag import zstd

WITHOUT_POSITIONS = ReadingOptions(need_positions=False)


def file_of(bag: Path) -> Path:
    return next(each for each in bag.iterdir() if each.suffix in {'.mcap', '.db3'})


def refusal(path: Path, options: ReadingOptions = WITHOUT_POSITIONS) -> str:
    """Return the one sentence with which a path is refused; it names the path."""
    message = read_or_refused(path, options)
    assert isinstance(message, str)
    assert '\n' not in message
    assert message.endswith('.')
    return message


def read_or_refused(path: Path, options: ReadingOptions = WITHOUT_POSITIONS) -> Recording | str:
    """Return the recording, or the sentence that refuses the path, which it names."""
    try:
        return read_recording(path, options)
    except InputError as error:
        if str(path) not in str(error):
            raise
        return str(error)


def add_checksums(file: Path, chunk_size: int) -> None:
    """Write a file again by the library of the format: with checksums, in chunks of that size."""
    from mcap.reader import make_reader  # noqa: PLC0415 - walks need no library
    from mcap.writer import Writer  # noqa: PLC0415

    content = BytesIO(file.read_bytes())
    with file.open('wb') as stream:
        writer = Writer(stream, chunk_size=chunk_size)
        writer.start('ros2', 'test')
        numbers: dict[str, int] = {}
        for schema, channel, message in make_reader(content).iter_messages():
            if channel.topic not in numbers:
                kind = writer.register_schema(schema.name, schema.encoding, schema.data)
                numbers[channel.topic] = writer.register_channel(channel.topic, 'cdr', kind)
            number, received = numbers[channel.topic], message.log_time
            writer.add_message(number, received, message.data, message.publish_time)
        writer.finish()


Make = Callable[[Path], Path]


def file(name: str, content: str = '') -> Make:

    def make(folder: Path) -> Path:
        (folder / name).write_text(content)
        return folder / name

    return make


def metadata(content: str) -> Make:
    return lambda folder: file('metadata.yaml', content)(folder).parent


def pipe(folder: Path) -> Path:
    os.mkfifo(folder / 'x.mcap')
    return folder / 'x.mcap'


def database_after(statement: str) -> Make:

    def make(folder: Path) -> Path:
        path = file_of(write_messages(folder / 'bag', ('/imu', IMU, 1, {}), storage='sqlite3'))
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(statement)
        return path

    return make


def ros_1_bag(messages: int, share: float = 1.0) -> Make:
    """Return what makes a bag of texts, and keeps the first part of it."""

    def make(folder: Path) -> Path:
        kind = {'msgtype': 'std_msgs/msg/String', 'msgdef': 'string data', 'md5sum': '0'}
        with rosbag1.Writer(folder / 'old.bag') as writer:
            text = writer.add_connection('/s', **kind) if messages else None
            for stamp in range(messages):
                writer.write(text, stamp, b'\x01\x00\x00\x00a')
        return cut(folder / 'old.bag', share)

    return make


def ros_2_bag(*messages: bytes) -> Make:
    """Return what makes a bag of IMU messages of any bytes, and as many positions."""
    rows = [row for raw in messages for row in (('/imu', IMU, 1, raw), ('/pose', POSE, 1, {}))]
    return lambda folder: write_messages(folder / 'bag', *rows)


def cut(whole: Path, share: float = 0.7) -> Path:
    content = whole.read_bytes()
    whole.write_bytes(content[: int(share * len(content))])
    return whole


OTHER, DAMAGED = 'is no bag: give a rosbag2 folder', 'is damaged, cut short or not supported'
EMPTY, TEXT = 'is empty and not a', 'does not start like a'
REFUSED: list[tuple[str, Make]] = [
    ('does not exist: check the path', lambda folder: folder / 'none'),
    ('is no bag: it holds neither metadata.yaml nor', lambda folder: folder),
    *[(EMPTY, file(name)) for name in ('a.mcap', 'a.db3', 'a.bag', 'a.db3.zstd')],
    *[(OTHER, file(name, 'stamp,x\n')) for name in ('a.txt', 'a', 'a.zip', 'a.csv.zstd')],
    *[(TEXT, file(name, 'not found\n')) for name in ('a.mcap', 'a.db3', 'a.bag', 'a.mcap.zstd')],
    (OTHER, pipe),
    ('is no bag: it holds neither', metadata('{')),
    ('holds no messages at all', ros_1_bag(0)),
    ('holds no IMU topic', ros_1_bag(100)),
    (DAMAGED, ros_1_bag(100, share=0.7)),
    ('holds no messages at all', ros_2_bag()),
    ('A message on /imu in', ros_2_bag(b'\x00\x01\x00\x00\x01\x00')),
    *[('holds more than rows', database_after(statement)) for statement in (
        'CREATE VIEW more AS SELECT * FROM messages',
        'ALTER TABLE messages ADD more GENERATED ALWAYS AS (zeroblob(9))')],
]  # fmt: skip


@pytest.mark.parametrize(('words', 'make'), REFUSED, ids=range(len(REFUSED)))
def test_one_sentence_names_path_cause_and_cure(tmp_path, words, make):
    assert words in refusal(make(tmp_path), ReadingOptions())


def test_a_packed_file_that_is_cut_and_a_bomb_in_it_or_inside(tmp_path, ellipse_bag, monkeypatch):
    packed = tmp_path / 'bag.mcap.zstd'
    packed.write_bytes(zstd.compress(file_of(ellipse_bag).read_bytes()))
    assert len(read_recording(packed).imu.stamps) == 4800
    assert DAMAGED in refusal(cut(packed))
    monkeypatch.setattr(opening, 'ALWAYS_ALLOWED', 1_000_000)
    packed.write_bytes(zstd.compress(bytes(50_000_000)))
    assert 'bytes are packed into it' in refusal(packed)
    monkeypatch.setattr(opening, 'LARGEST_PART', 1_000_000)
    bag = ros_2_bag(zstd.compress(bytes(5_000_000)))(tmp_path)
    assert 'more than 1000000 bytes are packed' in refusal(file_of(bag))


@pytest.mark.parametrize('compression', ['zstd', 'lz4'])
def test_a_bomb_in_a_chunk(compression):
    """`rosbags` would unpack all of it before it looks at the size that is declared."""
    bomb = {'zstd': zstd.compress, 'lz4': lz4.compress}[compression](bytes(30_000_000))
    with pytest.raises(ValueError, match='more than 1000 bytes are packed into a part of it'):
        storage_mcap.decompress(bomb, compression, 1000, 0)
    assert len(opening.unpack(bomb, compression=compression)) == 30_000_000


@pytest.mark.parametrize(
    'listed', ['- ../../secret.mcap', '- /etc/secret.mcap', '- ..', '- ""', '[a, b]']
)
def test_paths_in_the_metadata_lead_nowhere_else(tmp_path, ellipse_bag, listed):
    shutil.copy(file_of(ellipse_bag), tmp_path / 'secret.mcap')
    (tmp_path / 'a' / 'bag').mkdir(parents=True)
    text = f'rosbag2_bagfile_information:\n  relative_file_paths:\n  {listed}\n'
    message = refusal(metadata(text)(tmp_path / 'a' / 'bag'))
    assert 'but not there' in message or 'is no bag' in message
    # A link that leads out of the folder is followed, and reported.
    (tmp_path / 'linked').mkdir()
    (tmp_path / 'linked' / 'x.mcap').symlink_to(file_of(ellipse_bag))
    notes = ' '.join(read_recording(tmp_path / 'linked').notes)
    assert f'x.mcap is a link to {file_of(ellipse_bag)}' in notes


@pytest.mark.parametrize(('quote', 'end'), [('', '\n'), ('"', '\r\n'), ("'", '\n')])
def test_files_are_read_in_the_order_of_their_metadata(tmp_path, ellipse_bag, quote, end):
    names = [f'x {index}.mcap' for index in (2, 1, 3)]
    for name in names:
        shutil.copy(file_of(ellipse_bag), tmp_path / name)
    listed = [f'    - {quote}x/{name}{quote}' for name in names[:2]]
    content = ['a:', '  files:', '    - path: x 3.mcap', '  relative_file_paths:', *listed]
    (tmp_path / 'metadata.yaml').write_bytes(end.join([*content, '  b: 1']).encode())
    with opening.Bag(tmp_path) as bag:
        assert [file.name for file, _ in bag._readers] == names[:2]


def test_names_are_not_all_said_nor_reach_the_terminal_as_they_are(tmp_path):
    rows = [('/imu', IMU, each, stamped(each, f'frame_{each}')) for each in range(1, 40)]
    (note,) = read_recording(write_messages(tmp_path / 'many', *rows), WITHOUT_POSITIONS).notes
    assert 'frame_10' in note
    assert 'frame_11' not in note
    bag = write_messages(tmp_path / 'bag', ('/imu\n\x1b[2J', IMU, 1, {}), storage='sqlite3')
    words = "'/imu\\n\\x1b[2J' (sensor_msgs/msg/Imu, 1 messages)"
    assert words in refusal(bag, ReadingOptions())


def test_other_peoples_bags_are_read_or_refused_clearly(recordings_folder):
    others = recordings_folder / 'others'
    paths = [each for end in ('bag', 'txt', 'mcap', 'db3') for each in others.rglob(f'*.{end}')]
    paths += [found.parent for found in others.rglob('metadata.yaml')]
    assert len(paths) > 60
    found = [(path.name, read_or_refused(path)) for path in paths]
    read = {name for name, each in found if isinstance(each, Recording) and len(each.imu.stamps)}
    assert read >= {'robot_localization_test1.bag', 'test_bag_mcap', 'test_bag_sqlite3'}


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


def test_every_cut(bag):
    content = file_of(bag).read_bytes()
    for share in range(4, 100, 3):
        file_of(bag).write_bytes(content[: len(content) * share // 100])
        assert 'mcap recover' in refusal(file_of(bag))
    # Nothing was written beside it.
    assert len([*bag.iterdir()]) == 2


@pytest.mark.parametrize(('storage', 'least'), [('mcap', 40), ('sqlite3', 5)])
def test_changed_bytes_are_refused_or_change_nothing(tmp_path, whole, storage, least):
    """Wherever they are: in the data, a length, a checksum, or what nobody reads."""
    bag = write_bag(tmp_path / 'bag', drive(seconds=SECONDS), storage=storage)
    file, known, rng = file_of(bag), read_recording(whole), np.random.default_rng(3)
    if storage == 'mcap':
        add_checksums(file, 4_000)
    content, refused = file.read_bytes(), 0
    for begin in rng.integers(len(content), size=80):
        changed = bytearray(content)
        changed[begin : begin + 20] = rng.bytes(len(changed[begin : begin + 20]))
        file.write_bytes(changed)
        found = read_or_refused(file)
        refused += isinstance(found, str)
        # SQLite has no checksums.
        if isinstance(found, Recording) and storage == 'mcap':
            np.testing.assert_equal(asdict(found.imu), asdict(known.imu))
    assert refused > least


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
    metadata = bag / 'metadata.yaml'
    text = metadata.read_text()
    metadata.write_text(text.replace('message_count: 100', f'message_count: {said}'))
    notes = read_recording(bag).notes
    assert len(notes) == bool(lost)
    assert all(f'{bag}: {lost} messages that its metadata count' in note for note in notes)


def test_files_that_are_listed_and_not_there_are_refused_until_the_list_is_removed(bag):
    metadata, name = bag / 'metadata.yaml', file_of(bag).name
    metadata.write_text(metadata.read_text().replace(f'- {name}', f'- {name}\n  - b.mcap', 1))
    assert 'b.mcap is listed' in refusal(bag)
    metadata.unlink()
    assert len(read_recording(bag).imu.stamps) == 80


def test_damaged_sqlite_is_refused_and_a_log_that_was_never_merged_is_named(tmp_path):
    """As a recorder leaves it that was killed."""
    bag = write_bag(tmp_path / 'sqlite', drive(seconds=SECONDS), storage='sqlite3')
    database = file_of(bag)
    content = bytearray(database.read_bytes())
    for damaged in (content[:-20], content[: 8 * 4096] + bytes([77]) + content[8 * 4096 + 1 :]):
        database.write_bytes(damaged)
        words = refusal(database)
        assert DAMAGED in words
        assert 'sqlite3 FILE .recover' in words
    database.write_bytes(content)
    killed = tmp_path / 'killed'
    with closing(sqlite3.connect(database)) as connection:
        for statement in ('journal_mode = WAL', 'wal_autocheckpoint = 0'):
            connection.execute(f'PRAGMA {statement}')
        with connection:
            connection.execute('DELETE FROM messages')
        shutil.copytree(bag, killed)
    before = {each.name: each.read_bytes() for each in killed.iterdir()}
    recording = read_recording(killed / database.name)
    assert len(recording.imu.stamps) == 80
    assert any('PRAGMA wal_checkpoint' in note for note in recording.notes)
    assert {each.name: each.read_bytes() for each in killed.iterdir()} == before
