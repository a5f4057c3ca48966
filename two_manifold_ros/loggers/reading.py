# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Read files of any known format, which their content decides, and the folders of phone apps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from itertools import pairwise
from pathlib import Path
import re
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.files import checked, MOST_LOGGED, read_bytes, text_of
from two_manifold_ros.loggers.columns import choose, read_columns
from two_manifold_ros.loggers.log import (
    Channel,
    factor_of,
    fits,
    Log,
    LONGEST_NAME,
    plain,
    SI,
    UNCLEAR,
)
from two_manifold_ros.loggers.tables import aim_start, read_table, Row, Table, undated
from two_manifold_ros.typing import Ints

if TYPE_CHECKING:
    from two_manifold_ros.loggers.columns import Column


def read_log(paths: Sequence[str | Path], columns: Mapping[str, Column]) -> Log:
    """Read files of one drive; a map of columns counts in each file that has them."""
    files: list[Path] = []
    for path in map(Path, paths):
        with checked(path, 'file', 'name another one'):
            files += _files_in(path) if path.is_dir() else [path]
    unnamed, logs = {*columns}, []
    for path in files:
        content = _content(path)
        if content.startswith(XRK_BEGINNINGS):
            logs.append(read_xrk(path))
            continue
        table = _of_phone(_table_of(content, path), path)
        names = [*table.heads, *table.names][::-1]
        units = dict(zip(names, table.units[::-1] * 2, strict=True))
        # Of several tables each has its part of the map.
        own = {
            role: each
            for role, each in columns.items()
            if len(files) == 1
            or (each.name in units and role == 'time')
            or (each.name in units and fits(role, each.unit or units[each.name] or SI[role]))
        }
        unnamed -= {*own}
        logs.append(read_columns(table, own))
    for role in unnamed:
        wanted = f'the column {columns[role].name!r} in a unit of {role}'
        msg = f'{files[0].parent}: no table has {wanted}; give --columns columns that are there'
        raise InputError(msg)
    channels: dict[str, Channel] = {}
    for role in dict.fromkeys(role for log in logs for role in log.channels):
        parts = [log.channels[role] for log in logs if role in log.channels]
        parts.sort(key=lambda each: int(each.stamps.min()))
        if any(one.stamps.max() >= other.stamps.min() for one, other in pairwise(parts)):
            cause = f'{role} is at the same time in two of these files'
            msg = f'{", ".join(map(str, files))}: {cause}; import each into a bag of its own'
            raise InputError(msg)
        stamps, values = zip(*((each.stamps, each.values) for each in parts), strict=True)
        channels[role] = Channel(np.concatenate(stamps), np.concatenate(values))
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
    if not content.strip() or content.startswith(b'PK'):
        fault = 'this is an archive; unpack it and name the folder'
        msg = f'{path}: {fault if content.strip() else "the file is empty; choose another one"}'
        raise InputError(msg)
    return content


_STEMS = (
    ('totalacceleration', 'accelerometer', 'linearaccelerometer', 'linearacceleration'),
    ('gyroscope',),
    ('location', 'gps'),
)
"""Names of files for accelerations, with gravity if there is a choice, rates, and fixes."""


def _stem(path: Path) -> str:
    # Copies have numbers behind their names.
    return re.sub('[0-9]', '', plain(path.stem[:LONGEST_NAME])).removesuffix('copy')


def _files_in(folder: Path) -> list[Path]:
    """Return the files of a folder that an app made of one recording, or all its tables."""
    tables = sorted(each for each in folder.iterdir() if each.suffix.lower() in {'.csv', '.txt'})
    by_stem = {_stem(each): each for each in reversed(tables)}
    chosen = [next((by_stem[stem] for stem in stems if stem in by_stem), None) for stems in _STEMS]
    found = [each for each in chosen if each is not None] or tables
    if not found:
        raise InputError(f'{folder}: there is no table (.csv) in this folder; name the files')
    return found


def _of_phone(table: Table, path: Path) -> Table:
    """Return the table with what the app of a phone writes elsewhere: units, signs and clock."""
    names, stem = [*map(plain, table.names)], _stem(path)
    turned = [name.startswith('accelerometeracceleration') for name in names]
    if 'loggingtime' in names and any(turned):
        table.kind = 'SensorLog'
    elif {'time', 'secondselapsed'} <= {*names} and {'x', 'latitude'} & {*names}:
        table.kind = 'Sensor Logger'
        unit = 'm/s2' if stem in _STEMS[0] else 'rad/s' if stem in _STEMS[1] else ''
        pairs = zip(names, table.units, strict=True)
        table.units = [unit if name in UNCLEAR else each for name, each in pairs]
        stated = path.with_name('Metadata.csv')
        if stem in _STEMS[0] and stated.exists():
            metadata = _table_of(_content(stated), stated)
            found = dict(zip(map(plain, metadata.names), metadata.rows[0].cells, strict=False))
            if found.get('platform') == 'ios' and found.get('standardisation') != 'true':
                turned = [name in UNCLEAR for name in names]
        elif stem in _STEMS[0]:
            note = 'accelerations are taken to have the signs of Android: no Metadata.csv'
            table.notes.append(note)
    elif (file := path.parent / 'meta' / 'time.csv').exists():
        table.clock = _phyphox_clock(_table_of(_content(file), file)) or table.clock
    if any(turned):
        table.notes.append('accelerations have their signs changed, because iOS has them so')
        table.signs = [-1.0 if turn else 1.0 for turn in turned]
    return table


def _phyphox_clock(table: Table) -> Callable[[Table, Ints], Ints] | None:
    """Return the clock of phyphox: its own time and the time of the phone at each start."""
    event, *times = map(table.find, ('event', 'experimenttime', 'systemtime'))
    starts = [number for number, cell in enumerate(table.cells(event)) if cell.upper() == 'START']
    if None in times or not starts:
        return None
    seconds = np.array([table.numbers(at) for at in times])[:, starts]
    own, system = np.rint(seconds * 1e9).astype(np.int64)
    behind = system - own
    return lambda _, since: since + behind[np.maximum(np.searchsorted(own, since, 'right') - 1, 0)]


# The first message of a file; or zlib, which packs an XRZ.
XRK_BEGINNINGS = (b'<hCNF', b'x\x01', b'x\x9c', b'x\xda')


def read_xrk(path: Path) -> Log:
    """Read an XRK or XRZ file of AiM by the optional library `libxrk`."""
    try:
        from libxrk import aim_xrk  # noqa: PLC0415 - optional
    except ModuleNotFoundError as error:
        raise InputError(
            f'{path}: XRK files need the Python package libxrk: install it with pip install '
            'libxrk, or export the session as CSV from Race Studio'
        ) from error
    try:
        # It prints what it does not know.
        with redirect_stdout(StringIO()):
            file: Any = aim_xrk(str(path))
            parts = dict(file.channels)
    # A damaged file makes it raise almost anything.
    except Exception as error:
        msg = f'{path}: libxrk cannot read this file ({error}); copy it from the logger again'
        raise InputError(msg) from error
    # Each channel has times of its own: the one row of a table shows which have values.
    names, units, values = ['time', *parts], ['ms'], [np.zeros(1)]
    for name, part in parts.items():
        units.append((part.schema.field(name).metadata or {}).get(b'units', b'').decode())
        values.append(np.asarray(part.column(name).to_numpy(), dtype=np.float64))
    row = Row(0, ['0' if np.isfinite(each).any() else '' for each in values])
    table = Table(str(path), names, units, names, [row])
    day, clock = (str(file.metadata.get(f'Log {each}')) for each in ('Date', 'Time'))
    start = aim_start(day, clock, table.notes)
    channels = {}
    for role, (name, unit, _, at) in choose(table, {}).items():
        if role != 'time':
            since = np.asarray(parts[name].column('timecodes').to_numpy(), np.int64) * 1_000_000
            stamps = undated(table, since) if start is None else since + start
            factor = factor_of(role, unit, f'{path}, channel {name!r}')
            channels[role] = Channel.of_cells(stamps, values[at] * factor)
    channels = {role: each for role, each in channels.items() if len(each.stamps)}
    return Log(str(path), 'AiM XRK', channels, tuple(dict.fromkeys(table.notes)))
