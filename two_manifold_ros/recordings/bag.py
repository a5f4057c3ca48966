# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One way to read bags of every kind."""

from __future__ import annotations

from contextlib import contextmanager, ExitStack
from dataclasses import dataclass
from pathlib import Path
import shutil
import sys
from tempfile import TemporaryDirectory
from typing import Any, TYPE_CHECKING

from rosbags import rosbag1, rosbag2
from rosbags.interfaces import ConnectionExtRosbag2
from rosbags.typesys import get_typestore, Stores

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.storage_files import COMPRESSED, storage_files, storage_kind

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from types import TracebackType

    from rosbags.interfaces import Connection
    from typing_extensions import Self

_ZSTD_FRAME = b'\x28\xb5\x2f\xfd'
_CURES = {
    '.mcap': 'try "mcap recover", or copy it again',
    '.db3': 'try the ".recover" command of sqlite3, or copy it again',
    '.bag': 'try "rosbag reindex", or copy it again',
}


@dataclass(frozen=True)
class Topic:
    """A topic of a bag, with the number of its messages."""

    name: str
    msgtype: str
    count: int
    serialisation: str

    def __str__(self) -> str:
        return f'{self.name} ({self.msgtype}, {self.count} messages)'


class Bag:
    """
    A context manager over the storage files of one bag, in the order of recording.

    The files are opened one by one rather than as a folder, because `rosbags` refuses a whole
    folder for one topic that it cannot read.

    Parameters
    ----------
    path
        A rosbag2 folder, or one ``.mcap``, ``.db3`` or ROS 1 ``.bag`` file.

    Raises
    ------
    InputError
        On entering and on reading, if a file is missing, damaged or no bag.

    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.notes: list[str] = []
        self._stack = ExitStack()
        self._readers: list[tuple[Path, rosbag1.Reader | rosbag2.Reader]] = []

    def __enter__(self) -> Self:
        files, self.notes = storage_files(self.path)
        with ExitStack() as stack:
            self._readers = [(file, _open(file, stack)) for file in files]
            self._stack = stack.pop_all()
        self.is_ros1 = isinstance(self._readers[0][1], rosbag1.Reader)
        self._types = get_typestore(Stores.ROS1_NOETIC if self.is_ros1 else Stores.ROS2_JAZZY)
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

    def messages(self, topics: Collection[Topic]) -> Iterator[tuple[str, int, bytes]]:
        """Yield topic name, receive time in ns and serialised message, in the order received."""
        wanted = {(topic.name, topic.msgtype, topic.serialisation) for topic in topics}
        for file, reader in self._readers:
            connections = [each for each in reader.connections if _identity(each) in wanted]
            # An empty list would mean every topic to rosbags.
            if connections:
                with _damage_named(file):
                    for connection, received, raw in reader.messages(connections):
                        yield connection.topic, received, _plain(raw)

    def decode(self, raw: bytes, msgtype: str) -> Any:  # noqa: ANN401 - a message of any type
        """Return the message object of serialised bytes."""
        if self.is_ros1:
            return self._types.deserialize_ros1(raw, msgtype)
        return self._types.deserialize_cdr(raw, msgtype)


def _open(file: Path, stack: ExitStack) -> rosbag1.Reader | rosbag2.Reader:
    with _damage_named(file):
        plain = _decompressed(file, stack)
        reader = rosbag1.Reader(plain) if plain.suffix == '.bag' else rosbag2.Reader(plain)
        stack.enter_context(reader)
        return reader


def _decompressed(file: Path, stack: ExitStack) -> Path:
    if file.suffix not in COMPRESSED:
        return file
    plain = Path(stack.enter_context(TemporaryDirectory())) / file.stem
    with zstd.open(file, 'rb') as packed, plain.open('wb') as unpacked:
        shutil.copyfileobj(packed, unpacked)
    return plain


def _plain(raw: bytes) -> bytes:
    # No CDR header begins like a zstd frame, so the metadata need not say what is compressed.
    return zstd.decompress(raw) if raw[:4] == _ZSTD_FRAME else raw


def _identity(connection: Connection) -> tuple[str, str, str]:
    """Return topic, type in its ROS 2 spelling, and serialisation."""
    package, _, name = connection.msgtype.rpartition('/')
    msgtype = f'{package.removesuffix("/msg")}/msg/{name}'
    extension = connection.ext
    if isinstance(extension, ConnectionExtRosbag2):
        return connection.topic, msgtype, extension.serialization_format
    return connection.topic, msgtype, 'ros1'


@contextmanager
def _damage_named(file: Path) -> Iterator[None]:
    """Turn whatever a damaged file raises into one sentence."""
    try:
        yield
    except InputError:
        raise
    # Foreign bytes make the storage libraries raise almost anything, from struct.error to
    # MemoryError; none of it would help the user more than the file's name.
    except Exception as error:
        reason = str(error).rstrip('.') or type(error).__name__
        msg = (
            f'{file} is damaged, cut short or not supported ({reason}): '
            f'{_CURES[storage_kind(file)]}.'
        )
        raise InputError(msg) from error
