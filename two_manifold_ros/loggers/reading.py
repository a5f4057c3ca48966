# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Read files of any known format, which their content decides, and the folders of phone apps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
import re
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.log import joined, plain
from two_manifold_ros.loggers.plain_csv import ColumnChoice, read_plain, table_of
from two_manifold_ros.loggers.race_loggers import FORMATS, read_xrk, XRK_BEGINNINGS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from two_manifold_ros.loggers.log import Log, Table
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
        files += _files_in(path) if path.is_dir() else [path]
    return joined([_read(path, columns) for path in files])


def _read(path: Path, columns: Mapping[str, ColumnChoice]) -> Log:
    content = _content(path)
    if content.startswith(XRK_BEGINNINGS):
        return read_xrk(path)
    text = _text(path, content)
    head = text[:_HEAD]
    if not columns:
        for pattern, read in FORMATS:
            if re.search(pattern, head):
                return read(text, str(path))
    table = table_of(text, str(path))
    if columns:
        return read_plain(table, columns)
    app, known, notes = _columns_of(table, path)
    log = read_plain(table, known, _phyphox_clock(path))
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
        text = content.decode('cp1252', 'replace')
    if '\0' in text:
        msg = f'{path}: this is no text file and of no known format; export it as VBO or CSV'
        raise InputError(msg)
    return text


_STEMS = (
    ('totalacceleration', 'accelerometer', 'linearaccelerometer', 'linearacceleration'),
    ('gyroscope',),
    ('location', 'gps'),
)
"""Names of files for accelerations, with gravity if there is a choice, rates, and fixes."""


def _files_in(folder: Path) -> list[Path]:
    """Return the files of a folder that an app made of one recording, or all its tables."""
    tables = sorted(each for each in folder.iterdir() if each.suffix.lower() in {'.csv', '.txt'})
    by_stem = {plain(each.stem): each for each in tables}
    chosen = [next((by_stem[stem] for stem in stems if stem in by_stem), None) for stems in _STEMS]
    found = [each for each in chosen if each is not None] or tables
    if not found:
        msg = f'{folder}: there is no table (.csv) in this folder; name the files'
        raise InputError(msg)
    return found


def _columns_of(table: Table, path: Path) -> tuple[str, dict[str, ColumnChoice], list[str]]:
    """Return the app that made a table, its columns by their role, and notes; else nothing."""
    names = {plain(name): name for name in table.names}
    if {'time', 'secondselapsed'} <= set(names):
        return 'Sensor Logger', *_of_sensor_logger(names, path)
    if {'loggingtime', 'accelerometeraccelerationx'} <= set(names):
        # As iOS has them: what gravity pulls, against what an accelerometer measures.
        wanted = {'time': ('loggingtime', 'iso', 1.0)}
        for axis in 'xyz':
            wanted[f'accel_{axis}'] = f'accelerometeracceleration{axis}', 'g', -1.0
            gyro = f'gyrorotation{axis}'
            gyro = gyro if gyro in names else f'motionrotationrate{axis}'
            wanted[f'gyro_{axis}'] = gyro, 'rad/s', 1.0
        for role, unit in (('latitude', 'deg'), ('longitude', 'deg'), ('altitude', 'm')):
            wanted[role] = f'location{role}', unit, 1.0
        note = 'accelerations have their signs changed, because iOS has them the other way'
        return 'SensorLog', _there(names, wanted), [note]
    return '', {}, []


def _of_sensor_logger(
    names: dict[str, str], path: Path
) -> tuple[dict[str, ColumnChoice], list[str]]:
    """Return columns by the name of the file: those of all sensors are time, z, y and x."""
    stem = plain(path.stem)
    wanted = {'time': ('time', 'ns', 1.0)}
    if stem in _STEMS[1]:
        wanted |= {f'gyro_{axis}': (axis, 'rad/s', 1.0) for axis in 'xyz'}
        return _there(names, wanted), []
    if stem in _STEMS[2]:
        wanted |= {role: (role, 'deg', 1.0) for role in ('latitude', 'longitude')}
        return _there(names, wanted | {'altitude': ('altitude', 'm', 1.0)}), []
    if stem not in _STEMS[0]:
        msg = f'{path}: no IMU and no positions are in this file of Sensor Logger; leave it out'
        raise InputError(msg)
    notes = []
    sign = 1.0
    stated = path.with_name('Metadata.csv')
    if stated.exists():
        table = table_of(stated.read_text('utf-8-sig', 'replace'), str(stated))
        found = dict(zip(map(plain, table.names), table.rows[0].cells, strict=False))
        if found.get('platform') == 'ios' and found.get('standardisation') != 'true':
            sign = -1.0
            notes.append('accelerations have their signs changed, as iOS has them the other way')
    else:
        notes.append('signs of accelerations are taken as those of Android: no Metadata.csv')
    return _there(
        names, wanted | {f'accel_{axis}': (axis, 'm/s^2', sign) for axis in 'xyz'}
    ), notes


def _there(
    names: dict[str, str], wanted: dict[str, tuple[str, str, float]]
) -> dict[str, ColumnChoice]:
    return {
        role: ColumnChoice(names[name], unit, sign)
        for role, (name, unit, sign) in wanted.items()
        if name in names
    }


def _phyphox_clock(path: Path) -> tuple[Floats, Ints] | None:
    """
    Return when phyphox started and went on, by its clock (S,), s, and by that of the phone, ns.

    It writes them beside its tables; ``None`` where it did not.
    """
    file = path.parent / 'meta' / 'time.csv'
    if not file.exists():
        return None
    table = table_of(file.read_text('utf-8-sig', 'replace'), str(file))
    event, own, system = (table.find([name]) for name in ('event', 'experimenttime', 'systemtime'))
    if event is None or own is None or system is None:
        return None
    starts = np.array([row.cells[event].upper() == 'START' for row in table.rows])
    if not starts.any():
        return None
    return table.column(own)[starts], table.times(system, 's')[starts]
