# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Open bags of every kind by the library `rosbags`, and read what is left of damaged ones.

With ``--salvage`` the library `mcap` reads a damaged MCAP file record by record, up to the first
one that makes no sense; a chunk that is damaged in itself, or cut off, is left out.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager, ExitStack, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TYPE_CHECKING, TypeAlias

from rosbags import rosbag1, rosbag2
from rosbags.interfaces import (
    Connection,
    ConnectionExtRosbag2,
    MessageDefinition,
    MessageDefinitionFormat,
)
from rosbags.typesys import Stores

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.bag_topics import printable, Topic
from two_manifold_ros.recordings.message_building import types_of, types_with
from two_manifold_ros.recordings.storage_files import (
    bound_rosbags,
    check_database,
    LARGEST_PART,
    largest_unpacked,
    storage_files,
    unpack,
    unpack_file,
)
from two_manifold_ros.sources import COMPRESSED, storage_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from types import TracebackType

    from mcap.records import Chunk, McapRecord
    from typing_extensions import Self

    from two_manifold_ros.recordings.storage_files import Metadata


class SalvagedFile:
    """
    Readable part of a damaged MCAP file, in the form of a reader of `rosbags`.

    Parameters
    ----------
    file
        An ``.mcap`` file, not compressed.
    reason
        Why it cannot be read as a whole, as part of a sentence.

    Attributes
    ----------
    lost, size
        Bytes that cannot be read, and of the file.
    connections
        Its topics.
    message_count, start_time, end_time
        How many messages there are, and from when to when they were received, ns.

    """

    def __init__(self, file: Path, reason: str) -> None:
        # Sound bags need no mcap: rosbags has a reader of its own.
        try:
            from mcap.records import Channel, Message, Schema  # noqa: PLC0415
        except ModuleNotFoundError as error:
            msg = (
                f'{file}: the Python package mcap, which reads damaged bags, is missing: install '
                'it with pip install mcap.'
            )
            raise InputError(msg) from error

        self.reason, self.size = reason, file.stat().st_size
        records, self.lost = _readable_records(file, self.size)
        schemas = {each.id: each.name for each in records if isinstance(each, Schema)}
        channels = {
            each.id: each
            for each in records
            if isinstance(each, Channel) and each.schema_id in schemas
        }
        known = [
            each for each in records if isinstance(each, Message) and each.channel_id in channels
        ]
        self._messages = sorted(known, key=lambda each: each.log_time)
        counts = Counter(each.channel_id for each in known)
        self.connections = [
            Connection(
                number,
                channel.topic,
                schemas[channel.schema_id],
                MessageDefinition(MessageDefinitionFormat.NONE, ''),
                '',
                counts[number],
                ConnectionExtRosbag2(channel.message_encoding, []),
                self,
            )
            for number, channel in channels.items()
        ]
        self.message_count = len(known)
        self.start_time = self._messages[0].log_time if known else 0
        self.end_time = self._messages[-1].log_time + 1 if known else 0

    def messages(
        self, connections: Collection[Connection] = ()
    ) -> Iterator[tuple[Connection, int, bytes]]:
        """Yield the messages of some topics, or of all, in the order received."""
        wanted = {each.id: each for each in connections or self.connections}
        for each in self._messages:
            if each.channel_id in wanted:
                yield wanted[each.channel_id], each.log_time, each.data


Reader: TypeAlias = rosbag1.Reader | rosbag2.Reader | SalvagedFile
"""What reads one file of a bag, sound or damaged."""


def _readable_records(file: Path, size: int) -> tuple[list[McapRecord], int]:
    """Return the records of an MCAP file up to the first damaged one, and the bytes lost."""
    from mcap.records import Chunk  # noqa: PLC0415 - as above
    from mcap.stream_reader import StreamReader  # noqa: PLC0415

    found: list[McapRecord] = []
    lost, end = 0, 0
    # All messages are kept until they are in order, so all chunks together have a bound.
    left = largest_unpacked(size)
    with file.open('rb') as stream:
        reader = StreamReader(stream, emit_chunks=True, record_size_limit=LARGEST_PART)
        # Damaged bytes make readers raise almost anything; what came before them is used.
        with suppress(Exception):
            for record in reader.records:
                end = stream.tell()
                if not isinstance(record, Chunk):
                    found.append(record)
                elif inside := _records_of(record, min(LARGEST_PART, left)):
                    found += inside
                    left -= record.uncompressed_size
                else:
                    lost += len(record.data)
    return found, lost + size - end


def _records_of(chunk: Chunk, most: int) -> list[McapRecord]:
    """Return the records of a chunk of at ``most`` so many bytes; none if it is damaged."""
    from mcap.stream_reader import breakup_chunk  # noqa: PLC0415 - as above

    # Damaged bytes make unpackers and readers raise almost anything.
    with suppress(Exception):
        if chunk.uncompressed_size <= most:
            # The library would unpack as much as there is.
            content = unpack(chunk.data, chunk.compression, chunk.uncompressed_size)
            plain = replace(chunk, compression='', data=content)
            return breakup_chunk(plain, validate_crc=True)
    return []


_CURES = {
    '.mcap': 'copy it again, or read what is left of it with --salvage',
    '.db3': 'copy it again, or save the rest by "sqlite3 FILE .recover | sqlite3 NEW.db3"',
    '.bag': 'try "rosbag reindex", or copy it again',
}


def _counted_messages(
    reader: Reader, connections: Collection[Connection]
) -> Iterator[tuple[Connection, int, bytes]]:
    """Yield the messages of some topics; refuse, at the end, fewer than the file says."""
    # Where a chunk has no checksum, wrong bytes in it show only in records that are missing.
    found: Counter[int] = Counter()
    for message in reader.messages(connections):
        found[message[0].id] += 1
        yield message
    for each in connections:
        if found[each.id] < each.msgcount:
            missing = each.msgcount - found[each.id]
            msg = f'{missing} of {each.msgcount} messages on {each.topic!r} are not there'
            raise ValueError(msg)


def open_file(file: Path, stack: ExitStack) -> Reader:
    """
    Open one file; the stack closes it.

    Raises
    ------
    InputError
        If it is damaged.

    """
    with damage_named(file):
        plain = file
        if file.suffix in COMPRESSED:
            plain = _unpacked_place(file, stack)
            unpack_file(file, plain)
        if plain.suffix == '.db3':
            check_database(plain)
        reader = rosbag1.Reader(plain) if plain.suffix == '.bag' else rosbag2.Reader(plain)
        stack.enter_context(reader)
        _check_topics(reader)
        return reader


def _check_topics(reader: Reader) -> None:
    for connection in reader.connections:
        if not (isinstance(connection.topic, str) and isinstance(connection.msgtype, str)):
            msg = 'the name of a topic or of its type is no text'
            raise TypeError(msg)


def open_or_salvage(file: Path, stack: ExitStack) -> Reader:
    """
    Open one file, or what can still be read of an MCAP file that does not go to its end.

    Raises
    ------
    InputError
        If nothing can be read of it.

    """
    try:
        reader = open_file(file, stack)
        with damage_named(file):
            for _ in _counted_messages(reader, reader.connections):
                pass
    except InputError as error:
        if storage_kind(file) != '.mcap':
            raise
        reason = str(error.__cause__).rstrip('.') or type(error.__cause__).__name__
        with damage_named(file):
            return SalvagedFile(_unpacked_part(file, stack), reason)
    return reader


def _unpacked_place(file: Path, stack: ExitStack) -> Path:
    return Path(stack.enter_context(TemporaryDirectory())) / file.stem


def _unpacked_part(file: Path, stack: ExitStack) -> Path:
    """Return the file as it was before it was packed, as far as that goes."""
    if file.suffix not in COMPRESSED:
        return file
    plain = _unpacked_place(file, stack)
    try:
        unpack_file(file, plain)
    # What was unpacked until then is there.
    except Exception:
        if not plain.exists():
            raise
    return plain


@contextmanager
def damage_named(file: Path) -> Iterator[None]:
    """Turn any error of a damaged file into one sentence."""
    try:
        yield
    except InputError:
        raise
    # Foreign bytes make the storage libraries raise almost anything, from struct.error to
    # MemoryError; none of it would help the user more than the file's name.
    except Exception as error:
        reason = ' '.join(str(error).split())[:200].rstrip('.') or type(error).__name__
        msg = (
            f'{file} is damaged, cut short or not supported ({reason}): '
            f'{_CURES[storage_kind(file)]}.'
        )
        raise InputError(msg) from error


_ZSTD_FRAME = b'\x28\xb5\x2f\xfd'

bound_rosbags()


class Bag:
    """
    A context manager over the storage files of one bag, in the order of recording.

    The files are opened one by one rather than as a folder, because `rosbags` refuses a whole
    folder for one topic that it cannot read.

    Parameters
    ----------
    path
        A rosbag2 folder, or one ``.mcap``, ``.db3`` or ROS 1 ``.bag`` file.
    salvage
        Read what can be read of damaged MCAP files, with a note on each.

    Raises
    ------
    InputError
        On entering and on reading, if a file is missing, damaged or no bag.

    """

    def __init__(self, path: str | Path, *, salvage: bool = False) -> None:
        self.path: Path | str = Path(path)
        self._salvage = salvage
        self.notes: list[str] = []
        self._stack = ExitStack()
        self._readers: list[tuple[Path, Reader]] = []

    def __enter__(self) -> Self:
        files, self.notes, metadata = storage_files(Path(self.path), salvage=self._salvage)
        with ExitStack() as stack:
            opening = open_or_salvage if self._salvage else open_file
            self._readers = [(file, opening(file, stack)) for file in files]
            self._stack = stack.pop_all()
        self.notes += _loss_notes(self.path, self._readers, metadata)
        self.is_ros1 = isinstance(self._readers[0][1], rosbag1.Reader)
        self._types = _types(Stores.ROS1_NOETIC if self.is_ros1 else Stores.ROS2_JAZZY)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    @property
    def topics(self) -> list[Topic]:
        """All topics of all files, in the order of their names."""
        found: dict[tuple[str, str, str], int] = {}
        for _, reader in self._readers:
            for connection in reader.connections:
                key = _identity(connection)
                found[key] = found.get(key, 0) + connection.msgcount
        return [
            Topic(name, msgtype, count, serialisation)
            for (name, msgtype, serialisation), count in sorted(found.items())
        ]

    @property
    def seconds(self) -> float:
        """How long the bag lasts by the account of its files, s."""
        return 1e-9 * sum(max(each.end_time - each.start_time, 0) for _, each in self._readers)

    def messages(self, topics: Collection[Topic]) -> Iterator[tuple[str, int, bytes]]:
        """Yield topic name, receive time in ns and serialised message, in the order received."""
        wanted = {(topic.name, topic.msgtype, topic.serialisation) for topic in topics}
        for file, reader in self._readers:
            connections = [each for each in reader.connections if _identity(each) in wanted]
            # An empty list would mean every topic to rosbags.
            if connections:
                with damage_named(file):
                    for connection, received, raw in _counted_messages(reader, connections):
                        yield printable(connection.topic), received, _plain(raw)

    def decode(self, raw: bytes, msgtype: str) -> Any:  # noqa: ANN401 - a message of any type
        """Return the message object of serialised bytes."""
        if self.is_ros1:
            return self._types.deserialize_ros1(raw, msgtype)
        return self._types.deserialize_cdr(raw, msgtype)

    def decoder_of(self, topic: Topic) -> Callable[[bytes, str], Any]:
        """
        Return what decodes messages of a topic whose type only the bag defines.

        Raises
        ------
        InputError
            If it does not define it.

        """
        definition = next(
            (
                each.msgdef.data
                for _, reader in self._readers
                for each in reader.connections
                if _identity(each)[:2] == (topic.name, topic.msgtype)
                and each.msgdef.format == MessageDefinitionFormat.MSG
                and each.msgdef.data
            ),
            None,
        )
        store = Stores.ROS1_NOETIC if self.is_ros1 else Stores.ROS2_JAZZY
        try:
            types = types_with(store, definition, topic.msgtype)
        # A parser of definitions raises errors of several kinds.
        except Exception as error:
            msg = (
                f'{self.path} does not define {topic.msgtype} of {topic.name}, so it cannot be '
                f'decoded ({error}): convert the bag to MCAP where its package is installed, with '
                'ros2 bag convert'
            )
            raise InputError(msg) from error
        return types.deserialize_ros1 if self.is_ros1 else types.deserialize_cdr  # type: ignore[no-any-return]


def _loss_notes(
    path: Path | str, readers: Sequence[tuple[Path, Any]], metadata: Metadata | None
) -> list[str]:
    """
    Return a sentence for each damaged file, and one on what the whole bag lacks.

    Fewer messages than the metadata count are no damage: some recorders count what they drop.

    Raises
    ------
    InputError
        If all is lost.

    """
    notes = [
        f'{file} is damaged ({reader.reason}): {reader.lost} of its {reader.size} bytes cannot be '
        f'read, and {reader.message_count} messages of '
        f'{(reader.end_time - reader.start_time) / 1e9:.1f} s are used.'
        for file, reader in readers
        if isinstance(reader, SalvagedFile)
    ]
    filled = [reader for _, reader in readers if reader.message_count]
    if notes and not filled:
        msg = f'Nothing is left of {path}, choose another recording: {notes[0]}'
        raise InputError(msg)
    found = sum(reader.message_count for reader in filled)
    said, lasted_s = (metadata.messages, metadata.seconds) if metadata else (None, None)
    if notes and (said is None or lasted_s is None or said < found):
        # Metadata that count too few know nothing of what else there was.
        notes.append(f'{path}: how many messages are lost is not known.')
    elif notes and said and lasted_s is not None:
        begin = min(reader.start_time for reader in filled)
        end = max(reader.end_time for reader in filled)
        gone_s = max(lasted_s - (end - begin) / 1e9, 0.0)
        lost = said - found
        notes.append(
            f'{path}: {lost} of {said} messages and {gone_s:.1f} of {lasted_s:.1f} s are lost.'
        )
    elif said is not None and said > found:
        notes.append(
            f'{path} holds {found} messages, and its metadata count {said}: the others were '
            f'dropped by its recorder or lost since; copy it again if that is new.'
        )
    return notes


@cache
def _types(store: Stores) -> Any:  # noqa: ANN401 - rosbags' protocol lacks what decoding needs
    """Return the types of a release, never those that a bag defines; they take time to make."""
    return types_of(store)


def _plain(raw: bytes) -> bytes:
    # No CDR header starts like a zstd frame, so the metadata need not say what is compressed.
    return unpack(raw, 'zstd') if raw[:4] == _ZSTD_FRAME else raw


def _identity(connection: Connection) -> tuple[str, str, str]:
    """Return topic, type in its ROS 2 spelling, and serialisation."""
    package, _, name = connection.msgtype.rpartition('/')
    msgtype = printable(f'{package.removesuffix("/msg")}/msg/{name}')
    topic = printable(connection.topic)
    extension = connection.ext
    if isinstance(extension, ConnectionExtRosbag2):
        return topic, msgtype, printable(extension.serialization_format)
    return topic, msgtype, 'ros1'
