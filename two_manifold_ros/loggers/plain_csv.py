# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Plain tables: any CSV with a map of its columns, and the files of phone apps."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
import re
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.log import (
    Channel,
    csv_rows,
    factor_of,
    IMU_ROLES,
    LAST_S,
    Log,
    plain,
    ROLES,
    Row,
    SI,
    Table,
    UNDATED,
    UNDATED_NS,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from two_manifold_ros.typing import Floats, Ints

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
        role = next((known for known, names in _USUAL.items() if plain(role) in names), role)
        name, _, unit = column.rpartition(':') if ':' in column else (column, '', '')
        sign = -1.0 if name.startswith('-') else 1.0
        name = name.removeprefix('-').strip()
        wrong = role not in ROLES or role in choices or (role == 'time' and sign < 0)
        if not equals or not name or wrong:
            msg = (
                f'--columns: {part!r} is not ROLE=COLUMN or ROLE=COLUMN:UNIT, each role once; '
                f'roles are {", ".join(ROLES)}'
            )
            raise InputError(msg)
        if unit and (role != 'time' or unit not in _TEXTS):
            factor_of(role, unit, f'--columns {part}')
        choices[role] = ColumnChoice(name, unit.strip(), sign)
    return choices


def read_plain(
    table: Table,
    columns: Mapping[str, ColumnChoice],
    clock: tuple[Floats, Ints] | None = None,
) -> Log:
    """
    Read a table.

    Parameters
    ----------
    table
        As `table_of` returns it.
    columns
        Columns by their role; where there is none, usual names are looked for.
    clock
        Times of the table (S,) at which it begins or goes on, in seconds, and their stamps (S,)
        in nanoseconds; by default times count from 1970.

    Raises
    ------
    InputError
        If a column is missing or a cell is malformed.

    """
    chosen, notes = _chosen(table, columns)
    index, unit, sign = chosen.pop('time')
    more: list[str] = []
    if clock is None:
        stamps, more = _stamps(table, index, unit)
    else:
        since, begins = table.times(index, unit), np.rint(clock[0] * 1e9).astype(np.int64)
        part = np.clip(np.searchsorted(begins, since, side='right') - 1, 0, None)
        stamps = clock[1][part] + (since - begins[part])
    table.forward(stamps)
    channels = {}
    for role, (index, unit, sign) in chosen.items():
        factor = sign * factor_of(role, unit, f'{table.place}, column {table.names[index]!r}')
        channels[role] = Channel.of_cells(stamps, table.column(index) * factor)
    channels = {role: each for role, each in channels.items() if len(each.stamps)}
    return Log(table.place, 'plain CSV', channels, 'sensor', (*table.notes, *notes, *more))


def _chosen(
    table: Table, columns: Mapping[str, ColumnChoice]
) -> tuple[dict[str, tuple[int, str, float]], list[str]]:
    """Return index, unit and sign of the column of each role."""
    table = table if columns else _with_units(table)
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
        if role == 'time' and _ISO.match(table.rows[0].cells[index]):
            unit = 'iso'
        unit = unit or table.units[index]
        if role == 'time' and not unit:
            unit = _unit_of_time(table, index, imu=bool(set(IMU_ROLES) & set(chosen)))
        unit = unit or SI[role]
        chosen[role] = index, unit, sign
        name = table.names[index]
        words.append(f'{role} is {"-" if sign < 0 else ""}{name} in {unit}')
        if table.names.count(name) > 1:
            words[-1] += f' (the first of {table.names.count(name)} columns of this name)'
    if 'time' not in chosen or len(chosen) < 2:
        lacking = 'samples' if 'time' in chosen else 'the time'
        msg = (
            f'{table.place}: no column is known to hold {lacking}; name the columns with '
            f"--columns 'time=COLUMN:UNIT,...' out of {', '.join(map(repr, table.names))}"
        )
        raise InputError(msg)
    return chosen, ['; '.join(words)]


def _with_units(table: Table) -> Table:
    """Return a table with the units that stand behind usual names, such as `ax_g`, apart."""
    known = {name for usual in _USUAL.values() for name in usual}
    found = [_SUFFIX.match(name) for name in table.names]
    apart = [each if each and plain(each.group(1)) in known else None for each in found]
    return replace(
        table,
        names=[each[1] if each else name for each, name in zip(apart, table.names, strict=True)],
        units=[each[2] if each else unit for each, unit in zip(apart, table.units, strict=True)],
    )


def _unit_of_time(table: Table, index: int, *, imu: bool) -> str:
    """Return the unit that times look like, if a column with samples of an IMU states none."""
    values = table.column(index)
    values = values[np.isfinite(values)]
    largest = values.max(initial=0.0)
    unit = next((unit for unit, least in _SINCE_1970 if largest >= least), 's')
    if imu and unit == 's' and len(values) > 2 and (step := np.median(np.diff(values))) >= 1.0:
        name = table.names[index]
        msg = (
            f'{table.place}: column {name!r} states no unit, and its rows would be {step:g} s '
            f"apart; state it, as in --columns 'time={name}:ms,...'"
        )
        raise InputError(msg)
    return unit


_SINCE_1970 = (('ns', 1e17), ('us', 1e14), ('ms', 1e11))
"""Times since 1970 of the years after 1973 in each unit, which no seconds reach."""

_ISO = re.compile(
    r'(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?\s*(Z|[-+]\d\d:?\d\d)?$'
)


def _stamps(table: Table, index: int, unit: str) -> tuple[Ints, list[str]]:
    """Return the times (N,) of a column, nanoseconds, and notes."""
    if unit not in _TEXTS:
        stamps = table.times(index, unit)
        if stamps[0] < _LONGEST_NS:
            return stamps + UNDATED_NS, [UNDATED]
        return stamps, []
    stamps = np.zeros(len(table.rows), dtype=np.int64)
    zones = set()
    for number, row in enumerate(table.rows):
        read = _of_text(row.cells[index])
        if read is None:
            msg = (
                f'{table.place}, line {row.line}: {row.cells[index][:40]!r} is no time such as '
                '2026-01-31 12:00:00.5 +0100; correct or remove this line'
            )
            raise InputError(msg)
        stamps[number], zone = read
        zones.add(zone)
    return stamps, ['times without a zone are taken as UTC'] if None in zones else []


def _of_text(text: str) -> tuple[int, str | None] | None:
    """Return a time, ns, and its zone; ``None`` if the text is no time."""
    found = _ISO.match(text)
    if found is None:
        return None
    day, clock, fraction, zone = found.groups()
    plus = '+0000' if zone in {None, 'Z'} else zone
    try:
        when = datetime.strptime(f'{day} {clock}{plus}', '%Y-%m-%d %H:%M:%S%z')
    except ValueError:
        return None
    if not 0 <= when.timestamp() < LAST_S:
        return None
    return round(when.timestamp()) * 10**9 + int((fraction or '0').ljust(9, '0')), zone


_TEXTS = frozenset({'iso', 'txt'})
_LONGEST_NS = 10**17
"""Three years: no recording is as long, so that longer times count from 1970."""

_SUFFIX = re.compile(
    '(?i)(.+?)_(ns|us|ms|s|m?g|m_?s2|mps2|m?dps|deg_s|degps|rad_s|radps|deg|m|ft)$'
)
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
    if delimiter not in head:
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
    return Table.of(place, names, units, rows[1:])
