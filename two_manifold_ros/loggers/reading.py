# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Read files of loggers of any known format, which their content decides."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.csv_loggers import (
    is_aim,
    is_racecapture,
    is_racechrono,
    read_aim,
    read_racecapture,
    read_racechrono,
)
from two_manifold_ros.loggers.log import joined
from two_manifold_ros.loggers.phones import columns_of, files_in, phyphox_clock
from two_manifold_ros.loggers.plain_csv import read_plain, table_of
from two_manifold_ros.loggers.vbo import is_vbo, read_vbo
from two_manifold_ros.loggers.xrk import is_xrk, read_xrk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from two_manifold_ros.loggers.log import Log
    from two_manifold_ros.loggers.plain_csv import ColumnChoice

_HEAD = 65_536
"""Characters in which a file shows its format; headers of loggers are shorter."""

_FORMATS: tuple[tuple[Callable[[str], bool], Callable[[str, str], Log]], ...] = (
    (is_racechrono, read_racechrono),
    (is_racecapture, read_racecapture),
    (is_aim, read_aim),
    (is_vbo, read_vbo),
)


def read_log(paths: Sequence[str | Path], columns: Mapping[str, ColumnChoice]) -> Log:
    """
    Read files of one drive, or of one vehicle on one route.

    Parameters
    ----------
    paths
        Files of known formats, or tables.
    columns
        Map of the columns of plain tables, see `plain_csv.parse_columns`.

    Raises
    ------
    InputError
        If a file cannot be read; the sentence names it, and the line if there is one.

    """
    files: list[Path] = []
    for path in map(Path, paths):
        files += files_in(path) if path.is_dir() else [path]
    return joined([_read(path, columns) for path in files])


def _read(path: Path, columns: Mapping[str, ColumnChoice]) -> Log:
    content = _content(path)
    if is_xrk(content):
        return read_xrk(path)
    text = _text(path, content)
    head = text[:_HEAD]
    if not columns:
        for shows, read in _FORMATS:
            if shows(head):
                return read(text, str(path))
    table = table_of(text, str(path))
    if columns:
        return read_plain(table, columns)
    app, known, notes = columns_of(table, path)
    log = read_plain(table, known, phyphox_clock(path))
    return replace(log, kind=app or log.kind, notes=(*log.notes, *notes))


def _content(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        msg = f'{path}: the file cannot be read ({error.strerror}); name another one'
        raise InputError(msg) from error
    if not content.strip():
        msg = f'{path}: the file is empty; choose another recording'
        raise InputError(msg)
    if content.startswith(b'PK'):
        msg = f'{path}: this is an archive; unpack it and name the folder'
        raise InputError(msg)
    return content


def _text(path: Path, content: bytes) -> str:
    try:
        # Spreadsheets write "Unicode text" in pairs of bytes.
        pairs = content.startswith((b'\xff\xfe', b'\xfe\xff'))
        text = content.decode('utf-16' if pairs else 'utf-8-sig')
    except UnicodeDecodeError:
        # Loggers from before write signs such as those of degrees so.
        text = content.decode('latin-1')
    if '\0' in text:
        msg = f'{path}: this is no text file and of no known format; export it as VBO or CSV'
        raise InputError(msg)
    return text
