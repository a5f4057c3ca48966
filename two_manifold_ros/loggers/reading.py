# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Read files of any known format, which their content decides, and the folders of phone apps."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
import re
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.files import checked, MOST_LOGGED, read_bytes, text_of
from two_manifold_ros.loggers.log import (
    ACCELERATIONS,
    Channel,
    csv_rows,
    FIX_ROLES,
    is_missing,
    is_unit,
    LONGEST_NAME,
    number_of,
    plain,
    Row,
    SI,
    Table,
)
from two_manifold_ros.loggers.plain_csv import (
    ColumnChoice,
    count_known,
    fitting,
    name_and_unit,
    read_plain,
)
from two_manifold_ros.loggers.race_loggers import FORMATS, read_xrk, XRK_BEGINNINGS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from two_manifold_ros.loggers.log import Log
    from two_manifold_ros.typing import Floats, Ints

_HEAD = 65_536
"""Characters in which a file shows its format; headers of loggers are shorter."""


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
        with checked(path, 'file', 'name another one'):
            files += _files_in(path) if path.is_dir() else [path]
    if len(files) == 1 or not columns:
        return joined([_read(path, columns) for path in files])
    # Of several tables each has its part of the map.
    named, logs = set[str](), []
    for path in files:
        own = fitting(_table_in(path), columns)
        named |= {*own}
        logs.append(_read(path, own))
    if missing := [role for role in columns if role not in named]:
        msg = (
            f'{files[0].parent}: no table has the column {columns[missing[0]].name!r} in a unit '
            f'of {missing[0]}; give --columns columns that are there'
        )
        raise InputError(msg)
    return joined(logs)


def joined(logs: Sequence[Log]) -> Log:
    """
    Return several logs of one drive, or of one vehicle on one route, as one.

    Raises
    ------
    InputError
        If two of them have the same channel at the same time.

    """
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
    others = {log.axes for log in logs if set(log.channels) & set(ACCELERATIONS)}
    if len(others) > 1:
        msg = (
            f'{", ".join(log.place for log in logs)}: the axes of the accelerations differ '
            f'({", ".join(sorted(others))}); import each into a bag of its own'
        )
        raise InputError(msg)
    return replace(
        logs[0],
        place=', '.join(log.place for log in logs),
        kind=', '.join(dict.fromkeys(log.kind for log in logs)),
        channels=channels,
        axes=others.pop() if others else 'sensor',
        notes=tuple(_said_of(logs)),
        unread=tuple(name for log in logs for name in log.unread),
    )


def _said_of(logs: Sequence[Log]) -> Iterator[str]:
    """Yield the notes, each once, and with the names of its files if it is not of all."""
    notes = dict.fromkeys(note for log in logs for note in log.notes)
    for note in notes:
        places = [log.place.rpartition('/')[2] for log in logs if note in log.notes]
        yield note if len(places) == len(logs) else f'{", ".join(places)}: {note}'


def _table_in(path: Path) -> Table:
    with checked(path, 'file', 'export it as VBO or CSV'):
        return _table_of(text_of(_content(path)), str(path))


def _read(path: Path, columns: Mapping[str, ColumnChoice]) -> Log:
    content = _content(path)
    if content.startswith(XRK_BEGINNINGS):
        return read_xrk(path)
    with checked(path, 'file', 'export it as VBO or CSV'):
        text = text_of(content)
    head = text[:_HEAD]
    if not columns:
        for pattern, read in FORMATS:
            if re.search(pattern, head):
                return read(text, str(path))
    table = _table_of(text, str(path))
    app, known, notes = _columns_of(table, path)
    clock = None if 'time' in columns else _phyphox_clock(path)
    log = read_plain(table, {**known, **columns}, clock)
    return replace(log, kind=app or log.kind, notes=(*log.notes, *notes))


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


_COMMENT = ('#', '//', '%')


def _table_of(text: str, place: str) -> Table:
    """
    Return a table: names, with units in brackets behind them or below, above the first numbers.

    Lines above the names, and comments, are passed over.

    Raises
    ------
    InputError
        If there is no line with data or none with names, or many are not as long.

    """
    lines = [line for line in text.splitlines() if line.strip()]
    counts = {sign: sum(sign in line for line in lines) for sign in ';\t,'}
    delimiter = next((sign for sign, count in counts.items() if 0 < len(lines) <= 2 * count), '')
    if not delimiter:
        msg = f'{place}: this is no table with a line of names; choose another file'
        raise InputError(msg)
    rows = list(csv_rows(text, place, delimiter))
    if delimiter != ',':
        # With decimal commas, as spreadsheets of many languages write them.
        rows = [
            Row(row.line, [re.sub(r'^([-+]?\d*),(\d)', r'\1.\2', cell) for cell in row.cells])
            for row in rows
        ]
    comments = [row for row in rows if row.cells[0].startswith(_COMMENT)]
    rows = [row for row in rows if not row.cells[0].startswith(_COMMENT)]
    widths = Counter(len(row.cells) for row in rows)
    width = max(widths, key=widths.__getitem__, default=0)
    begin = next(
        (at for at, row in enumerate(rows) if len(row.cells) == width and _of_numbers(row)), 1
    )
    above, rows = rows[:begin], rows[begin:]
    if not above:
        # The names may be a comment themselves.
        above, comments = [each for each in comments if len(each.cells) >= width], []
    if not above:
        msg = (
            f'{place}: the line with the names of columns is missing; write one above line '
            f'{rows[0].line if rows else 1}, such as time,ax,ay,az,gx,gy,gz'
        )
        raise InputError(msg)
    # The names are the line with most usual ones; units, or remarks, stand below or above.
    known = [
        count_known(row.cells)
        # A line that states a date or a time has values.
        if 2 * sum(map(bool, row.cells)) > width
        and not any(cell[:1].isdigit() for cell in row.cells)
        else 0
        for row in above
    ]
    last = max(range(len(above)), key=lambda at: (known[at], at))
    if not known[last] and last and len(above[last - 1].cells) > 1 and _of_units(above[last]):
        last -= 1
    below = above[last + 1].cells if last + 1 < len(above) else []
    if not below and last and _of_units(above[last - 1]):
        below = above[last - 1].cells
    heads = [cell.lstrip('#/% ')[:LONGEST_NAME] for cell in above[last].cells]
    while len(heads) > max(width, 1) and not heads[-1]:
        heads.pop()
    pairs = [name_and_unit(cell) for cell in heads]
    units = [unit for _, unit in pairs]
    for index, unit in enumerate(below[: len(units)]):
        units[index] = units[index] or ('' if is_missing(unit) else unit.strip('()[]{}<> '))
    table = Table.of(place, [name for name, _ in pairs], units, rows)
    passed = len(above) - 1 - bool(below) + len(comments)
    notes = [f'{passed} lines above or between the data are passed over'] if passed else []
    return replace(table, heads=heads, notes=(*notes, *table.notes))


def _of_numbers(row: Row) -> bool:
    """Return whether most cells of a row are numbers, or begin as times do."""
    there = [cell for cell in row.cells if cell]
    numbers = sum(number_of(cell) is not None or cell[:1].isdigit() for cell in there)
    return 2 * numbers > len(there)


def _of_units(row: Row) -> bool:
    """Return whether a row below the names has their units."""
    there = [cell.strip('()[]{}<> ') for cell in row.cells if cell]
    return 2 * sum(map(is_unit, there)) >= max(len(there), 1)


_STEMS = (
    ('totalacceleration', 'accelerometer', 'linearaccelerometer', 'linearacceleration'),
    ('gyroscope',),
    ('location', 'gps'),
)
"""Names of files for accelerations, with gravity if there is a choice, rates, and fixes."""


def _files_in(folder: Path) -> list[Path]:
    """Return the files of a folder that an app made of one recording, or all its tables."""
    tables = sorted(each for each in folder.iterdir() if each.suffix.lower() in {'.csv', '.txt'})
    by_stem = {re.sub('[0-9]', '', plain(each.stem)): each for each in reversed(tables)}
    chosen = [next((by_stem[stem] for stem in stems if stem in by_stem), None) for stems in _STEMS]
    found = [each for each in chosen if each is not None] or tables
    if not found:
        msg = f'{folder}: there is no table (.csv) in this folder; name the files'
        raise InputError(msg)
    return found


_IOS = 'accelerations have their signs changed, because iOS has them the other way'


def _columns_of(table: Table, path: Path) -> tuple[str, dict[str, ColumnChoice], list[str]]:
    """Return the app that made a table, its columns by their role, and notes; else nothing."""
    names = {plain(name): name for name in table.names}
    app, notes = '', list[str]()
    wanted: dict[str, ColumnChoice] = {}
    of_logger = {'x', 'y', 'z'} <= set(names) or 'latitude' in names
    if {'time', 'secondselapsed'} <= set(names) and of_logger:
        app = 'Sensor Logger'
        wanted, notes = _of_sensor_logger(path)
    elif {'loggingtime', 'accelerometeraccelerationx'} <= set(names):
        app, notes = 'SensorLog', [_IOS]
        wanted['time'] = ColumnChoice('loggingtime', 'iso', 1.0)
        gyro = 'gyrorotation' if 'gyrorotationx' in names else 'motionrotationrate'
        for axis in 'xyz':
            # As iOS has them: what gravity pulls, against what an accelerometer measures.
            wanted[f'accel_{axis}'] = ColumnChoice(f'accelerometeracceleration{axis}', 'g', -1.0)
            wanted[f'gyro_{axis}'] = ColumnChoice(f'{gyro}{axis}', 'rad/s', 1.0)
        wanted |= {role: ColumnChoice(f'location{role}', SI[role], 1.0) for role in FIX_ROLES}
    columns = {
        role: each._replace(name=names[each.name])
        for role, each in wanted.items()
        if each.name in names
    }
    return app, columns, notes


def _of_sensor_logger(path: Path) -> tuple[dict[str, ColumnChoice], list[str]]:
    """Return columns by the name of the file: those of all sensors are time, z, y and x."""
    # Copies have numbers behind their names.
    stem = re.sub('[0-9]', '', plain(path.stem[:LONGEST_NAME])).removesuffix('copy')
    wanted = {'time': ColumnChoice('time', 'ns', 1.0)}
    if stem in _STEMS[1]:
        return wanted | {f'gyro_{axis}': ColumnChoice(axis, 'rad/s', 1.0) for axis in 'xyz'}, []
    if stem in _STEMS[2]:
        return wanted | {role: ColumnChoice(role, SI[role], 1.0) for role in FIX_ROLES}, []
    if stem not in _STEMS[0]:
        msg = (
            f'{path}: the name of this file of Sensor Logger says of no sensor of an IMU and no '
            'positions: leave it out, or name it TotalAcceleration.csv, Gyroscope.csv or '
            'Location.csv again'
        )
        raise InputError(msg)
    sign, notes = 1.0, ['signs of accelerations are taken as those of Android: no Metadata.csv']
    stated = path.with_name('Metadata.csv')
    if stated.exists():
        table = _table_in(stated)
        found = dict(zip(map(plain, table.names), table.rows[0].cells, strict=False))
        ios = found.get('platform') == 'ios' and found.get('standardisation') != 'true'
        sign, notes = (-1.0, [_IOS]) if ios else (1.0, [])
    return wanted | {f'accel_{axis}': ColumnChoice(axis, 'm/s2', sign) for axis in 'xyz'}, notes


def _phyphox_clock(path: Path) -> tuple[Floats, Ints] | None:
    """
    Return when phyphox started and went on, by its clock (S,), s, and by that of the phone, ns.

    It writes them beside its tables; ``None`` where it did not.
    """
    file = path.parent / 'meta' / 'time.csv'
    if not file.exists():
        return None
    table = _table_in(file)
    event, own, system = (table.find([name]) for name in ('event', 'experimenttime', 'systemtime'))
    if event is None or own is None or system is None:
        return None
    starts = np.array([row.cells[event].upper() == 'START' for row in table.rows])
    if not starts.any():
        return None
    stamps = np.rint(table.column(system)[starts] * 1e9).astype(np.int64)
    return table.column(own)[starts], stamps
