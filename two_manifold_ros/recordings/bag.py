# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Open bags of every kind by the library `rosbags`."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager, ExitStack
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TYPE_CHECKING, TypeAlias

from rosbags import rosbag1, rosbag2
from rosbags.interfaces import Connection, ConnectionExtRosbag2, MessageDefinitionFormat
from rosbags.typesys import get_typestore, Stores

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.bag_topics import printable, Topic
from two_manifold_ros.recordings.message_building import types_with
from two_manifold_ros.recordings.storage_files import (
    bound_rosbags,
    check_database,
    storage_files,
    unpack,
    unpack_file,
)
from two_manifold_ros.sources import COMPRESSED, storage_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from types import TracebackType

    from typing_extensions import Self


Reader: TypeAlias = rosbag1.Reader | rosbag2.Reader
"""What reads one file of a bag."""


_CURES = {
    '.mcap': 'copy it again, or save the rest by "mcap recover FILE -o NEW.mcap"',
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


def _opened(file: Path, stack: ExitStack) -> Reader:
    """Open one file, which the stack closes; ``InputError`` if it is damaged."""
    with _damage_named(file):
        plain = file
        if file.suffix in COMPRESSED:
            plain = Path(stack.enter_context(TemporaryDirectory())) / file.stem
            unpack_file(file, plain)
        if plain.suffix == '.db3':
            check_database(plain)
        reader = rosbag1.Reader(plain) if plain.suffix == '.bag' else rosbag2.Reader(plain)
        stack.enter_context(reader)
        for connection in reader.connections:
            if not (isinstance(connection.topic, str) and isinstance(connection.msgtype, str)):
                msg = 'the name of a topic or of its type is no text'
                raise TypeError(msg)
        return reader


@contextmanager
def _damage_named(file: Path) -> Iterator[None]:
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

    It is a rosbag2 folder, or one ``.mcap``, ``.db3`` or ROS 1 ``.bag`` file. The files are opened
    one by one rather than as a folder, because `rosbags` refuses a whole folder for one topic that
    it cannot read. ``InputError``, on entering and on reading, names one that is damaged.
    """

    def __init__(self, path: str | Path) -> None:
        self.path: Path | str = Path(path)
        self.notes: list[str] = []
        self._stack = ExitStack()
        self._readers: list[tuple[Path, Reader]] = []

    def __enter__(self) -> Self:
        files, self.notes, counted = storage_files(Path(self.path))
        with ExitStack() as stack:
            self._readers = [(file, _opened(file, stack)) for file in files]
            self._stack = stack.pop_all()
        found = sum(reader.message_count for _, reader in self._readers)
        # Fewer than counted are no damage: some recorders count what they drop.
        if counted is not None and found < counted:
            self.notes.append(
                f'{self.path} holds {found} messages, and its metadata count {counted}: the '
                'others were dropped by its recorder or lost since; copy it again if that is new.'
            )
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
                with _damage_named(file):
                    for connection, received, raw in _counted_messages(reader, connections):
                        yield printable(connection.topic), received, _plain(raw)

    def decode(self, raw: bytes, msgtype: str) -> Any:  # noqa: ANN401 - a message of any type
        """Return the message object of serialised bytes."""
        if self.is_ros1:
            return self._types.deserialize_ros1(raw, msgtype)
        return self._types.deserialize_cdr(raw, msgtype)

    def decoder_of(self, topic: Topic) -> Callable[[bytes, str], Any]:
        """Return what decodes messages of a topic whose type only the bag defines."""
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


@cache
def _types(store: Stores) -> Any:  # noqa: ANN401 - rosbags' protocol lacks what decoding needs
    """Return the types of a release, never those that a bag defines; they take time to make."""
    return get_typestore(store)


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
