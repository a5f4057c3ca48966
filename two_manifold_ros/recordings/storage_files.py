# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which files a bag consists of, and whether they are what their names say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

METADATA = 'metadata.yaml'
COMPRESSED = ('.zstd', '.zst')
_MAGIC = {
    '.mcap': b'\x89MCAP0\r\n',
    '.db3': b'SQLite format 3\x00',
    '.bag': b'#ROSBAG V',
    '.zstd': b'\x28\xb5\x2f\xfd',
    '.zst': b'\x28\xb5\x2f\xfd',
}


def storage_files(path: Path) -> tuple[list[Path], list[str]]:
    """
    Return the storage files of a bag in the order of recording, and notes to be said aloud.

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
    files, notes = _files_of_folder(path) if path.is_dir() else ([path], [])
    for file in files:
        _refuse_wrong_kind(file)
        notes += _unmerged(file)
    return files, notes


def storage_kind(file: Path) -> str:
    """Return the suffix that names the storage, without that of a compression."""
    return file.with_suffix('').suffix if file.suffix in COMPRESSED else file.suffix


def _files_of_folder(folder: Path) -> tuple[list[Path], list[str]]:
    if (folder / METADATA).exists():
        files = [folder / name for name in _listed_names(folder / METADATA)]
        missing = [file.name for file in files if not file.exists()]
        if missing:
            msg = (
                f'{folder} is incomplete, {", ".join(missing)} is listed in {METADATA} but not '
                f'there: copy the whole folder, or give the remaining files one by one.'
            )
            raise InputError(msg)
        return files, []
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
    return files, [f'{folder} has no {METADATA}: its {len(files)} file(s) are read by name.']


def _listed_names(metadata: Path) -> list[str]:
    try:
        content = YAML(typ='safe').load(metadata.read_text('utf-8'))
        paths = content['rosbag2_bagfile_information']['relative_file_paths']
        # Before version 4 the paths began with the folder's name.
        names = [str(path).rsplit('/', 1)[-1] for path in paths]
    except (YAMLError, UnicodeDecodeError, KeyError, TypeError) as error:
        msg = f'{metadata} is damaged: remove it, the bag is then read without it.'
        raise InputError(msg) from error
    if not names:
        msg = f'{metadata} lists no files, so the recording is empty: choose another bag.'
        raise InputError(msg)
    return names


def _natural_order(file: Path) -> list[tuple[int, str]]:
    """Order split files by number: 2 comes before 10."""
    return [(int(part or 0), text) for text, part in re.findall(r'(\D*)(\d*)', file.name)]


def _refuse_wrong_kind(file: Path) -> None:
    kind = storage_kind(file)
    if kind not in {'.mcap', '.db3', '.bag'}:
        msg = (
            f'{file} is no bag: give a rosbag2 folder, an .mcap or .db3 file, or a ROS 1 .bag '
            f'file.'
        )
        raise InputError(msg)
    with file.open('rb') as stream:
        start = stream.read(16)
    if not start:
        msg = (
            f'{file} is empty, so it was never finished or the copy failed: copy it again or '
            f'choose another recording.'
        )
        raise InputError(msg)
    if not start.startswith(_MAGIC[file.suffix]):
        msg = (
            f'{file} does not begin like a {file.suffix} file, so it is something else or '
            f'damaged: check where it came from and copy it again.'
        )
        raise InputError(msg)


def _unmerged(file: Path) -> list[str]:
    """Name an SQLite log that holds messages which only its own library merges."""
    log = file.with_name(f'{file.name}-wal')
    if not (log.exists() and log.stat().st_size):
        return []
    note = (
        f'{log} holds messages that were never merged into the bag and are left out: run '
        f"sqlite3 {file} 'PRAGMA wal_checkpoint' to merge them."
    )
    return [note]
