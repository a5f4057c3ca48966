# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Find the files of a bag, and unpack the compressed ones.

Bags are untrusted input: sizes and metadata are bounded.
"""

from __future__ import annotations

from contextlib import closing
import re
import sqlite3
import sys
from typing import Any, NamedTuple, TYPE_CHECKING

from lz4.frame import LZ4FrameDecompressor  # type: ignore[import-untyped]
from rosbags.rosbag2 import storage_mcap
from ruamel.yaml import YAML

from two_manifold_ros.errors import InputError
from two_manifold_ros.sources import KINDS, METADATA, PARTS, storage_kind, UNMERGED

if TYPE_CHECKING:
    from pathlib import Path


LARGEST = 1_000_000
"""Bytes; it has some 200 for each file of a split bag."""

MOST_PARSED, MOST_BRACKETS = 64_000, 100
"""
Characters that are left to parse, some 30 for each file, which takes less than a second, and
brackets among them: within each other they would take much longer.
"""

_NOT_NEEDED = re.compile(
    r'^  (?:files|topics_with_message_count):\n(?:(?:   |  -).*\n)+', re.MULTILINE
)
"""What it says of each file and topic, as recorders write it: nearly all of a long one."""


class Metadata(NamedTuple):
    """
    Metadata of a bag.

    Parameters
    ----------
    names
        Of its files in the order of recording, each without a folder: nothing else is read.
    messages
        How many it holds, if it is said.
    seconds
        From the first to the last, if it is said.

    """

    names: list[str]
    messages: int | None
    seconds: float | None


def read_metadata(path: Path) -> Metadata:
    """
    Read a ``metadata.yaml``.

    Raises
    ------
    InputError
        If it is damaged, or lists no files.

    """
    try:
        information = _information(path)
        paths = information['relative_file_paths']
        # Before version 4 the paths started with the folder's name.
        names = [_text(each).rsplit('/', 1)[-1] for each in paths]
    # On foreign bytes a reader of YAML raises almost anything, RecursionError too.
    except Exception as error:
        msg = f'{path} is damaged: remove it, and the bag is read without it.'
        raise InputError(msg) from error
    if not names:
        msg = f'{path} lists no files, so the recording is empty: choose another bag.'
        raise InputError(msg)
    duration = information.get('duration')
    nanoseconds = duration.get('nanoseconds') if isinstance(duration, dict) else None
    messages = information.get('message_count')
    return Metadata(
        names,
        messages if isinstance(messages, int) else None,
        nanoseconds / 1e9 if isinstance(nanoseconds, int) else None,
    )


def _information(path: Path) -> dict[str, Any]:
    if path.stat().st_size > LARGEST:
        msg = f'it has more than {LARGEST} bytes'
        raise ValueError(msg)
    text = _NOT_NEEDED.sub('', path.read_text('utf-8'))
    if len(text) > MOST_PARSED or text.count('[') + text.count('{') > MOST_BRACKETS:
        msg = f'more than {MOST_PARSED} characters or {MOST_BRACKETS} brackets are to be parsed'
        raise ValueError(msg)
    reader = YAML(typ='safe')
    # It would print some lines for each name that is given twice.
    reader.composer.warn_double_anchors = False
    content = reader.load(text)
    information: dict[str, Any] = dict(content['rosbag2_bagfile_information'])
    return information


def _text(value: object) -> str:
    # Nested aliases of YAML expand exponentially.
    if not isinstance(value, str):
        msg = 'a path is no text'
        raise TypeError(msg)
    return value


if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


LARGEST_PART = 256_000_000
"""Bytes of a chunk, or of a message, when it is unpacked."""

LARGEST_RATIO = 200
"""Of a whole file to what it is packed into; recordings of sensors come to ten or so."""

ALWAYS_ALLOWED = 100_000_000
"""Bytes of a whole file that its ratio does not matter for."""

_STEP = 1 << 20


def unpack(packed: bytes, compression: str, most: int = LARGEST_PART) -> bytes:
    """
    Return the decompressed content of some bytes.

    Parameters
    ----------
    packed
        Cut off or not: what is there is unpacked.
    compression
        ``zstd``, ``lz4`` or an empty text.
    most
        Bytes to return at the most.

    Raises
    ------
    ValueError
        If the compression is not known, or there are more bytes.
    Exception
        Of any kind if they are damaged.

    """
    if not compression:
        return packed
    makers: dict[str, Any] = {'zstd': zstd.ZstdDecompressor, 'lz4': LZ4FrameDecompressor}
    if compression not in makers:
        msg = f'the compression {compression[:20]!r} is not known'
        raise ValueError(msg)
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


def largest_unpacked(size: int) -> int:
    """Return how many bytes a file of so many may stand for."""
    return max(ALWAYS_ALLOWED, LARGEST_RATIO * size)


def unpack_file(source: Path, target: Path) -> None:
    """
    Write the decompressed content of a zstd file, as far as it is intact.

    Raises
    ------
    EOFError
        If it is cut off; what was there is written.
    ValueError
        If it is larger than any recording would be.

    """
    most = largest_unpacked(source.stat().st_size)
    with zstd.open(source, 'rb') as packed, target.open('wb') as unpacked:
        while part := packed.read1(_STEP):
            unpacked.write(part)
            if unpacked.tell() > most:
                msg = f'more than {most} bytes are packed into it'
                raise ValueError(msg)


def bound_rosbags() -> None:
    """Have `rosbags` unpack chunks up to their declared size, which it looks at only later."""

    def unpacker(compression: str) -> Any:  # noqa: ANN401 - of the library's own type
        return lambda packed, size: unpack(packed, compression, min(size, LARGEST_PART))

    for compression in ('zstd', 'lz4'):
        storage_mcap.DECOMPRESSORS[compression] = unpacker(compression)


def check_database(file: Path) -> None:
    """
    Check a file before its rows are asked for; nothing is written beside it.

    Raises
    ------
    sqlite3.Error, ValueError
        If it is damaged, or holds something else than rows.

    """
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


_MAGIC = {
    '.mcap': b'\x89MCAP0\r\n',
    '.db3': b'SQLite format 3\x00',
    '.bag': b'#ROSBAG V',
    '.zstd': b'\x28\xb5\x2f\xfd',
    '.zst': b'\x28\xb5\x2f\xfd',
}


class StorageFiles(NamedTuple):
    """
    The files of a bag.

    Parameters
    ----------
    files
        In the order of recording.
    notes
        To be said aloud.
    metadata
        What is said of all of them, if there is something.

    """

    files: list[Path]
    notes: list[str]
    metadata: Metadata | None


def storage_files(path: Path) -> StorageFiles:
    """
    Return the storage files of a bag.

    Parameters
    ----------
    path
        A rosbag2 folder, or one ``.mcap``, ``.db3`` or ROS 1 ``.bag`` file.

    Raises
    ------
    InputError
        If there is no such path, or it holds no storage file, or one that is missing, empty or
        of another kind than its name says.

    """
    if not path.exists():
        msg = f'{path} does not exist: check the path of the bag.'
        raise InputError(msg)
    found = _files_of_folder(path) if path.is_dir() else StorageFiles([path], [], None)
    notes = list(found.notes)
    for file in found.files:
        if refusal := _wrong_kind(file):
            raise InputError(refusal)
        notes += _linked(file) + _unmerged(file)
    return StorageFiles(found.files, notes, found.metadata)


def _files_of_folder(folder: Path) -> StorageFiles:
    if (folder / METADATA).exists():
        return _listed_files(folder, read_metadata(folder / METADATA))
    files = sorted(
        (file for file in folder.iterdir() if storage_kind(file) in PARTS),
        key=_natural_order,
    )
    if not files:
        msg = (
            f'{folder} is no bag: it holds neither {METADATA} nor an .mcap or .db3 file; give '
            f'the folder that ros2 bag record made.'
        )
        raise InputError(msg)
    return StorageFiles(files, [f'{folder} has no {METADATA}: its files are read by name.'], None)


def _listed_files(folder: Path, metadata: Metadata) -> StorageFiles:
    files = [folder / name for name in metadata.names]
    if missing := [file.name for file in files if not file.exists()]:
        msg = (
            f'{folder} is incomplete, {", ".join(missing)} is listed in {METADATA} but not '
            f'there: copy the whole folder, or remove {METADATA} to read the files that are there.'
        )
        raise InputError(msg)
    return StorageFiles(files, [], metadata)


def _natural_order(file: Path) -> list[tuple[int, str]]:
    """Order split files by number: 2 comes before 10."""
    return [(int(part or 0), text) for text, part in re.findall(r'(\D*)(\d*)', file.name)]


def _wrong_kind(file: Path) -> str:
    """Return why a file cannot be one of a bag, or an empty text."""
    kind = storage_kind(file)
    if kind not in KINDS:
        return (
            f'{file} is no bag: give a rosbag2 folder, an .mcap or .db3 file, or a ROS 1 .bag '
            f'file.'
        )
    if not file.is_file():
        return f'{file} is not a readable file: name a file, or the folder of a bag.'
    with file.open('rb') as stream:
        start = stream.read(16)
    if not start:
        return (
            f'{file} is empty, so it was never finished or the copy failed: copy it again or '
            f'choose another recording.'
        )
    if not start.startswith(_MAGIC[file.suffix]):
        return (
            f'{file} does not start like a {file.suffix} file, so it is something else or '
            f'damaged: check where it came from and copy it again.'
        )
    return ''


def _linked(file: Path) -> list[str]:
    """Name the target of a link: an untrusted folder may link to any file."""
    if not file.is_symlink():
        return []
    return [f'{file} is a link to {file.resolve()}; the target is read.']


def _unmerged(file: Path) -> list[str]:
    """Name an SQLite log that holds messages which only its own library merges."""
    log = file.with_name(file.name + UNMERGED)
    if not (log.exists() and log.stat().st_size):
        return []
    note = (
        f'{log} holds messages that were never merged into the bag and are left out: run '
        f"sqlite3 {file} 'PRAGMA wal_checkpoint' to merge them."
    )
    return [note]
