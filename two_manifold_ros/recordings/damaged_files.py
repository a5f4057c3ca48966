# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Read what is left of a damaged file of a bag.

A record is a code (one byte), its length (eight) and that many bytes. Where lengths make no sense
any more, the next place is looked for from which three records follow one another.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
import mmap
from pathlib import Path
import re
import shutil
import sqlite3
from struct import Struct
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TYPE_CHECKING, TypeAlias
from zlib import crc32

from rosbags import rosbag1, rosbag2
from rosbags.interfaces import (
    Connection,
    ConnectionExtRosbag2,
    MessageDefinition,
    MessageDefinitionFormat,
)

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.storage_files import (
    check_schema,
    LARGEST_PART,
    largest_unpacked,
    UNMERGED,
    unpack,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from two_manifold_ros.recordings.storage_files import Metadata


def counted_messages(
    reader: Reader, connections: Collection[Connection]
) -> Iterator[tuple[Connection, int, bytes]]:
    """
    Yield the messages of some topics, and count them.

    Where a chunk has no checksum, wrong bytes in it show only in records that are missing.

    Raises
    ------
    ValueError
        At the end, if there were fewer than the file says.

    """
    found: Counter[int] = Counter()
    for message in reader.messages(connections):
        found[message[0].id] += 1
        yield message
    for each in connections:
        if found[each.id] < each.msgcount:
            missing = each.msgcount - found[each.id]
            msg = f'{missing} of {each.msgcount} messages on {each.topic!r} are not there'
            raise ValueError(msg)


def shortfall_notes(path: Path, found: int, metadata: Metadata | None) -> list[str]:
    """
    Return a sentence if a bag holds fewer messages than its metadata say.

    That is no damage: some recorders count what they drop later.
    """
    said = metadata.messages if metadata else None
    if said is None or said <= found:
        return []
    note = (
        f'{path} holds {found} messages, and its metadata count {said}: the others were dropped '
        f'by its recorder or lost since; copy it again if that is new.'
    )
    return [note]


"""What tells the topics and the messages of one file."""


HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, DATA_END = 1, 2, 3, 4, 5, 6, 15
MAGIC = b'\x89MCAP0\r\n'

_HEAD_MCAP_RECORDS = 9
_LEAST = {
    HEADER: 8, FOOTER: 20, SCHEMA: 14, CHANNEL: 16, MESSAGE: 22, CHUNK: 40, 7: 6, 8: 60, 9: 46,
    10: 44, 11: 46, 12: 8, 13: 20, 14: 17, DATA_END: 4,
}  # fmt: skip
_IN_A_ROW = 3
# Code, then a length of less than 2^40.
_CANDIDATE = re.compile(rb'(?=[\x01-\x0f].{5}\x00{3})', re.DOTALL)


class Record(NamedTuple):
    """A record: its code, where its content is, and whether all of it is there."""

    code: int
    begin: int
    end: int
    whole: bool


def records(
    content: bytes | mmap.mmap, begin: int = 0, *, search: bool = False
) -> Iterator[Record]:
    """
    Yield the records of a file or of a chunk; the last one may be cut off.

    Parameters
    ----------
    content
        That holds them.
    begin
        Where the first one is.
    search
        Whether to go on behind what makes no sense, else it ends there.

    """
    at: int | None = begin
    while at is not None and at + _HEAD_MCAP_RECORDS <= len(content):
        record = _record(content, at)
        if record is None or not (record.whole or _is_tail(content, record, search)):
            at = _next(content, at + 1) if search else None
            continue
        yield record
        at = record.end


def _record(content: bytes | mmap.mmap, at: int) -> Record | None:
    code = content[at]
    length = int.from_bytes(content[at + 1 : at + _HEAD_MCAP_RECORDS], 'little')
    if length < _LEAST.get(code, len(content)):
        return None
    end = at + _HEAD_MCAP_RECORDS + length
    return Record(code, at + _HEAD_MCAP_RECORDS, min(end, len(content)), end <= len(content))


def _is_tail(content: bytes | mmap.mmap, record: Record, search: bool) -> bool:
    """Return whether a record ends with the file, and not for a wrong length."""
    return not search or _next(content, record.begin) is None


def _next(content: bytes | mmap.mmap, begin: int) -> int | None:
    """Return where some records follow one another again."""
    candidates = (each.start() for each in _CANDIDATE.finditer(content, begin))
    return next((at for at in candidates if _follow(content, at)), None)


def _follow(content: bytes | mmap.mmap, at: int) -> bool:
    for _ in range(_IN_A_ROW):
        if content[at : at + len(MAGIC)] == MAGIC and at + len(MAGIC) == len(content):
            return True
        if at + _HEAD_MCAP_RECORDS > len(content):
            return False
        record = _record(content, at)
        if record is None or not record.whole:
            return False
        at = record.end
    return True


_HEAD = Struct('<QQQI')
_LENGTH = Struct('<I')
_SIZE = Struct('<Q')
_CHECKSUM_AT = 24


class Chunk(NamedTuple):
    """
    A chunk that was not yet unpacked.

    Parameters
    ----------
    first, last
        Receive times between which its messages are, ns.
    size
        Of its records in bytes, unpacked.
    checksum
        Of its records, or 0 where there is none.
    compression
        ``zstd``, ``lz4`` or an empty text.
    packed
        Its records as they are in the file.

    """

    first: int
    last: int
    size: int
    checksum: int
    compression: str
    packed: bytes

    def holds(self, plain: bytes) -> bool:
        """Return whether these are its records, as far as its checksum tells."""
        return not self.checksum or crc32(plain) == self.checksum


def chunk_of(content: bytes) -> Chunk:
    """
    Read the content of a record that is a chunk.

    Raises
    ------
    ValueError, struct.error
        If it makes no sense.

    """
    compression, at = text_at(content, _HEAD.size)
    (length,) = _SIZE.unpack_from(content, at)
    begin = at + _SIZE.size
    first, last, size, checksum = _HEAD.unpack_from(content)
    return Chunk(first, last, size, checksum, compression, content[begin : begin + length])


def text_at(content: bytes, at: int) -> tuple[str, int]:
    """
    Return the text at a place, and where it ends.

    Raises
    ------
    ValueError, struct.error
        If it is no text, or reaches beyond its record.

    """
    (length,) = _LENGTH.unpack_from(content, at)
    begin = at + _LENGTH.size
    if begin + length > len(content):
        msg = 'a text reaches beyond its record'
        raise ValueError(msg)
    return content[begin : begin + length].decode(), begin + length


def add_checksums(file: Path) -> None:
    """Give the chunks of a whole file their checksums: the writer of `rosbags` has none."""
    with file.open('r+b') as stream, mmap.mmap(stream.fileno(), 0) as content:
        for record in records(content, len(MAGIC)):
            if record.code == CHUNK:
                chunk = chunk_of(content[record.begin : record.end])
                plain = unpack(chunk.packed, chunk.compression, chunk.size)
                begin = record.begin + _CHECKSUM_AT
                content[begin : begin + _LENGTH.size] = _LENGTH.pack(crc32(plain))


class Saved(NamedTuple):
    """One message: the identity of its topic, when it was received (ns), and its bytes."""

    topic: int
    received: int
    raw: bytes


class Channel(NamedTuple):
    """A topic of a file: its name, its type in the ROS 2 spelling, and its serialisation."""

    name: str
    msgtype: str
    serialisation: str


class Salvaged(NamedTuple):
    """
    What could still be read of one file.

    Parameters
    ----------
    channels
        The topics by a number of their own.
    messages
        In the order of their receive times.
    damage
        What is the matter with the file, as a part of a sentence.

    """

    channels: dict[int, Channel]
    messages: list[Saved]
    damage: str

    def counts(self) -> dict[int, int]:
        """Return how many messages of each topic there are."""
        found = Counter(message.topic for message in self.messages)
        return {number: found[number] for number in self.channels}


def salvaged_of(channels: dict[int, Channel], messages: Iterable[Saved], damage: str) -> Salvaged:
    """Return the messages whose topic is known, in order."""
    known = [each for each in messages if each.topic in channels]
    return Salvaged(channels, sorted(known, key=lambda each: each.received), damage)


_MESSAGE = Struct('<HIQQ')
_ID = Struct('<H')
_IDS = Struct('<HH')
_MAGIC = 8
_HEAD_SALVAGE_MCAP = 9


def salvage_mcap(file: Path) -> Salvaged:
    """
    Return what can still be read of an MCAP file, cut off or with wrong bytes in it.

    A chunk that is cut off gives the messages before the cut, and one that does not have its
    checksum gives none. One that never had a checksum gives those that are of its time.

    Raises
    ------
    OSError, ValueError
        If the file cannot be opened or is empty.

    """
    with file.open('rb') as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as all_:
        reader = _Reader(len(all_))
        for record in records(all_, _MAGIC, search=True):
            if reader.take(all_[record.begin : record.end], record):
                reader.known += _HEAD_SALVAGE_MCAP + record.end - record.begin
    return reader.finish()


class _Reader:
    """Gathers schemas, channels and messages of records and of chunks."""

    def __init__(self, size: int) -> None:
        self.known = _MAGIC
        self._size = size
        # All messages are kept until they are in order, so all chunks together have a bound too.
        self._left = largest_unpacked(size)
        self._schemas: dict[int, str] = {}
        self._channels: dict[int, tuple[int, str, str]] = {}
        self._messages: list[Saved] = []

    def take(self, content: bytes, record: Record) -> bool:
        """Take the content of a record; return whether all of it could be used."""
        try:
            if record.code == CHUNK:
                return self._take_chunk(content) and record.whole
            if record.whole:
                self._take_plain(record.code, content)
        # Damaged bytes make readers of compressed ones raise almost anything.
        except Exception:  # noqa: BLE001 - told as bytes that could not be read
            return False
        return record.whole

    def finish(self) -> Salvaged:
        channels = {
            number: Channel(topic, self._schemas[schema], encoding)
            for number, (schema, topic, encoding) in self._channels.items()
            if schema in self._schemas
        }
        damage = f'{self._size - self.known} of its {self._size} bytes cannot be read'
        return salvaged_of(channels, self._messages, damage)

    def _take_plain(self, code: int, content: bytes) -> None:
        if code == MESSAGE:
            channel, _, received, _ = _MESSAGE.unpack_from(content)
            self._messages.append(Saved(channel, received, content[_MESSAGE.size :]))
        elif code == SCHEMA:
            name, _ = text_at(content, _ID.size)
            self._schemas[_ID.unpack_from(content)[0]] = name
        elif code == CHANNEL:
            number, schema = _IDS.unpack_from(content)
            topic, end = text_at(content, _IDS.size)
            self._channels[number] = (schema, topic, text_at(content, end)[0])

    def _take_chunk(self, content: bytes) -> bool:
        chunk = chunk_of(content)
        if chunk.size > min(LARGEST_PART, self._left):
            return False
        plain = unpack(chunk.packed, chunk.compression, chunk.size)
        self._left -= len(plain)
        if len(plain) == chunk.size and not chunk.holds(plain):
            return False
        end, before = 0, len(self._messages)
        for record in records(plain):
            if record.whole and record.code != CHUNK:
                self._take_plain(record.code, plain[record.begin : record.end])
                end = record.end
        return self._in_time(chunk, before) and end == chunk.size

    def _in_time(self, chunk: Chunk, before: int) -> bool:
        """Leave out what cannot be of a chunk that nothing else vouches for."""
        taken = self._messages[before:]
        if not chunk.checksum:
            self._messages[before:] = [
                each for each in taken if chunk.first <= each.received <= chunk.last
            ]
        return len(self._messages) == before + len(taken)


_HEAD_SALVAGE_SQLITE = 100
_LARGEST_ROW = 2**40
_ROWS = 'SELECT id, topic_id, timestamp, data FROM messages WHERE id >= ? ORDER BY id'


def salvage_sqlite(file: Path) -> Salvaged:
    """
    Return what can still be read of a SQLite file, cut off or with wrong bytes in it.

    A copy is read, with the log that a recorder left which did not end well.

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
            return salvaged_of(_channels(database), _messages(database), damage)


def _shorten(copy: Path) -> str:
    """Let a file that is cut off say so itself, or SQLite would refuse all of it."""
    with copy.open('r+b') as stream:
        head = stream.read(_HEAD_SALVAGE_SQLITE)
        page = int.from_bytes(head[16:18], 'big')
        page = page if page > 1 else 65536
        wanted = int.from_bytes(head[28:32], 'big')
        pages, _ = divmod(stream.seek(0, 2), page)
        if pages >= wanted:
            return 'what was on damaged pages is left out'
        missing = page * wanted - stream.tell()
        stream.seek(28)
        stream.write(pages.to_bytes(4, 'big'))
    return f'{missing} of its {page * wanted} bytes are missing'


def _channels(database: sqlite3.Connection) -> dict[int, Channel]:
    rows = database.execute('SELECT id, name, type, serialization_format FROM topics')
    return {
        number: Channel(str(name), str(msgtype), str(serialisation))
        for number, name, msgtype, serialisation in rows
    }


def _messages(database: sqlite3.Connection) -> Iterator[Saved]:
    """Yield the rows on whole pages, jumping over the others."""
    begin: int | None = 0
    while begin is not None:
        newest = begin - 1
        try:
            for number, topic, received, raw in database.execute(_ROWS, (begin,)):
                if number <= newest:
                    # Pages that point to one another would give rows for ever.
                    return
                newest = number
                if isinstance(received, int) and isinstance(raw, bytes):
                    yield Saved(topic, received, raw)
            begin = None
        except sqlite3.DatabaseError:
            begin = _first_readable(database, newest + 1)


def _first_readable(database: sqlite3.Connection, begin: int) -> int | None:
    """Return the first row behind an unreadable one from which one can be read again."""
    step = 1
    while step < _LARGEST_ROW and not _can_read(database, begin + step):
        step *= 2
    if step >= _LARGEST_ROW:
        return None
    unreadable, readable = begin + step // 2, begin + step
    while readable - unreadable > 1:
        middle = (unreadable + readable) // 2
        if _can_read(database, middle):
            readable = middle
        else:
            unreadable = middle
    return readable


def _can_read(database: sqlite3.Connection, row: int) -> bool:
    try:
        return bool(database.execute(_ROWS, (row,)).fetchone())
    except sqlite3.DatabaseError:
        return False


class SalvagedFile:
    """
    What can still be read of a file, in the form of a reader of `rosbags`.

    Parameters
    ----------
    file
        Not compressed.
    kind
        ``.mcap`` or ``.db3``.
    reason
        Why it cannot be read as it should be.

    Attributes
    ----------
    connections
        Its topics.
    message_count, start_time, end_time
        How many messages there are, and from when to when they were received, ns.

    """

    def __init__(self, file: Path, kind: str, reason: str) -> None:
        self.salvaged = salvage_mcap(file) if kind == '.mcap' else salvage_sqlite(file)
        self.reason = reason
        counts = self.salvaged.counts()
        self.connections = [
            Connection(
                number,
                channel.name,
                channel.msgtype,
                MessageDefinition(MessageDefinitionFormat.NONE, ''),
                '',
                counts[number],
                ConnectionExtRosbag2(channel.serialisation, []),
                self,
            )
            for number, channel in self.salvaged.channels.items()
        ]
        messages = self.salvaged.messages
        self.message_count = len(messages)
        self.start_time = messages[0].received if messages else 0
        self.end_time = messages[-1].received + 1 if messages else 0

    def messages(
        self, connections: Collection[Connection] = ()
    ) -> Iterator[tuple[Connection, int, bytes]]:
        """Yield the messages of some topics, or of all, in the order received."""
        wanted = {each.id: each for each in connections or self.connections}
        for topic, received, raw in self.salvaged.messages:
            if topic in wanted:
                yield wanted[topic], received, raw


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
        f'{file} is damaged ({reader.reason}): {reader.salvaged.damage}, and '
        f'{reader.message_count} messages of {_seconds(reader):.1f} s are used.'
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


def _seconds(reader: SalvagedFile) -> float:
    return (reader.end_time - reader.start_time) / 1e9


Reader: TypeAlias = rosbag1.Reader | rosbag2.Reader | SalvagedFile
"""What reads one file of a bag, sound or damaged."""
