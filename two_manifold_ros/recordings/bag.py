# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Open bags of every kind by the library `rosbags`.

Bags are untrusted input: sizes, metadata and databases are bounded.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing, contextmanager, ExitStack
from functools import cache
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
from ruamel.yaml import YAML

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.bag_topics import printable, Topic
from two_manifold_ros.sources import COMPRESSED, KINDS, METADATA, PARTS, storage_kind, UNMERGED

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from types import TracebackType

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
    one by one rather than as a folder, because `rosbags` refuses a whole folder for one topic that
    it cannot read. ``topics`` are those of all files, in the order of their names, and ``decode``
    returns the message object of serialised bytes and their type. ``InputError``, on entering and
    on reading, names a file that is damaged.
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
        found = sum(reader.message_count for _, reader in self._readers)
        # Fewer than counted are no damage: some recorders count what they drop.
        if counted is not None and found < counted:
            self.notes.append(
                f'{self.path} holds {found} messages, and its metadata count {counted}: the '
                'others were dropped by its recorder or lost since; copy it again if that is new.'
            )
        self._store, self._decoder = Stores.ROS2_JAZZY, 'deserialize_cdr'
        if isinstance(self._readers[0][1], rosbag1.Reader):
            self._store, self._decoder = Stores.ROS1_NOETIC, 'deserialize_ros1'
        self.decode: Callable[[bytes, str], Any] = getattr(_types(self._store), self._decoder)
        by_name: dict[tuple[str, str, str], list[tuple[Reader, Connection]]] = {}
        for _, reader in self._readers:
            for each in reader.connections:
                package, _, name = each.msgtype.rpartition('/')
                # In its ROS 2 spelling.
                msgtype = printable(f'{package.removesuffix("/msg")}/msg/{name}')
                form = 'ros1'
                if isinstance(each.ext, ConnectionExtRosbag2):
                    form = printable(each.ext.serialization_format)
                by_name.setdefault((printable(each.topic), msgtype, form), []).append(
                    (reader, each)
                )
        for (name, msgtype, form), of in sorted(by_name.items(), key=lambda item: item[0]):
            topic = Topic(name, msgtype, sum(each.msgcount for _, each in of), form)
            self.topics.append(topic)
            self._connections[topic] = of
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    @property
    def seconds(self) -> float:
        """How long the bag lasts by the account of its files, s."""
        return 1e-9 * sum(max(each.end_time - each.start_time, 0) for _, each in self._readers)

    def messages(self, topics: Collection[Topic]) -> Iterator[tuple[str, int, bytes]]:
        """
        Yield topic name, receive time in ns and serialised message, in the order received.

        ``InputError`` says, at the end of a file, that it holds fewer than it counts: where a
        chunk has no checksum, wrong bytes in it show only in records that are missing.
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
                    # No CDR header starts like a zstd frame, so the metadata need not say what is
                    # compressed.
                    is_packed = raw[:4] == _MAGIC['.zstd']
                    yield names[connection.id], received, unpack(raw, 'zstd') if is_packed else raw
                for each in connections:
                    if found[each.id] < each.msgcount:
                        missing = each.msgcount - found[each.id]
                        msg = (
                            f'{missing} of {each.msgcount} messages on {each.topic!r} are not '
                            'there'
                        )
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
            msg = (
                f'{self.path} does not define {topic.msgtype} of {topic.name}, so it cannot be '
                f'decoded ({error}): convert the bag to MCAP where its package is installed, with '
                'ros2 bag convert'
            )
            raise InputError(msg) from error


_MEMBER = re.compile(r'\s*([A-Za-z][\w/]*(?:<=\d+)?(?:\[(?:<=)?\d*\])?)\s+([A-Za-z]\w*)\s*(=?)')
_SEPARATOR = re.compile(r'=+\s*$')
_NESTED = re.compile(r'MSG: [A-Za-z][\w/]*\s*$')


def types_with(store: Stores, definition: str | None, msgtype: str) -> Any:  # noqa: ANN401 - as above
    """
    Return the types of a release of ROS, and a type with those in it that a bag defines.

    The library makes Python code of a definition, so nothing but names and sizes of members gets
    there: no constants, defaults or comments.
    """
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
        msg = 'no definition'
        raise ValueError(msg)
    found = get_types_from_msg('\n'.join(lines), msgtype)
    types.register({name: each for name, each in found.items() if name not in types.fielddefs})
    return types


_CURES = {
    '.mcap': 'copy it again, or save the rest by "mcap recover FILE -o NEW.mcap"',
    '.db3': 'copy it again, or save the rest by "sqlite3 FILE .recover | sqlite3 NEW.db3"',
    '.bag': 'try "rosbag reindex", or copy it again',
}


def _opened(file: Path, stack: ExitStack) -> Reader:
    """Open one file, which the stack closes; ``InputError`` if it is damaged."""
    with _damage_named(file):
        plain = file
        if file.suffix in COMPRESSED:
            plain = Path(stack.enter_context(TemporaryDirectory())) / file.stem
            most = max(ALWAYS_ALLOWED, LARGEST_RATIO * file.stat().st_size)
            with zstd.open(file, 'rb') as packed, plain.open('wb') as unpacked:
                while part := packed.read1(1 << 20):
                    unpacked.write(part)
                    if unpacked.tell() > most:
                        msg = f'more than {most} bytes are packed into it'
                        raise ValueError(msg)
        if plain.suffix == '.db3':
            _check_database(plain)
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


def _storage_files(path: Path) -> tuple[list[Path], list[str], int | None]:
    """
    Return the files of a bag in the order of recording, notes, and how many messages it counts.

    Each is of the kind that it claims; others are refused.
    """
    if not path.exists():
        msg = f'{path} does not exist: check the path of the bag.'
        raise InputError(msg)
    files, notes, messages = [path], list[str](), None
    if (path / METADATA).exists():
        names, messages = read_metadata(path / METADATA)
        files = [path / name for name in names]
        if missing := [file.name for file in files if not file.exists()]:
            msg = (
                f'{path} is incomplete, {", ".join(missing)} is listed in {METADATA} but not '
                f'there: copy the whole folder, or remove {METADATA} to read the files that are '
                'there.'
            )
            raise InputError(msg)
    elif path.is_dir():
        parts = (file for file in path.iterdir() if storage_kind(file) in PARTS)
        files = sorted(parts, key=_natural_order)
        if not files:
            msg = (
                f'{path} is no bag: it holds neither {METADATA} nor an .mcap or .db3 file; give '
                f'the folder that ros2 bag record made.'
            )
            raise InputError(msg)
        notes.append(f'{path} has no {METADATA}: its files are read by name.')
    for file in files:
        if refusal := _wrong_kind(file):
            msg = f'{file} {refusal}'
            raise InputError(msg)
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
    return files, notes, messages


def _natural_order(file: Path) -> list[tuple[int, str]]:
    """Order split files by number: 2 comes before 10."""
    return [(int(part or 0), text) for text, part in re.findall(r'(\D*)(\d*)', file.name)]


LARGEST = 1_000_000
"""Bytes of metadata, which have some 200 for each file of a split bag."""

MOST_PARSED, MOST_BRACKETS = 64_000, 100
"""
Characters that are left to parse, some 30 for each file, which takes less than a second, and
brackets among them: within each other they would take much longer.
"""

_NOT_NEEDED = re.compile(
    r'^  (?:files|topics_with_message_count):\n(?:(?:   |  -).*\n)+', re.MULTILINE
)
"""What it says of each file and topic, as recorders write it: nearly all of a long one."""


def read_metadata(path: Path) -> tuple[list[str], int | None]:
    """
    Return the names of files in a ``metadata.yaml``, and how many messages it counts, if it does.

    They are in the order of recording, each without a folder: nothing else is read.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError(LARGEST)  # noqa: TRY301 - as of other foreign bytes
        text = _NOT_NEEDED.sub('', path.read_text('utf-8'))
        if len(text) > MOST_PARSED or text.count('[') + text.count('{') > MOST_BRACKETS:
            raise ValueError(text[:100])  # noqa: TRY301 - as above
        reader = YAML(typ='safe')
        # It would print some lines for each name that is given twice.
        reader.composer.warn_double_anchors = False
        information = dict(reader.load(text)['rosbag2_bagfile_information'])
        paths = information['relative_file_paths']
        # Nested aliases of YAML expand exponentially.
        if not all(isinstance(each, str) for each in paths):
            raise TypeError(paths)  # noqa: TRY301 - as above
        # Before version 4 the paths started with the folder's name.
        names = [each.rsplit('/', 1)[-1] for each in paths]
    # On foreign bytes a reader of YAML raises almost anything, RecursionError too.
    except Exception as error:
        msg = f'{path} is damaged: remove it, and the bag is read without it.'
        raise InputError(msg) from error
    if not names:
        msg = f'{path} lists no files, so the recording is empty: choose another bag.'
        raise InputError(msg)
    messages = information.get('message_count')
    return names, messages if isinstance(messages, int) else None


_MAGIC = {
    '.mcap': b'\x89MCAP0\r\n',
    '.db3': b'SQLite format 3\x00',
    '.bag': b'#ROSBAG V',
    '.zstd': b'\x28\xb5\x2f\xfd',
    '.zst': b'\x28\xb5\x2f\xfd',
}


def _wrong_kind(file: Path) -> str:
    """Return why a file cannot be one of a bag, or an empty text."""
    if storage_kind(file) not in KINDS:
        return 'is no bag: give a rosbag2 folder, an .mcap or .db3 file, or a ROS 1 .bag file.'
    if not file.is_file():
        return 'is not a readable file: name a file, or the folder of a bag.'
    with file.open('rb') as stream:
        start = stream.read(16)
    if not start:
        return (
            'is empty, so it was never finished or the copy failed: copy it again or choose '
            'another recording.'
        )
    if not start.startswith(_MAGIC[file.suffix]):
        return (
            f'does not start like a {file.suffix} file, so it is something else or damaged: '
            'check where it came from and copy it again.'
        )
    return ''


LARGEST_PART = 256_000_000
"""Bytes of a chunk, or of a message, when it is unpacked."""

LARGEST_RATIO = 200
"""Of a whole file to what it is packed into; recordings of sensors come to ten or so."""

ALWAYS_ALLOWED = 100_000_000
"""Bytes of a whole file that its ratio does not matter for."""


def unpack(packed: bytes, compression: str, most: int = LARGEST_PART) -> bytes:
    """
    Return the content of bytes that are packed by ``zstd`` or ``lz4``, of a cut stream its begin.

    It raises an exception of any kind if they are damaged, or more than ``most``.
    """
    makers: dict[str, Any] = {'zstd': zstd.ZstdDecompressor, 'lz4': LZ4FrameDecompressor}
    parts, left = [], most + 1
    while packed and left > 0:
        # A stream may hold one frame after the other.
        frame = makers[compression]()
        parts.append(frame.decompress(packed, max_length=left))
        left -= len(parts[-1])
        packed = frame.unused_data if frame.eof else b''
    if left <= 0:
        msg = f'more than {most} bytes are packed into a part of it'
        raise ValueError(msg)
    return b''.join(parts)


def _unpacker(compression: str) -> Any:  # noqa: ANN401 - of the library's own type
    """Return what unpacks chunks up to the declared size, which `rosbags` looks at only later."""
    return lambda packed, size: unpack(packed, compression, min(size, LARGEST_PART))


storage_mcap.DECOMPRESSORS.update({name: _unpacker(name) for name in ('zstd', 'lz4')})


def _check_database(file: Path) -> None:
    """Raise an error of a damaged SQLite file, or of one that holds something else than rows."""
    path = f'{file.absolute().as_uri()}?mode=ro&immutable=1'
    with closing(sqlite3.connect(path, uri=True)) as database:
        (page,) = database.execute('PRAGMA page_size').fetchone()
        # SQLite itself takes what is missing of the last page for zeros.
        if file.stat().st_size % page:
            msg = 'its last page is cut off'
            raise ValueError(msg)
        # They could run for ever.
        for kind, sql in database.execute('SELECT type, sql FROM sqlite_master'):
            words = str(sql or '').upper().replace('(', ' ').split()
            if kind not in {'table', 'index'} or 'VIRTUAL' in words[:3] or 'AS' in words:
                msg = 'it holds views, triggers or calculated columns, which no recorder writes'
                raise ValueError(msg)
