# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What files of loggers hold: tables of text, and channels in SI units with their times."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field, replace
from functools import partial
import math
import re
from typing import Literal, NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.times import (
    DAY_S,
    far_from_others,
    LAST_S,
    LATE_NS,
    not_cut_off,
    RARE,
)
from two_manifold_ros.recordings.recording import GRAVITY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from two_manifold_ros.typing import Bools, Floats, Ints

ACCELERATIONS = ('accel_x', 'accel_y', 'accel_z')
RATES = ('gyro_x', 'gyro_y', 'gyro_z')
IMU_ROLES = (*ACCELERATIONS, *RATES)
"""Channels of an IMU, x forward, y left, z up where the axes are those of the vehicle."""
FIX_ROLES = ('latitude', 'longitude', 'altitude')
"""Channels of a satellite receiver, degrees north and east, and metres."""
# Positions in metres of one plane, as of motion capture, have the roles x and y.

Axes = Literal['sensor', 'vehicle', 'satellites']
"""Axes of accelerations: of the sensor, however it is mounted; of the vehicle; or of the vehicle,
but computed from satellite positions by the logger."""

_COUNTERS = {'microseconds': 2**32 * 10**3, 'milliseconds': 2**32 * 10**6}
"""Nanoseconds after which counters of 32 bits, as of microcontrollers, begin again."""

_FACTORS: dict[str, dict[str, float]] = {
    'acceleration': {'m/s2': 1.0, 'g': GRAVITY, 'mg': GRAVITY / 1000.0, 'ft/s2': 0.3048},
    'rate': {'rad/s': 1.0, 'deg/s': math.radians(1.0), 'mdeg/s': math.radians(0.001)},
    'angle': {'deg': 1.0, 'min': 1.0 / 60.0, 'rad': math.degrees(1.0), 'dege7': 1e-7},
    'length': {'m': 1.0, 'ft': 0.3048, 'km': 1000.0, 'cm': 0.01, 'mm': 0.001},
    'time': {'s': 1.0, 'ms': 1e-3, 'us': 1e-6, 'ns': 1e-9, 'day': DAY_S},
}
_QUANTITIES = {
    **dict.fromkeys(ACCELERATIONS, 'acceleration'),
    **dict.fromkeys(RATES, 'rate'),
    'latitude': 'angle',
    'longitude': 'angle',
    'altitude': 'length',
    'x': 'length',
    'y': 'length',
    'time': 'time',
}
ROLES = tuple(_QUANTITIES)
SI = {role: next(iter(_FACTORS[quantity])) for role, quantity in _QUANTITIES.items()}
"""Units of roles that none states."""

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
    ('^days$', 'day'),
    ('_?per_?|_|p(?=s2?$)', '/'),
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
    spelled = _spelled(unit)
    if spelled not in known:
        msg = f'{place}: {unit!r} is no unit of {role}; it can be one of {", ".join(known)}'
        raise InputError(msg)
    return known[spelled]


def is_unit(text: str) -> bool:
    """Return whether a text is a unit of some role."""
    return any(_spelled(text) in known for known in _FACTORS.values())


def _spelled(unit: str) -> str:
    spelled = unit[:LONGEST_NAME].lower()
    for pattern, written in _SPELLINGS:
        spelled = re.sub(pattern, written, spelled)
    return spelled


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
    unread
        Names of columns with numbers that are read as no channel, if none is of an IMU.

    """

    place: str
    kind: str
    channels: Mapping[str, Channel]
    axes: Axes = 'sensor'
    notes: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


LONGEST_NAME = 200
"""Characters of a name or a unit that are read: longer ones are no names, and take time."""

_MISSING = frozenset({'', '-', '--', 'na', 'n/a', '#n/a', '#na', 'null', 'none', 'nil', '?', '*',
                      '#value!', '#div/0!', '#num!', '#ref!', 'missing', 'invalid', 'undefined',
                      '1.#inf'})  # fmt: skip
"""Words for a value that is not there, and all that begin as ``nan`` does."""


class Row(NamedTuple):
    """Cells of a line, without blanks around them, and its number in the file."""

    line: int
    cells: list[str]


def plain(name: str) -> str:
    """Return the letters and digits of a name in lower case: loggers differ in the others."""
    return re.sub('[^a-z0-9]', '', name.lower())


def _as_others(bad: int, rows: int) -> str:
    """Return how many lines have the same fault as the first one, as the end of a sentence."""
    return f', as in {bad - 1} others of {rows} lines' if bad > 1 else ''


def listed(names: Sequence[str]) -> str:
    """Return names of columns as a sentence has them."""
    twice = '; columns of one name need names of their own' if len({*names}) < len(names) else ''
    return ', '.join(map(repr, names)) + twice


def is_missing(cell: str) -> bool:
    """Return whether a cell is a word for a value that is not there."""
    word = cell.lower().lstrip('+-')
    return (
        word in _MISSING or cell in _MISSING or word[:4] in {'nan', 'nan(', '1.#q', '1.#n', '1.#i'}
    )


def number_of(cell: str) -> float | None:
    """Return the number in a cell, NaN where it is missing, ``None`` where it is neither."""
    try:
        return float(cell)
    except ValueError:
        return math.nan if is_missing(cell) else None


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
    odd
        Lines and columns of the cells that `column` left out.
    heads
        Names as the file has them, with what brackets hold, if they differ.

    """

    place: str
    names: Sequence[str]
    units: Sequence[str]
    rows: Sequence[Row]
    notes: tuple[str, ...] = ()
    odd: set[tuple[int, str]] = field(default_factory=set)
    heads: Sequence[str] = ()

    @classmethod
    def of(
        cls, place: str, names: Sequence[str], units: Sequence[str], rows: Sequence[Row]
    ) -> Table:
        """
        Return a table with rows as long as the header; the last one may be torn off.

        Raises
        ------
        InputError
            If there are none, or more than one in `RARE` is not as long.

        """
        width, last = len(names), rows[-1:]
        notes: tuple[str, ...] = ()
        if last and len(last[0].cells) < width:
            notes = (f'line {last[0].line}, the last one, is not whole and is left out',)
            rows = rows[:-1]
        if not rows:
            msg = f'{place}: there is no line with data; choose another recording'
            raise InputError(msg)
        whole = np.array([len(row.cells) >= width and not any(row.cells[width:]) for row in rows])
        table = cls(place, names, [*units, *[''] * (width - len(units))], rows, notes)

        def words(row: Row) -> str:
            return f'{len(row.cells)} values for {width} columns'

        return table.only(whole, words, 'export the file again, or remove such lines')

    def only(self, keep: Bools, words: Callable[[Row], str], cure: str) -> Table:
        """
        Return the table without the rows that are damaged, and a note on them.

        Parameters
        ----------
        keep : (N,)
            Which rows stay.
        words
            The fault of a row.
        cure
            What the user can do.

        Raises
        ------
        InputError
            If they are too many to be damage.

        """
        lost = np.flatnonzero(~keep)
        if not len(lost):
            return self
        first = self.rows[int(lost[0])]
        where = f'line {first.line}: {words(first)}'
        if RARE * len(lost) > len(self.rows):
            msg = f'{self.place}, {where}{_as_others(len(lost), len(self.rows))}; {cure}'
            raise InputError(msg)
        more = f', as are {len(lost) - 1} others' if len(lost) > 1 else ''
        return self._rows(keep, f'{where}: the line is left out{more}')

    def _rows(self, keep: Bools, note: str) -> Table:
        rows = [row for row, stays in zip(self.rows, keep.tolist(), strict=True) if stays]
        return replace(self, rows=rows, notes=(*self.notes, note))

    def column(self, index: int, of: Callable[[str], float | None] = number_of) -> Floats:
        """Return a column (N,) as numbers, NaN where a cell is empty or, rarely, no number."""
        read = [of(row.cells[index]) for row in self.rows]
        bad = [number for number, value in enumerate(read) if value is None]
        if RARE * len(bad) > len(read):
            row = self.rows[bad[0]]
            msg = (
                f'{self.place}, line {row.line}: {row.cells[index][:40]!r} in column '
                f'{self.names[index]!r} is no number{_as_others(len(bad), len(read))}; export '
                'the file again, or remove such lines'
            )
            raise InputError(msg)
        self.odd.update((self.rows[number].line, self.names[index]) for number in bad)
        return np.array([math.nan if value is None else value for value in read])

    def all_notes(self) -> tuple[str, ...]:
        """Return the notes, and one on the cells that are no numbers."""
        if not self.odd:
            return tuple(self.notes)
        line, name = min(self.odd)
        words = f'{len(self.odd)} cells are no numbers and are left out'
        return (*self.notes, f'{words}, the first in line {line}, column {name!r}')

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

    def times(self, index: int, unit: str, zero: int = 0) -> tuple[Table, Ints]:
        """
        Return the rows that have a time, and their times (N,) in nanoseconds after ``zero``.

        Raises
        ------
        InputError
            If many lines have none.

        """
        place = f'{self.place}, column {self.names[index]!r}'
        factor = factor_of('time', unit, place)
        table, numbers = self.clocked(
            index,
            (self.column(index) - zero) * factor,
            f'is no time of 1970 to 2038 in {unit}',
            'remove such lines, or correct the unit',
        )
        return table, np.rint(numbers * 1e9).astype(np.int64)

    def clocked(
        self, index: int, seconds: Floats, fault: str, cure: str = 'correct or remove such lines'
    ) -> tuple[Table, Floats]:
        """
        Return the rows that have a time, and the times (N,), from when the clock was set.

        Parameters
        ----------
        index
            The column.
        seconds : (M,)
            Its times; NaN where there is none.
        fault, cure
            What is wrong with a cell that has none.

        """
        there = np.abs(seconds) < LAST_S
        table = self.only(there, lambda row: f'{row.cells[index][:40]!r} {fault}', cure)
        seconds = seconds[there]
        wild = far_from_others(np.rint(seconds * 1e9).astype(np.int64))
        if RARE * int(wild.sum()) <= len(wild):
            table = table.only(~wild, lambda _: 'the time is not that of its neighbours', cure)
            seconds = seconds[~wild]
        keep = not_cut_off(seconds)
        if not keep.all():
            note = (
                f'{int((~keep).sum())} lines have times far from all others, as before a clock '
                'is set: they are left out'
            )
            table = table._rows(keep, note)  # noqa: SLF001 - of this class
        return table, seconds[keep]

    def forward(self, stamps: Ints) -> Ints:
        """
        Return the stamps (N,) of the rows, ns, if none is far before that of an earlier row.

        Raises
        ------
        InputError
            If a line begins again at an earlier time, as after a restart of the logger.

        """
        back = np.maximum.accumulate(stamps) - stamps
        if back.max(initial=0) > LATE_NS:
            number = int(np.argmax(back > LATE_NS))
            latest = self.rows[int(np.argmax(stamps[:number]))].line
            cure = 'make a file of each drive, or remove the wrong line'
            for unit, length_ns in _COUNTERS.items():
                if abs(int(back[number]) - length_ns) < LATE_NS:
                    cure = f'a counter of {unit} began again: add 2^32 to the times from there'
            msg = (
                f'{self.place}, line {self.rows[number].line}: the time is '
                f'{back[number] / 1e9:.3f} s before the time of line {latest}; {cure}'
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
        return replace(log, notes=(*self.all_notes(), *notes))


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
