# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which files a bag consists of, and whether they are what their names say."""

from __future__ import annotations

import re
from typing import NamedTuple, TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.metadata import METADATA, Metadata, read_metadata

if TYPE_CHECKING:
    from pathlib import Path

COMPRESSED = ('.zstd', '.zst')
UNMERGED = '-wal'
"""End of the name of a log with rows that SQLite did not yet put into its file."""

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


def storage_files(path: Path, *, salvage: bool = False) -> StorageFiles:
    """
    Return the storage files of a bag.

    Parameters
    ----------
    path
        A rosbag2 folder, or one ``.mcap``, ``.db3`` or ROS 1 ``.bag`` file.
    salvage
        Pass over files that are missing or no bags, and over damaged metadata, with notes.

    Raises
    ------
    InputError
        If there is no such path, or it holds no storage file, or one that is missing, empty or
        of another kind than its name says.

    """
    if not path.exists():
        msg = f'{path} does not exist: check the path of the bag.'
        raise InputError(msg)
    found = _files_of_folder(path, salvage) if path.is_dir() else StorageFiles([path], [], None)
    wrong = {file: _wrong_kind(file) for file in found.files}
    files = [file for file in found.files if not wrong[file]]
    refusals = [refusal for refusal in wrong.values() if refusal]
    if refusals and not (salvage and files):
        raise InputError(refusals[0])
    notes = [*found.notes, *refusals]
    for file in files:
        notes += _linked(file) + ([] if salvage else _unmerged(file))
    return StorageFiles(files, notes, found.metadata)


def storage_kind(file: Path) -> str:
    """Return the suffix that names the storage, without that of a compression."""
    return file.with_suffix('').suffix if file.suffix in COMPRESSED else file.suffix


def _files_of_folder(folder: Path, salvage: bool) -> StorageFiles:
    notes = [f'{folder} has no {METADATA}: its files are read by name.']
    if (folder / METADATA).exists():
        try:
            metadata = read_metadata(folder / METADATA)
            return _listed_files(folder, metadata, salvage)
        except InputError as error:
            if not salvage:
                raise
            notes = [f'{error} Its files are read by name.']
    files = sorted(
        (file for file in folder.iterdir() if storage_kind(file) in {'.mcap', '.db3'}),
        key=_natural_order,
    )
    if not files:
        msg = (
            f'{folder} is no bag: it holds neither {METADATA} nor an .mcap or .db3 file; give '
            f'the folder that ros2 bag record made.'
        )
        raise InputError(msg)
    return StorageFiles(files, notes, None)


def _listed_files(folder: Path, metadata: Metadata, salvage: bool) -> StorageFiles:
    files = [folder / name for name in metadata.names]
    missing = [file.name for file in files if not file.exists()]
    if missing and not salvage:
        msg = (
            f'{folder} is incomplete, {", ".join(missing)} is listed in {METADATA} but not '
            f'there: copy the whole folder, or read the remaining files with --salvage.'
        )
        raise InputError(msg)
    notes = [f'{folder}: {name} is listed in {METADATA} but not there.' for name in missing]
    there = [file for file in files if file.exists()]
    if not there:
        msg = f'{folder} holds none of the files that its {METADATA} lists: copy the whole folder.'
        raise InputError(msg)
    return StorageFiles(there, notes, metadata)


def _natural_order(file: Path) -> list[tuple[int, str]]:
    """Order split files by number: 2 comes before 10."""
    return [(int(part or 0), text) for text, part in re.findall(r'(\D*)(\d*)', file.name)]


def _wrong_kind(file: Path) -> str:
    """Return why a file cannot be one of a bag, or an empty text."""
    kind = storage_kind(file)
    if kind not in {'.mcap', '.db3', '.bag'}:
        return (
            f'{file} is no bag: give a rosbag2 folder, an .mcap or .db3 file, or a ROS 1 .bag '
            f'file.'
        )
    if not file.is_file():
        return f'{file} is no file that could be read: give one that is, or the folder of a bag.'
    with file.open('rb') as stream:
        start = stream.read(16)
    if not start:
        return (
            f'{file} is empty, so it was never finished or the copy failed: copy it again or '
            f'choose another recording.'
        )
    if not start.startswith(_MAGIC[file.suffix]):
        return (
            f'{file} does not begin like a {file.suffix} file, so it is something else or '
            f'damaged: check where it came from and copy it again.'
        )
    return ''


def _linked(file: Path) -> list[str]:
    """Name what is read in the place of a link, since a folder by mail may point anywhere."""
    if not file.is_symlink():
        return []
    return [f'{file} is a link, and what is read is {file.resolve()}.']


def _unmerged(file: Path) -> list[str]:
    """Name an SQLite log that holds messages which only its own library merges."""
    log = file.with_name(file.name + UNMERGED)
    if not (log.exists() and log.stat().st_size):
        return []
    note = (
        f'{log} holds messages that were never merged into the bag and are left out: read them '
        f"with --salvage, or run sqlite3 {file} 'PRAGMA wal_checkpoint' to merge them."
    )
    return [note]
