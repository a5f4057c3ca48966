# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Open bags of every kind by the library `rosbags`; as untrusted input they are bounded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, ExitStack
from functools import cache, partial
from itertools import takewhile
from pathlib import Path
import re
import sqlite3
import sys
from tempfile import TemporaryDirectory
from typing import Any, TYPE_CHECKING, TypeAlias

from lz4.frame import LZ4FrameDecompressor  # type: ignore[import-untyped]
from rosbags import rosbag1, rosbag2
from rosbags.interfaces import Connection, ConnectionExtRosbag2, MessageDefinitionFormat
from rosbags.rosbag2 import storage_mcap
from rosbags.typesys import get_types_from_msg, get_typestore, Stores

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.bag_topics import damaged, printable, Topic
from two_manifold_ros.sources import COMPRESSED, KINDS, METADATA, PARTS, storage_kind, UNMERGED

if TYPE_CHECKING:
    from typing_extensions import Self

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


Reader: TypeAlias = rosbag1.Reader | rosbag2.Reader
"""What reads one file of a bag."""

_types = cache(get_typestore)
"""Types of a release, never those that a bag defines; they take time to make."""


class Bag:
    """
    A context manager over the storage files of one bag, in the order of recording.

    It is a rosbag2 folder, or one ``.mcap``, ``.db3`` or ROS 1 ``.bag`` file. The files are opened
    one by one, because `rosbags` refuses a whole folder for one topic that it cannot read.
    ``topics`` are those of all files, in the order of their names, and ``decode`` returns the
    message object of serialised bytes and their type. ``InputError`` names a damaged file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path: Path | str = Path(path)
        self.notes: list[str] = []
        self.topics: list[Topic] = []
        # Where the messages of each topic are.
        self._connections: dict[Topic, list[tuple[Reader, Connection]]] = {}

    def __enter__(self) -> Self:
        files, self.notes, counted = _storage_files(Path(self.path))
        with ExitStack() as stack:
            self._readers = [(file, _opened(file, stack)) for file in files]
            self._stack = stack.pop_all()
        missing = counted - sum(reader.message_count for _, reader in self._readers)
        if missing > 0:
            note = 'messages that its metadata count are missing: dropped by its recorder, or lost'
            self.notes.append(f'{self.path}: {missing} {note}.')
        self._store, self._decoder = Stores.ROS2_JAZZY, 'deserialize_cdr'
        if isinstance(self._readers[0][1], rosbag1.Reader):
            self._store, self._decoder = Stores.ROS1_NOETIC, 'deserialize_ros1'
        self.decode: Callable[[bytes, str], Any] = getattr(_types(self._store), self._decoder)
        by_name: dict[tuple[str, str, str], list[tuple[Reader, Connection]]] = {}
        for _, reader in self._readers:
            for each in reader.connections:
                # In a damaged database names may be bytes.
                package, _, name = str(each.msgtype).rpartition('/')
                # In its ROS 2 spelling.
                msgtype = printable(f'{package.removesuffix("/msg")}/msg/{name}')
                form = 'ros1'
                if isinstance(each.ext, ConnectionExtRosbag2):
                    form = printable(each.ext.serialization_format)
                key = printable(str(each.topic)), msgtype, form
                by_name.setdefault(key, []).append((reader, each))
        for (name, msgtype, form), of in sorted(by_name.items(), key=lambda item: item[0]):
            topic = Topic(name, msgtype, sum(each.msgcount for _, each in of), form)
            self.topics.append(topic)
            self._connections[topic] = of
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def seconds(self) -> float:
        """How long the bag lasts by the account of its files, s."""
        return 1e-9 * sum(max(each.end_time - each.start_time, 0) for _, each in self._readers)

    def messages(self, topics: Collection[Topic]) -> Iterator[tuple[str, int, bytes]]:
        """
        Yield topic name, receive time in ns and serialised message, in the order received.

        ``InputError`` says, at the end of a file, that it holds fewer than it counts: the only
        sign of wrong bytes in a chunk without a checksum.
        """
        for file, reader in self._readers:
            names = {
                each.id: topic.name
                for topic in topics
                for of, each in self._connections[topic]
                if of is reader
            }
            connections = [each for each in reader.connections if each.id in names]
            # An empty list would mean every topic to rosbags.
            if not connections:
                continue
            found: Counter[int] = Counter()
            with _damage_named(file):
                for connection, received, raw in reader.messages(connections):
                    found[connection.id] += 1
                    # No CDR header starts like a zstd frame: it says what is compressed.
                    is_packed = raw[:4] == _MAGIC['.zstd']
                    yield names[connection.id], received, unpack(raw) if is_packed else raw
                for each in connections:
                    if found[each.id] < each.msgcount:
                        missing = each.msgcount - found[each.id]
                        msg = f'{missing} of {each.msgcount} messages on {each.topic!r} are lost'
                        raise ValueError(msg)

    def decoder_of(self, topic: Topic) -> Callable[[bytes, str], Any]:
        """Return what decodes messages of a topic whose type only the bag defines."""
        definition = next(
            (
                each.msgdef.data
                for _, each in self._connections[topic]
                if each.msgdef.format == MessageDefinitionFormat.MSG and each.msgdef.data
            ),
            None,
        )
        try:
            types = types_with(self._store, definition, topic.msgtype)
            return getattr(types, self._decoder)  # type: ignore[no-any-return]
        # A parser of definitions raises errors of several kinds.
        except Exception as error:
            raise InputError(
                f'{self.path} does not define {topic.msgtype} of {topic.name}, so it cannot be '
                f'decoded ({error}): convert the bag to MCAP where its package is installed, with '
                'ros2 bag convert'
            ) from error


_MEMBER = re.compile(r'\s*([A-Za-z][\w/]*(?:<=\d+)?(?:\[(?:<=)?\d*\])?)\s+([A-Za-z]\w*)\s*(=?)')
_SEPARATOR = re.compile(r'=+\s*$')
_NESTED = re.compile(r'MSG: [A-Za-z][\w/]*\s*$')


def types_with(store: Stores, definition: str | None, msgtype: str) -> Any:  # noqa: ANN401 - as above
    """Return the types of a release of ROS, and a type with those in it that a bag defines."""
    # The library makes Python code of it, so only names and sizes of members get there.
    types: Any = get_typestore(store)
    if msgtype in types.fielddefs:
        return types
    lines = []
    for line in (definition or '').splitlines():
        member = _MEMBER.match(line)
        if _SEPARATOR.match(line) or _NESTED.match(line):
            lines.append(line.rstrip())
        elif member and not member.group(3):
            lines.append(f'{member.group(1)} {member.group(2)}')
    if not lines:
        raise ValueError('no definition')
    found = get_types_from_msg('\n'.join(lines), msgtype)
    types.register({name: each for name, each in found.items() if name not in types.fielddefs})
    return types


_MAGIC = {
    '.mcap': b'\x89MCAP0\r\n',
    '.db3': b'SQLite format 3\x00',
    '.bag': b'#ROSBAG V',
    '.zstd': b'\x28\xb5\x2f\xfd',
    '.zst': b'\x28\xb5\x2f\xfd',
}


def _opened(file: Path, stack: ExitStack) -> Reader:
    """Open one file, which the stack closes; ``InputError`` if it is damaged or another kind."""
    if storage_kind(file) not in KINDS or not file.is_file():
        raise InputError(
            f'{file} is no bag: give a rosbag2 folder, an .mcap or .db3 file, or a ROS 1 .bag '
            'file.'
        )
    with file.open('rb') as stream:
        start = stream.read(16)
    if not start.startswith(_MAGIC[file.suffix]):
        raise InputError(
            f'{file} {"does not start like" if start else "is empty and not"} a {file.suffix} '
            'file, so it was never finished, is damaged or something else: check where it '
            'came from and copy it again.'
        )
    with _damage_named(file):
        plain = file
        if file.suffix in COMPRESSED:
            plain = Path(stack.enter_context(TemporaryDirectory())) / file.stem
            # Recordings of sensors come to ten or so.
            most = max(ALWAYS_ALLOWED, 200 * file.stat().st_size)
            with zstd.open(file, 'rb') as packed, plain.open('wb') as unpacked:
                while part := packed.read1(1 << 20):
                    unpacked.write(part)
                    if unpacked.tell() > most:
                        raise ValueError(f'more than {most} bytes are packed into it')
        if plain.suffix == '.db3':
            _check_database(plain)
        reader = rosbag1.Reader(plain) if plain.suffix == '.bag' else rosbag2.Reader(plain)
        stack.enter_context(reader)
        return reader


def _check_database(file: Path) -> None:
    """Raise an error of a cut SQLite file, or of one that holds something else than rows."""
    path = f'{file.absolute().as_uri()}?mode=ro&immutable=1'
    with closing(sqlite3.connect(path, uri=True)) as database:
        (page,) = database.execute('PRAGMA page_size').fetchone()
        words = [
            (kind, *str(sql or '').upper().replace('(', ' ').split())
            for kind, sql in database.execute('SELECT type, sql FROM sqlite_master')
        ]
    # SQLite itself takes what is missing of the last page for zeros; other kinds run for ever.
    if file.stat().st_size % page or any(
        each[0] not in {'table', 'index'} or 'VIRTUAL' in each[:4] or 'AS' in each
        for each in words
    ):
        raise ValueError('it is cut off, or holds more than rows')


@contextmanager
def _damage_named(file: Path) -> Iterator[None]:
    """Turn any error of a damaged file into one sentence."""
    try:
        yield
    except InputError:
        raise
    # Foreign bytes make the storage libraries raise almost anything, MemoryError too.
    except Exception as error:
        raise damaged(file, error) from error


LARGEST = 1_000_000
"""Bytes of metadata, which have some 200 for each file of a split bag."""


def _listed(metadata: Path) -> tuple[list[Path], int]:
    """Return the files of its folder that metadata list, and how many messages they count."""
    if not metadata.is_file() or metadata.stat().st_size > LARGEST:
        return [], 0
    text = metadata.read_text('utf-8', 'replace')
    counted = re.search(r'^  message_count: ([0-9]{1,18})$', text, re.MULTILINE)
    _, _, listed = text.partition('relative_file_paths:')
    entries = takewhile(lambda line: line[:2] == '- ', map(str.strip, listed.split('\n')[1:]))
    # Before version 4 the folder's name was in front.
    names = [each[2:].strip(' \'"').rpartition('/')[2] for each in entries]
    return [metadata.parent / name for name in names if name], int(counted[1]) if counted else 0


def _storage_files(path: Path) -> tuple[list[Path], list[str], int]:
    """Return the files of a bag in the order of recording, notes, and how many messages it has."""
    notes: list[str] = []
    files, counted = _listed(path / METADATA) if path.is_dir() else ([path], 0)
    if not files:
        # Split files by number: 2 comes before 10.
        files = sorted(
            (file for file in path.iterdir() if storage_kind(file) in PARTS),
            key=lambda file: ([int(each or 0) for each in re.split(r'\D+', file.name)], file.name),
        )
        notes.append(f'{path} has no {METADATA} that lists its files: they are read by name.')
    missing = [file.name for file in files if not file.exists()]
    trouble = ''
    if not path.exists():
        trouble = 'does not exist: check the path of the bag.'
    elif missing:
        trouble = (
            f'is incomplete, {", ".join(missing)} is listed in {METADATA} but not there: copy the '
            f'whole folder, or remove {METADATA} to read the files that are there.'
        )
    elif not files:
        trouble = (
            f'is no bag: it holds neither {METADATA} nor an .mcap or .db3 file; give the folder '
            'that ros2 bag record made.'
        )
    if trouble:
        raise InputError(f'{path} {trouble}')
    for file in files:
        # An untrusted folder may link to any file.
        if file.is_symlink():
            notes.append(f'{file} is a link to {file.resolve()}; the target is read.')
        # Only its own library merges such a log.
        log = file.with_name(file.name + UNMERGED)
        if log.exists() and log.stat().st_size:
            notes.append(
                f'{log} holds messages that were never merged into the bag and are left out: run '
                f"sqlite3 {file} 'PRAGMA wal_checkpoint' to merge them."
            )
    return files, notes, counted


LARGEST_PART = 256_000_000
"""Bytes of a chunk, or of a message, when it is unpacked."""

ALWAYS_ALLOWED = 100_000_000
"""Bytes of a whole file that its ratio does not matter for."""


def unpack(packed: bytes, most: int = LARGEST_PART, *, compression: str = 'zstd') -> bytes:
    """Return bytes unpacked, of a cut stream the begin; any error if damaged or over ``most``."""
    makers: dict[str, Any] = {'zstd': zstd.ZstdDecompressor, 'lz4': LZ4FrameDecompressor}
    most = min(most, LARGEST_PART)
    parts, left = [], most + 1
    while packed and left > 0:
        # A stream may hold one frame after the other.
        frame = makers[compression]()
        parts.append(frame.decompress(packed, max_length=left))
        left -= len(parts[-1])
        packed = frame.unused_data if frame.eof else b''
    if left <= 0:
        raise ValueError(f'more than {most} bytes are packed into a part of it')
    return b''.join(parts)


# The library itself looks at the declared size only when all is unpacked.
storage_mcap.DECOMPRESSORS.update(
    {name: partial(unpack, compression=name) for name in ('zstd', 'lz4')}
)
