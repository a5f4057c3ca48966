# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tables of text: the dialects of loggers, and damage in a table."""

from __future__ import annotations

from collections import Counter
import csv
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
import math
import re
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.log import (
    ACCELERATIONS,
    count_known,
    IMU_ROLES,
    KNOWN,
    LONGEST_NAME,
    name_and_unit,
    plain,
)
from two_manifold_ros.loggers.times import DAY_NS, LAST_S, RARE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from two_manifold_ros.typing import Bools, Floats, Ints

    _Clock = Callable[['Table', Ints], 'Clock | None']

UNDATED_NS = DAY_NS
"""Where a drive without a date begins: a stamp of 0 would be none."""
UNDATED = 'the file has no date: the drive begins on 2 January 1970'
_MISSING = frozenset({'', 'na', 'n/a', '#n/a', '#na', 'null', 'none', 'nil', '?', '*',
                      '#value!', '#div/0!', '#num!', '#ref!', 'missing', 'invalid', 'undefined',
                      '1.#inf'})  # fmt: skip
"""Words for a value that is not there, and all that begin as ``nan`` does."""


class Row(NamedTuple):
    """Cells of a line, without blanks around them, and its number in the file."""

    line: int
    cells: list[str]


def is_missing(cell: str) -> bool:
    """Return whether a cell is a word for a value that is not there."""
    word = cell.lower().lstrip('+-')
    return word in _MISSING or word[:4] in {'nan', 'nan(', '1.#q', '1.#n', '1.#i'}


def number_of(cell: str) -> float | None:
    """Return the number in a cell, NaN where it is missing, ``None`` where it is neither."""
    try:
        return float(cell)
    except ValueError:
        return math.nan if is_missing(cell) else None


class Clock(NamedTuple):
    """Times of a table (S,), ns, at which a clock begins or goes on, and its stamps there (S,)."""

    begins: Sequence[int]
    stamps: Sequence[int]
    note: str = ''


@dataclass
class Table:
    """A table of text, with the lines of the file ``above`` the names of its columns."""

    place: str
    kind: str  # the name of its format
    names: list[str]
    units: list[str]  # empty where none is stated
    heads: Sequence[str]  # names and units as the file has them
    rows: list[Row]  # as long as there are columns
    above: Sequence[Row] = ()
    notes: list[str] = field(default_factory=list)  # what was left out, as sentences
    times: str = ''  # names of the column with the time; any that is named like one if empty
    # The clock of times without a date, by the table and these times, ns.
    clock: _Clock = lambda _, __: None
    sign: float = 1.0  # of the accelerations: phones with iOS have them the other way

    def find(self, words: str) -> int | None:
        """Return the first column with one of these `plain` names, the first name preferred."""
        named = [
            {plain(name), plain(head)} for name, head in zip(self.names, self.heads, strict=True)
        ]
        found = (at for word in words.split() for at, names in enumerate(named) if word in names)
        return next(found, None)

    def cells(self, index: int | None) -> list[str]:
        """Return a column, without text if there is none."""
        return ['' if index is None else row.cells[index] for row in self.rows]

    def column(self, index: int, cure: str = '') -> Floats:
        """Return a column (N,) as numbers, NaN where a cell is empty or, rarely, no number."""
        read = [number_of(cell) for cell in self.cells(index)]
        bad = [row for row, value in zip(self.rows, read, strict=True) if value is None]
        if bad:
            cell, name = bad[0].cells[index][:40], self.names[index]
            fault = f'line {bad[0].line}: {cell!r} in column {name!r} is no number'
            self._bear(len(bad), fault, cure or 'export the file again, or remove such lines')
            more = f', as in {len(bad) - 1} other lines' if len(bad) > 1 else ''
            self.notes.append(f'{fault} and is left out{more}')
        return np.array([math.nan if value is None else value for value in read])

    def holds_text(self, index: int) -> bool:
        """Return whether most cells of a column are no numbers."""
        return 2 * sum(number_of(cell) is None for cell in self.cells(index)) > len(self.rows)

    def leave(self, keep: Bools, words: Callable[[Row], str], cure: str) -> None:
        """
        Leave out the rows that are damaged, and note it.

        ``InputError`` has the fault of a row and the cure, if they are too many to be damage.
        """
        lost = np.flatnonzero(~keep)
        if len(lost):
            first = self.rows[int(lost[0])]
            fault = f'line {first.line}: {words(first)}'
            self._bear(len(lost), fault, cure)
            more = f', as are {len(lost) - 1} others' if len(lost) > 1 else ''
            self.notes.append(f'{fault}: the line is left out{more}')
            self.keep(keep)

    def keep(self, which: Bools) -> None:
        """Keep these rows (N,) alone."""
        self.rows = [row for row, stays in zip(self.rows, which.tolist(), strict=True) if stays]

    def _bear(self, bad: int, fault: str, cure: str) -> None:
        """Raise ``InputError`` with the first fault if more rows than damage explains have it."""
        if RARE * bad > len(self.rows):
            others = f', as in {bad - 1} others of {len(self.rows)} lines' if bad > 1 else ''
            msg = f'{self.place}, {fault}{others}; {cure}'
            raise InputError(msg)


def read_table(text: str, place: str) -> Table:
    """Return the table in a text, in the form of the logger that the text begins as."""
    head = text[:_HEAD]
    for pattern, kind, times, read, clock in FORMATS:
        if re.search(pattern, head):
            table = read(text, place)
            table.kind, table.times, table.clock = kind, times, clock
            return table
    return _separated(text, place)


_HEAD = 65_536
"""Characters in which a file shows its format; headers of loggers are shorter."""
_COMMENT = ('#', '//', '%')


def _whole(
    place: str, heads: list[str], below: Sequence[str], rows: list[Row], above: Sequence[Row]
) -> Table:
    """Return a table with rows as long as the header; the last one may be torn off."""
    width, notes = len(heads), []
    if rows and len(rows[-1].cells) < width:
        notes = [f'line {rows.pop().line}, the last one, is not whole and is left out']
    if not rows:
        msg = f'{place}: there is no line with data; choose another recording'
        raise InputError(msg)
    stated = ['' if is_missing(each) else each.strip(_BRACKETS) for each in below]
    pairs = [name_and_unit(*each) for each in zip(heads, [*stated, *[''] * width], strict=False)]
    heads = [head[:LONGEST_NAME] for head in heads]
    names, units = map(list, zip(*pairs, strict=True))
    table = Table(place, 'plain CSV', names, units, heads, rows, above, notes)
    table.leave(
        np.array([len(row.cells) >= width and not any(row.cells[width:]) for row in rows]),
        lambda row: f'{len(row.cells)} values for {width} columns',
        'export the file again, or remove such lines',
    )
    return table


_BRACKETS = '()[]{}<> '


def _csv_rows(text: str, place: str, delimiter: str) -> Iterator[Row]:
    """Yield the lines of a text with separated values that are not empty."""
    # Line by line, so that a quote that is never closed spoils no more than its line.
    for line, content in enumerate(text.splitlines(), 1):
        try:
            cells = next(csv.reader([content], delimiter=delimiter, skipinitialspace=True), [])
        except csv.Error as error:
            msg = f'{place}, line {line}: {error}; export the file again'
            raise InputError(msg) from error
        cells = [cell.strip() for cell in cells]
        if delimiter != ',':
            # With decimal commas, as spreadsheets of many languages write them.
            cells = [re.sub(r'^([-+]?\d*),(\d)', r'\1.\2', cell) for cell in cells]
        if any(cells):
            yield Row(line, cells)


def _separated(text: str, place: str) -> Table:
    """
    Return a table: names, with units in brackets behind them or below, above the first numbers.

    Lines above the names, and comments, are passed over.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    counts = {sign: sum(sign in line for line in lines) for sign in ';\t,'}
    delimiter = next((sign for sign, count in counts.items() if 0 < len(lines) <= 2 * count), '')
    if not delimiter:
        msg = f'{place}: this is no table with a line of names; choose another file'
        raise InputError(msg)
    rows = list(_csv_rows(text, place, delimiter))
    comments = [row for row in rows if row.cells[0].startswith(_COMMENT)]
    rows = [row for row in rows if not row.cells[0].startswith(_COMMENT)]
    widths = Counter(len(row.cells) for row in rows)
    width = max(widths, key=widths.__getitem__, default=0)
    begin = next(
        (at for at, row in enumerate(rows) if len(row.cells) == width and _of_numbers(row)), 1
    )
    # The names may be a comment themselves.
    above = rows[:begin] or [each for each in comments if len(each.cells) >= width]
    if not above:
        msg = (
            f'{place}: the line with the names of columns is missing; write one above line '
            f'{rows[0].line if rows else 1}, such as time,ax,ay,az,gx,gy,gz'
        )
        raise InputError(msg)
    # The names are the line with most usual ones; units, or remarks, stand below.
    known = [
        count_known(row.cells)
        # A line that states a date or a time has values.
        if 2 * sum(map(bool, row.cells)) > width
        and not any(cell[:1].isdigit() for cell in row.cells)
        else 0
        for row in above
    ]
    last = max(range(len(above)), key=lambda at: (known[at], at))
    below = above[last + 1].cells if last + 1 < len(above) else []
    heads = [cell.lstrip('#/% ') for cell in above[last].cells]
    while len(heads) > max(width, 1) and not heads[-1]:
        heads.pop()
    table = _whole(place, heads, below, rows[begin:], above)
    passed = len(lines) - len(rows[begin:]) - 1 - bool(below)
    if passed:
        table.notes.append(f'{passed} lines above or between the data are passed over')
    return table


def _of_numbers(row: Row) -> bool:
    """Return whether most cells of a row are numbers, or begin as times do."""
    there = [cell for cell in row.cells if cell]
    numbers = sum(
        number_of(cell) is not None or (cell[:1].isdigit() and not _DEVICE.match(cell))
        for cell in there
    )
    return 2 * numbers > len(there)


def _racechrono(text: str, place: str) -> Table:
    """Return a table of RaceChrono: names, units and devices are three lines."""
    table = _separated(text, place)
    if ['Format', '3'] not in [row.cells[:2] for row in table.above]:
        msg = f'{place}: this is no CSV v3 of RaceChrono; export the session as CSV v3'
        raise InputError(msg)
    of_devices = (row.cells for row in table.above if any(map(_DEVICE.match, row.cells)))
    # Several devices have columns of the same name; a computed column has no device.
    for index, device in enumerate(next(of_devices, [])[: len(table.names)]):
        name = table.names[index]
        if index and (device in {'calc', ''} or ('gps' in device and name.endswith('_acc'))):
            table.names[index] += ' calc'
    return table


_DEVICE = re.compile(r'calc$|\d+: ')


def _racecapture_clock(table: Table, since: Ints) -> Clock | None:
    """Return when a log of RaceCapture began, by its UTC, zero before a fix."""
    utc = table.find('utc')
    known = np.zeros(len(since)) if utc is None else table.column(utc)
    valid = (known > 0.0) & (known < LAST_S * 1000.0)
    # The median: the clock of the satellites reaches the logger with a jitter.
    apart = np.rint(known[valid] * 1e6).astype(np.int64) - since[valid]
    if valid.any():
        return Clock([0], [int(np.median(apart))])
    return Clock(since[:1].tolist(), [UNDATED_NS], UNDATED)


def _aim_clock(table: Table, _: Ints) -> Clock:
    """Return when a session of AiM Race Studio began, as the lines above the names state."""
    stated = {row.cells[0]: ', '.join(filter(None, row.cells[1:])) for row in table.above[::-1]}
    start, note = aim_start(stated.get('Date', ''), stated.get('Time', ''))
    return Clock([0], [start], note)


_DATES = ('%A, %B %d, %Y', '%A %B %d %Y', '%B %d, %Y', '%m/%d/%Y', '%d/%m/%Y', '%Y-%m-%d')
_CLOCKS = ('%I:%M %p', '%I:%M:%S %p', '%H:%M', '%H:%M:%S')


def aim_start(date: str, clock: str) -> tuple[int, str]:
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


def _vbo(text: str, place: str) -> Table:
    """Return the table of a VBO of Racelogic, which many loggers and apps write: sections."""
    sections = _sections(text)
    rows, header = sections.get('data', []), sections.get('header', [])
    heads = [word for row in sections.get('column names', []) for word in row.cells]
    if not heads and not header:
        msg = f'{place}: the section [column names] is missing; export the file again'
        raise InputError(msg)
    # Names may hold blanks, which part them; the header states the same ones, one a line.
    width, _ = Counter(len(row.cells) for row in rows).most_common(1)[0] if rows else (0, 0)
    if not heads or len(heads) > width == len(header):
        heads = [' '.join(row.cells) for row in header]
    table = _whole(place, heads, [], rows, sections[''])
    # Shorter names may be of anything. Loggers in cars have g and degrees a second.
    table.names = [name if len(plain(name)) > 2 else '' for name in table.names]
    for at, name in enumerate(map(plain, table.names)):
        role = next((role for role in IMU_ROLES if name in KNOWN[role]), '')
        table.units[at] = 'g' if role in ACCELERATIONS else 'deg/s' if role else ''
    # Some add 64 or 128 for corrections; none at all is no fix.
    lost = [number_of(cell) == 0.0 for cell in table.cells(table.find('sats satellites'))]
    for names in (_VBO_TIMES, 'lat latitude', 'long lng longitude'):
        if (index := table.find(names)) is not None:
            for row, none in zip(table.rows, lost, strict=True):
                cell = row.cells[index]
                row.cells[index] = _of_day(cell) if names == _VBO_TIMES else '' if none else cell
    return table


def _sections(text: str) -> dict[str, list[Row]]:
    sections: dict[str, list[Row]] = {'': []}
    section = ''
    for line, content in enumerate(text.splitlines(), 1):
        stripped = content.strip()
        if stripped.startswith('[') and stripped.endswith(']'):
            section = stripped[1:-1].strip().lower()
        elif stripped:
            sections.setdefault(section, []).append(Row(line, stripped.split()))
    return sections


def _of_day(cell: str) -> str:
    """Return HHMMSS.SS as HH:MM:SS.SS."""
    whole, point, rest = cell.partition('.')
    whole = whole.zfill(6)
    return f'{whole[:-4]}:{whole[-4:-2]}:{whole[-2:]}{point}{rest}' if whole.isdecimal() else cell


_CREATED = re.compile(
    r'(\d{1,2})/(\d{1,2})/(\d{4})(?:\s*(?:(?:at|@|,)\s*)?(\d{1,2}):(\d{2}))?', re.IGNORECASE
)


def _vbo_clock(table: Table, since: Ints) -> Clock | None:
    """Return the day on which the first time of day is nearest to when a file was created."""
    lines = (' '.join(row.cells) for row in table.above)
    created = next(filter(None, map(_CREATED.search, lines)), None)
    if created is None:
        return None
    date, month, year, hours, minutes = (int(each or 0) for each in created.groups())
    try:
        if not 1970 <= year < 2038:
            raise ValueError(year)  # noqa: TRY301 - as datetime does for other years
        written = datetime(year, month, date, hours, minutes, tzinfo=timezone.utc)
    except ValueError as error:
        msg = f'{table.place}: {created.group()!r} is no day/month/year; correct this line'
        raise InputError(msg) from error
    day = datetime(year, month, date, tzinfo=timezone.utc)
    if created.group(4):
        first = timedelta(seconds=int(since[0]) / 1e9)
        days = [day + timedelta(days) for days in (-1, 0, 1)]
        day = min(days, key=lambda each: abs(each + first - written))
    note = f'times are UTC, of {day:%Y-%m-%d} by when the file was created'
    return Clock([0], [round(day.timestamp()) * 1_000_000_000], note)


VBO, _VBO_TIMES = 'Racelogic VBO', 'time utctime'
FORMATS: tuple[tuple[str, str, str, Callable[[str, str], Table], _Clock], ...] = (
    (r'\AThis file is created using RaceChrono', 'RaceChrono CSV v3', 'timestamp', _racechrono,
     lambda _, __: None),
    (r'\A\s*"Interval"\s*\|\s*"\w*"\s*\|', 'RaceCapture log', 'interval', _separated,
     _racecapture_clock),
    (r'(?i)\A\s*"?Format"?\s*,\s*"?AiM CSV File', 'AiM CSV', 'time', _separated, _aim_clock),
    (r'(?im)^[^\S\n]*\[(column names|header|data)\]\s*$', VBO, _VBO_TIMES, _vbo, _vbo_clock),
)  # fmt: skip
"""
The beginning of a text file of each format, its name, its columns with times, and what reads it.

The last is the clock of times without a date.
"""
