# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tables of race loggers: RaceChrono CSV v3, RaceCapture logs, and CSV of AiM Race Studio."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
import re
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.log import UNDATED, UNDATED_NS
from two_manifold_ros.loggers.tables import csv_rows, log_of, Sensor, Table
from two_manifold_ros.loggers.vbo import GYROSCOPES as VBO_GYROSCOPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.loggers.log import Log
    from two_manifold_ros.typing import Ints

RACECHRONO, RACECAPTURE, AIM = 'RaceChrono CSV v3', 'RaceCapture log', 'AiM CSV'

FIXES = (
    Sensor(
        {'latitude': ('latitude', 'gpslatitude'), 'longitude': ('longitude', 'gpslongitude')},
        'deg',
    ),
)
HEIGHTS = (Sensor({'altitude': ('altitude', 'gpsaltitude')}, 'm'),)


def is_racechrono(text: str) -> bool:
    """Return whether a file begins as a table of RaceChrono, of any version."""
    return text.startswith('This file is created using RaceChrono')


def is_racecapture(text: str) -> bool:
    """Return whether a file begins with the header of a RaceCapture log."""
    return re.match(r'\s*"Interval"\s*\|\s*"\w*"\s*\|', text) is not None


def is_aim(text: str) -> bool:
    """Return whether a file begins as a table of AiM Race Studio."""
    return re.match(r'\s*"?Format"?\s*,\s*"?AiM CSV File', text, re.IGNORECASE) is not None


def read_racechrono(text: str, place: str) -> Log:
    """
    Read a table of RaceChrono: names, units and devices are three lines.

    Raises
    ------
    InputError
        If it is of another version, or a line is no row of the table.

    """
    rows = list(csv_rows(text, place))
    begin = next((at for at, row in enumerate(rows) if row.cells[0] == 'timestamp'), None)
    if begin is None or ['Format', '3'] not in [row.cells[:2] for row in rows[:begin]]:
        msg = f'{place}: this is no CSV v3 of RaceChrono; export the session as CSV v3'
        raise InputError(msg)
    if len(rows) < begin + 3:
        msg = f'{place}: there is no line with data; choose another recording'
        raise InputError(msg)
    names, units, devices = (row.cells for row in rows[begin : begin + 3])
    # Several devices have columns of the same name; what is computed has no device.
    named = [
        f'{name} calc'
        if device in {'calc', ''} or ('gps' in device and name.endswith('_acc'))
        else name
        for name, device in zip(names, [*devices, *[''] * len(names)], strict=False)
    ]
    named[0] = names[0]
    units = [*units, *[''] * (len(names) - len(units))]
    table = Table(place, named, units, rows[begin + 3 :]).whole()
    stamps = table.times(0, 's')
    sensors = (
        Sensor({'accel_x': ('xacc',), 'accel_y': ('yacc',), 'accel_z': ('zacc',)}, 'g'),
        Sensor({'accel_x': ('longitudinalacc',), 'accel_y': ('lateralacc',)}, 'g', 'vehicle'),
        Sensor(
            {'accel_x': ('longitudinalacccalc',), 'accel_y': ('lateralacccalc',)},
            'g',
            'satellites',
        ),
    )
    return _log(RACECHRONO, table, stamps, (sensors, VBO_GYROSCOPES))


def read_racecapture(text: str, place: str) -> Log:
    """
    Read a log of RaceCapture, whose cells are empty where a channel has a lower rate.

    Raises
    ------
    InputError
        If the header or a line is malformed.

    """
    lines = list(csv_rows(text, place))
    described = [cell.replace('"', '').split('|') for cell in lines[0].cells]
    if any(len(each) < 2 for each in described):
        msg = (
            f'{place}, line {lines[0].line}: a column of the header is not '
            '"Name"|"unit"|min|max|rate; copy the log from the logger again'
        )
        raise InputError(msg)
    names, units = [each[0] for each in described], [each[1] for each in described]
    table = Table(place, names, units, lines[1:]).whole()
    stamps, notes = _racecapture_stamps(table)
    accelerometers = (
        Sensor({'accel_x': ('accelx',), 'accel_y': ('accely',), 'accel_z': ('accelz',)}, 'g'),
    )
    gyroscopes = (
        Sensor({'gyro_x': ('roll',), 'gyro_y': ('pitch',), 'gyro_z': ('yaw',)}, 'deg/s'),
    )
    return _log(RACECAPTURE, table, stamps, (accelerometers, gyroscopes), notes)


def _racecapture_stamps(table: Table) -> tuple[Ints, list[str]]:
    """Return the intervals (N,) since the start, at the date that satellites gave, ns."""
    index, utc = table.find(['interval']), table.find(['utc'])
    if index is None:
        msg = f'{table.place}: there is no column Interval; copy the log from the logger again'
        raise InputError(msg)
    since = table.times(index, table.units[index] or 'ms')
    if utc is not None:
        known = table.column(utc)
        valid = np.isfinite(known) & (known > 0)
        if valid.any():
            # The median: the clock of the satellites reaches the logger with a jitter.
            apart = np.rint(known[valid] * 1e6).astype(np.int64) - since[valid]
            return since + int(np.median(apart)), []
    return UNDATED_NS + since - since[0], [UNDATED]


_INLINE = ('inlineacc', 'inlineacceleration', 'accelerometerx', 'loggerinlineacc')
_LATERAL = ('lateralacc', 'lateralacceleration', 'accelerometery', 'loggerlateralacc')
_VERTICAL = ('verticalacc', 'verticalacceleration', 'accelerometerz', 'loggerverticalacc')
_AIM_ACCELEROMETERS = (
    Sensor({'accel_x': _INLINE, 'accel_y': _LATERAL, 'accel_z': _VERTICAL}, 'g', 'vehicle'),
    Sensor(
        {
            'accel_x': ('gpslonacc', 'gpsinlineacc', 'gpslongacc'),
            'accel_y': ('gpslatacc', 'gpslateralacc'),
        },
        'g',
        'satellites',
    ),
)
_AIM_GYROSCOPES = (
    Sensor(
        {
            'gyro_x': ('rollrate', 'gyrox'),
            'gyro_y': ('pitchrate', 'gyroy'),
            'gyro_z': ('yawrate', 'gyroz'),
        },
        'deg/s',
    ),
    Sensor({'gyro_z': ('gpsgyro', 'gpsyawrate')}, 'deg/s', 'satellites'),
)
AIM_SENSORS = (_AIM_ACCELEROMETERS, _AIM_GYROSCOPES)
_DATES = ('%A, %B %d, %Y', '%A %B %d %Y', '%B %d, %Y', '%m/%d/%Y', '%Y-%m-%d')
_CLOCKS = ('%I:%M %p', '%I:%M:%S %p', '%H:%M', '%H:%M:%S')


def read_aim(text: str, place: str) -> Log:
    """
    Read a table of AiM Race Studio: statements, then names, units and rows at one rate.

    Raises
    ------
    InputError
        If there is no line of names, or a line is no row of the table.

    """
    rows = list(csv_rows(text, place))
    begin = next(
        (at for at, row in enumerate(rows) if row.cells[0] == 'Time' and any(row.cells[2:])), None
    )
    if begin is None or len(rows) < begin + 2:
        msg = f'{place}: there is no line with the names of channels; export the file again'
        raise InputError(msg)
    names, units = rows[begin].cells, rows[begin + 1].cells
    stated = {row.cells[0]: ', '.join(filter(None, row.cells[1:])) for row in rows[:begin]}
    units = [*units, *[''] * (len(names) - len(units))]
    table = Table(place, names, units, rows[begin + 2 :]).whole()
    start, note = aim_start(stated.get('Date', ''), stated.get('Time', ''))
    stamps = start + table.times(0, table.units[0] or 's')
    return _log(AIM, table, stamps, AIM_SENSORS, [note])


def aim_start(date: str, clock: str) -> tuple[int, str]:
    """Return when a session began, ns, and a note: AiM states the local time without its zone."""
    for each in _DATES:
        for clock_format in _CLOCKS:
            try:
                began = datetime.strptime(f'{date}|{clock}', f'{each}|{clock_format}').replace(
                    tzinfo=timezone.utc
                )
            except ValueError:
                continue
            if not 1970 <= began.year < 2038:
                break
            note = f'the local time {began:%Y-%m-%d %H:%M} of the start is taken as UTC'
            return round(began.timestamp()) * 1_000_000_000, note
    return UNDATED_NS, UNDATED


def _log(
    kind: str,
    table: Table,
    stamps: Ints,
    sensors: Sequence[Sequence[Sensor]],
    notes: Sequence[str] = (),
) -> Log:
    channel = partial(table.channel, table.forward(stamps))
    log = log_of(kind, table.place, table.find, channel, (*sensors, FIXES, HEIGHTS))
    return replace(log, notes=(*table.notes, *notes))
