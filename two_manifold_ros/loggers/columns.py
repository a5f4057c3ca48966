# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which column of a table holds which quantity, in which unit, and when it was recorded."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.log import (
    ACCELERATIONS,
    by_satellites,
    Channel,
    factor_of,
    fits,
    FIX_ROLES,
    IMU_ROLES,
    is_unit,
    KNOWN,
    listed,
    Log,
    plain,
    RATES,
    ROLES,
    SI,
    UNCLEAR,
)
from two_manifold_ros.loggers.places import as_degrees, degrees_of_cell, HALVES, with_hemispheres
from two_manifold_ros.loggers.tables import Clock, is_missing, number_of, UNDATED, UNDATED_NS
from two_manifold_ros.loggers.times import (
    DAY_NS,
    days_over_midnight,
    LAST_S,
    LATE_NS,
    RARE,
    times_of_texts,
    unit_of,
    wrong_step,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from two_manifold_ros.loggers.tables import Table
    from two_manifold_ros.typing import Floats, Ints

_TEXTS = frozenset({'iso', 'txt'})
"""What stands for the unit of times that are text."""


class Column(NamedTuple):
    """The column of a role: its name, unit and sign, and where it is."""

    name: str
    unit: str
    sign: float
    at: int = -1


def parse_columns(text: str) -> dict[str, Column]:
    """Return a map of columns as a user writes it, ``ROLE=[-]COLUMN[:UNIT],...``, by role."""
    choices: dict[str, Column] = {}
    for part in filter(None, (each.strip() for each in text.split(','))):
        role, equals, column = (each.strip() for each in part.partition('='))
        if role not in ROLES and plain(role) not in UNCLEAR:
            role = next((known for known, names in KNOWN.items() if plain(role) in names), role)
        name, _, unit = column.rpartition(':') if ':' in column else (column, '', '')
        sign = -1.0 if name.startswith('-') else 1.0
        name = name.removeprefix('-').strip()
        wrong = role not in ROLES or role in choices or (role == 'time' and sign < 0)
        if not equals or not name or wrong:
            msg = (
                f'--columns: {part!r} is not ROLE=COLUMN or ROLE=COLUMN:UNIT, each role once; '
                f'roles are {", ".join(ROLES)}'
            )
            raise InputError(msg)
        if unit and (role != 'time' or unit not in _TEXTS):
            factor_of(role, unit, f'--columns {part}')
        choices[role] = Column(name, unit.strip(), sign)
    return choices


def read_columns(table: Table, columns: Mapping[str, Column]) -> Log:
    """Return the channels of a table, of the columns that `choose` finds."""
    table = table if 'time' in columns else _one_time(table)
    chosen = choose(table, columns)
    notes, taken = [_said(table, chosen)], [each.at for each in chosen.values()]
    # A sign that the user states counts instead.
    places = {role: chosen[role].at for role in HALVES if role in chosen and chosen[role].sign > 0}
    table = with_hemispheres(table, places, taken)
    table, stamps, more = _stamps(table, chosen.pop('time'))
    numbers: Mapping[str, Floats] = {
        role: table.column(
            each.at,
            partial(degrees_of_cell, letters=HALVES[role]) if role in HALVES else number_of,
        )
        * (each.sign * factor_of(role, each.unit, f'{table.place}, column {each.name!r}'))
        for role, each in chosen.items()
    }
    if {*HALVES} <= {*numbers}:
        numbers, of_places = as_degrees(table, [chosen[role].at for role in HALVES], numbers)
        more += of_places
    channels = {role: Channel.of_cells(stamps, each) for role, each in numbers.items()}
    channels = {role: each for role, each in channels.items() if len(each.stamps)}
    unread = tuple(head for at, head in enumerate(table.heads) if head and at not in taken)
    said = tuple(filter(None, (*table.all_notes(), *notes, *more)))
    return Log(table.place, table.kind, channels, are_computed(chosen, channels), said, unread)


def are_computed(chosen: Mapping[str, Column], channels: Mapping[str, Channel]) -> bool:
    """Return whether accelerations were computed from satellite positions by the logger."""
    return any(by_satellites(chosen[role].name) for role in ACCELERATIONS if role in channels)


def choose(table: Table, columns: Mapping[str, Column]) -> dict[str, Column]:
    """
    Return the column of each role: as named, or else by its name, unit and values.

    ``InputError`` says that none has the time or anything else, or that it is not clear which.
    """
    given = {role: _named(table, choice.name) for role, choice in columns.items()}
    free = [at for at in range(len(table.names)) if at not in given.values()]
    chosen: dict[str, Column] = {}
    for role in ROLES:
        at = given.get(role, _time_of(table, free) if role == 'time' else None)
        at = _found(table, role, free) if at is None and role != 'time' else at
        if at is not None:
            chosen[role] = _column(table, role, at, columns.get(role))
    # A position is of both.
    lost = set() if {'x', 'y'} <= {*chosen} else {'x', 'y'}
    for vector in (ACCELERATIONS, RATES):
        # Those of a sensor are better.
        there = {role for role in vector if role in chosen}
        computed = {role for role in there if by_satellites(chosen[role].name)}
        lost |= computed if computed < there else set()
    chosen = {role: each for role, each in chosen.items() if role not in lost}
    lacking = 'samples' if 'time' in chosen and len(chosen) < 2 else ''
    letters = [plain(name) for name in table.names if plain(name) in {'x', 'y', 'z'}]
    bare = {*letters} & ({*chosen} - {*columns})
    if not {*ACCELERATIONS} & {*chosen} and any(not table.units[chosen[role].at] for role in bare):
        # Positions beside fixes have no z; accelerations have.
        lacking = 'accelerations' if 'z' in letters or 'latitude' not in chosen else lacking
    if len({*given.values()}) < len(given):
        lacking = f'{" and ".join(given)}, each its own'
    lacking = lacking if 'time' in chosen else 'the time'
    if lacking:
        map_of = ','.join(f'a{letter}={letter}:UNIT' for letter in dict.fromkeys(letters))
        msg = (
            f'{table.place}: no column is known to hold {lacking}; name them with --columns '
            f"'time=COLUMN:UNIT,{map_of or 'ax=COLUMN:UNIT'},...', or 'x=x,y=y' if these are "
            f'positions, out of {listed(table.heads)}'
        )
        raise InputError(msg)
    chosen['time'] = _counted(table, chosen['time'], of_imu=bool({*IMU_ROLES} & {*chosen}))
    return chosen


def _column(table: Table, role: str, at: int, choice: Column | None) -> Column:
    """Return a column of a role with the unit that the user, the file or its name states."""
    name, unit, sign = table.names[at], '', table.sign if role in ACCELERATIONS else 1.0
    usual = KNOWN[role].get(plain(name), '')
    if choice:
        name, unit, sign, *_ = choice
    unit = unit or table.units[at] or usual
    if role in FIX_ROLES and not is_unit(unit):
        # Remarks such as WGS84; the first word of others is the unit, as of m MSL.
        unit = first if is_unit(first := unit.split(' ')[0]) else ''
    if role == 'time':
        return Column(name, 'iso' if table.holds_text(at) else unit, sign, at)
    return Column(name, unit or SI[role], sign, at)


def _said(table: Table, chosen: Mapping[str, Column]) -> str:
    """Return which column is read as which role, as a sentence."""
    words = []
    for role, (name, unit, sign, at) in chosen.items():
        count = list(table.names).count(table.names[at])
        first = f' (the first of {count} columns of this name)' if count > 1 else ''
        words.append(f'{role} is {"-" if sign < 0 else ""}{name} in {unit}{first}')
    return '; '.join(words)


def _named(table: Table, name: str) -> int:
    """Return the column of a name as the file has it, or without its unit."""
    for names in (table.heads, table.names):
        if name in names:
            return list(names).index(name)
    msg = f'{table.place}: there is no column {name!r}; name one of {listed(table.heads)}'
    raise InputError(msg)


def fitting(table: Table, columns: Mapping[str, Column]) -> dict[str, Column]:
    """Return what of a map of columns by role is in a table, in a unit of the role."""
    found = {}
    for role, choice in columns.items():
        if choice.name in {*table.heads, *table.names}:
            unit = choice.unit or table.units[_named(table, choice.name)]
            if role == 'time' or not unit or fits(role, unit):
                found[role] = choice
    return found


def _found(table: Table, role: str, free: Sequence[int]) -> int | None:
    """Return the column that has a usual name of a role."""

    def may_hold(name: str, unit: str) -> bool:
        # Names of two letters are of many quantities: gx of accelerations in g, too.
        unclear = name in UNCLEAR or (len(name) == 2 and is_unit(unit))
        return not unclear or fits(role, unit or 'm')

    found = [
        at
        for name in KNOWN[role]
        for at in free
        if plain(table.names[at]) == name and may_hold(name, table.units[at])
    ]
    # Of a sensor that was not there, loggers write empty columns.
    full = (at for at in found if not all(map(is_missing, table.cells(at))))
    return next(full, found[0] if found else None)


def _time_of(table: Table, free: Sequence[int]) -> int | None:
    """Return the column that is named like a time and grows, the best name first."""
    if table.times:
        return table.find(table.times)
    usual = [*KNOWN['time']]
    begins = usual[: usual.index('t')]
    names = {at: plain(table.names[at]) for at in free}
    ranked = [at for name in usual for at in free if names[at] == name]
    ranked += [at for name in begins for at in free if names[at].startswith(name)]
    falls = {at: _falling(table, at) for at in ranked}
    best = min(falls, key=lambda at: falls[at] > 0, default=None)
    if best is None or falls[best] == 0:
        return best
    return next((at for at in falls if RARE * falls[at] <= len(table.rows)), None)


def _falling(table: Table, index: int) -> int:
    """Return how many times of a column are before the last, or that none is a time."""
    if table.holds_text(index):
        read, _ = times_of_texts(table.cells(index))
        times = np.array([np.nan if each is None else each[0] / 1e9 for each in read])
    else:
        times = np.array([number_of(cell) or 0.0 for cell in table.cells(index)])
    times = times[np.isfinite(times)]
    if len(times) < RARE:
        return 0 if len(times) else len(table.rows)
    return int(np.count_nonzero(np.diff(times) < 0.0)) if np.ptp(times) > 0.0 else len(table.rows)


def _one_time(table: Table) -> Table:
    """Return a table whose date and time, or seconds and nanoseconds, are one column."""
    for parts, join in _PARTS.items():
        first, second = map(table.find, parts)
        if first is None or second is None:
            continue
        # A time that counts by itself needs no date.
        if join is _dated and not table.holds_text(second):
            return table
        pairs = zip(table.cells(first), table.cells(second), strict=True)
        cells = {first: [''] * len(table.rows), second: [join(*pair) for pair in pairs]}
        units = ['' if at == second else unit for at, unit in enumerate(table.units)]
        names = ['time' if at == second else name for at, name in enumerate(table.names)]
        return replace(table.with_cells(cells), units=units, names=names)
    return table


def _dated(day: str, clock: str) -> str:
    # Behind the hours, such a sign is of a zone or of fractions.
    return clock if set('/-.') & set(clock.partition(':')[0]) else f'{day} {clock}'


def _fraction(seconds: str, nanoseconds: str) -> str:
    rest = nanoseconds.partition('.')[0]
    return f'{seconds.partition(".")[0]}.{rest.zfill(9)}' if rest.isdigit() else seconds


_PARTS = {
    ('date datum day', 'time zeit clock utc uhrzeit'): _dated,
    (
        'sec secs stampsec headerstampsec headerstampsecs seconds',
        'nanosec nsec nsecs nanosecs stampnanosec nanoseconds headerstampnanosec headerstampnsecs',
    ): _fraction,
}
"""Names of columns that are one time together, and what joins their cells."""


def _counted(table: Table, time: Column, *, of_imu: bool) -> Column:
    """Return a time with the unit that its values have if none is stated, and can be true."""
    if time.unit in _TEXTS:
        return time
    values = table.column(time.at)
    stated = time.unit or unit_of(values)
    time = time._replace(unit=stated or SI['time'])
    unit_s = factor_of('time', time.unit, f'{table.place}, column {time.name!r}')
    wrong = wrong_step(values, unit_s, stated=bool(stated)) if of_imu else None
    if wrong is None:
        return time
    step, unit, usual_s = wrong
    cure = f"state it, as in --columns 'time={time.name}:{unit}', for {usual_s:.3g} s"
    states = '' if stated else 'states no unit, and '
    msg = (
        f'{table.place}: column {time.name!r} {states}has rows {step * unit_s:.6g} s apart as '
        f'{time.unit}, which no IMU of a vehicle has; {cure if unit else "correct the times"}'
    )
    raise InputError(msg)


def _stamps(table: Table, time: Column) -> tuple[Table, Ints, list[str]]:
    """Return the rows that have a time, their stamps (N,), nanoseconds, and notes."""
    days = np.zeros(len(table.rows), dtype=np.int64)
    dated = False
    notes: list[str] = []
    if time.unit in _TEXTS:
        found, notes = times_of_texts(table.cells(time.at))
        known = np.array([each is not None for each in found])
        stamps = np.array([each[0] if each else 0 for each in found], dtype=np.int64)
        dates = Counter(each[2] for each in found if each)
        usual = max(dates, key=dates.__getitem__, default='')
        same = np.array([each is not None and each[2] == usual for each in found])
        if RARE * np.count_nonzero(~same) <= len(same):
            # Times of day, or a date that stands still.
            days[same] = days_over_midnight(stamps[same])
        dated = any(dates)
        if dated and not all(each[1] for each in found if each):
            notes.append('times without a zone are taken as UTC')
        fault, cure = _NO_TIME, 'correct or remove such lines'
    else:
        seconds = table.column(time.at) * factor_of('time', time.unit, table.place)
        known = np.abs(seconds) < LAST_S
        stamps = np.rint(np.where(known, seconds, 0.0) * 1e9).astype(np.int64)
        fault = f'is no time of 1970 to 2038 in {time.unit}'
        cure = 'remove such lines, or correct the unit'
    table, kept = table.timed(time.at, stamps + days * DAY_NS, known, fault, cure)
    stamps = stamps[kept] + (days[kept] - days[kept[:1]]) * DAY_NS
    if not dated and np.median(stamps) < _LONGEST_NS:
        clock = table.clock(table, stamps) or Clock([0], [UNDATED_NS], UNDATED)
        begins, own = np.array(clock[:2], dtype=np.int64)
        part = np.clip(np.searchsorted(begins, stamps, side='right') - 1, 0, None)
        stamps = own[part] + (stamps - begins[part])
        notes += [clock.note] if clock.note else []
    return table, _forward(table, stamps), notes


_LONGEST_NS = 10**17
"""Three years: no recording is as long, so that longer times count from 1970."""
_NO_TIME = (
    'is no time such as 2026-01-31 12:00:00.5 +0100, 31/01/2026 12:00:00 PM, 31.01.2026 12:00, '
    '12:00:00.5 or a number'
)


def _forward(table: Table, stamps: Ints) -> Ints:
    """Return the stamps (N,) of the rows, if none is far before another, as after a restart."""
    back = np.maximum.accumulate(stamps) - stamps
    if back.max(initial=0) <= LATE_NS:
        return stamps
    number = int(np.argmax(back > LATE_NS))
    msg = (
        f'{table.place}, line {table.rows[number].line}: the time is {back[number] / 1e9:.3f} s '
        f'before the time of line {table.rows[int(np.argmax(stamps[:number]))].line}; make a file '
        'of each drive, or remove the wrong line'
    )
    raise InputError(msg)
