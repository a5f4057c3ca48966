# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Read files of any known format, which their content decides, and the folders of phone apps."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from itertools import pairwise
from pathlib import Path
import re
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.files import checked, MOST_LOGGED, read_bytes, text_of
from two_manifold_ros.loggers.columns import choose, fitting, read_columns
from two_manifold_ros.loggers.log import Channel, factor_of, Log, LONGEST_NAME, plain, UNCLEAR
from two_manifold_ros.loggers.tables import aim_start, Clock, read_table, Row, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from two_manifold_ros.loggers.columns import Column


def read_log(paths: Sequence[str | Path], columns: Mapping[str, Column]) -> Log:
    """
    Read files of one drive, or of one vehicle on one route.

    A map of columns, see `columns.parse_columns`, counts in each file that has them.
    ``InputError`` names the file that cannot be read, and the line if there is one.
    """
    files: list[Path] = []
    for path in map(Path, paths):
        with checked(path, 'file', 'name another one'):
            files += _files_in(path) if path.is_dir() else [path]
    named, logs = set[str](), []
    for path in files:
        content = _content(path)
        if content.startswith(XRK_BEGINNINGS):
            logs.append(read_xrk(path))
            continue
        table = _of_phone(_table_of(content, path), path)
        # Of several tables each has its part of the map.
        own = columns if len(files) == 1 else fitting(table, columns)
        named |= {*own}
        logs.append(read_columns(table, own))
    if missing := [role for role in columns if role not in named]:
        msg = (
            f'{files[0].parent}: no table has the column {columns[missing[0]].name!r} in a unit '
            f'of {missing[0]}; give --columns columns that are there'
        )
        raise InputError(msg)
    return joined(logs)


def joined(logs: Sequence[Log]) -> Log:
    """Return several logs as one; two of them may not have a channel at the same time."""
    channels: dict[str, Channel] = {}
    for role in dict.fromkeys(role for log in logs for role in log.channels):
        parts = [(log.channels[role], log.place) for log in logs if role in log.channels]
        parts.sort(key=lambda part: int(part[0].stamps.min()))
        for (before, _), (after, place) in pairwise(parts):
            if before.stamps.max() >= after.stamps.min():
                msg = (
                    f'{place}: {role} is at the same time in another of the files; import each '
                    'into a bag of its own'
                )
                raise InputError(msg)
        channels[role] = Channel(
            np.concatenate([each.stamps for each, _ in parts]),
            np.concatenate([each.values for each, _ in parts]),
        )
    return Log(
        ', '.join(log.place for log in logs),
        ', '.join(dict.fromkeys(log.kind for log in logs)),
        channels,
        tuple(dict.fromkeys(note for log in logs for note in log.notes)),
        tuple(name for log in logs for name in log.unread),
    )


def _table_of(content: bytes, path: Path) -> Table:
    with checked(path, 'file', 'export it as VBO or CSV'):
        return read_table(text_of(content), str(path))


def _content(path: Path) -> bytes:
    with checked(path, 'file', 'name another one'):
        content = read_bytes(path, MOST_LOGGED)
    if not content.strip():
        msg = f'{path}: the file is empty; choose another recording'
        raise InputError(msg)
    if content.startswith(b'PK'):
        msg = f'{path}: this is an archive; unpack it and name the folder'
        raise InputError(msg)
    return content


def _stem(path: Path) -> str:
    # Copies have numbers behind their names.
    return re.sub('[0-9]', '', plain(path.stem[:LONGEST_NAME])).removesuffix('copy')


_STEMS = (
    ('totalacceleration', 'accelerometer', 'linearaccelerometer', 'linearacceleration'),
    ('gyroscope',),
    ('location', 'gps'),
)
"""Names of files for accelerations, with gravity if there is a choice, rates, and fixes."""


def _files_in(folder: Path) -> list[Path]:
    """Return the files of a folder that an app made of one recording, or all its tables."""
    tables = sorted(each for each in folder.iterdir() if each.suffix.lower() in {'.csv', '.txt'})
    by_stem = {_stem(each): each for each in reversed(tables)}
    chosen = [next((by_stem[stem] for stem in stems if stem in by_stem), None) for stems in _STEMS]
    found = [each for each in chosen if each is not None] or tables
    if not found:
        msg = f'{folder}: there is no table (.csv) in this folder; name the files'
        raise InputError(msg)
    return found


def _of_phone(table: Table, path: Path) -> Table:
    """Return the table with what the app of a phone writes elsewhere: units, signs and clock."""
    names, stem = {plain(name) for name in table.names}, _stem(path)
    if {'loggingtime', 'accelerometeraccelerationx'} <= names:
        _turn(table, 'SensorLog')
    elif {'time', 'secondselapsed'} <= names and ({'x', 'y', 'z'} <= names or 'latitude' in names):
        table.kind = 'Sensor Logger'
        unit = 'm/s2' if stem in _STEMS[0] else 'rad/s' if stem in _STEMS[1] else ''
        table.units = [
            unit if plain(name) in UNCLEAR else each
            for name, each in zip(table.names, table.units, strict=True)
        ]
        stated = path.with_name('Metadata.csv')
        if stem in _STEMS[0] and stated.exists():
            metadata = _table_of(_content(stated), stated)
            found = dict(zip(map(plain, metadata.names), metadata.rows[0].cells, strict=False))
            if found.get('platform') == 'ios' and found.get('standardisation') != 'true':
                _turn(table, table.kind)
        elif stem in _STEMS[0]:
            note = 'accelerations are taken to have the signs of Android: no Metadata.csv'
            table.notes.append(note)
    elif clock := _phyphox_clock(path.parent / 'meta' / 'time.csv'):
        table.clock = lambda _, __: clock
    return table


def _turn(table: Table, kind: str) -> None:
    # What gravity pulls, against what an accelerometer measures.
    table.kind, table.sign = kind, -1.0
    table.notes.append('accelerations have their signs changed, because iOS has them so')


def _phyphox_clock(file: Path) -> Clock | None:
    """Return when phyphox started and went on, by its clock and by that of the phone."""
    if not file.exists():
        return None
    table = _table_of(_content(file), file)
    event, own, system = (table.find(name) for name in ('event', 'experimenttime', 'systemtime'))
    if event is None or own is None or system is None:
        return None
    starts = np.array([cell.upper() == 'START' for cell in table.cells(event)])
    begins, stamps = (
        np.rint(table.column(each)[starts] * 1e9).astype(np.int64).tolist()
        for each in (own, system)
    )
    return Clock(begins, stamps) if starts.any() else None


# The first message of a file; or zlib, which packs an XRZ.
XRK_BEGINNINGS = (b'<hCNF', b'x\x01', b'x\x9c', b'x\xda')


def read_xrk(path: Path) -> Log:
    """Read an XRK or XRZ file of AiM by the optional library `libxrk`."""
    try:
        from libxrk import aim_xrk  # noqa: PLC0415 - optional
    except ModuleNotFoundError as error:
        msg = (
            f'{path}: XRK files need the Python package libxrk: install it with pip install '
            'libxrk, or export the session as CSV from Race Studio'
        )
        raise InputError(msg) from error
    try:
        # It prints what it does not know.
        with redirect_stdout(StringIO()):
            file: Any = aim_xrk(str(path))
            tables = dict(file.channels)
    # A damaged file makes it raise almost anything.
    except Exception as error:
        msg = f'{path}: libxrk cannot read this file ({error}); copy it from the logger again'
        raise InputError(msg) from error
    start, note = aim_start(*(str(file.metadata.get(f'Log {each}')) for each in ('Date', 'Time')))
    units, values, stamps = ['ms'], [np.zeros(1)], [np.zeros(1, np.int64)]
    for name, table in tables.items():
        units.append((table.schema.field(name).metadata or {}).get(b'units', b'').decode())
        values.append(np.asarray(table.column(name).to_numpy(), dtype=np.float64))
        times = np.asarray(table.column('timecodes').to_numpy(), dtype=np.int64)
        stamps.append(start + times * 1_000_000)
    # Each channel has times of its own: a row of a table shows which of them have values.
    names = ['time', *tables]
    row = Row(0, ['0' if np.isfinite(each).any() else '' for each in values])
    chosen = choose(Table(str(path), 'AiM XRK', names, units, names, [row]), {})
    channels = {}
    for role, (name, unit, _, index) in chosen.items():
        factor = factor_of(role, unit, f'{path}, channel {name!r}')
        found = Channel.of_cells(stamps[index], values[index] * factor)
        if role != 'time' and len(found.stamps):
            channels[role] = found
    return Log(str(path), 'AiM XRK', channels, (note,))
