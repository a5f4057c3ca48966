# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which column of a table holds which quantity, in which unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from two_manifold_ros.loggers.tables import number_of, RARE, stamps_of, time_of, usual_unit

if TYPE_CHECKING:
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
            raise InputError(
                f'--columns: {part!r} is not ROLE=COLUMN or ROLE=COLUMN:UNIT, each role once; '
                f'roles are {", ".join(ROLES)}'
            )
        if unit:
            factor_of(role, unit, f'--columns {part}')
        choices[role] = Column(name, unit.strip(), sign)
    return choices


def choose(table: Table, columns: Mapping[str, Column]) -> dict[str, Column]:
    """Return the column of each role: as named, or else by its name, unit and values."""
    given: dict[str, int] = {}
    for role, choice in columns.items():
        # As the file has it, or without its unit.
        names = next((each for each in (table.heads, table.names) if choice.name in each), None)
        if names is None:
            known = listed(table.heads)
            msg = f'{table.place}: there is no column {choice.name!r}; name one of {known}'
            raise InputError(msg)
        given[role] = names.index(choice.name)
    free = [at for at in range(len(table.names)) if at not in given.values()]
    chosen: dict[str, Column] = {}
    for role in ROLES:
        at = given[role] if role in given else _found(table, role, free)
        if at is not None:
            name, unit, sign, _ = columns.get(role, Column(table.names[at], '', 1.0))
            unit = unit or _unit_of(table, role, at)
            # The other sign of a format holds in whatever unit.
            chosen[role] = Column(name, unit, sign * table.signs[at], at)
    # A position is of both.
    if not {'x', 'y'} <= {*chosen}:
        chosen = {role: each for role, each in chosen.items() if role not in {'x', 'y'}}
    # Letters without a unit are positions only beside accelerations, or where they are named.
    letters = {at for at, name in enumerate(table.names) if plain(name) in {'x', 'y', 'z'}}
    bare = {at for at in letters if not table.units[at]}
    clear = {role for role, each in chosen.items() if each.at not in bare or role in columns}
    unclear = bare and not {*ACCELERATIONS, 'x', 'y'} & clear
    rows = (
        ('time' not in chosen, 'the time'),
        (len({*given.values()}) < len(given), f'{" and ".join(given)}, each its own'),
        (unclear, 'accelerations'),
        (len(chosen) < 2, 'samples'),
    )
    lacking = next((what for lacks, what in rows if lacks), '')
    if lacking:
        raise InputError(
            f'{table.place}: no column is known to hold {lacking}; name them with --columns '
            "'time=COLUMN:UNIT,ax=COLUMN:UNIT,...', or 'x=COLUMN,y=COLUMN' for positions, out of "
            f'{listed(table.heads)}'
        )
    return chosen


def _unit_of(table: Table, role: str, at: int) -> str:
    """Return the unit that the file or a name states, else the usual one, else the SI unit."""
    if role == 'time' and table.holds_text(at):
        return TEXT
    unit = table.units[at]
    if role in FIX_ROLES and not is_unit(unit):
        # Remarks such as WGS84; the first word of others is the unit, as of m MSL.
        unit = first if is_unit(first := unit.split(' ')[0]) else ''
    usual = table.usual.get(role, KNOWN[role].get(plain(table.names[at]), ''))
    # Times of no known unit have one by their size.
    return unit or usual or SI[role] * (role != 'time')


def _found(table: Table, role: str, free: Sequence[int]) -> int | None:
    """Return the column with a usual name of a role that is not empty, or of a time that grows."""
    if role == 'time' and table.times:
        return table.find(table.times)
    names, usual = {at: plain(table.names[at]) for at in free}, [*KNOWN[role]]
    found = [at for name in usual for at in free if names[at] == name]
    if role != 'time':
        # Names of a letter or two are of many quantities: gx of accelerations in g, too.
        found = [
            at
            for at in found
            if (names[at] not in UNCLEAR and (len(names[at]) > 2 or not is_unit(table.units[at])))
            or fits(role, table.units[at] or 'm')
        ]
        # Of a sensor that was not there, loggers write empty columns.
        return next((at for at in found if table.values(at)), found[0] if found else None)
    begins = usual[: usual.index('t')]
    found += [at for name in begins for at in free if names[at].startswith(name)]
    for at in found:
        times = np.array(table.numbers(at))
        if table.holds_text(at):
            times = np.array([each[0] for each in map(time_of, table.cells(at)) if each])
        times = times[np.isfinite(times)]
        # But for a few, none is before the last.
        few = RARE * np.count_nonzero(np.diff(times) < 0.0) <= len(times)
        if len(times) and few and (len(times) < RARE or np.ptp(times) > 0.0):
            return at
    # Text is refused with the words for how times are written.
    return next(filter(table.holds_text, found), None)


def read_columns(table: Table, columns: Mapping[str, Column]) -> Log:
    """Return the channels of a table, of the columns that `choose` finds."""
    date, clock = table.find('date datum day'), table.find('time zeit clock utc uhrzeit')
    # A date and the time of day beside it are one column; a time that counts needs no date.
    if 'time' in columns:
        date = None
    if date is not None and clock is not None and table.holds_text(clock):
        for row in table.rows:
            # Behind the hours, such a sign is of a zone or of fractions.
            if not set('/-.') & set(row.cells[clock].partition(':')[0]):
                row.cells[clock] = f'{row.cells[date]} {row.cells[clock]}'
            row.cells[date] = ''
        table.names[clock], table.units[clock] = 'time', ''
    chosen = choose(table, columns)
    for role, (name, unit, sign, at) in chosen.items():
        said = unit or usual_unit(table.numbers(at)) or SI[role]
        count = table.names.count(table.names[at])
        first = f' (the first of {count} columns of this name)' * (count > 1)
        table.notes.append(f'{role} is {"-" * (sign < 0)}{name} in {said}{first}')
        half = {'latitude': 'south', 'longitude': 'west'}.get(role)
        # Of a format that is positive to the west, the sign is turned already.
        signed = sign < 0 or any(cell[:1] == '-' for cell in table.values(at))
        if half and role not in columns and not signed:
            words = f'if it is {half}, give --columns {role}=-{name}'
            table.notes.append(f'column {name!r} has no sign; {words}')
    read = {each.at for each in chosen.values()}
    time = chosen.pop('time')
    factors = {
        role: each.sign * factor_of(role, each.unit, f'{table.place}, column {each.name!r}')
        for role, each in chosen.items()
    }
    for role, each in chosen.items():
        fault = f'in column {each.name!r} is no number'
        if role in FIX_ROLES[:2]:
            fault += '; write degrees as numbers, negative to the south and to the west'
        cells = table.cells(each.at)
        faults = [f'{cell[:40]!r} {fault}' * (number_of(cell) is None) for cell in cells]
        # Rows without a fix have an IMU.
        table.leave(faults, whole=role in IMU_ROLES)
    stamps = stamps_of(table, time.at, time.unit, of_imu=bool({*IMU_ROLES} & {*chosen}))
    channels = {
        role: Channel.of_cells(stamps, np.array(table.numbers(each.at)) * factors[role])
        for role, each in chosen.items()
    }
    return Log(
        table.place,
        table.kind,
        {role: each for role, each in channels.items() if len(each.stamps)},
        tuple(table.notes),
        tuple(head for at, head in enumerate(table.heads) if head and at not in read),
    )
