# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which column of a table holds which quantity, in which unit."""

from __future__ import annotations

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
    TEXT,
    UNCLEAR,
)
from two_manifold_ros.loggers.tables import number_of, RARE
from two_manifold_ros.loggers.times import stamps_of, times_of, usual_unit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from two_manifold_ros.loggers.tables import Table


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


def choose(table: Table, columns: Mapping[str, Column]) -> dict[str, Column]:
    """
    Return the column of each role: as named, or else by its name, unit and values.

    ``InputError`` says that none has the time or anything else, or that it is not clear which.
    """
    given = {role: _named(table, choice.name) for role, choice in columns.items()}
    free = [at for at in range(len(table.names)) if at not in given.values()]
    chosen: dict[str, Column] = {}
    for role in ROLES:
        at = given[role] if role in given else _found(table, role, free)
        if at is not None:
            name, unit, sign, _ = columns.get(role, Column(table.names[at], '', 1.0))
            stated = _unit_of(table, role, at)
            # The other sign of a format holds in whatever unit.
            minus = '-' if stated.startswith('-') and not unit.startswith('-') else ''
            chosen[role] = Column(name, minus + unit if unit else stated, sign, at)
    # A position is of both.
    if not {'x', 'y'} <= {*chosen}:
        chosen = {role: each for role, each in chosen.items() if role not in {'x', 'y'}}
    letters = [plain(name) for name in table.names if plain(name) in {'x', 'y', 'z'}]
    bare = [
        role for role in {*letters} & ({*chosen} - {*columns}) if not table.units[chosen[role].at]
    ]
    lacking = ''
    if 'time' not in chosen:
        lacking = 'the time'
    elif len({*given.values()}) < len(given):
        lacking = f'{" and ".join(given)}, each its own'
    # Positions beside fixes have no z; accelerations have.
    elif (
        bare and not {*ACCELERATIONS} & {*chosen} and ('z' in letters or 'latitude' not in chosen)
    ):
        lacking = 'accelerations'
    elif len(chosen) < 2:
        lacking = 'samples'
    if lacking:
        map_of = ','.join(f'a{letter}={letter}:UNIT' for letter in dict.fromkeys(letters))
        msg = (
            f'{table.place}: no column is known to hold {lacking}; name them with --columns '
            f"'time=COLUMN:UNIT,{map_of or 'ax=COLUMN:UNIT'},...', or 'x=x,y=y' if these are "
            f'positions, out of {listed(table.heads)}'
        )
        raise InputError(msg)
    return chosen


def _named(table: Table, name: str) -> int:
    """Return the column of a name as the file has it, or without its unit."""
    for names in (table.heads, table.names):
        if name in names:
            return names.index(name)
    msg = f'{table.place}: there is no column {name!r}; name one of {listed(table.heads)}'
    raise InputError(msg)


def _unit_of(table: Table, role: str, at: int) -> str:
    """Return the unit that the file or a name states, else the usual one, else the SI unit."""
    if role == 'time' and table.holds_text(at):
        return TEXT
    unit = table.units[at].removeprefix('-')
    if role in FIX_ROLES and not is_unit(unit):
        # Remarks such as WGS84; the first word of others is the unit, as of m MSL.
        unit = first if is_unit(first := unit.split(' ')[0]) else ''
    usual = table.usual.get(role, KNOWN[role].get(plain(table.names[at]), ''))
    # Times of no known unit have one by their size.
    minus = '-' if table.units[at].startswith('-') else ''
    return minus + (unit or usual or SI[role] * (role != 'time'))


def _found(table: Table, role: str, free: Sequence[int]) -> int | None:
    """Return the column with a usual name of a role that is not empty, or of a time that grows."""
    if role == 'time' and table.times:
        return table.find(table.times)
    names, usual = {at: plain(table.names[at]) for at in free}, [*KNOWN[role]]
    found = [at for name in usual for at in free if names[at] == name]
    if role == 'time':
        begins = usual[: usual.index('t')]
        found += [at for name in begins for at in free if names[at].startswith(name)]
        # Text is refused with the words for how times are written.
        return next(
            (at for at in found if _grows(table, at)),
            next(filter(table.holds_text, found), None),
        )
    # Names of two letters are of many quantities: gx of accelerations in g, too.
    found = [
        at
        for at in found
        if not (names[at] in UNCLEAR or (len(names[at]) == 2 and is_unit(table.units[at])))
        or fits(role, table.units[at] or 'm')
    ]
    # Of a sensor that was not there, loggers write empty columns.
    return next((at for at in found if table.values(at)), found[0] if found else None)


def _grows(table: Table, at: int) -> bool:
    """Return whether a column has times that, but for a few, are not before the last."""
    times = np.array(table.numbers(at))
    if table.holds_text(at):
        times = np.array([each[0] for each in times_of(table.cells(at)) if each])
    times = times[np.isfinite(times)]
    few = RARE * np.count_nonzero(np.diff(times) < 0.0) <= len(times)
    return bool(len(times) and few and (len(times) < RARE or np.ptp(times) > 0.0))


def read_columns(table: Table, columns: Mapping[str, Column]) -> Log:
    """Return the channels of a table, of the columns that `choose` finds."""
    if 'time' not in columns:
        _join_date(table)
    chosen = choose(table, columns)
    for role, (name, unit, sign, at) in chosen.items():
        if role not in columns:
            _refuse_hemispheres(table, role, chosen[role])
        count = table.names.count(table.names[at])
        first = f' (the first of {count} columns of this name)' if count > 1 else ''
        turned = '-' if (sign < 0) != unit.startswith('-') else ''
        said = unit.removeprefix('-') or usual_unit(table.numbers(at)) or SI[role]
        table.notes.append(f'{role} is {turned}{name} in {said}{first}')
    time = chosen.pop('time')
    factors = {
        role: each.sign * factor_of(role, each.unit, f'{table.place}, column {each.name!r}')
        for role, each in chosen.items()
    }
    for role, each in chosen.items():
        fault = f'in column {each.name!r} is no number' + f'; {_SIGNED}' * (role in _HALVES)
        cells = table.cells(each.at)
        faults = [f'{cell[:40]!r} {fault}' * (number_of(cell) is None) for cell in cells]
        # Rows without a fix have an IMU.
        table.leave(faults, whole=role in IMU_ROLES)
    stamps = stamps_of(table, time.at, time.unit, of_imu=bool({*IMU_ROLES} & {*chosen}))
    channels = {
        role: Channel.of_cells(stamps, np.array(table.numbers(each.at)) * factors[role])
        for role, each in chosen.items()
    }
    read = {each.at for each in (time, *chosen.values())}
    return Log(
        table.place,
        table.kind,
        {role: each for role, each in channels.items() if len(each.stamps)},
        tuple(table.notes),
        tuple(head for at, head in enumerate(table.heads) if head and at not in read),
    )


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


_HALVES = {'latitude': ('S', '^ns$|northsouth|hemi'), 'longitude': ('W', '^ew$|eastwest|hemi')}
"""The hemisphere of a role with negative degrees, and names of columns that state it."""
_HALF = re.compile('[NS]?[EW]?|NORTH|SOUTH|EAST|WEST')
_SIGNED = 'write positions as numbers in degrees, negative to the south and to the west'


def _refuse_hemispheres(table: Table, role: str, column: Column) -> None:
    """Raise ``InputError`` if southern or western degrees without a sign were read as northern."""
    if role not in _HALVES or any(cell[:1] == '-' for cell in table.values(column.at)):
        return
    (half, names), head = _HALVES[role], table.heads[column.at]
    of_head = [
        each for each in re.split(r'[\s()\[\]]+', head)[1:] if _HALF.fullmatch(each.upper())
    ]
    columns = [(name, table.values(at)) for at, name in enumerate(table.names)]
    for other, cells in ((head, of_head), *columns):
        words = {*map(str.upper, cells)}
        odd = re.search(names, plain(other)) and None in map(number_of, words)
        stated = any(half in word[: 1 + (len(word) == 2)] for word in words)
        wrong = stated if all(map(_HALF.fullmatch, words)) else odd
        if wrong:
            msg = (
                f'{table.place}: column {other!r} may state the hemisphere of the {role}, and '
                f'column {column.name!r} has no sign; name it with its sign by --columns '
                f"'{role}=-{column.name}' if it is {half}, '{role}={column.name}' if not, or "
                f'{_SIGNED}'
            )
            raise InputError(msg)
