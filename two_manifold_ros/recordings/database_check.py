# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a SQLite file holds rows, and nothing that calculates."""

from __future__ import annotations

from contextlib import closing
import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


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
        check_schema(database)


def check_schema(database: sqlite3.Connection) -> None:
    """
    Refuse what would calculate instead of holding rows, and so could take for ever.

    Raises
    ------
    ValueError
        If there are views, triggers, virtual tables or columns that are calculated.

    """
    for kind, sql in database.execute('SELECT type, sql FROM sqlite_master'):
        words = str(sql or '').upper().replace('(', ' ').split()
        if kind not in {'table', 'index'} or 'VIRTUAL' in words[:3] or 'AS' in words:
            msg = 'it holds something that calculates, as no recorder makes it'
            raise ValueError(msg)
