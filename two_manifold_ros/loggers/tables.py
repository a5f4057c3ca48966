# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tables of text: the formats of loggers, and damage in a table."""

from __future__ import annotations

from collections import Counter
import csv
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import zip_longest
import math
import re
from typing import NamedTuple, TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.log import (
    ACCELERATIONS,
    KNOWN,
    LONGEST_NAME,
    name_and_unit,
    OF_DAY,
    plain,
    RATES,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.typing import Ints

DAY_NS = 86_400 * 10**9
SLASHES = 'has slashes, and such dates are read in two ways: write 2026-03-05'
LAST_S = 2**31
"""Seconds since 1970 that a stamp of ROS can have, which are those until 2038."""
RARE = 20
"""At most one of so many rows may be damaged: more of them are another format, or another unit."""
_MISSING = re.compile(
    r'[-+]?(|na|n/a|nan.*|#.*|null|none|nil|[?*]|missing|invalid|undefined|1\.#.*)', re.IGNORECASE
)
"""Words for a value that is not there, as loggers and spreadsheets write them."""


class Row(NamedTuple):
    """Cells of a line, without blanks around them, and its number in the file."""

    line: int
    cells: list[str]

    def has_data(self, width: int) -> bool:
        """Return whether there are so many cells, most of them numbers or times."""
        there = [cell for cell in self.cells if cell]
        read = [number_of(each) is not None or re.match(r'\d+[-/.:]\d', each) for each in there]
        return len(self.cells) == width and 2 * sum(map(bool, read)) > len(there)


def number_of(cell: str) -> float | None:
    """Return the number in a cell, NaN where it is missing, ``None`` where it is neither."""
    try:
        return float(cell)
    except ValueError:
        return math.nan if _MISSING.fullmatch(cell) else None


def undated(table: Table, since: Ints) -> Ints:
    """Return stamps of times without a date; a stamp of 0 would be none."""
    table.notes.append('the file has no date: the drive begins on 2 January 1970')
    return since + DAY_NS


@dataclass
class Table:
    """A table of text, with the lines of the file ``above`` the names of its columns."""

    place: str
    names: list[str]
    units: list[str]  # empty where none is stated
    heads: list[str]  # names and units as the file has them
    rows: list[Row]  # as long as there are columns
    above: Sequence[Row] = ()
    kind: str = ''  # the name of its format
    times: str = ''  # names of the column with the time; any that is named like one if empty
    clock: Callable[[Table, Ints], Ints] = undated  # stamps of times without a date
    usual: dict[str, str] = field(default_factory=dict)  # units of roles that none states
    signs: list[float] = field(default_factory=list)  # -1 of a column with the other sign

    notes: list[str] = field(default_factory=list)  # what was assumed and left out

    def __post_init__(self) -> None:
        self.signs = self.signs or [1.0] * len(self.names)

    def find(self, words: str) -> int | None:
        """Return the first column with one of these `plain` names, the first name preferred."""
        names = [plain(name) for name in self.names]
        return next((names.index(word) for word in words.split() if word in names), None)

    def cells(self, index: int | None) -> list[str]:
        """Return a column, without text if there is none."""
        return ['' if index is None else row.cells[index] for row in self.rows]

    def values(self, index: int) -> list[str]:
        """Return the cells of a column that are not missing."""
        return [cell for cell in self.cells(index) if not _MISSING.fullmatch(cell)]

    def numbers(self, index: int | None) -> list[float]:
        """Return a column as numbers, NaN where there is none."""
        found = map(number_of, self.cells(index))
        return [math.nan if each is None else each for each in found]

    def holds_text(self, index: int) -> bool:
        """Return whether most cells of a column are no numbers."""
        return 2 * sum(number_of(cell) is None for cell in self.cells(index)) > len(self.rows)

    def leave(self, faults: Sequence[str], *, whole: bool = True) -> None:
        """
        Leave out the rows with a fault (N,), which is empty for the others, and note it.

        If not ``whole``, the rows stay. ``InputError`` names the first of too many to be damage.
        """
        pairs = list(zip(self.rows, faults, strict=True))
        bad = [f'line {row.line}: {fault}' for row, fault in pairs if fault]
        if bad:
            more = f', as in {len(bad) - 1} others of {len(self.rows)} lines' * (len(bad) > 1)
            if RARE * len(bad) > len(self.rows):
                msg = f'{self.place}, {bad[0]}{more}; correct or remove such lines'
                raise InputError(msg)
            self.notes.append(f'{bad[0]}{more}: left out')
            if whole:
                self.rows = [row for row, fault in pairs if not fault]


def read_table(text: str, place: str) -> Table:
    """Return the table in a text, in the form of the logger that the text begins as."""
    form = next(each for each in FORMATS if re.search(each[0], text[:_HEAD]))
    _, kind, times, other, read, clock = form
    heads, below, rows, above = read(text, place)
    width = len(heads)
    torn = rows.pop().line if rows and len(rows[-1].cells) < width else 0
    if not rows:
        msg = f'{place}: there is no line with data; choose another recording'
        raise InputError(msg)
    below = ['' if _MISSING.fullmatch(each) else each.strip('()[]{}<> ') for each in below]
    pairs = [name_and_unit(*each) for each in zip_longest(heads, below[:width], fillvalue='')]
    # Several devices have columns of the same name.
    sources = next((row.cells for row in above[::-1] if any(map(_SOURCE.match, row.cells))), None)
    sources = [*sources, *[''] * width] if sources else ['?'] * width
    marked = [f'{plain(name)} {of}' for (name, _), of in zip(pairs, sources, strict=False)]
    names = [pair[0] + ' (other)' * bool(re.match(other, each))
             for pair, each in zip(pairs, marked, strict=True)]  # fmt: skip
    units = [unit for _, unit in pairs]
    heads = [head[:LONGEST_NAME] for head in heads]
    table = Table(place, names, units, heads, rows, above, kind, times, clock)
    if torn:
        table.notes.append(f'line {torn}, the last one, is not whole: left out')
    table.leave([
        f'{len(row.cells)} values for {width} columns'
        * (len(row.cells) < width or any(row.cells[width:]))
        for row in rows
    ])  # fmt: skip
    lat, long = table.find('lat latitude'), table.find('long lng longitude')
    if read is _sections:
        table.usual = {'time': OF_DAY, 'latitude': 'min', 'longitude': 'min'}
        table.usual |= dict.fromkeys(ACCELERATIONS, 'g') | dict.fromkeys(RATES, 'deg/s')
    if read is _sections and lat is not None and long is not None:
        # Some add 64 or 128 for corrections; none at all is no fix.
        counts = table.numbers(table.find('sats satellites'))
        for row, count in zip(table.rows, counts, strict=True):
            if count == 0.0:
                row.cells[lat] = row.cells[long] = ''
        size = np.abs([table.numbers(lat), table.numbers(long)]) / [[90.0], [180.0]]
        size = size.max(axis=0)[size.max(axis=0) > 0.0]
        # Minutes as small are in the sea, less than three degrees from 0, 0.
        if len(size) and np.median(size) <= 1.0:
            table.usual |= {'latitude': 'deg', 'longitude': 'deg'}
        else:
            # Positive to the west.
            table.signs[long] = -1.0
    return table


_SOURCE = re.compile(r'calc$|\d+: ')
"""What a column of RaceChrono is from: the device, or calculated."""
_HEAD = 65_536
"""Characters in which a file shows its format; headers of loggers are shorter."""
_Parts: TypeAlias = 'tuple[list[str], list[str], list[Row], list[Row]]'
"""The line of names, the line below it, the rows with data, and the lines above these."""


def _separated(text: str, place: str) -> _Parts:
    """Return the parts of separated values; lines above the names, and comments, are no rows."""
    lines = [line for line in text.splitlines() if line.strip()]
    counts = {sign: sum(sign in line for line in lines) for sign in ';\t,'}
    delimiter = next((sign for sign, count in counts.items() if 0 < len(lines) <= 2 * count), '')
    if not delimiter:
        msg = f'{place}: this is no table with a line of names; choose another file'
        raise InputError(msg)
    found: dict[bool, list[Row]] = {True: [], False: []}
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
            found[cells[0].startswith(('#', '//', '%'))].append(Row(line, cells))
    comments, rows = found[True], found[False]
    width = _width(rows)
    begin = next((at for at, row in enumerate(rows) if row.has_data(width)), 1)
    # The names may be a comment themselves.
    above = rows[:begin] or [each for each in comments if len(each.cells) >= width]
    if not above:
        msg = (
            f'{place}: the line with the names of columns is missing; write one above line '
            f'{rows[0].line if rows else 1}, such as time,ax,ay,az,gx,gy,gz'
        )
        raise InputError(msg)
    # The names are the line with most usual ones, the last of such; units stand below.
    known = []
    for row in above:
        names = [plain(name_and_unit(cell.lstrip('#/% '))[0]) for cell in row.cells]
        usual = sum(any(name in each for each in KNOWN.values()) for name in names)
        known.append(usual * (2 * sum(map(bool, row.cells)) > width))
    last = max(range(len(above)), key=lambda at: (known[at], at))
    heads = [cell.lstrip('#/% ') for cell in above[last].cells]
    while len(heads) > max(width, 1) and not heads[-1]:
        heads.pop()
    below = above[last + 1].cells if last + 1 < len(above) else []
    return heads, below, rows[begin:], above


def _sections(text: str, place: str) -> _Parts:
    """Return the parts of a VBO of Racelogic, which many loggers and apps write: sections."""
    sections: dict[str, list[Row]] = {'': [], 'column names': [], 'header': [], 'data': []}
    section = ''
    for line, content in enumerate(map(str.strip, text.splitlines()), 1):
        if content.startswith('[') and content.endswith(']'):
            section = content[1:-1].strip().lower()
        elif content:
            sections.setdefault(section, []).append(Row(line, content.split()))
    above, columns, header, rows, *_ = sections.values()
    heads = [word for row in columns for word in row.cells]
    # Names may hold blanks, which part them; the header states the same ones, one a line.
    if not heads or len(heads) > _width(rows) == len(header):
        heads = [' '.join(row.cells) for row in header]
    if not heads:
        msg = f'{place}: the section [column names] is missing; export the file again'
        raise InputError(msg)
    return heads, [], rows, above


def _width(rows: Sequence[Row]) -> int:
    """Return how many cells most rows have."""
    widths = Counter(len(row.cells) for row in rows)
    return max(widths, key=widths.__getitem__, default=0)


def _racecapture_clock(table: Table, since: Ints) -> Ints:
    """Return stamps by the UTC of RaceCapture, which is zero before a fix."""
    utc = np.array(table.numbers(table.find('utc')))
    valid = (utc > 0.0) & (utc < LAST_S * 1000.0)
    if not valid.any():
        return undated(table, since - since[:1])
    # The median: the clock of the satellites reaches the logger with a jitter.
    return since + int(np.median(np.rint(utc[valid] * 1e6).astype(np.int64) - since[valid]))


def _aim_clock(table: Table, since: Ints) -> Ints:
    """Return stamps of AiM Race Studio, by the start that the lines above the names state."""
    stated = {row.cells[0]: ', '.join(filter(None, row.cells[1:])) for row in table.above[::-1]}
    day = stated.get('Date', '')
    if '/' in day:
        msg = f'{table.place}: the date {day!r} {SLASHES}, or the month as a word'
        raise InputError(msg)
    start = aim_start(day, stated.get('Time', ''), table.notes)
    return undated(table, since) if start is None else since + start


_DATES = ('%A, %B %d, %Y', '%A %B %d %Y', '%B %d, %Y', '%m/%d/%Y', '%Y-%m-%d')
_CLOCKS = ('%I:%M %p', '%I:%M:%S %p', '%H:%M', '%H:%M:%S')


def aim_start(date: str, clock: str, notes: list[str]) -> int | None:
    """Return when a session began, ns: AiM states the local time without its zone."""
    for form in [f'{each}|{clock_form}' for each in _DATES for clock_form in _CLOCKS]:
        try:
            began = datetime.strptime(f'{date}|{clock}', form).replace(tzinfo=timezone.utc)
        except ValueError:
            continue
        if 1970 <= began.year < 2038:
            notes.append(f'the local time {began:%Y-%m-%d %H:%M} of the start is taken as UTC')
            return round(began.timestamp()) * 10**9
    return None


_CREATED = re.compile(
    r'(?i)(\d{1,2})/(\d{1,2})/(\d{4})(?:\s*(?:(?:at|@|,)\s*)?(\d{1,2}):(\d{2}))?'
)


def _vbo_clock(table: Table, since: Ints) -> Ints:
    """Return stamps on the day on which the first is nearest to when the file was created."""
    lines = (' '.join(row.cells) for row in table.above)
    created = next(filter(None, map(_CREATED.search, lines)), None)
    if created is None:
        return undated(table, since)
    # A file without a time counts as made about noon.
    date, month, year, hour, minute = map(int, created.groups('12'))
    try:
        written = datetime(year, month, date, hour, minute, tzinfo=timezone.utc).timestamp()
        if not 0 <= written < LAST_S:
            raise ValueError(year)  # noqa: TRY301 - as datetime does for other years
    except ValueError as error:
        msg = f'{table.place}: {created.group()!r} is no day/month/year; correct this line'
        raise InputError(msg) from error
    stamps = since + round((written * 1e9 - int(since[0])) / DAY_NS) * DAY_NS
    day = stamps[:1].astype('datetime64[ns]').astype('datetime64[D]')
    table.notes.append(f'times are UTC, of {day[0]} by when the file was created')
    return stamps


_Format: TypeAlias = (
    'tuple[str, str, str, str, Callable[[str, str], _Parts], Callable[[Table, Ints], Ints]]'
)
FORMATS: tuple[_Format, ...] = (
    (r'\AThis file is created using RaceChrono', 'RaceChrono CSV v3', 'timestamp',
     r'(?!timestamp )\w* (calc)?$|\w+acc .*gps', _separated, undated),
    (r'\A\s*"Interval"\s*\|\s*"\w*"\s*\|', 'RaceCapture log', 'interval',
     '(?!)', _separated, _racecapture_clock),
    (r'(?i)\A\s*"?Format"?\s*,\s*"?AiM CSV File', 'AiM CSV', 'time',
     '(?!)', _separated, _aim_clock),
    (r'(?im)^[^\S\n]*\[(column names|header|data)\]\s*$', 'Racelogic VBO', 'time utctime',
     r'\w?\w? ', _sections, _vbo_clock),
    ('', 'plain CSV', '', '(?!)', _separated, undated),
)  # fmt: skip
"""The beginning of a text file of each format, its name, its columns with times, names and sources
of what is not measured, what reads it, and the clock of times undated."""
