# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""When the rows of a table were recorded: numbers in a unit, or text."""

from __future__ import annotations

from datetime import date
import re
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.log import factor_of, OF_DAY, TEXT
from two_manifold_ros.loggers.tables import DAY_NS, LAST_S, RARE, SLASHES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.loggers.tables import Table
    from two_manifold_ros.typing import Floats, Ints

_NONE = -(2**62)
_SECOND_NS = 10**9
_LONGEST_NS = 10**17
"""Three years: longer times count from 1970."""
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
    if not any(dates) and np.median(stamps) < _LONGEST_NS:
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
        msg = (
            f'{table.place}, line {table.rows[number].line}: the time is {words} the time of '
            f'line {before}; make a file and a bag of each drive, or remove the wrong lines'
        )
        raise InputError(msg)
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
            msg = (
                f'{table.place}: column {name!r} {"" if stated else "states no unit, and "}has '
                f'rows {step_s:.6g} s apart as {stated or "s"}, which no IMU of a vehicle has; '
                f"state its unit, as in --columns 'time={name}:ms', or correct the times"
            )
            raise InputError(msg)
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
