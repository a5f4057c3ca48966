# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tables of text: the dialects of loggers, and damage in a table."""

from __future__ import annotations

from collections import Counter
import csv
from dataclasses import dataclass, field, replace
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
    is_unit,
    KNOWN,
    LONGEST_NAME,
    name_and_unit,
    plain,
)
from two_manifold_ros.loggers.times import DAY_NS, far_from_others, LAST_S, not_cut_off, RARE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from two_manifold_ros.typing import Bools, Floats, Ints

UNDATED_NS = DAY_NS
"""Where a drive without a date begins: a stamp of 0 would be none."""
UNDATED = 'the file has no date: the drive begins on 2 January 1970'
_MISSING = frozenset({'', '-', '--', 'na', 'n/a', '#n/a', '#na', 'null', 'none', 'nil', '?', '*',
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
    return (
        word in _MISSING or cell in _MISSING or word[:4] in {'nan', 'nan(', '1.#q', '1.#n', '1.#i'}
    )


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


@dataclass(frozen=True)
class Table:
    """A table of text, with the lines of the file ``above`` the names of its columns."""

    place: str
    kind: str  # the name of its format
    names: Sequence[str]
    units: Sequence[str]  # empty where none is stated
    heads: Sequence[str]  # names and units as the file has them
    rows: Sequence[Row]  # as long as there are columns
    above: Sequence[Row] = ()
    notes: tuple[str, ...] = ()  # what was left out, as sentences
    odd: set[tuple[int, str]] = field(default_factory=set)  # lines, columns that `column` left out
    times: str = ''  # names of the column with the time; any that is named like one if empty
    # The clock of times without a date, by the table and these times, ns.
    clock: Callable[[Table, Ints], Clock | None] = lambda _, __: None
    sign: float = 1.0  # of the accelerations: phones with iOS have them the other way

    def find(self, words: str) -> int | None:
        """Return the first column with one of these `plain` names, the first name preferred."""
        named = [
            {plain(name), plain(head)} for name, head in zip(self.names, self.heads, strict=True)
        ]
        found = (at for word in words.split() for at, names in enumerate(named) if word in names)
        return next(found, None)

    def cells(self, index: int) -> list[str]:
        """Return a column."""
        return [row.cells[index] for row in self.rows]

    def with_cells(self, columns: Mapping[int, Sequence[str]]) -> Table:
        """Return the table with other cells in some columns, by their index."""
        rows = [Row(row.line, list(row.cells)) for row in self.rows]
        for index, cells in columns.items():
            for row, cell in zip(rows, cells, strict=True):
                row.cells[index] = cell
        return replace(self, rows=rows)

    def only(self, keep: Bools, words: Callable[[Row], str], cure: str) -> Table:
        """
        Return the table without the rows that are damaged, and a note on them.

        ``InputError`` has the fault of a row and the cure, if they are too many to be damage.
        """
        lost = np.flatnonzero(~keep)
        if not len(lost):
            return self
        first = self.rows[int(lost[0])]
        where = f'line {first.line}: {words(first)}'
        self._bear(len(lost), where, cure)
        more = f', as are {len(lost) - 1} others' if len(lost) > 1 else ''
        return self._rows(keep, f'{where}: the line is left out{more}')

    def _bear(self, bad: int, fault: str, cure: str) -> None:
        """Raise ``InputError`` with the first fault if more rows than damage explains have it."""
        if RARE * bad > len(self.rows):
            others = f', as in {bad - 1} others of {len(self.rows)} lines' if bad > 1 else ''
            msg = f'{self.place}, {fault}{others}; {cure}'
            raise InputError(msg)

    def _rows(self, keep: Bools, note: str) -> Table:
        rows = [row for row, stays in zip(self.rows, keep.tolist(), strict=True) if stays]
        return replace(self, rows=rows, notes=(*self.notes, note))

    def column(self, index: int, of: Callable[[str], float | None] = number_of) -> Floats:
        """Return a column (N,) as numbers, NaN where a cell is empty or, rarely, no number."""
        read = [of(cell) for cell in self.cells(index)]
        bad = [row for row, value in zip(self.rows, read, strict=True) if value is None]
        if bad:
            cell = bad[0].cells[index][:40]
            fault = f'line {bad[0].line}: {cell!r} in column {self.names[index]!r} is no number'
            self._bear(len(bad), fault, 'export the file again, or remove such lines')
        self.odd.update((row.line, self.names[index]) for row in bad)
        return np.array([math.nan if value is None else value for value in read])

    def holds_text(self, index: int) -> bool:
        """Return whether most cells of a column are no numbers."""
        texts = sum(number_of(cell) is None for cell in self.cells(index))
        return 2 * texts > len(self.rows)

    def all_notes(self) -> tuple[str, ...]:
        """Return the notes, and one on the cells that are no numbers."""
        if not self.odd:
            return self.notes
        line, name = min(self.odd)
        words = f'{len(self.odd)} cells are no numbers and are left out'
        return (*self.notes, f'{words}, the first in line {line}, column {name!r}')

    def timed(
        self, index: int, stamps: Ints, there: Bools, fault: str, cure: str
    ) -> tuple[Table, Ints]:
        """Return the rows with a time in a column, from when the clock was set, and which."""
        table = self.only(there, lambda row: f'{row.cells[index][:40]!r} {fault}', cure)
        rows = np.flatnonzero(there)
        wild = far_from_others(stamps[rows])
        if RARE * int(wild.sum()) <= len(wild):
            table = table.only(~wild, lambda _: 'the time is far from its neighbours', cure)
            rows = rows[~wild]
        keep = not_cut_off(stamps[rows] / 1e9)
        if not keep.all():
            note = (
                f'{int((~keep).sum())} lines have times far from all others, as before a clock '
                'is set: they are left out'
            )
            table = table._rows(keep, note)  # noqa: SLF001 - of this class
        return table, rows[keep]


def read_table(text: str, place: str) -> Table:
    """Return the table in a text, in the form of the logger that the text begins as."""
    head = text[:_HEAD]
    for pattern, kind, times, read in FORMATS:
        if re.search(pattern, head):
            return replace(read(text, place), kind=kind, times=times)
    return _separated(text, place)


_HEAD = 65_536
"""Characters in which a file shows its format; headers of loggers are shorter."""
_COMMENT = ('#', '//', '%')


def _whole(
    place: str, heads: list[str], below: Sequence[str], rows: Sequence[Row], above: Sequence[Row]
) -> Table:
    """Return a table with rows as long as the header; the last one may be torn off."""
    width, last = len(heads), rows[-1:]
    notes: tuple[str, ...] = ()
    if last and len(last[0].cells) < width:
        notes = (f'line {last[0].line}, the last one, is not whole and is left out',)
        rows = rows[:-1]
    if not rows:
        msg = f'{place}: there is no line with data; choose another recording'
        raise InputError(msg)
    stated = ['' if is_missing(each) else each.strip(_BRACKETS) for each in below]
    pairs = [name_and_unit(*each) for each in zip(heads, [*stated, *[''] * width], strict=False)]
    names, units = [name for name, _ in pairs], [unit for _, unit in pairs]
    heads = [head[:LONGEST_NAME] for head in heads]
    table = Table(place, 'plain CSV', names, units, heads, rows, above, notes)
    whole = np.array([len(row.cells) >= width and not any(row.cells[width:]) for row in rows])
    return table.only(
        whole,
        lambda row: f'{len(row.cells)} values for {width} columns',
        'export the file again, or remove such lines',
    )


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
    above, rows = rows[:begin], rows[begin:]
    if not above:
        # The names may be a comment themselves.
        above, comments = [each for each in comments if len(each.cells) >= width], []
    if not above:
        msg = (
            f'{place}: the line with the names of columns is missing; write one above line '
            f'{rows[0].line if rows else 1}, such as time,ax,ay,az,gx,gy,gz'
        )
        raise InputError(msg)
    # The names are the line with most usual ones; units, or remarks, stand below or above.
    known = [
        count_known(row.cells)
        # A line that states a date or a time has values.
        if 2 * sum(map(bool, row.cells)) > width
        and not any(cell[:1].isdigit() for cell in row.cells)
        else 0
        for row in above
    ]
    last = max(range(len(above)), key=lambda at: (known[at], at))
    if not known[last] and last and len(above[last - 1].cells) > 1 and _of_units(above[last]):
        last -= 1
    below = above[last + 1].cells if last + 1 < len(above) else []
    if not below and last and _of_units(above[last - 1]):
        below = above[last - 1].cells
    heads = [cell.lstrip('#/% ') for cell in above[last].cells]
    while len(heads) > max(width, 1) and not heads[-1]:
        heads.pop()
    table = _whole(place, heads, below, rows, above)
    passed = len(above) - 1 - bool(below) + len(comments)
    notes = [f'{passed} lines above or between the data are passed over'] if passed else []
    return replace(table, notes=(*notes, *table.notes))


def _of_numbers(row: Row) -> bool:
    """Return whether most cells of a row are numbers, or begin as times do."""
    there = [cell for cell in row.cells if cell]
    numbers = sum(
        number_of(cell) is not None or (cell[:1].isdigit() and not _DEVICE.match(cell))
        for cell in there
    )
    return 2 * numbers > len(there)


def _of_units(row: Row) -> bool:
    """Return whether a row below the names has their units."""
    there = [cell.strip(_BRACKETS) for cell in row.cells if cell]
    return 2 * sum(map(is_unit, there)) >= max(len(there), 1)


def _racechrono(text: str, place: str) -> Table:
    """Return a table of RaceChrono: names, units and devices are three lines."""
    table = _separated(text, place)
    if ['Format', '3'] not in [row.cells[:2] for row in table.above]:
        msg = f'{place}: this is no CSV v3 of RaceChrono; export the session as CSV v3'
        raise InputError(msg)
    names = list(table.names)
    of_devices = (row.cells for row in table.above if any(map(_DEVICE.match, row.cells)))
    # Several devices have columns of the same name; a computed column has no device.
    for index, device in enumerate(next(of_devices, [])[: len(names)]):
        computed = device in {'calc', ''} or ('gps' in device and names[index].endswith('_acc'))
        names[index] += ' calc' if computed and index else ''
    return replace(table, names=names)


_DEVICE = re.compile(r'calc$|\d+: ')


def _racecapture(text: str, place: str) -> Table:
    """Return a log of RaceCapture, which has its own clock, and UTC that is zero before a fix."""

    def clock(table: Table, since: Ints) -> Clock:
        utc = table.find('utc')
        known = np.zeros(len(since)) if utc is None else table.column(utc)
        valid = (known > 0.0) & (known < LAST_S * 1000.0)
        if not valid.any():
            return Clock(since[:1].tolist(), [UNDATED_NS], UNDATED)
        # The median: the clock of the satellites reaches the logger with a jitter.
        apart = np.rint(known[valid] * 1e6).astype(np.int64) - since[valid]
        return Clock([0], [int(np.median(apart))])

    return replace(_separated(text, place), clock=clock)


def _aim(text: str, place: str) -> Table:
    """Return a table of AiM Race Studio, whose statements above have the start."""
    table = _separated(text, place)
    stated = {row.cells[0]: ', '.join(filter(None, row.cells[1:])) for row in table.above[::-1]}
    start, note = aim_start(stated.get('Date', ''), stated.get('Time', ''))
    return replace(table, clock=lambda _, __: Clock([0], [start], note))


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
    table = _whole(place, _vbo_heads(sections, rows, place), [], rows, ())
    # Shorter names may be of anything. Loggers in cars have g and degrees a second.
    names = [name if len(plain(name)) > 2 else '' for name in table.names]
    roles = [
        next((role for role in IMU_ROLES if plain(name) in KNOWN[role]), '') for name in names
    ]
    units = ['g' if role in ACCELERATIONS else 'deg/s' if role else '' for role in roles]
    table = replace(table, names=names, units=units)
    cells: dict[int, Sequence[str]] = {}
    if (time := table.find(_VBO_TIMES)) is not None:
        cells[time] = [_of_day(cell) for cell in table.cells(time)]
    if (satellites := table.find('sats satellites')) is not None:
        # Some add 64 or 128 for corrections; none at all is no fix.
        none = table.column(satellites) == 0.0
        for index in (table.find('lat latitude'), table.find('long lng longitude')):
            if index is not None:
                pairs = zip(table.cells(index), none, strict=True)
                cells[index] = ['' if lost else cell for cell, lost in pairs]
    begin = next(filter(None, map(_CREATED.search, sections[''])), None)

    def clock(_: Table, since: Ints) -> Clock | None:
        return _vbo_clock(begin, int(since[0]), place) if begin else None

    return replace(table.with_cells(cells), clock=clock)


def _vbo_heads(sections: dict[str, list[str]], rows: Sequence[Row], place: str) -> list[str]:
    words = ' '.join(sections.get('column names', [])).split()
    header = sections.get('header', [])
    if not words and not header:
        msg = f'{place}: the section [column names] is missing; export the file again'
        raise InputError(msg)
    # Names may hold blanks, which part them; the header states the same ones, one a line.
    width, _ = Counter(len(row.cells) for row in rows).most_common(1)[0] if rows else (0, 0)
    return header if not words or len(words) > width == len(header) else words


def _of_day(cell: str) -> str:
    """Return HHMMSS.SS as HH:MM:SS.SS."""
    whole, point, rest = cell.partition('.')
    whole = whole.zfill(6)
    return f'{whole[:-4]}:{whole[-4:-2]}:{whole[-2:]}{point}{rest}' if whole.isdecimal() else cell


_CREATED = re.compile(
    r'(\d{1,2})/(\d{1,2})/(\d{4})(?:\s*(?:(?:at|@|,)\s*)?(\d{1,2}):(\d{2}))?', re.IGNORECASE
)


def _vbo_clock(created: re.Match[str], first_ns: int, place: str) -> Clock:
    """Return the day on which the first time of day is nearest to when a file was created."""
    date, month, year, hours, minutes = (int(each or 0) for each in created.groups())
    try:
        if not 1970 <= year < 2038:
            raise ValueError(year)  # noqa: TRY301 - as datetime does for other years
        written = datetime(year, month, date, hours, minutes, tzinfo=timezone.utc)
    except ValueError as error:
        msg = f'{place}: {created.group()!r} is no day/month/year; correct this line'
        raise InputError(msg) from error
    day = datetime(year, month, date, tzinfo=timezone.utc)
    if created.group(4):
        first = timedelta(seconds=first_ns / 1e9)
        days = [day + timedelta(days) for days in (-1, 0, 1)]
        day = min(days, key=lambda each: abs(each + first - written))
    note = f'times are UTC, of {day:%Y-%m-%d} by when the file was created'
    return Clock([0], [round(day.timestamp()) * 1_000_000_000], note)


VBO, _VBO_TIMES = 'Racelogic VBO', 'time utctime'
FORMATS: tuple[tuple[str, str, str, Callable[[str, str], Table]], ...] = (
    (r'\AThis file is created using RaceChrono', 'RaceChrono CSV v3', 'timestamp', _racechrono),
    (r'\A\s*"Interval"\s*\|\s*"\w*"\s*\|', 'RaceCapture log', 'interval', _racecapture),
    (r'(?i)\A\s*"?Format"?\s*,\s*"?AiM CSV File', 'AiM CSV', 'time', _aim),
    (r'(?im)^[^\S\n]*\[(column names|header|data)\]\s*$', VBO, _VBO_TIMES, _vbo),
)
"""The beginning of a text file of each format, its name, its columns with times, its reader."""
