# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tables of text: the formats of loggers, their times, and damage in a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
import csv
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from itertools import zip_longest
import math
import re
from typing import NamedTuple, TypeAlias

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.log import (
    ACCELERATIONS,
    factor_of,
    KNOWN,
    LONGEST_NAME,
    name_and_unit,
    OF_DAY,
    plain,
    RATES,
    TEXT,
)
from two_manifold_ros.typing import Floats, Ints

_NONE = -(2**62)
_SECOND_NS = 10**9
_SINCE_1970 = {'ns': 1e17, 'us': 1e14, 'ms': 1e11, 's': 1e8}
"""Times since 1970 of the years after 1973 in each unit, which no seconds reach."""


def stamps_of(table: Table, at: int, unit: str, *, of_imu: bool) -> Ints:
    """Leave the rows of a table that have a time in order, and return their stamps (N,), ns."""
    cells, dates = table.cells(at), {''}
    if unit == TEXT:
        texts = list(map(time_of, cells))
        stamps = np.array([each[0] if each else _NONE for each in texts], dtype=np.int64)
        dates = {each[2] for each in texts if each}
        if any(dates) and not all(each[1] for each in texts if each):
            table.notes.append('times without a zone are taken as UTC')
        fault = 'is no time such as 2026-01-31 12:00:00.5 +0100, 31.01.2026 1:00 PM or 12:00:00.5'
        if not any(texts) and any('/' in each.partition(':')[0] for each in cells):
            fault = SLASHES
    else:
        seconds = np.array(table.numbers(at))
        if unit == OF_DAY:
            hours, minutes = seconds // 10_000, seconds // 100 % 100
            seconds = hours * 3600.0 + minutes * 60.0 + seconds % 100.0
            seconds[(hours > 23) | (minutes > 59)] = np.nan
        else:
            seconds *= _unit_s(table, at, unit, seconds, of_imu=of_imu)
        known = np.abs(seconds) < LAST_S
        stamps = np.where(known, np.rint(seconds * 1e9), _NONE).astype(np.int64)
        fault = 'is no time of 1970 to 2038'
    pairs = zip(cells, (stamps == _NONE).tolist(), strict=True)
    table.leave([f'{cell[:40]!r} {fault}' if bad else '' for cell, bad in pairs])
    stamps = stamps[stamps != _NONE]
    if len(dates) == 1 and unit in {TEXT, OF_DAY}:
        # There is no date, or it stands still: time falls by most of a day over midnight.
        falls = -np.diff(stamps, prepend=stamps[:1]) / DAY_NS
        stamps = stamps + np.cumsum(np.rint(falls).astype(np.int64)) * DAY_NS
    # Three years: longer times count from 1970.
    if not any(dates) and np.median(stamps) < 10**17:
        stamps = table.clock(table, stamps)
    # Rows of several sensors may be late; sorted, two drives would become one.
    newest, steps = np.maximum.accumulate(stamps), np.diff(stamps, prepend=stamps[:1])
    apart = np.where(newest - stamps > _SECOND_NS, stamps - newest, 0)
    # A pause may be long, but a few rows beyond it, or more than an hour, are of something else.
    rows = np.arange(len(stamps))
    few = RARE * np.minimum(rows, len(rows) - rows) <= len(rows)
    longest = np.maximum(np.where(few, 60, 3600) * _SECOND_NS, np.ptp(stamps) // 2)
    apart = np.where(steps > longest, steps, apart)
    if apart.any():
        number = int(np.argmax(apart != 0))
        before = table.rows[int(np.argmax(stamps[:number]))].line
        words = f'{abs(apart[number]) / 1e9:.3f} s {"after" if apart[number] > 0 else "before"}'
        raise InputError(
            f'{table.place}, line {table.rows[number].line}: the time is {words} the time of '
            f'line {before}; make a file and a bag of each drive, or remove the wrong lines'
        )
    return stamps


def usual_unit(times: Sequence[float] | Floats) -> str:
    """Return the unit of times (N,) since 1970, by their size, or nothing if they are others."""
    known = np.asarray(times)[np.isfinite(times)]
    size = np.median(known) if len(known) else 0.0
    return next((each for each, least in _SINCE_1970.items() if size >= least), '')


def _unit_s(table: Table, at: int, unit: str, times: Floats, *, of_imu: bool) -> float:
    """Return the seconds of a unit that an IMU can have, by the times (N,) if none is stated."""
    times, name = times[np.isfinite(times)], table.names[at]
    stated = unit or usual_unit(times)
    unit_s = factor_of('time', stated or 's', f'{table.place}, column {name!r}')
    steps = np.diff(times)[np.diff(times) > 0.0]
    if of_imu and len(times) > 2 and len(steps):
        # Of most steps the longest, as several sensors may write their rows in bursts.
        step_s = float(np.quantile(steps, 1.0 - 1.0 / RARE)) * unit_s
        if not 1e-5 <= step_s < (10.0 if stated else 1.0):
            raise InputError(
                f'{table.place}: column {name!r} {"" if stated else "states no unit, and "}has '
                f'rows {step_s:.6g} s apart as {stated or "s"}, which no IMU of a vehicle has; '
                f"state its unit, as in --columns 'time={name}:ms', or correct the times"
            )
    return unit_s


_TIME = re.compile(
    r'(?:(\d{1,4})([-/.])(\d{1,2})[-/.](\d{1,4})[ T])?'
    r'(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:[.,](\d*))?)?'
    r'(?: ?(AM|PM))?(?: ?(UTC|GMT|Z))?(?: ?([-+]\d{2}):?(\d{2})?)?',
    re.ASCII,
)
_DAY_1970 = date(1970, 1, 1).toordinal()
Time: TypeAlias = tuple[int, bool, str]


def time_of(text: str) -> Time | None:
    """Return ns since 1970 or midnight, whether there is a zone, and the date, if it is a time."""
    found = _TIME.fullmatch(' '.join(text[:60].upper().split()))
    if found is None:
        return None
    first, sign, second, last, *clock, fraction, half, utc, zone, minutes = found.groups('')
    hour, minute, second_of = (int(each or 0) for each in clock)
    if half:
        hour = hour % 12 + 12 * (half == 'PM')
    year, day = (first, last) if len(first) == 4 else (last, first)
    if hour > 23 or minute > 59 or second_of > 60 or (sign == '/' and year == last):
        return None
    seconds = hour * 3600 + minute * 60 + second_of
    if sign:
        try:
            seconds += (date(int(year), int(second), int(day)).toordinal() - _DAY_1970) * 86_400
        except ValueError:
            return None
        seconds -= int(zone or 0) * 3600 + int(f'{zone[:1]}{minutes or 0}') * 60
    if not 0 <= seconds < LAST_S:
        return None
    nanoseconds = seconds * _SECOND_NS + int(fraction[:9].ljust(9, '0'))
    return nanoseconds, bool(utc or zone), sign and f'{year}-{second}-{day}'


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
        """Leave out rows with a fault, '' if none, or if not ``whole`` note it; refuse many."""
        pairs = list(zip(self.rows, faults, strict=True))
        bad = [f'line {row.line}: {fault}' for row, fault in pairs if fault]
        if bad:
            more = f', as in {len(bad) - 1} others of {len(self.rows)} lines' * (len(bad) > 1)
            if RARE * len(bad) > len(self.rows):
                raise InputError(f'{self.place}, {bad[0]}{more}; correct or remove such lines')
            self.notes.append(f'{bad[0]}{more}: left out')
            if whole:
                self.rows = [row for row, fault in pairs if not fault]


def read_table(text: str, place: str) -> Table:
    """Return the table in a text, in the form of the logger that the text begins as."""
    # Headers of loggers, in which a file shows its format, are shorter.
    form = next(each for each in FORMATS if re.search(each[0], text[:65_536]))
    _, kind, times, other, read, clock = form
    heads, below, rows, above = read(text, place)
    width = len(heads)
    torn = rows.pop().line if rows and len(rows[-1].cells) < width else 0
    if not rows:
        raise InputError(f'{place}: there is no line with data; choose another recording')
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
_Parts: TypeAlias = 'tuple[list[str], list[str], list[Row], list[Row]]'
"""The line of names, the line below it, the rows with data, and the lines above these."""


def _separated(text: str, place: str) -> _Parts:
    """Return the parts of separated values; lines above the names, and comments, are no rows."""
    lines = [line for line in text.splitlines() if line.strip()]
    counts = {sign: sum(sign in line for line in lines) for sign in ';\t,'}
    delimiter = next((sign for sign, count in counts.items() if 0 < len(lines) <= 2 * count), '')
    if not delimiter:
        raise InputError(f'{place}: this is no table with a line of names; choose another file')
    found: dict[bool, list[Row]] = {True: [], False: []}
    # Line by line, so that a quote that is never closed spoils no more than its line.
    for line, content in enumerate(text.splitlines(), 1):
        try:
            cells = next(csv.reader([content], delimiter=delimiter, skipinitialspace=True), [])
        except csv.Error as error:
            raise InputError(f'{place}, line {line}: {error}; export the file again') from error
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
        raise InputError(
            f'{place}: the line with the names of columns is missing; write one above line '
            f'{rows[0].line if rows else 1}, such as time,ax,ay,az,gx,gy,gz'
        )
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
        raise InputError(f'{place}: the section [column names] is missing; export the file again')
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
        raise InputError(f'{table.place}: the date {day!r} {SLASHES}, or the month as a word')
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
