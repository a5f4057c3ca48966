# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which column of a table holds which quantity, in which unit, and when it was recorded."""

from __future__ import annotations

from collections import Counter
import re
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.log import (
    ACCELERATIONS,
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
    ROLES,
    SI,
    UNCLEAR,
)
from two_manifold_ros.loggers.tables import is_missing, number_of, UNDATED, UNDATED_NS, VBO
from two_manifold_ros.loggers.times import (
    COUNTED,
    DAY_NS,
    days_over_midnight,
    far_from_others,
    LAST_S,
    LATE_NS,
    LIMITS_S,
    not_cut_off,
    RARE,
    SINCE_1970,
    times_of_texts,
    USUAL_S,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from two_manifold_ros.loggers.tables import Table
    from two_manifold_ros.typing import Bools, Floats, Ints

_TEXT = 'text'
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
        if unit:
            factor_of(role, unit, f'--columns {part}')
        choices[role] = Column(name, unit.strip(), sign)
    return choices


def read_columns(table: Table, columns: Mapping[str, Column]) -> Log:
    """Return the channels of a table, of the columns that `choose` finds."""
    if 'time' not in columns:
        _join_date(table)
    chosen = choose(table, columns)
    table.notes.append('; '.join(_words(table, *each) for each in chosen.items()))
    _refuse_hemispheres(table, {role: chosen[role] for role in {*chosen} - {*columns}})
    unread = {*range(len(table.heads))} - {each.at for each in chosen.values()}
    stamps = _stamps(table, chosen.pop('time'))
    numbers = {
        role: table.column(each.at, _PLACES if role in _HALVES else '')
        * (each.sign * factor_of(role, each.unit, f'{table.place}, column {each.name!r}'))
        for role, each in chosen.items()
    }
    if table.kind == VBO and {*_HALVES} <= {*numbers}:
        _divide_minutes(table, numbers)
    channels = {role: Channel.of_cells(stamps, each) for role, each in numbers.items()}
    channels = {role: each for role, each in channels.items() if len(each.stamps)}
    names = tuple(table.heads[at] for at in sorted(unread) if table.heads[at])
    return Log(
        table.place,
        table.kind,
        channels,
        tuple(filter(None, table.notes)),
        names,
    )


def choose(table: Table, columns: Mapping[str, Column]) -> dict[str, Column]:
    """
    Return the column of each role: as named, or else by its name, unit and values.

    ``InputError`` says that none has the time or anything else, or that it is not clear which.
    """
    given = {role: _named(table, choice.name) for role, choice in columns.items()}
    free = [at for at in range(len(table.names)) if at not in given.values()]
    chosen: dict[str, Column] = {}
    for role in ROLES:
        find = _time_of if role == 'time' else _found
        at = given[role] if role in given else find(table, role, free)
        if at is not None:
            chosen[role] = _column(table, role, at, columns.get(role))
    # A position is of both.
    if not {'x', 'y'} <= {*chosen}:
        chosen = {role: each for role, each in chosen.items() if role not in {'x', 'y'}}
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
        return Column(name, _TEXT if table.holds_text(at) else unit, sign, at)
    return Column(name, unit or SI[role], sign, at)


def _words(table: Table, role: str, column: Column) -> str:
    """Return as which role a column is read."""
    count = list(table.names).count(table.names[column.at])
    first = f' (the first of {count} columns of this name)' if count > 1 else ''
    return f'{role} is {"-" if column.sign < 0 else ""}{column.name} in {column.unit}{first}'


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


_HALVES = {'latitude': 'S', 'longitude': 'W'}
"""The hemisphere of a role with negative degrees."""
_WORDS = {word: word for word in ('N', 'S', 'E', 'W', 'NE', 'NW', 'SE', 'SW')}
_WORDS |= {word: word[0] for word in ('NORTH', 'SOUTH', 'EAST', 'WEST')}
_HEMISPHERES = {'S': '^ns$|northsouth|hemi', 'W': '^ew$|eastwest|hemi'}
_PLACES = 'write positions as numbers in degrees, negative to the south and to the west'


def _refuse_hemispheres(table: Table, found: Mapping[str, Column]) -> None:
    """Raise ``InputError`` if southern or western degrees without a sign were read as northern."""
    columns = [({*map(str.upper, table.cells(at))}, name) for at, name in enumerate(table.names)]
    for role, half in _HALVES.items():
        if role not in found or any(cell[:1] == '-' for cell in table.cells(found[role].at)):
            continue
        name, head = found[role].name, table.heads[found[role].at]
        of_head = {word for word in re.split(r'[\s()\[\]]+', head.upper())[1:] if word in _WORDS}
        for words, other in ((of_head, head), *columns):
            letters = {_WORDS.get(word, '') for word in words if not is_missing(word)}
            odd = re.search(_HEMISPHERES[half], plain(other)) and any(
                number_of(word) is None for word in words
            )
            if half in ''.join(letters) if '' not in letters else odd:
                msg = (
                    f'{table.place}: column {other!r} may state the hemisphere of the {role}, and '
                    f'column {name!r} has no sign; name it with its sign by --columns '
                    f"'{role}=-{name}' if it is {half}, '{role}={name}' if not, or {_PLACES}"
                )
                raise InputError(msg)


def _divide_minutes(table: Table, numbers: dict[str, Floats]) -> None:
    """Make degrees of the minutes of a VBO, longitudes positive to the west; few have degrees."""
    size = np.abs(np.stack([numbers[role] for role in _HALVES], axis=1))
    size = size[np.isfinite(size).all(axis=1) & (size > 0.0).any(axis=1)]
    # Minutes as small are in the sea, less than three degrees from 0, 0.
    beyond = int((size > (90.0, 180.0)).any(axis=1).sum())
    if len(size) and 2 * beyond <= len(size):
        note = 'latitude and longitude are taken as degrees, east positive, not as minutes'
    else:
        note = 'latitude and longitude are minutes, and longitudes positive to the west'
        numbers['latitude'] = numbers['latitude'] / 60.0
        numbers['longitude'] = -numbers['longitude'] / 60.0
    table.notes.append(note)


def _time_of(table: Table, role: str, free: Sequence[int]) -> int | None:
    """Return the column that is named like a time and grows, the best name first."""
    if table.times:
        return table.find(table.times)
    usual = [*KNOWN[role]]
    begins = usual[: usual.index('t')]
    names = {at: plain(table.names[at]) for at in free}
    ranked = [at for name in usual for at in free if names[at] == name]
    ranked += [at for name in begins for at in free if names[at].startswith(name)]
    falls = {at: _falling(table, at) for at in ranked}
    few = [at for at in falls if RARE * falls[at] <= len(table.rows)]
    return next((at for at in falls if falls[at] == 0), few[0] if few else None)


def _falling(table: Table, index: int) -> int:
    """Return how many times of a column are before the last, or that none is a time."""
    cells = table.cells(index)
    if table.holds_text(index):
        read = [np.nan if each is None else each[0] / 1e9 for each in times_of_texts(cells)[0]]
    else:
        read = [number_of(cell) or 0.0 for cell in cells]
    times = np.array(read)[np.isfinite(read)]
    if len(times) < RARE:
        return 0 if len(times) else len(cells)
    return int(np.count_nonzero(np.diff(times) < 0.0)) if np.ptp(times) > 0.0 else len(cells)


def _join_date(table: Table) -> None:
    """Make one column of a date and the time of day beside it."""
    date, time = table.find('date datum day'), table.find('time zeit clock utc uhrzeit')
    # A time that counts by itself needs no date.
    if date is None or time is None or not table.holds_text(time):
        return
    for row in table.rows:
        # Behind the hours, such a sign is of a zone or of fractions.
        if not set('/-.') & set(row.cells[time].partition(':')[0]):
            row.cells[time] = f'{row.cells[date]} {row.cells[time]}'
        row.cells[date] = ''
    table.names[time], table.units[time] = 'time', ''


def _counted(table: Table, time: Column, *, of_imu: bool) -> Column:
    """Return a time with the unit that its values have if none is stated, and can be true."""
    if time.unit == _TEXT:
        return time
    values = table.column(time.at)
    values = values[np.isfinite(values)]
    size = float(np.median(values)) if len(values) else 0.0
    stated = time.unit or next((unit for unit, least in SINCE_1970.items() if size >= least), '')
    time = time._replace(unit=stated or SI['time'])
    unit_s = factor_of('time', time.unit, f'{table.place}, column {time.name!r}')
    steps = np.diff(values)
    # Several sensors may write their rows in bursts.
    forward = steps[steps > 0.0]
    if not of_imu or len(values) < 3 or not len(forward):
        return time
    middle, most = float(np.median(steps)), float(np.quantile(forward, 1.0 - 1.0 / RARE))
    slow = middle * unit_s > LIMITS_S[1] or (not stated and middle >= USUAL_S[1])
    if not slow and most * unit_s >= LIMITS_S[0]:
        return time
    step = middle if slow else most
    usual = {unit: step * each for unit, each in COUNTED.items()
             if USUAL_S[0] <= step * each <= USUAL_S[1]}  # fmt: skip
    cure = 'correct the times'
    if usual:
        best = min(usual, key=lambda unit: abs(np.log(usual[unit]) - np.log(USUAL_S).mean()))
        cure = f"state it, as in --columns 'time={time.name}:{best}', for {usual[best]:.3g} s"
    msg = (
        f'{table.place}: column {time.name!r} {"" if stated else "states no unit, and "}has rows '
        f'{step * unit_s:.6g} s apart as {time.unit}, which no IMU of a vehicle has; {cure}'
    )
    raise InputError(msg)


def _stamps(table: Table, time: Column) -> Ints:
    """Leave the rows that have a time, and return their stamps (N,), nanoseconds."""
    days = np.zeros(len(table.rows), dtype=np.int64)
    dated = False
    if time.unit == _TEXT:
        found, note = times_of_texts(table.cells(time.at))
        known = np.array([each is not None for each in found])
        stamps = np.array([each[0] if each else 0 for each in found], dtype=np.int64)
        dates = Counter(each[2] for each in found if each)
        usual = max(dates, key=dates.__getitem__, default='')
        same = np.array([each is not None and each[2] == usual for each in found])
        if RARE * np.count_nonzero(~same) <= len(same):
            # Times of day, or a date that stands still.
            days[same] = days_over_midnight(stamps[same])
        dated = any(dates)
        zoned = not dated or all(each[1] for each in found if each)
        table.notes += [note, '' if zoned else 'times without a zone are taken as UTC']
        fault, cure = _NO_TIME, 'correct or remove such lines'
    else:
        seconds = table.column(time.at) * factor_of('time', time.unit, table.place)
        known = np.abs(seconds) < LAST_S
        stamps = np.rint(np.where(known, seconds, 0.0) * 1e9).astype(np.int64)
        fault = f'is no time of 1970 to 2038 in {time.unit}'
        cure = 'remove such lines, or correct the unit'
    kept = _timed(table, time.at, stamps + days * DAY_NS, known, (fault, cure))
    stamps = stamps[kept] + (days[kept] - days[kept[:1]]) * DAY_NS
    if not dated and np.median(stamps) < _LONGEST_NS:
        *clock, note = table.clock(table, stamps) or ([0], [UNDATED_NS], UNDATED)
        begins, own = np.array(clock, dtype=np.int64)
        part = np.clip(np.searchsorted(begins, stamps, side='right') - 1, 0, None)
        stamps = own[part] + (stamps - begins[part])
        table.notes.append(note)
    back = np.maximum.accumulate(stamps) - stamps
    if back.max(initial=0) <= LATE_NS:
        return stamps
    # Far before another, as after a restart.
    number = int(np.argmax(back > LATE_NS))
    msg = (
        f'{table.place}, line {table.rows[number].line}: the time is {back[number] / 1e9:.3f} s '
        f'before the time of line {table.rows[int(np.argmax(stamps[:number]))].line}; make a file '
        'of each drive, or remove the wrong line'
    )
    raise InputError(msg)


def _timed(table: Table, at: int, stamps: Ints, there: Bools, words: tuple[str, str]) -> Ints:
    """Leave the rows with a time, from when the clock was set, and return which (N,) these are."""
    fault, cure = words
    table.leave(there, lambda row: f'{row.cells[at][:40]!r} {fault}', cure)
    rows = np.flatnonzero(there)
    wild = far_from_others(stamps[rows])
    if RARE * int(wild.sum()) <= len(wild):
        table.leave(~wild, lambda _: 'the time is far from its neighbours', cure)
        rows = rows[~wild]
    keep = not_cut_off(stamps[rows] / 1e9)
    if not keep.all():
        table.keep(keep)
        table.notes.append(
            f'{int((~keep).sum())} lines have times far from all others, as before a clock '
            'is set: they are left out'
        )
    return rows[keep]


_LONGEST_NS = 10**17
"""Three years: no recording is as long, so that longer times count from 1970."""
_NO_TIME = (
    'is no time such as 2026-01-31 12:00:00.5 +0100, 31/01/2026 12:00:00 PM, 31.01.2026 12:00, '
    '12:00:00.5 or a number'
)
