# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What files of loggers hold: tables of text, and channels in SI units with their times."""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
import math
import re
from typing import Literal, NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.recording import GRAVITY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from two_manifold_ros.typing import Floats, Ints

ACCELERATIONS = ('accel_x', 'accel_y', 'accel_z')
RATES = ('gyro_x', 'gyro_y', 'gyro_z')
IMU_ROLES = (*ACCELERATIONS, *RATES)
"""Channels of an IMU, x forward, y left, z up where the axes are those of the vehicle."""
FIX_ROLES = ('latitude', 'longitude', 'altitude')
"""Channels of a satellite receiver, degrees north and east, and metres."""

Axes = Literal['sensor', 'vehicle', 'satellites']
"""Axes of accelerations: of the sensor, however it is mounted; of the vehicle; or of the vehicle,
but computed from satellite positions by the logger."""

_FACTORS: dict[str, dict[str, float]] = {
    'acceleration': {'m/s2': 1.0, 'g': GRAVITY, 'mg': GRAVITY / 1000.0, 'ft/s2': 0.3048},
    'rate': {'rad/s': 1.0, 'deg/s': math.radians(1.0), 'mdeg/s': math.radians(0.001)},
    'angle': {'deg': 1.0, 'min': 1.0 / 60.0, 'rad': math.degrees(1.0)},
    'length': {'m': 1.0, 'ft': 0.3048, 'km': 1000.0},
    'time': {'s': 1.0, 'ms': 1e-3, 'us': 1e-6, 'ns': 1e-9},
}
_QUANTITIES = {
    **dict.fromkeys(ACCELERATIONS, 'acceleration'),
    **dict.fromkeys(RATES, 'rate'),
    'latitude': 'angle',
    'longitude': 'angle',
    'altitude': 'length',
    'time': 'time',
}
ROLES = tuple(_QUANTITIES)
SI = {role: next(iter(_FACTORS[quantity])) for role, quantity in _QUANTITIES.items()}
"""Units of roles that none states."""

LAST_S = 2**31
"""Seconds since 1970 that a stamp of ROS can have, which are those until 2038."""

UNDATED_NS = 86_400 * 1_000_000_000
"""Where a drive without a date begins: a stamp of 0 would be none."""
UNDATED = 'the file has no date: the drive begins on 2 January 1970'

_SPELLINGS = (
    (r'[\s^*().·]', ''),
    ('²|squared', '2'),
    ('⁻', '-'),
    ('[°º]|degrees?', 'deg'),
    ('[µμ]|micro', 'u'),
    ('nano', 'n'),
    ('milli', 'm'),
    ('met(er|re)s?', 'm'),
    ('feet', 'ft'),
    ('radians?', 'rad'),
    ('minutes?', 'min'),
    ('sec(ond)?s?|^unixtime$', 's'),
    ('_|per|p(?=s2?$)', '/'),
    # Powers, as of m s-2 and deg s-1.
    ('(?<!/)s-([12])$', r'/s\1'),
    ('/s1$', '/s'),
    ('/s/s$', '/s2'),
    ('^ms2$', 'm/s2'),
    ('(?<!ra)d/s$', 'deg/s'),
)


def factor_of(role: str, unit: str, place: str) -> float:
    """
    Return what a number in a unit is multiplied by: SI units, degrees for places on earth.

    Parameters
    ----------
    role
        One of ``ROLES``.
    unit
        As a file or a user writes it, such as ``G``, ``Deg/Sec`` or ``m/s²``.
    place
        File and column, for the error.

    Raises
    ------
    InputError
        If it is no known unit of such a quantity.

    """
    known = _FACTORS[_QUANTITIES[role]]
    spelled = unit.lower()
    for pattern, written in _SPELLINGS:
        spelled = re.sub(pattern, written, spelled)
    if spelled not in known:
        msg = f'{place}: {unit!r} is no unit of {role}; it can be one of {", ".join(known)}'
        raise InputError(msg)
    return known[spelled]


@dataclass(frozen=True)
class Channel:
    """
    One channel where it has values.

    Parameters
    ----------
    stamps : (N,) int64
        Nanoseconds since 1970, UTC.
    values : (N,) float64
        SI units, degrees for latitude and longitude.

    """

    stamps: Ints
    values: Floats

    @classmethod
    def of_cells(cls, stamps: Ints, values: Floats) -> Channel:
        """Return the cells that are not missing, which NaN stands for."""
        there = np.isfinite(values)
        return cls(stamps[there], values[there])


@dataclass(frozen=True)
class Log:
    """
    What was read from one file of a logger.

    Parameters
    ----------
    place
        The file.
    kind
        Name of its format.
    channels
        By their role, some of ``IMU_ROLES`` and ``FIX_ROLES``.
    axes
        Which axes its accelerations have.
    notes
        What was assumed and left out, as sentences.

    """

    place: str
    kind: str
    channels: Mapping[str, Channel]
    axes: Axes = 'sensor'
    notes: tuple[str, ...] = ()


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
        notes=tuple(note for log in logs for note in log.notes),
    )


_MISSING = frozenset({'', '-', '--', 'nan', 'na', 'n/a', 'null', 'none'})

_BACK_NS = 1_000_000_000
"""Rows of several sensors may be late by less; sorted, two drives would become one."""


class Row(NamedTuple):
    """Cells of a line, without blanks around them, and its number in the file."""

    line: int
    cells: list[str]


def plain(name: str) -> str:
    """Return the letters and digits of a name in lower case: loggers differ in the others."""
    return re.sub('[^a-z0-9]', '', name.lower())


def csv_rows(text: str, place: str, delimiter: str = ',') -> Iterator[Row]:
    """Yield the lines of a text with separated values that are not empty."""
    # Line by line, so that a quote that is never closed spoils no more than its line.
    for line, content in enumerate(text.splitlines(), 1):
        try:
            cells = next(csv.reader([content], delimiter=delimiter, skipinitialspace=True), [])
        except csv.Error as error:
            msg = f'{place}, line {line}: {error}; export the file again'
            raise InputError(msg) from error
        stripped = [cell.strip() for cell in cells]
        if any(stripped):
            yield Row(line, stripped)


@dataclass(frozen=True)
class Table:
    """
    A table of text.

    Parameters
    ----------
    place
        The file.
    names, units
        Of the columns; a unit may be empty.
    rows
        As long as there are columns, see `of`.
    notes
        What was left out, as sentences.

    """

    place: str
    names: Sequence[str]
    units: Sequence[str]
    rows: Sequence[Row]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, place: str, names: Sequence[str], units: Sequence[str], rows: Sequence[Row]
    ) -> Table:
        """
        Return a table with rows as long as the header; the last one may be torn off.

        Raises
        ------
        InputError
            If there are none, or another row is not as long.

        """
        width, last = len(names), rows[-1:]
        notes: tuple[str, ...] = ()
        if last and len(last[0].cells) < width:
            notes = (f'line {last[0].line}, the last one, is not whole and is left out',)
            rows = rows[:-1]
        if not rows:
            msg = f'{place}: there is no line with data; choose another recording'
            raise InputError(msg)
        for row in rows:
            if len(row.cells) < width or any(row.cells[width:]):
                msg = (
                    f'{place}, line {row.line}: {len(row.cells)} values for {width} columns; '
                    'export the file again, or remove this line'
                )
                raise InputError(msg)
        return cls(place, names, [*units, *[''] * (width - len(units))], rows, notes)

    def column(self, index: int) -> Floats:
        """Return a column (N,) as numbers, NaN where a cell is empty."""
        values = np.full(len(self.rows), np.nan)
        for number, row in enumerate(self.rows):
            cell = row.cells[index]
            try:
                values[number] = float(cell)
            except ValueError as error:
                if cell.lower() in _MISSING:
                    continue
                msg = (
                    f'{self.place}, line {row.line}: {cell[:40]!r} in column '
                    f'{self.names[index]!r} is no number; export the file again, or remove this '
                    'line'
                )
                raise InputError(msg) from error
        return values

    def find(self, names: Sequence[str]) -> int | None:
        """Return the first column with one of these `plain` names, the first name preferred."""
        return _first([plain(name) for name in self.names], names)

    def column_named(self, *names: str) -> int:
        """Return the same column, or raise ``InputError`` if there is none."""
        found = self.find(names)
        if found is None:
            msg = f'{self.place}: there is no column {names[0]}; export the file again'
            raise InputError(msg)
        return found

    def times(self, index: int, unit: str) -> Ints:
        """
        Return a column of times (N,) in nanoseconds.

        Raises
        ------
        InputError
            If a line has none.

        """
        place = f'{self.place}, column {self.names[index]!r}'
        seconds = self.column(index) * factor_of('time', unit, place)
        bad = np.flatnonzero(~(np.abs(seconds) < LAST_S))
        if len(bad):
            row = self.rows[int(bad[0])]
            msg = (
                f'{self.place}, line {row.line}: {row.cells[index][:40]!r} is no time of 1970 to '
                f'2038 in {unit}; remove this line, or correct the unit'
            )
            raise InputError(msg)
        return np.rint(seconds * 1e9).astype(np.int64)

    def forward(self, stamps: Ints) -> Ints:
        """
        Return the stamps (N,) of the rows, ns, if none is far before that of an earlier row.

        Raises
        ------
        InputError
            If a line begins again at an earlier time, as after a restart of the logger.

        """
        back = np.maximum.accumulate(stamps) - stamps
        if back.max() > _BACK_NS:
            number = int(np.argmax(back > _BACK_NS))
            latest = self.rows[int(np.argmax(stamps[:number]))].line
            msg = (
                f'{self.place}, line {self.rows[number].line}: the time is '
                f'{back[number] / 1e9:.3f} s before that of line {latest}; make a file of each '
                'drive, or remove the wrong line'
            )
            raise InputError(msg)
        return stamps

    def channel(self, stamps: Ints, role: str, index: int, unit: str) -> Channel:
        """Return a column as a channel; its own unit counts, or else the given one."""
        place = f'{self.place}, column {self.names[index]!r}'
        values = self.column(index) * factor_of(role, self.units[index] or unit, place)
        return Channel.of_cells(stamps, values)

    def log(
        self,
        kind: str,
        stamps: Ints,
        sensors: Sequence[Sequence[Sensor]],
        notes: Sequence[str] = (),
    ) -> Log:
        """Return what `log_of` finds in the table; ``stamps`` (N,) are those of its rows."""
        channel = partial(self.channel, self.forward(stamps))
        names = [plain(name) for name in self.names]
        log = log_of(kind, self.place, names, channel, sensors)
        return replace(log, notes=(*self.notes, *notes))


def _first(known: Sequence[str], names: Sequence[str]) -> int | None:
    return next((known.index(name) for name in names if name in known), None)


@dataclass(frozen=True)
class Sensor:
    """
    Columns of a sensor in files of some loggers.

    Parameters
    ----------
    columns
        `plain` names that the column of a role may have.
    unit
        Of a column that states none.
    axes
        Which axes it has.

    """

    columns: Mapping[str, Sequence[str]]
    unit: str
    axes: Axes = 'sensor'


def log_of(
    kind: str,
    place: str,
    names: Sequence[str],
    channel: Callable[[str, int, str], Channel],
    sensors: Sequence[Sequence[Sensor]],
) -> Log:
    """
    Return the channels that a file has.

    Parameters
    ----------
    kind, place
        Name of the format; the file.
    names
        `plain` names of its columns.
    channel
        Returns the column of a role with a number, whose unit may be this one.
    sensors
        Of each kind of sensor the preferred one first.

    """
    channels: dict[str, Channel] = {}
    axes: Axes = 'sensor'
    for kinds in sensors:
        for sensor in kinds:
            at = {role: _first(names, usual) for role, usual in sensor.columns.items()}
            read = {
                role: channel(role, index, sensor.unit)
                for role, index in at.items()
                if index is not None
            }
            there = {role: each for role, each in read.items() if len(each.stamps)}
            if there:
                channels |= there
                axes = sensor.axes if set(there) & set(ACCELERATIONS) else axes
                break
    return Log(place, kind, channels, axes)
