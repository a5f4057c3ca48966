# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What can still be read of a damaged SQLite file: every row that is on a page that is whole."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
import shutil
import sqlite3
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from two_manifold_ros.recordings.database_check import check_schema
from two_manifold_ros.recordings.salvaged import Channel, Salvaged, salvaged_of, Saved
from two_manifold_ros.recordings.storage_files import UNMERGED

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = 100
_LARGEST_ROW = 2**40
_ROWS = 'SELECT id, topic_id, timestamp, data FROM messages WHERE id >= ? ORDER BY id'


def salvage_sqlite(file: Path) -> Salvaged:
    """
    Return what can still be read of a SQLite file, cut off or with wrong bytes in it.

    A copy is read, with the log that a recorder left which did not end well.

    Raises
    ------
    sqlite3.Error, OSError
        If not even the list of topics can be read.

    """
    with TemporaryDirectory() as folder:
        copy = Path(shutil.copyfile(file, Path(folder) / 'bag.db3'))
        log = file.with_name(file.name + UNMERGED)
        if log.is_file():
            shutil.copyfile(log, copy.with_name(copy.name + UNMERGED))
            damage = 'the log beside it is used as well'
        else:
            damage = _shorten(copy)
        with closing(sqlite3.connect(copy)) as database:
            database.execute('PRAGMA trusted_schema = OFF')
            check_schema(database)
            return salvaged_of(_channels(database), _messages(database), damage)


def _shorten(copy: Path) -> str:
    """Let a file that is cut off say so itself, or SQLite would refuse all of it."""
    with copy.open('r+b') as stream:
        head = stream.read(_HEAD)
        page = int.from_bytes(head[16:18], 'big')
        page = page if page > 1 else 65536
        wanted = int.from_bytes(head[28:32], 'big')
        pages, _ = divmod(stream.seek(0, 2), page)
        if pages >= wanted:
            return 'what was on damaged pages is left out'
        missing = page * wanted - stream.tell()
        stream.seek(28)
        stream.write(pages.to_bytes(4, 'big'))
    return f'{missing} of its {page * wanted} bytes are missing'


def _channels(database: sqlite3.Connection) -> dict[int, Channel]:
    rows = database.execute('SELECT id, name, type, serialization_format FROM topics')
    return {
        number: Channel(str(name), str(msgtype), str(serialisation))
        for number, name, msgtype, serialisation in rows
    }


def _messages(database: sqlite3.Connection) -> Iterator[Saved]:
    """Yield the rows on whole pages, jumping over the others."""
    begin: int | None = 0
    while begin is not None:
        newest = begin - 1
        try:
            for number, topic, received, raw in database.execute(_ROWS, (begin,)):
                if number <= newest:
                    # Pages that point to one another would give rows for ever.
                    return
                newest = number
                if isinstance(received, int) and isinstance(raw, bytes):
                    yield Saved(topic, received, raw)
            begin = None
        except sqlite3.DatabaseError:
            begin = _first_readable(database, newest + 1)


def _first_readable(database: sqlite3.Connection, begin: int) -> int | None:
    """Return the first row behind an unreadable one from which one can be read again."""
    step = 1
    while step < _LARGEST_ROW and not _can_read(database, begin + step):
        step *= 2
    if step >= _LARGEST_ROW:
        return None
    unreadable, readable = begin + step // 2, begin + step
    while readable - unreadable > 1:
        middle = (unreadable + readable) // 2
        if _can_read(database, middle):
            readable = middle
        else:
            unreadable = middle
    return readable


def _can_read(database: sqlite3.Connection, row: int) -> bool:
    try:
        return bool(database.execute(_ROWS, (row,)).fetchone())
    except sqlite3.DatabaseError:
        return False
