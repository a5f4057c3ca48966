# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Plain tables: any CSV with a map of its columns, and the files of phone apps."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.log import (
    ACCELERATIONS,
    Channel,
    factor_of,
    FIX_ROLES,
    IMU_ROLES,
    is_unit,
    listed,
    Log,
    LONGEST_NAME,
    number_of,
    plain,
    ROLES,
    Row,
    SI,
    Table,
    UNDATED,
    UNDATED_NS,
)
from two_manifold_ros.loggers.places import as_degrees, degrees_of_cell, HALVES, with_hemispheres
from two_manifold_ros.loggers.race_loggers import OF_VEHICLES
from two_manifold_ros.loggers.times import (
    DAY_S,
    day_zero,
    LIMITS_S,
    over_midnight,
    RARE,
    steps_of,
    times_of_texts,
    unit_of,
    unit_that_fits,
    USUAL_S,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from two_manifold_ros.loggers.log import Axes
    from two_manifold_ros.typing import Floats, Ints

_USUAL: dict[str, tuple[str, ...]] = {
    'time': ('timestamp', 'time', 'unixtime', 'datetime', 'utc', 'epoch', 'elapsed', 'seconds',
             'millis', 'micros', 'nanos', 'uptime', 'zeit', 'date', 'clock', 'stamp', 'cts', 't'),
    **{
        f'accel_{axis}': tuple(
            each.format(axis)
            for each in ('gf{}', 'totalacceleration{}', 'accel{}', 'acc{}', 'accelerometer{}',
                         'a{}', 'acceleration{}', '{}acc', '{}accel', 'linearacceleration{}',
                         'useracceleration{}', 'linearaccel{}', 'linacc{}')
        )
        for axis in 'xyz'
    },
    **{
        f'gyro_{axis}': tuple(
            each.format(axis)
            for each in ('gyro{}', 'gyr{}', 'g{}', 'w{}', 'omega{}', 'angularvelocity{}',
                         'gyroscope{}', 'rotationrate{}', '{}gyro', 'gyrorad{}')
        )
        for axis in 'xyz'
    },
    'latitude': ('latitude', 'lat', 'gpslatitude', 'gpslat', 'late7'),
    'longitude': ('longitude', 'lon', 'lng', 'long', 'gpslongitude', 'gpslon', 'gpslong',
                  'lone7'),
    'altitude': ('altitude', 'alt', 'height', 'gpsaltitude'),
    **{
        axis: tuple(each.format(axis) for each in ('{}', 'pos{}', 'position{}', 'pose{}', 'p{}'))
        for axis in 'xy'
    },
}  # fmt: skip
"""
Names of columns, letters and digits in lower case, that need no map.

Those of accelerations with gravity stand before others.
"""
_ANY = {
    role: (*names, *OF_VEHICLES.get(role, ((), ''))[0], *(role[-1] if role in IMU_ROLES else ''))
    for role, names in _USUAL.items()
}
"""The same, those of race loggers, and single letters."""
_KNOWN = {name for usual in _ANY.values() for name in usual}
_UNIT_OF_NAME = {
    **{
        name: unit
        for role, (names, unit) in OF_VEHICLES.items()
        for name in set(names) - set(_USUAL[role])
    },
    **{f'gf{axis}': 'g' for axis in 'xyz'},
    **dict.fromkeys(('late7', 'lone7'), 'degE7'),
}
"""What columns hold that state no unit, by their name."""


class ColumnChoice(NamedTuple):
    """A column that a user named, its unit, empty for what its header says, and its sign."""

    name: str
    unit: str
    sign: float


def parse_columns(text: str) -> dict[str, ColumnChoice]:
    """
    Return a map of columns as a user writes it, ``ROLE=[-]COLUMN[:UNIT],...``, by their role.

    Raises
    ------
    InputError
        If a part is none of these, or a role is named twice.

    """
    choices: dict[str, ColumnChoice] = {}
    for part in filter(None, (each.strip() for each in text.split(','))):
        role, equals, column = (each.strip() for each in part.partition('='))
        role = next((known for known, names in _USUAL.items() if plain(role) in names), role)
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
        choices[role] = ColumnChoice(name, unit.strip(), sign)
    return choices


def read_plain(
    table: Table,
    columns: Mapping[str, ColumnChoice],
    clock: tuple[Floats, Ints] | None = None,
) -> Log:
    """
    Read a table.

    Parameters
    ----------
    table
        As `reading` makes it.
    columns
        Columns by their role; where there is none, usual names are looked for.
    clock
        Times of the table (S,) at which it begins or goes on, in seconds, and their stamps (S,)
        in nanoseconds; by default times count from 1970.

    Raises
    ------
    InputError
        If a column is missing or a cell is malformed.

    """
    table = _one_time(table, columns)
    chosen, notes = _chosen(table, columns)
    # A sign that the user states counts instead.
    at = {role: chosen[role][0] for role in HALVES if role in chosen and chosen[role][2] > 0.0}
    table = with_hemispheres(table, at, [index for index, _, _ in chosen.values()])
    index, unit, _ = chosen.pop('time')
    more: list[str] = []
    if clock is None:
        table, stamps, more = _stamps(table, index, unit)
    else:
        table, since = table.times(index, unit)
        begins = np.rint(clock[0] * 1e9).astype(np.int64)
        part = np.clip(np.searchsorted(begins, since, side='right') - 1, 0, None)
        stamps = clock[1][part] + (since - begins[part])
    table.forward(stamps)
    numbers: Mapping[str, Floats] = {
        role: table.column(
            index, partial(degrees_of_cell, letters=HALVES[role]) if role in HALVES else number_of
        )
        * (sign * factor_of(role, unit, f'{table.place}, column {table.names[index]!r}'))
        for role, (index, unit, sign) in chosen.items()
    }
    if {*HALVES} <= {*numbers}:
        numbers, forms = as_degrees(table, [chosen[role][0] for role in HALVES], numbers)
        more = [*more, *forms]
    channels = {role: Channel.of_cells(stamps, each) for role, each in numbers.items()}
    channels = {role: each for role, each in channels.items() if len(each.stamps)}
    names = {plain(table.names[index]) for index, _, _ in chosen.values()}
    of_vehicle = any(
        names & set(OF_VEHICLES[role][0]) - set(_USUAL[role]) for role in ACCELERATIONS
    )
    axes: Axes = 'vehicle' if of_vehicle else 'sensor'
    notes = [*table.all_notes(), *notes, *more]
    read = {index, *(index for index, _, _ in chosen.values())}
    unread = tuple(
        name
        for number, name in enumerate(table.heads or table.names)
        if name and number not in read and not {*IMU_ROLES} & {*channels}
        if not _holds_text(table, number)
    )
    return Log(table.place, 'plain CSV', channels, axes, tuple(notes), unread)


def _chosen(  # noqa: C901, PLR0912 - one rule after the other
    table: Table, columns: Mapping[str, ColumnChoice]
) -> tuple[dict[str, tuple[int, str, float]], list[str]]:
    """Return index, unit and sign of the column of each role: as named, or else by its name."""
    given = {role: _named(table, choice.name) for role, choice in columns.items()}
    twice = [role for role, index in given.items() if list(given.values()).count(index) > 1]
    if twice:
        msg = (
            f'{table.place}: --columns names one column for {" and ".join(twice)}; name a column '
            f'of its own for each, out of {listed(table.heads or table.names)}'
        )
        raise InputError(msg)
    apart = _with_units(table)
    chosen: dict[str, tuple[int, str, float]] = {}
    words, stated = [], True
    for role in ROLES:
        choice, place = columns.get(role), table
        if choice is not None:
            index, unit, sign = given[role], choice.unit, choice.sign
        else:
            place = apart
            free = [number for number in range(len(table.names)) if number not in given.values()]
            found = _time_of(place, free) if role == 'time' else _found(place, role, free)
            if found is None:
                continue
            index, unit, sign = found, '', 1.0
        unit = unit or place.units[index] or _UNIT_OF_NAME.get(plain(place.names[index]), '')
        if role in FIX_ROLES and not is_unit(unit):
            # Remarks such as WGS84; the first word of others is the unit, as of m MSL.
            unit = first if is_unit(first := unit.split(' ')[0]) else ''
        if role == 'time' and _holds_text(table, index):
            unit = 'iso'
        elif role == 'time' and not unit:
            unit = unit_of([number_of(row.cells[index]) or 0.0 for row in table.rows])
            stated = bool(unit)
        unit = unit or SI[role]
        chosen[role] = index, unit, sign
        name = place.names[index]
        words.append(f'{role} is {"-" if sign < 0 else ""}{name} in {unit}')
        written = apart.units[index]
        if (
            written
            and unit not in _TEXTS
            and _fits(role, written)
            and (factor_of(role, written, '') != factor_of(role, unit, place.place))
        ):
            words[-1] += f', though the file states {written}'
        if place.names.count(name) > 1:
            words[-1] += f' (the first of {place.names.count(name)} columns of this name)'
    if {'x', 'y'} & set(chosen) and not {'x', 'y'} <= set(chosen):
        chosen = {role: each for role, each in chosen.items() if role not in {'x', 'y'}}
    if 'time' in chosen and not set(ACCELERATIONS) & set(chosen):
        _check_letters(apart, {role: chosen[role][0] for role in {*chosen} - {*columns}})
    if 'time' not in chosen or len(chosen) < 2:
        lacking = 'samples' if 'time' in chosen else 'the time'
        msg = (
            f'{table.place}: no column is known to hold {lacking}; name them with --columns '
            f"'time=COLUMN:UNIT,ax=COLUMN:UNIT,...' out of {listed(table.heads or table.names)}"
        )
        raise InputError(msg)
    if set(IMU_ROLES) & set(chosen):
        _check_step(apart, *chosen['time'][:2], stated=stated)
    return chosen, ['; '.join(words)]


def _check_letters(table: Table, found: Mapping[str, int]) -> None:
    """Raise ``InputError`` if columns x and y without a unit may hold accelerations."""
    letters = [role for role in 'xy' if role in found and not table.units[found[role]]]
    names = [plain(name) for name in table.names]
    if not any(names[found[role]] == role for role in letters):
        return
    if 'latitude' in found and 'z' not in names:
        return
    there = [letter for letter in 'xyz' if letter in names]
    map_of = ','.join(f'a{letter}={letter}:UNIT' for letter in there)
    msg = (
        f'{table.place}: no column is known to hold accelerations: if {", ".join(there)} '
        f"do, write --columns '{map_of}', and if x and y are positions, --columns "
        f"'x=x,y=y,ax=COLUMN:UNIT,...' out of {listed(table.heads or table.names)}"
    )
    raise InputError(msg)


def _named(table: Table, name: str) -> int:
    """Return the column of a name as the file has it, or without its unit."""
    for names in (table.heads, table.names):
        if name in names:
            return list(names).index(name)
    known = listed(table.heads or table.names)
    msg = f'{table.place}: there is no column {name!r}; name one of {known}'
    raise InputError(msg)


def fitting(table: Table, columns: Mapping[str, ColumnChoice]) -> dict[str, ColumnChoice]:
    """Return what of a map of columns by role is in a table, in a unit of the role."""
    found = {}
    for role, choice in columns.items():
        try:
            index = _named(table, choice.name)
        except InputError:
            continue
        unit = choice.unit or table.units[index]
        if role == 'time' or not unit or _fits(role, unit):
            found[role] = choice
    return found


def _found(table: Table, role: str, free: Sequence[int]) -> int | None:
    """Return the column that has a usual name of a role."""
    for name in _ANY[role]:
        for index in free:
            if plain(table.names[index]) == name and (
                # A single letter is of the sensor whose unit it has.
                name not in {'x', 'y', 'z'} or _fits(role, table.units[index])
            ):
                return index
    return None


def _fits(role: str, unit: str) -> bool:
    """Return whether a column with this unit can hold a role; without one, metres."""
    try:
        factor_of(role, unit or 'm', '')
    except InputError:
        return False
    return True


def _time_of(table: Table, free: Sequence[int]) -> int | None:
    """Return the column that is named like a time and grows, the best name first."""
    names = {index: plain(table.names[index]) for index in free}
    ranked = [index for usual in _USUAL['time'] for index in free if names[index] == usual]
    ranked += [
        index
        for usual in _USUAL['time'][:-1]
        for index in free
        if names[index].startswith(usual)
        or names[index].removesuffix('s') + 's' == usual
        or names[index] in _SINCE_NAMES
    ]
    falls = {index: _falling(table, index) for index in ranked}
    best = min(falls, key=lambda index: falls[index] > 0, default=None)
    if best is None:
        return None
    possible = [index for index in falls if RARE * falls[index] <= len(table.rows)]
    return best if falls[best] == 0 else next(iter(possible), None)


_SINCE_NAMES = frozenset({'secondselapsed', 'secs', 'sec', 'loggingtime', 'gpstime', 'utctime',
                          'systemtime', 'relativetime', 'sampletime', 'logtime'})  # fmt: skip
"""Further names of times, which do not begin so."""


def _falling(table: Table, index: int) -> int:
    """Return how many times of a column are before the last, or that none is a time."""
    if _holds_text(table, index):
        read, _ = times_of_texts([row.cells[index] for row in table.rows])
        times = np.array([np.nan if each is None else each[0] / 1e9 for each in read])
    else:
        times = np.array([number_of(row.cells[index]) or 0.0 for row in table.rows])
    times = times[np.isfinite(times)]
    if len(times) < RARE:
        return 0 if len(times) else len(table.rows)
    return int(np.count_nonzero(np.diff(times) < 0.0)) if np.ptp(times) > 0.0 else len(table.rows)


def _holds_text(table: Table, index: int) -> bool:
    """Return whether most cells of a column are no numbers."""
    texts = sum(number_of(row.cells[index]) is None for row in table.rows)
    return 2 * texts > len(table.rows)


def _one_time(table: Table, columns: Mapping[str, ColumnChoice]) -> Table:
    """Return a table whose date and time, or seconds and nanoseconds, are one column."""
    if 'time' in columns:
        return table
    date = table.find(['date', 'datum', 'day'])
    clock = table.find(['time', 'zeit', 'clock', 'utc', 'uhrzeit'])
    whole = table.find(['sec', 'secs', 'stampsec', 'headerstampsec', 'headerstampsecs', 'seconds'])
    part = table.find(['nanosec', 'nsec', 'nsecs', 'nanosecs', 'stampnanosec', 'nanoseconds',
                       'headerstampnanosec', 'headerstampnsecs'])  # fmt: skip
    if date is not None and clock is not None:
        # A time that counts by itself needs no other.
        if not _holds_text(table, clock):
            return table
        kept, other = clock, date

        def joined(cells: list[str]) -> str:
            # Behind the hours, such a sign is of a zone or of fractions.
            clock_has_date = any(sign in cells[kept].partition(':')[0] for sign in '/-.')
            return cells[kept] if clock_has_date else f'{cells[other]} {cells[kept]}'

    elif whole is not None and part is not None:
        kept, other = whole, part

        def joined(cells: list[str]) -> str:
            seconds, rest = cells[kept].partition('.')[0], cells[other].partition('.')[0]
            return f'{seconds}.{rest.zfill(9)}' if rest.isdigit() else cells[kept]

    else:
        return table
    rows = []
    for row in table.rows:
        cells = list(row.cells)
        cells[kept], cells[other] = joined(cells), ''
        rows.append(Row(row.line, cells))
    units = ['' if index == kept else unit for index, unit in enumerate(table.units)]
    names = ['time' if index == kept else name for index, name in enumerate(table.names)]
    return replace(table, rows=rows, units=units, names=names)


def _with_units(table: Table) -> Table:
    """Return a table with the units that stand behind usual names, such as `ax_g`, apart."""
    names, units = list(table.names), list(table.units)
    for index, name in enumerate(table.names):
        if found := _apart(name):
            names[index], units[index] = found
        elif not units[index]:
            # As TimeUS or millis.
            word, usual = plain(name), ('', *_USUAL['time'][:-1])
            fits = (unit for each in usual for end, unit in _ENDINGS if word == each + end)
            units[index] = next(fits, '')
    return replace(table, names=names, units=units)


_ENDINGS = (
    *((each, 'us') for each in ('us', 'usec', 'usecs', 'micros', 'microseconds', 'bootus')),
    *((each, 'ms') for each in ('ms', 'msec', 'msecs', 'millis', 'milliseconds', 'bootms')),
    *((each, 'ns') for each in ('ns', 'nsec', 'nsecs', 'nanos', 'nanoseconds')),
    *((each, 's') for each in ('sec', 'secs')),
)
"""How names of times end, and their units."""


def _check_step(table: Table, index: int, unit: str, *, stated: bool) -> None:
    """Raise ``InputError`` if the unit puts samples too far apart, or too near, for an IMU."""
    if unit in _TEXTS or len(table.rows) < 3:
        return
    name = table.names[index]
    factor = factor_of('time', unit, f'{table.place}, column {name!r}')
    middle, most = steps_of(table.column(index))
    # Seconds that nothing states need more.
    slow = middle * factor > LIMITS_S[1] or (not stated and middle >= USUAL_S[1])
    if not slow and most * factor >= LIMITS_S[0]:
        return
    step, cure = middle if slow else most, 'correct the times'
    if fit := unit_that_fits(step, {each: factor_of('time', each, '') for each in _COUNTED}):
        cure = f"state it, as in --columns 'time={name}:{fit[0]}', for {fit[1]:.3g} s"
    states = '' if stated else 'states no unit, and '
    msg = (
        f'{table.place}: column {name!r} {states}has rows {step * factor:.6g} s apart as {unit}, '
        f'which no IMU of a vehicle has; {cure}'
    )
    raise InputError(msg)


_COUNTED = ('s', 'ms', 'us', 'ns', 'day')


def _stamps(table: Table, index: int, unit: str) -> tuple[Table, Ints, list[str]]:
    """Return the rows that have a time, their stamps (N,), nanoseconds, and notes."""
    if unit not in _TEXTS:
        zero, notes = 0, list[str]()
        if factor_of('time', unit, f'{table.place}, the time') == DAY_S:
            zero = day_zero(float(np.nanmedian(table.column(index))))
            notes = ['times are day numbers, taken as UTC'] if zero else []
        table, stamps = table.times(index, unit, zero)
        if np.median(stamps) < _LONGEST_NS:
            return table, stamps + UNDATED_NS, [UNDATED]
        return table, stamps, notes
    read, notes = times_of_texts([row.cells[index] for row in table.rows])
    seconds = np.array([np.nan if each is None else each[0] / 1e9 for each in read])
    dates = Counter(each[2] for each in read if each)
    usual = max(dates, key=dates.__getitem__, default='')
    same = np.array([each is not None and each[2] == usual for each in read])
    if RARE * np.count_nonzero(~same) <= len(same):
        # Times of day, or a date that stands still.
        seconds[same] = over_midnight(seconds[same])
    by_line = {row.line: each for row, each in zip(table.rows, read, strict=True)}
    table, seconds = table.clocked(index, seconds, _NO_TIME)
    there = [each for row in table.rows if (each := by_line[row.line])]
    stamps = np.array([each[0] for each in there], dtype=np.int64)
    days = np.rint((seconds - stamps / 1e9) / DAY_S).astype(np.int64)
    stamps += (days - days[0]) * UNDATED_NS
    if not any(each[2] for each in there):
        return table, stamps + UNDATED_NS, [UNDATED]
    if any(each[1] is None for each in there):
        notes.append('times without a zone are taken as UTC')
    return table, stamps, notes


_NO_TIME = (
    'is no time such as 2026-01-31 12:00:00.5 +0100, 31/01/2026 12:00:00 PM, 31.01.2026 12:00, '
    '12:00:00.5 or a number'
)

_TEXTS = frozenset({'iso', 'txt'})
_LONGEST_NS = 10**17
"""Three years: no recording is as long, so that longer times count from 1970."""


def _apart(name: str, axis: str = '') -> tuple[str, str] | None:
    """Return a name without the unit of one of its roles behind it, and that unit."""
    words = name.rsplit('_', 4)  # as many as of metres_per_second_squared
    for at in range(1, len(words)):
        head, unit = '_'.join(words[:at]), '_'.join(words[at:])
        word = plain(f'{head}{axis}')
        roles = [role for role, names in _ANY.items() if word in names]
        # As likely a minimum as minutes.
        fits = any(_fits(role, unit) for role in roles or (IMU_ROLES if axis else ()))
        if fits and unit.lower() not in {'', 'min'}:
            return head, unit
    return None


def name_and_unit(cell: str) -> tuple[str, str]:
    """Return the name of a column, with the axis that brackets hold, and the unit in brackets."""
    name, unit, axis = cell[:LONGEST_NAME].strip(), '', ''
    while name.endswith((')', ']')):
        begin = max(name.rfind('('), name.rfind('['))
        if begin < 1:
            break
        inner, name = name[begin + 1 : -1].strip(), name[:begin].strip()
        if inner.lower() in _AXES:
            axis = _AXES[inner.lower()]
        elif not is_unit(unit):
            unit = inner if is_unit(inner) or not unit else unit
    if axis and not unit:
        name, unit = _apart(name, axis) or (name, '')
    return (f'{name}_{axis}' if axis else name), unit


def count_known(cells: Sequence[str]) -> int:
    """Return how many cells are usual names of columns, with or without a unit."""
    names = [name_and_unit(cell.lstrip('#/% '))[0] for cell in cells]
    apart = _with_units(Table('', names, [''] * len(names), ()))
    return sum(plain(name) in _KNOWN for name in apart.names)


_AXES = {**dict(zip('012', 'xyz', strict=True)), **dict(zip('xyz', 'xyz', strict=True))}
