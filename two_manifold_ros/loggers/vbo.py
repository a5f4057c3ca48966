# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""VBO files of Racelogic, which many loggers and apps write: sections, minutes, time of day."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from functools import partial
import re
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.log import Channel, UNDATED
from two_manifold_ros.loggers.tables import log_of, Row, Sensor, Table

if TYPE_CHECKING:
    from two_manifold_ros.loggers.log import Log
    from two_manifold_ros.typing import Floats, Ints

KIND = 'Racelogic VBO'
_DAY_S = 86_400.0

ACCELEROMETERS = (
    Sensor(
        {
            'accel_x': ('xaccacc', 'xacc', 'xaccel', 'xacceleration'),
            'accel_y': ('yaccacc', 'yacc', 'yaccel', 'yacceleration'),
            'accel_z': ('zaccacc', 'zacc', 'zaccel', 'zacceleration'),
        },
        'g',
    ),
    Sensor(
        {
            'accel_x': ('longacc', 'longaccelg', 'longitudinalacc', 'longaccel'),
            'accel_y': ('latacc', 'lataccelg', 'lateralacc', 'lataccel'),
            'accel_z': ('vertacc', 'vertaccelg', 'verticalacc', 'vertaccel'),
        },
        'g',
        'vehicle',
    ),
    Sensor({'accel_x': ('longacccalc',), 'accel_y': ('latacccalc',)}, 'g', 'satellites'),
)
GYROSCOPES = (
    Sensor(
        {
            'gyro_x': ('xrateofrotationgyro', 'xrateofrotation', 'xrotationgyroscope', 'rollrate'),
            'gyro_y': (
                'yrateofrotationgyro',
                'yrateofrotation',
                'yrotationgyroscope',
                'pitchrate',
            ),
            'gyro_z': ('zrateofrotationgyro', 'zrateofrotation', 'zrotationgyroscope', 'yawrate'),
        },
        'deg/s',
    ),
)

_CREATED = re.compile(
    r'(\d{1,2})/(\d{1,2})/(\d{4})(?:\s*(?:at|@|,)?\s*(\d{1,2}):(\d{2}))?', re.IGNORECASE
)


def is_vbo(text: str) -> bool:
    """Return whether the beginning of a file has sections of a VBO file."""
    return bool(re.search(r'(?im)^\s*\[(column names|header|data)\]\s*$', text))


def read_vbo(text: str, place: str) -> Log:
    """
    Read a VBO file.

    Raises
    ------
    InputError
        If a section or column is missing, or a line is no row of the table.

    """
    table, header = _sections(text, place)
    table = table.whole()
    stamps, notes = _stamps(table, header)
    places, more = _places(table, stamps)
    sensors = (ACCELEROMETERS, GYROSCOPES)
    log = log_of(KIND, place, table.find, partial(table.channel, stamps), sensors)
    return replace(
        log,
        channels={**log.channels, **places},
        notes=(*table.notes, *notes, *more),
    )


def _sections(text: str, place: str) -> tuple[Table, dict[str, list[str]]]:
    """Return the table, and the lines of the sections that state what was recorded."""
    sections: dict[str, list[str]] = {'': []}
    rows: list[Row] = []
    section = ''
    for line, content in enumerate(text.splitlines(), 1):
        stripped = content.strip()
        if stripped.startswith('[') and stripped.endswith(']'):
            section = stripped[1:-1].strip().lower()
            sections.setdefault(section, [])
        elif stripped and section == 'data':
            rows.append(Row(line, stripped.split()))
        elif stripped:
            sections[section].append(stripped)
    names = ' '.join(sections.pop('column names', [])).split() or sections.get('header', [])
    sections.pop('header', None)
    sections.pop('channel units', None)
    sections.pop('data', None)
    if not names:
        msg = f'{place}: the section [column names] is missing; export the file again'
        raise InputError(msg)
    return Table(place, names, [''] * len(names), rows), sections


def _stamps(table: Table, header: dict[str, list[str]]) -> tuple[Ints, list[str]]:
    """Return when rows (N,) were recorded, ns, from the time of day and the date of the file."""
    index = table.find(['time', 'utctime'])
    if index is None:
        msg = f'{table.place}: there is no column time; export the file again'
        raise InputError(msg)
    seconds = _seconds_of_day(table, index)
    # Later rows are of the next day where the clock falls by more than half of one.
    seconds += _DAY_S * np.cumsum(np.diff(seconds, prepend=seconds[0]) < -0.5 * _DAY_S)
    created = next(filter(None, (_CREATED.search(line) for line in header[''])), None)
    if created is None:
        day, note = datetime(1970, 1, 2, tzinfo=timezone.utc), UNDATED
    else:
        day, note = _day_of(created, float(seconds[0]), table.place)
    start_ns = round(day.timestamp()) * 1_000_000_000
    return table.forward(start_ns + np.rint(seconds * 1e9).astype(np.int64)), [note]


def _day_of(created: re.Match[str], first_s: float, place: str) -> tuple[datetime, str]:
    """Return the day on which the first time of day is nearest to when a file was created."""
    date, month, year, hours, minutes = (int(each or 0) for each in created.groups())
    try:
        if not 1970 < year < 2038:
            raise ValueError(year)  # noqa: TRY301 - as datetime does for other years
        written = datetime(year, month, date, hours, minutes, tzinfo=timezone.utc)
    except ValueError as error:
        msg = f'{place}: {created.group()!r} is no day/month/year; correct this line'
        raise InputError(msg) from error
    midnight = datetime(year, month, date, tzinfo=timezone.utc)
    if created.group(4):
        days = [midnight + timedelta(days) for days in (-1, 0, 1)]
        midnight = min(days, key=lambda day: abs(day + timedelta(seconds=first_s) - written))
    return midnight, f'times are UTC, of {midnight:%Y-%m-%d} by when the file was created'


def _seconds_of_day(table: Table, index: int) -> Floats:
    """Return HHMMSS.SS (N,) as seconds."""
    clock = table.column(index)
    hours, minutes, seconds = clock // 10_000, clock // 100 % 100, clock % 100
    bad = ~((hours < 24) & (minutes < 60) & (seconds < 60.999) & (clock >= 0))
    if bad.any():
        row = table.rows[int(np.flatnonzero(bad)[0])]
        msg = (
            f'{table.place}, line {row.line}: the time {row.cells[index]!r} is not HHMMSS.SS; '
            'export the file again, or remove this line'
        )
        raise InputError(msg)
    # Not the remainder alone: it has the rounding of six digits before the point.
    total: Floats = np.rint((hours * 3600.0 + minutes * 60.0 + seconds) * 1e6) / 1e6
    return total


def _places(table: Table, stamps: Ints) -> tuple[dict[str, Channel], list[str]]:
    """Return latitude and longitude in degrees north and east, and the height."""
    latitude, longitude = table.find(['lat', 'latitude']), table.find(['long', 'lng', 'longitude'])
    if latitude is None or longitude is None:
        return {}, []
    north, east = table.column(latitude), table.column(longitude)
    satellites = table.find(['sats', 'satellites'])
    if satellites is not None:
        # Some add 64 or 128 for corrections; none at all is no fix.
        north[table.column(satellites) == 0] = np.nan
    known = np.isfinite(north) & np.isfinite(east)
    if known.any() and np.abs(north[known]).max() <= 90 and np.abs(east[known]).max() <= 180:
        # As minutes this would be in the sea, less than three degrees from 0, 0.
        notes = ['latitude and longitude are taken as degrees, east positive, not as minutes']
    else:
        north, east = north / 60.0, -east / 60.0
        notes = ['latitude and longitude are minutes, and longitudes positive to the west']
    places = {
        'latitude': Channel.of_cells(stamps, north),
        'longitude': Channel.of_cells(stamps, east),
    }
    height = table.find(['height', 'altitude'])
    if height is not None:
        places['altitude'] = table.channel(stamps, 'altitude', height, 'm')
    return {role: each for role, each in places.items() if len(each.stamps)}, notes
