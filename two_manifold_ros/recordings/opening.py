# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Open one file of a bag, and turn whatever a damaged one raises into a sentence."""

from __future__ import annotations

from contextlib import contextmanager, ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from rosbags import rosbag1, rosbag2

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.counting import counted_messages, Reader
from two_manifold_ros.recordings.database_check import check_database
from two_manifold_ros.recordings.salvaging import SalvagedFile
from two_manifold_ros.recordings.storage_files import COMPRESSED, storage_kind, UNMERGED
from two_manifold_ros.recordings.unpacking import unpack_file

if TYPE_CHECKING:
    from collections.abc import Iterator


_SALVAGE = 'copy it again, or read what is left of it with --salvage'
_CURES = {
    '.mcap': _SALVAGE,
    '.db3': _SALVAGE,
    '.bag': 'try "rosbag reindex", or copy it again',
}


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
    Open one file, or what can still be read of it if it does not go to its end.

    Raises
    ------
    InputError
        If nothing can be read of it.

    """
    kind = storage_kind(file)
    log = file.with_name(file.name + UNMERGED)
    reason = 'its recorder did not end well'
    if not (log.is_file() and log.stat().st_size):
        try:
            reader = open_file(file, stack)
            with damage_named(file):
                for _ in counted_messages(reader, reader.connections):
                    pass
        except InputError as error:
            if kind == '.bag':
                raise
            reason = str(error.__cause__).rstrip('.') or type(error.__cause__).__name__
        else:
            return reader
    with damage_named(file):
        return SalvagedFile(_unpacked_part(file, stack), kind, reason)


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
    """Turn whatever a damaged file raises into one sentence."""
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
