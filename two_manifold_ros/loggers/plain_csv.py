# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Plain tables: any CSV with a map of its columns, and the files of phone apps."""

from __future__ import annotations

import re
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.log import Channel, factor_of, IMU_ROLES, Log, ROLES
from two_manifold_ros.loggers.tables import csv_rows, Row, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from two_manifold_ros.typing import Ints

KIND = 'plain CSV'

_SHORT = {
    't': 'time',
    'ax': 'accel_x',
    'ay': 'accel_y',
    'az': 'accel_z',
    'gx': 'gyro_x',
    'gy': 'gyro_y',
    'gz': 'gyro_z',
    'lat': 'latitude',
    'lon': 'longitude',
    'alt': 'altitude',
}
"""Short names of roles."""

_SI = {
    'time': 's',
    **dict.fromkeys(IMU_ROLES[:3], 'm/s^2'),
    **dict.fromkeys(IMU_ROLES[3:], 'rad/s'),
    'latitude': 'deg',
    'longitude': 'deg',
    'altitude': 'm',
}

_USUAL: dict[str, tuple[str, ...]] = {
    'time': ('time', 'timestamp', 't', 'times', 'unixtime', 'epoch', 'seconds', 'secondselapsed'),
    **{
        f'accel_{axis}': tuple(
            each.format(axis)
            for each in ('accel{}', 'acc{}', 'a{}', 'acceleration{}', 'linearacceleration{}',
                         'accelerometer{}', '{}acc', '{}accel')
        )
        for axis in 'xyz'
    },
    **{
        f'gyro_{axis}': tuple(
            each.format(axis)
            for each in ('gyro{}', 'gyr{}', 'g{}', 'w{}', 'omega{}', 'angularvelocity{}',
                         'gyroscope{}', 'rotationrate{}', '{}gyro')
        )
        for axis in 'xyz'
    },
    'latitude': ('latitude', 'lat', 'gpslatitude', 'gpslat'),
    'longitude': ('longitude', 'lon', 'lng', 'long', 'gpslongitude', 'gpslon', 'gpslong'),
    'altitude': ('altitude', 'alt', 'height', 'gpsaltitude'),
}  # fmt: skip
"""Names of columns, letters and digits in lower case, that need no map."""


class ColumnChoice(NamedTuple):
    """A column that a user named, its unit, empty for what its header says, and its sign."""

    name: str
    unit: str
    sign: float


def parse_columns(text: str) -> dict[str, ColumnChoice]:
    """
    Return a map of columns as a user writes it, ``ROLE=[-]COLUMN[:UNIT],...``, by their role.

    Raises
    ------
    InputError
        If a part is none of these, or a role is named twice.

    """
    choices: dict[str, ColumnChoice] = {}
    for part in filter(None, (each.strip() for each in text.split(','))):
        role, equals, column = (each.strip() for each in part.partition('='))
        role = _SHORT.get(role, role)
        name, _, unit = column.rpartition(':') if ':' in column else (column, '', '')
        sign = -1.0 if name.startswith('-') else 1.0
        name = name.removeprefix('-').strip()
        if not equals or not name or role not in ROLES or role in choices:
            msg = (
                f'--columns: {part!r} is not ROLE=COLUMN or ROLE=COLUMN:UNIT, each role once; '
                f'roles are {", ".join(ROLES)}'
            )
            raise InputError(msg)
        if unit:
            factor_of(role, unit, f'--columns {part}')
        choices[role] = ColumnChoice(name, unit.strip(), sign)
    return choices


def read_plain(text: str, place: str, columns: Mapping[str, ColumnChoice]) -> Log:
    """
    Read a table whose first line names its columns.

    Parameters
    ----------
    text, place
        Content of the file, and its path.
    columns
        Columns by their role; where there is none, usual names are looked for.

    Raises
    ------
    InputError
        If a column is missing or a line is no row of the table.

    """
    table = table_of(text, place)
    chosen, notes = _chosen(table, columns)
    stamps, more = _stamps(table, *chosen.pop('time'))
    channels = {}
    for role, (index, unit, sign) in chosen.items():
        factor = sign * factor_of(role, unit, f'{place}, column {table.names[index]!r}')
        channels[role] = Channel.of_cells(stamps, table.column(index) * factor)
    channels = {role: each for role, each in channels.items() if len(each.stamps)}
    return Log(place, KIND, channels, 'sensor', (*table.notes, *notes, *more))


def _chosen(
    table: Table, columns: Mapping[str, ColumnChoice]
) -> tuple[dict[str, tuple[int, str, float]], list[str]]:
    """Return index, unit and sign of the column of each role."""
    chosen: dict[str, tuple[int, str, float]] = {}
    words = []
    for role in ROLES:
        if columns and role not in columns:
            continue
        choice = columns.get(role)
        if choice is not None:
            if choice.name not in table.names:
                msg = (
                    f'{table.place}: there is no column {choice.name!r}; name one of '
                    f'{", ".join(map(repr, table.names))} with --columns'
                )
                raise InputError(msg)
            index, unit, sign = table.names.index(choice.name), choice.unit, choice.sign
        else:
            found = table.find(_USUAL[role])
            if found is None:
                continue
            index, unit, sign = found, '', 1.0
        unit = unit or table.units[index] or _usual_unit(table, role, index)
        chosen[role] = index, unit, sign
        words.append(f'{role} is {"-" if sign < 0 else ""}{table.names[index]} in {unit}')
    if 'time' not in chosen:
        msg = (
            f'{table.place}: no column is known to hold the time; name the columns with --columns '
            f"'time=COLUMN:UNIT,...' out of {', '.join(map(repr, table.names))}"
        )
        raise InputError(msg)
    return chosen, ['; '.join(words)]


def _usual_unit(table: Table, role: str, index: int) -> str:
    """Return the unit of a column that states none: SI, and of times what their size says."""
    if role != 'time':
        return _SI[role]
    values = table.column(index)
    largest = float(np.nanmax(values)) if np.isfinite(values).any() else 0.0
    return next((unit for unit, least in _SINCE_1970 if largest >= least), 's')


_SINCE_1970 = (('ns', 1e17), ('us', 1e14), ('ms', 1e11))
"""Times since 1970 of the years after 1973 in each unit, which no seconds reach."""


def _stamps(table: Table, index: int, unit: str, sign: float) -> tuple[Ints, list[str]]:
    place = f'{table.place}, column {table.names[index]!r}'
    seconds = sign * factor_of('time', unit, place) * table.column(index)
    missing = np.flatnonzero(~np.isfinite(seconds))
    if len(missing):
        row = table.rows[int(missing[0])]
        msg = f'{table.place}, line {row.line}: the time is missing; remove this line'
        raise InputError(msg)
    stamps = np.rint(seconds * 1e9).astype(np.int64)
    if seconds[0] < _SINCE_1970_S:
        return stamps, ['times count from the start of the recording, taken as 1 January 1970']
    return stamps, []


_SINCE_1970_S = 1e8
"""Seconds of three years: no recording is as long."""

_WITH_UNIT = re.compile(r'^(.*?)\s*[(\[]\s*([^)\]]*)\s*[)\]]\s*$')


def table_of(text: str, place: str) -> Table:
    """
    Return a table whose first line has names, and units in brackets behind them.

    Raises
    ------
    InputError
        If there is no line with data, or one that is not as long as the first.

    """
    head = next((line for line in text.splitlines() if line.strip()), '')
    delimiter = max(',;\t', key=head.count)
    rows = list(csv_rows(text, place, delimiter))
    if len(rows) < 2 or delimiter not in head:
        msg = f'{place}: this is no table with names in its first line; choose another file'
        raise InputError(msg)
    if delimiter != ',':
        # With decimal commas, as spreadsheets of many languages write them.
        rows = [
            Row(row.line, [re.sub(r'^([-+]?\d*),(\d)', r'\1.\2', cell) for cell in row.cells])
            for row in rows
        ]
    names, units = [], []
    for cell in rows[0].cells:
        found = _WITH_UNIT.match(cell)
        names.append(found.group(1) if found else cell)
        units.append(found.group(2) if found else '')
    return Table(place, names, units, rows[1:]).whole()
