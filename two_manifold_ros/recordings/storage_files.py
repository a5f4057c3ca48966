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

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


class StorageFiles(NamedTuple):
    """Files of a bag in the order of recording, notes to be said, and how many messages it has."""

    files: list[Path]
    notes: list[str]
    messages: int | None


def storage_files(path: Path) -> StorageFiles:
    """Return the storage files of a folder, or of one file, each of the kind that it claims."""
    if not path.exists():
        msg = f'{path} does not exist: check the path of the bag.'
        raise InputError(msg)
    files, notes, messages = (
        _files_of_folder(path) if path.is_dir() else StorageFiles([path], [], None)
    )
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
    return StorageFiles(files, notes, messages)


def _files_of_folder(folder: Path) -> StorageFiles:
    if not (folder / METADATA).exists():
        parts = (file for file in folder.iterdir() if storage_kind(file) in PARTS)
        files = sorted(parts, key=_natural_order)
        if not files:
            msg = (
                f'{folder} is no bag: it holds neither {METADATA} nor an .mcap or .db3 file; give '
                f'the folder that ros2 bag record made.'
            )
            raise InputError(msg)
        note = f'{folder} has no {METADATA}: its files are read by name.'
        return StorageFiles(files, [note], None)
    names, messages = read_metadata(folder / METADATA)
    files = [folder / name for name in names]
    if missing := [file.name for file in files if not file.exists()]:
        msg = (
            f'{folder} is incomplete, {", ".join(missing)} is listed in {METADATA} but not '
            f'there: copy the whole folder, or remove {METADATA} to read the files that are there.'
        )
        raise InputError(msg)
    return StorageFiles(files, [], messages)


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
        information = _information(path)
        paths = information['relative_file_paths']
        # Nested aliases of YAML expand exponentially.
        if not all(isinstance(each, str) for each in paths):
            raise TypeError(paths)  # noqa: TRY301 - as of other foreign bytes
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
    return dict(reader.load(text)['rosbag2_bagfile_information'])


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


def unpack_file(source: Path, target: Path) -> None:
    """Write the content of a zstd file that is whole, and no larger than recordings are."""
    most = max(ALWAYS_ALLOWED, LARGEST_RATIO * source.stat().st_size)
    with zstd.open(source, 'rb') as packed, target.open('wb') as unpacked:
        while part := packed.read1(1 << 20):
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
