# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Files of race loggers: Racelogic VBO, RaceChrono CSV v3, RaceCapture logs, AiM CSV and XRK."""

from __future__ import annotations

from collections import Counter
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from io import StringIO
import re
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.log import (
    Channel,
    csv_rows,
    factor_of,
    log_of,
    plain,
    Row,
    Sensor,
    Table,
    UNDATED,
    UNDATED_NS,
)
from two_manifold_ros.loggers.times import DAY_S, over_midnight

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from two_manifold_ros.loggers.log import Axes, Log
    from two_manifold_ros.typing import Floats, Ints


def _vector(kind: str, unit: str, axes: Axes, *names: str) -> Sensor:
    """Return a sensor with x, y, z: the names of each, or of all with ``{}`` for the letter."""
    each = names if len(names) > 1 else [names[0].replace('{}', axis) for axis in 'xyz']
    columns = {f'{kind}_{axis}': words.split() for axis, words in zip('xyz', each, strict=False)}
    return Sensor(columns, unit, axes)


_NOUNS = ('acc', 'accel', 'acceleration', 'accelg', 'accg', 'accelerationg', 'gforce')
_ACCELEROMETERS = (
    _vector('accel', 'g', 'sensor', '{}accacc {}acc {}accel {}acceleration accel{}'),
    _vector(
        'accel',
        'g',
        'vehicle',
        *(
            ' '.join(f'{way}{noun}' for way in ways.split() for noun in _NOUNS) + f' {more}'
            for ways, more in (
                ('long longitudinal inline forward', 'accelerometerx loggerinlineacc'),
                ('lat lateral', 'accelerometery loggerlateralacc'),
                ('vert vertical', 'accelerometerz loggerverticalacc'),
            )
        ),
    ),
    _vector(
        'accel',
        'g',
        'satellites',
        'longacccalc longitudinalacccalc gpslonacc gpsinlineacc gpslongacc',
        'latacccalc lateralacccalc gpslatacc gpslateralacc',
    ),
)
_TURNING = '{}rateofrotationgyro {}rateofrotation {}rotationgyroscope gyro{}'
_GYROSCOPES = (
    _vector(
        'gyro',
        'deg/s',
        'sensor',
        *(
            f'{_TURNING.replace("{}", axis)} {word}rate'
            for axis, word in zip('xyz', ('roll', 'pitch', 'yaw'), strict=True)
        ),
    ),
    Sensor({'gyro_z': ('gpsgyro', 'gpsyawrate')}, 'deg/s', 'satellites'),
)
_FIXES = (Sensor({each: (each, f'gps{each}') for each in ('latitude', 'longitude')}, 'deg'),)
_HEIGHTS = (Sensor({'altitude': ('altitude', 'gpsaltitude')}, 'm'),)
_SENSORS = (_ACCELEROMETERS, _GYROSCOPES, _FIXES, _HEIGHTS)
# Angular rates, which other loggers name so only if they are angles.
_RACECAPTURE_GYROSCOPES = (
    Sensor({'gyro_x': ('roll',), 'gyro_y': ('pitch',), 'gyro_z': ('yaw',)}, 'deg/s'),
)


OF_VEHICLES = {
    role: (names, sensor.unit)
    for sensor in (_ACCELEROMETERS[1], _GYROSCOPES[0])
    for role, names in sensor.columns.items()
}
"""Names and unit of the channels of a vehicle, as tables whose header was cut off have them."""


def read_racechrono(text: str, place: str) -> Log:
    """Read a table of RaceChrono: names, units and devices are three lines."""
    rows = list(csv_rows(text, place))
    begin = next((at for at, row in enumerate(rows) if row.cells[0] == 'timestamp'), None)
    if begin is None or ['Format', '3'] not in [row.cells[:2] for row in rows[:begin]]:
        msg = f'{place}: this is no CSV v3 of RaceChrono; export the session as CSV v3'
        raise InputError(msg)
    names, units, devices = ([*each.cells] for each in [*rows[begin:], *[Row(0, [])] * 2][:3])
    # Several devices have columns of the same name; what is computed has no device.
    devices += [''] * (len(names) - len(devices))
    for index in range(1, len(names)):
        device, name = devices[index], names[index]
        if device in {'calc', ''} or ('gps' in device and name.endswith('_acc')):
            names[index] = f'{name} calc'
    table = Table.of(place, names, units, rows[begin + 3 :])
    table, stamps = table.times(0, 's')
    return table.log('RaceChrono CSV v3', stamps, _SENSORS)


def read_racecapture(text: str, place: str) -> Log:
    """Read a log of RaceCapture, whose cells are empty where a channel has a lower rate."""
    rows = list(csv_rows(text, place))
    described = [cell.replace('"', '').split('|') for cell in rows[0].cells]
    if any(len(each) < 2 for each in described):
        msg = (
            f'{place}, line {rows[0].line}: a column of the header is not '
            '"Name"|"unit"|min|max|rate; copy the log from the logger again'
        )
        raise InputError(msg)
    table = Table.of(
        place, [each[0] for each in described], [each[1] for each in described], rows[1:]
    )
    index = table.column_named('interval')
    table, since = table.times(index, table.units[index] or 'ms')
    utc = table.find(['utc'])
    stamps, notes = UNDATED_NS + since - since[0], [UNDATED]
    known = np.zeros(0) if utc is None else table.column(utc)
    valid = np.isfinite(known) & (known > 0)
    if valid.any():
        # The median: the clock of the satellites reaches the logger with a jitter.
        apart = np.rint(known[valid] * 1e6).astype(np.int64) - since[valid]
        stamps, notes = since + int(np.median(apart)), []
    sensors = (_ACCELEROMETERS, _RACECAPTURE_GYROSCOPES, _FIXES, _HEIGHTS)
    return table.log('RaceCapture log', stamps, sensors, notes)


def read_aim(text: str, place: str) -> Log:
    """Read a table of AiM Race Studio: statements, then names, units and rows at one rate."""
    rows = list(csv_rows(text, place))
    begin = next(
        (at for at, row in enumerate(rows) if row.cells[0] == 'Time' and any(row.cells[2:])), None
    )
    if begin is None or len(rows) < begin + 2:
        msg = f'{place}: there is no line with the names of channels; export the file again'
        raise InputError(msg)
    stated = {row.cells[0]: ', '.join(filter(None, row.cells[1:])) for row in rows[:begin]}
    table = Table.of(place, rows[begin].cells, rows[begin + 1].cells, rows[begin + 2 :])
    start, note = _aim_start(stated.get('Date', ''), stated.get('Time', ''))
    table, since = table.times(0, table.units[0] or 's')
    return table.log('AiM CSV', start + since, _SENSORS, [note])


_DATES = ('%A, %B %d, %Y', '%A %B %d %Y', '%B %d, %Y', '%m/%d/%Y', '%d/%m/%Y', '%Y-%m-%d')
_CLOCKS = ('%I:%M %p', '%I:%M:%S %p', '%H:%M', '%H:%M:%S')


def _aim_start(date: str, clock: str) -> tuple[int, str]:
    """Return when a session began, ns, and a note: AiM states the local time without its zone."""
    for form in [f'{each}|{clock_form}' for each in _DATES for clock_form in _CLOCKS]:
        try:
            began = datetime.strptime(f'{date}|{clock}', form).replace(tzinfo=timezone.utc)
        except ValueError:
            continue
        if 1970 <= began.year < 2038:
            note = f'the local time {began:%Y-%m-%d %H:%M} of the start is taken as UTC'
            return round(began.timestamp()) * 1_000_000_000, note
    return UNDATED_NS, UNDATED


# The first message of a file; or zlib, which packs an XRZ.
XRK_BEGINNINGS = (b'<hCNF', b'x\x01', b'x\x9c', b'x\xda')


def read_xrk(path: Path) -> Log:
    """
    Read an XRK or XRZ file of AiM by the optional library `libxrk`.

    Raises
    ------
    InputError
        If the library is missing or cannot read the file.

    """
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
            names = list(file.channels)
    # A damaged file makes it raise almost anything.
    except Exception as error:
        msg = f'{path}: libxrk cannot read this file ({error}); copy it from the logger again'
        raise InputError(msg) from error
    start, note = _aim_start(*(str(file.metadata.get(f'Log {each}')) for each in ('Date', 'Time')))

    def channel(role: str, index: int, unit: str) -> Channel:
        name = names[index]
        table = file.channels[name]
        stated = (table.schema.field(name).metadata or {}).get(b'units', b'').decode()
        values = np.asarray(table.column(name).to_numpy(), dtype=np.float64)
        milliseconds = np.asarray(table.column('timecodes').to_numpy(), dtype=np.int64)
        factor = factor_of(role, stated or unit, f'{path}, channel {name!r}')
        return Channel.of_cells(start + milliseconds * 1_000_000, values * factor)

    log = log_of('AiM XRK', str(path), [plain(name) for name in names], channel, _SENSORS)
    return replace(log, notes=(note,))


def read_vbo(text: str, place: str) -> Log:
    """Read a VBO file of Racelogic, which many loggers and apps write: sections with a table."""
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
    names = _vbo_names(sections, rows, place)
    table = Table.of(place, names, [], rows)
    index = table.column_named('time', 'utctime')
    seconds = over_midnight(_seconds_of_day(table, index))
    table, seconds = table.clocked(index, seconds, 'is not HHMMSS.SS')
    seconds -= DAY_S * np.floor(seconds[0] / DAY_S)
    since = np.rint(seconds * 1e9).astype(np.int64)
    stamps, notes = _vbo_stamps(table, since, sections[''])
    places, more = _vbo_places(table, stamps)
    log = table.log('Racelogic VBO', stamps, (_ACCELEROMETERS, _GYROSCOPES), [*notes, *more])
    return replace(log, channels={**log.channels, **places})


_KNOWN = frozenset(
    name for kinds in (_ACCELEROMETERS, _GYROSCOPES) for sensor in kinds
    for names in sensor.columns.values() for name in names
) | {'sats', 'satellites', 'time', 'utctime', 'lat', 'latitude', 'long', 'lng', 'longitude',
     'velocity', 'heading', 'height', 'altitude'}  # fmt: skip
"""Names of columns of a VBO that are read, or that every one has."""


def _vbo_names(sections: dict[str, list[str]], rows: Sequence[Row], place: str) -> list[str]:
    """Return the names of the columns, which blanks part, though names may hold blanks."""
    words = ' '.join(sections.get('column names', [])).split()
    header = sections.get('header', [])
    lengths = Counter(len(row.cells) for row in rows)
    width = max(lengths, key=lengths.__getitem__, default=len(words))
    if not words and not header:
        msg = f'{place}: the section [column names] is missing; export the file again'
        raise InputError(msg)
    if not words or len(words) <= width:
        return words or header
    # The header states the same columns, one a line.
    names, at = list[str](), 0
    for line in header:
        count = len(line.split())
        whole = plain(''.join(words[at : at + count])) == plain(line)
        names.append(' '.join(words[at : at + (count if whole else 1)]))
        at += count if whole else 1
    if len(names) == width and at == len(words):
        return names
    if len(header) == width:
        return header
    # Without it the names that are known stay, if the others stand side by side.
    known = [plain(word) in _KNOWN for word in words]
    unknown = [number for number, there in enumerate(known) if not there]
    first, last = (unknown[0], unknown[-1] + 1) if unknown else (0, 0)
    others = last - first - (len(words) - width)
    if others < 1 or len(unknown) != last - first:
        msg = (
            f'{place}: [column names] has {len(words)} words for {width} values in a line, so '
            'that names hold blanks; write such names in it with _ instead'
        )
        raise InputError(msg)
    return [*words[:first], *(f'unknown {number}' for number in range(others)), *words[last:]]


_CREATED = re.compile(
    r'(\d{1,2})/(\d{1,2})/(\d{4})(?:\s*(?:(?:at|@|,)\s*)?(\d{1,2}):(\d{2}))?', re.IGNORECASE
)


def _vbo_stamps(table: Table, since: Ints, begin: Sequence[str]) -> tuple[Ints, list[str]]:
    """Return when rows (N,) were recorded, ns, by the time since midnight and the file's date."""
    start_ns, note = UNDATED_NS, UNDATED
    created = next(filter(None, map(_CREATED.search, begin)), None)
    if created is not None:
        day = _day_of(created, float(since[0]) * 1e-9, table.place)
        start_ns = round(day.timestamp()) * 1_000_000_000
        note = f'times are UTC, of {day:%Y-%m-%d} by when the file was created'
    return start_ns + since, [note]


def _day_of(created: re.Match[str], first_s: float, place: str) -> datetime:
    """Return the day on which the first time of day is nearest to when a file was created."""
    date, month, year, hours, minutes = (int(each or 0) for each in created.groups())
    try:
        if not 1970 <= year < 2038:
            raise ValueError(year)  # noqa: TRY301 - as datetime does for other years
        written = datetime(year, month, date, hours, minutes, tzinfo=timezone.utc)
    except ValueError as error:
        msg = f'{place}: {created.group()!r} is no day/month/year; correct this line'
        raise InputError(msg) from error
    midnight = datetime(year, month, date, tzinfo=timezone.utc)
    if not created.group(4):
        return midnight
    days = [midnight + timedelta(days) for days in (-1, 0, 1)]
    return min(days, key=lambda day: abs(day + timedelta(seconds=first_s) - written))


def _seconds_of_day(table: Table, index: int) -> Floats:
    """Return HHMMSS.SS (N,) as seconds, NaN where it is none."""
    clock = table.column(index)
    hours, minutes, seconds = clock // 10_000, clock // 100 % 100, clock % 100
    good = (hours < 24) & (minutes < 60) & (seconds < 60.999) & (clock >= 0)
    # Not the remainder alone: it has the rounding of six digits before the point.
    total: Floats = np.rint((hours * 3600.0 + minutes * 60.0 + seconds) * 1e6) / 1e6
    return np.where(good, total, np.nan)


def _vbo_places(table: Table, stamps: Ints) -> tuple[dict[str, Channel], list[str]]:
    """Return latitude and longitude in degrees north and east, and the height."""
    latitude, longitude = table.find(['lat', 'latitude']), table.find(['long', 'lng', 'longitude'])
    if latitude is None or longitude is None:
        return {}, []
    north, east = table.column(latitude), table.column(longitude)
    satellites = table.find(['sats', 'satellites'])
    if satellites is not None:
        # Some add 64 or 128 for corrections; none at all is no fix.
        north[table.column(satellites) == 0] = np.nan
    # Zeros stand for no fix; and most rows decide, not the largest number.
    known = np.isfinite(north) & np.isfinite(east) & ((north != 0.0) | (east != 0.0))
    as_degrees = (np.abs(north[known]) <= 90.0) & (np.abs(east[known]) <= 180.0)
    if 2 * np.count_nonzero(as_degrees) > len(as_degrees):
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


FORMATS: tuple[tuple[str, Callable[[str, str], Log]], ...] = (
    (r'\AThis file is created using RaceChrono', read_racechrono),
    (r'\A\s*"Interval"\s*\|\s*"\w*"\s*\|', read_racecapture),
    (r'(?i)\A\s*"?Format"?\s*,\s*"?AiM CSV File', read_aim),
    (r'(?im)^[^\S\n]*\[(column names|header|data)\]\s*$', read_vbo),
)
"""What the beginning of a text file of each format has, and what reads it."""
