# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Read what is left of a damaged file of a bag (``--salvage``).

MCAP files go through the reader of the library `mcap`, record by record, up to the first one that
makes no sense; a chunk that is damaged in itself is left out. SQLite files are copied and read row
by row; rows on damaged pages are left out.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing, suppress
from io import BytesIO
from pathlib import Path
import shutil
import sqlite3
import struct
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, NamedTuple, TYPE_CHECKING, TypeAlias
from zlib import crc32

from rosbags import rosbag1, rosbag2
from rosbags.interfaces import (
    Connection,
    ConnectionExtRosbag2,
    MessageDefinition,
    MessageDefinitionFormat,
)

from two_manifold_ros.errors import InputError, rosbags_wanted
from two_manifold_ros.recordings.storage_files import (
    check_schema,
    LARGEST_PART,
    largest_unpacked,
    UNMERGED,
    unpack,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from mcap.records import Channel, Chunk, McapRecord

    from two_manifold_ros.recordings.storage_files import Metadata


class Saved(NamedTuple):
    """One message: the number of its topic, when it was received (ns), and its bytes."""

    topic: int
    received: int
    raw: bytes


class SavedTopic(NamedTuple):
    """A topic of a file: its name, its type in the ROS 2 spelling, and its serialisation."""

    name: str
    msgtype: str
    serialisation: str


class SalvagedFile:
    """
    Readable part of a damaged file, in the form of a reader of `rosbags`.

    Parameters
    ----------
    file
        An ``.mcap`` or ``.db3`` file, not compressed.
    kind
        ``.mcap`` or ``.db3``.
    reason
        Why it cannot be read as a whole, as part of a sentence.

    Attributes
    ----------
    damage
        What of it is lost, as part of a sentence.
    connections
        Its topics.
    message_count, start_time, end_time
        How many messages there are, and from when to when they were received, ns.

    """

    def __init__(self, file: Path, kind: str, reason: str) -> None:
        self.reason = reason
        salvage = _salvage_mcap if kind == '.mcap' else _salvage_sqlite
        topics, messages, self.damage = salvage(file)
        known = [each for each in messages if each.topic in topics]
        self._messages = sorted(known, key=lambda each: each.received)
        counts = Counter(each.topic for each in known)
        self.connections = [
            Connection(
                number,
                topic.name,
                topic.msgtype,
                MessageDefinition(MessageDefinitionFormat.NONE, ''),
                '',
                counts[number],
                ConnectionExtRosbag2(topic.serialisation, []),
                self,
            )
            for number, topic in topics.items()
        ]
        self.message_count = len(known)
        self.start_time = self._messages[0].received if known else 0
        self.end_time = self._messages[-1].received + 1 if known else 0

    def messages(
        self, connections: Collection[Connection] = ()
    ) -> Iterator[tuple[Connection, int, bytes]]:
        """Yield the messages of some topics, or of all, in the order received."""
        wanted = {each.id: each for each in connections or self.connections}
        for topic, received, raw in self._messages:
            if topic in wanted:
                yield wanted[topic], received, raw


Reader: TypeAlias = rosbag1.Reader | rosbag2.Reader | SalvagedFile
"""What reads one file of a bag, sound or damaged."""

Salvaged: TypeAlias = tuple[dict[int, SavedTopic], list[Saved], str]


def _salvage_mcap(file: Path) -> Salvaged:
    """Return topics, messages and the damage of an MCAP file."""
    # Sound bags need no mcap: rosbags has a reader of its own.
    with rosbags_wanted():
        from mcap.records import Channel, Chunk, Message, Schema  # noqa: PLC0415

    size = file.stat().st_size
    schemas: dict[int, str] = {}
    channels: dict[int, Channel] = {}
    messages: list[Saved] = []
    lost, end = 0, 0
    # All messages are kept until they are in order, so all chunks together have a bound.
    left = largest_unpacked(size)
    with file.open('rb') as stream:
        for record, end in _records_until_damage(stream):  # noqa: B007 - it is used below
            records: list[McapRecord] = [record]
            if isinstance(record, Chunk):
                records, share = _records_of(record, left)
                left -= record.uncompressed_size if records else 0
                lost += round((1 - share) * len(record.data))
            for each in records:
                if isinstance(each, Schema):
                    schemas[each.id] = each.name
                elif isinstance(each, Channel):
                    channels[each.id] = each
                elif isinstance(each, Message):
                    messages.append(Saved(each.channel_id, each.log_time, each.data))
    lost += size - end
    topics = {
        number: SavedTopic(each.topic, schemas[each.schema_id], each.message_encoding)
        for number, each in channels.items()
        if each.schema_id in schemas
    }
    return topics, messages, f'{lost} of its {size} bytes cannot be read'


def _records_until_damage(stream: BinaryIO) -> Iterator[tuple[McapRecord, int]]:
    """Yield the records of a file and where each ends; the last may be a chunk that is cut off."""
    from mcap.opcode import Opcode  # noqa: PLC0415 - as above
    from mcap.records import Chunk  # noqa: PLC0415
    from mcap.stream_reader import StreamReader  # noqa: PLC0415

    end = 0
    reader = StreamReader(stream, emit_chunks=True, record_size_limit=LARGEST_PART)
    # Damaged bytes make readers raise almost anything; what came before them is used.
    with suppress(Exception):
        for record in reader.records:
            end = stream.tell()
            yield record, end
    stream.seek(end)
    rest = stream.read(LARGEST_PART)
    # A chunk: code and length; times, size and checksum; compression; length and packed bytes.
    if rest[:1] == bytes([Opcode.CHUNK]):
        with suppress(Exception):
            first, last, size, checksum, letters = struct.unpack_from('<QQQII', rest, 9)
            compression, data = rest[41 : 41 + letters].decode(), rest[49 + letters :]
            yield Chunk(compression, data, last, first, checksum, size), end + len(rest)


def _records_of(chunk: Chunk, left: int) -> tuple[list[McapRecord], float]:
    """Return the records of a chunk that is no larger than what is left, and the share read."""
    from mcap.records import Message  # noqa: PLC0415 - as above
    from mcap.stream_reader import StreamReader  # noqa: PLC0415

    if chunk.uncompressed_size > min(LARGEST_PART, left):
        return [], 0.0
    records: list[McapRecord] = []
    plain = BytesIO()
    # Damaged bytes make unpackers and readers raise almost anything, and so does the end.
    with suppress(Exception):
        content = unpack(chunk.data, chunk.compression, chunk.uncompressed_size)
        cut_off = len(content) < chunk.uncompressed_size
        if not cut_off and chunk.uncompressed_crc not in {0, crc32(content)}:
            return [], 0.0
        plain = BytesIO(content)
        records.extend(StreamReader(plain, skip_magic=True).records)
    # Without a checksum, only its times show that a message is not made of wrong bytes.
    first, last = chunk.message_start_time, chunk.message_end_time
    kept = [
        each for each in records if not isinstance(each, Message) or first <= each.log_time <= last
    ]
    read = plain.tell() / max(chunk.uncompressed_size, 1)
    return kept, read * len(kept) / max(len(records), 1)


_ROWS = 'SELECT id, topic_id, timestamp, data FROM messages WHERE id >= ? ORDER BY id'


def _salvage_sqlite(file: Path) -> Salvaged:
    """
    Return topics, messages and the damage of a SQLite file.

    A copy is read, with the log that a killed recorder left.

    Raises
    ------
    sqlite3.Error, OSError
        If not even the list of topics can be read.

    """
    with TemporaryDirectory() as folder:
        copy = Path(shutil.copyfile(file, Path(folder) / 'bag.db3'))
        log = file.with_name(file.name + UNMERGED)
        if log.is_file():
            shutil.copyfile(log, copy.with_name(copy.name + UNMERGED))
            damage = 'the log beside it is used as well'
        else:
            damage = _shorten(copy)
        with closing(sqlite3.connect(copy)) as database:
            database.execute('PRAGMA trusted_schema = OFF')
            check_schema(database)
            rows = database.execute('SELECT id, name, type, serialization_format FROM topics')
            topics = {number: SavedTopic(*map(str, texts)) for number, *texts in rows}
            return topics, list(_rows(database)), damage


def _shorten(copy: Path) -> str:
    """Write the true number of pages into a file that is cut off, or SQLite would refuse it."""
    with copy.open('r+b') as stream:
        head = stream.read(100)
        page = int.from_bytes(head[16:18], 'big')
        page = page if page > 1 else 65536
        wanted = int.from_bytes(head[28:32], 'big')
        pages = stream.seek(0, 2) // page
        if pages >= wanted:
            return 'what was on damaged pages is left out'
        missing = page * wanted - stream.tell()
        stream.seek(28)
        stream.write(pages.to_bytes(4, 'big'))
    return f'{missing} of its {page * wanted} bytes are missing'


def _rows(database: sqlite3.Connection) -> Iterator[Saved]:
    """Yield the rows on whole pages, jumping over the others."""
    begin: int | None = 0
    while begin is not None:
        newest = begin - 1
        try:
            for number, topic, received, raw in database.execute(_ROWS, (begin,)):
                if number <= newest:
                    return  # pages that point to one another would give rows for ever
                newest = number
                if isinstance(received, int) and isinstance(raw, bytes):
                    yield Saved(topic, received, raw)
            begin = None
        except sqlite3.DatabaseError:
            begin = _next_readable(database, newest + 1)


def _next_readable(database: sqlite3.Connection, damaged: int) -> int | None:
    """Return the first row behind a damaged one from which rows can be read, by bisection."""

    def readable(row: int) -> bool:
        try:
            return bool(database.execute(_ROWS, (row,)).fetchone())
        except sqlite3.DatabaseError:
            return False

    steps = (1 << power for power in range(40))
    step = next((step for step in steps if readable(damaged + step)), None)
    if step is None:
        return None
    low, high = damaged + step // 2, damaged + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if readable(middle) else (middle, high)
    return high


def loss_notes(
    path: Path, readers: Sequence[tuple[Path, Any]], metadata: Metadata | None
) -> list[str]:
    """
    Return a sentence for each damaged file, and one on what is lost of the whole bag.

    Raises
    ------
    InputError
        If all is lost.

    """
    notes = [
        f'{file} is damaged ({reader.reason}): {reader.damage}, and {reader.message_count} '
        f'messages of {(reader.end_time - reader.start_time) / 1e9:.1f} s are used.'
        for file, reader in readers
        if isinstance(reader, SalvagedFile)
    ]
    filled = [reader for _, reader in readers if reader.message_count]
    if notes and not filled:
        msg = f'Nothing is left of {path}, choose another recording: {notes[0]}'
        raise InputError(msg)
    found = sum(reader.message_count for reader in filled)
    said = metadata.messages if metadata else None
    # Metadata that count too few know nothing of what else there was.
    if metadata is None or said is None or said < found or metadata.seconds is None:
        return [*notes, *([f'{path}: how many messages are lost is not known.'] if notes else [])]
    begin = min((reader.start_time for reader in filled), default=0)
    end = max((reader.end_time for reader in filled), default=0)
    lost, gone_s = said - found, metadata.seconds - (end - begin) / 1e9
    if lost or notes:
        notes.append(
            f'{path}: {lost} of {said} messages and {max(gone_s, 0.0):.1f} of '
            f'{metadata.seconds:.1f} s are lost.'
        )
    return notes
