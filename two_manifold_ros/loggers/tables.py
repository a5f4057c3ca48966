# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tables in text files: their cells as numbers, and the columns that play a role."""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
import re
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.log import Channel, factor_of, LAST_S, Log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from two_manifold_ros.loggers.log import Axes
    from two_manifold_ros.typing import Floats, Ints

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
        As long as there are columns, see `whole`.
    notes
        What was left out, as sentences.

    """

    place: str
    names: Sequence[str]
    units: Sequence[str]
    rows: Sequence[Row]
    notes: tuple[str, ...] = ()

    def whole(self) -> Table:
        """
        Return the table with rows as long as the header; the last one may be torn off.

        Raises
        ------
        InputError
            If there are none, or another row is not as long.

        """
        rows, width, notes = list(self.rows), len(self.names), self.notes
        if rows and len(rows[-1].cells) < width:
            notes += (f'line {rows[-1].line}, the last one, is not whole and is left out',)
            rows.pop()
        if not rows:
            msg = f'{self.place}: there is no line with data; choose another recording'
            raise InputError(msg)
        for row in rows:
            if len(row.cells) < width or any(row.cells[width:]):
                msg = (
                    f'{self.place}, line {row.line}: {len(row.cells)} values for {width} columns; '
                    'export the file again, or remove this line'
                )
                raise InputError(msg)
        return replace(self, rows=rows, notes=notes)

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
        known = [plain(name) for name in self.names]
        return next((known.index(name) for name in names if name in known), None)

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
            msg = (
                f'{self.place}, line {self.rows[number].line}: the time is '
                f'{back[number] / 1e9:.3f} s before that of an earlier line; make a file of each '
                'drive, or remove the wrong line'
            )
            raise InputError(msg)
        return stamps

    def channel(self, stamps: Ints, role: str, index: int, unit: str) -> Channel:
        """Return a column as a channel; its own unit counts, or else the given one."""
        place = f'{self.place}, column {self.names[index]!r}'
        values = self.column(index) * factor_of(role, self.units[index] or unit, place)
        return Channel.of_cells(stamps, values)


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
    find: Callable[[Sequence[str]], int | None],
    channel: Callable[[str, int, str], Channel],
    sensors: Sequence[Sequence[Sensor]],
) -> Log:
    """
    Return the channels that a file has.

    Parameters
    ----------
    kind, place
        Name of the format; the file.
    find
        Returns the number of the first column with one of these names.
    channel
        Returns the column of a role with that number, whose unit may be this one.
    sensors
        Of each kind of sensor the preferred one first, accelerometers before all others: their
        axes are those of the log.

    """
    channels: dict[str, Channel] = {}
    axes: Axes = 'sensor'
    for number, kinds in enumerate(sensors):
        for sensor in kinds:
            at = {role: find(names) for role, names in sensor.columns.items()}
            read = {
                role: channel(role, index, sensor.unit)
                for role, index in at.items()
                if index is not None
            }
            there = {role: each for role, each in read.items() if len(each.stamps)}
            if there:
                channels |= there
                axes = sensor.axes if number == 0 else axes
                break
    return Log(place, kind, channels, axes)
