# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Times of tables: which of them can be true, and how they are written as text."""

from __future__ import annotations

from bisect import bisect_right
from datetime import datetime, timezone
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from two_manifold_ros.typing import Bools, Floats, Ints

DAY_S = 86_400.0

LAST_S = 2**31
"""Seconds since 1970 that a stamp of ROS can have, which are those until 2038."""

RARE = 20
"""At most one of so many rows may be damaged: more of them are another format, or another unit."""

LATE_NS = 1_000_000_000
"""Rows of several sensors may be late by less; sorted, two drives would become one."""


def far_from_others(stamps: Ints) -> Bools:
    """Return which stamps (N,) are more than a second from their place among the others."""
    chain = longest_rising(stamps)
    least, most = -(2**62), 2**62
    before = np.maximum.accumulate(np.where(chain, stamps, least))
    after = np.minimum.accumulate(np.where(chain, stamps, most)[::-1])[::-1]
    late: Bools = (before > least) & (stamps < before - LATE_NS)
    return late | ((after < most) & (stamps > after + LATE_NS))


def not_cut_off(seconds: Floats) -> Bools:
    """
    Return which times (N,) are not cut off from all others, at the begin or the end.

    The gap is longer than all the rest lasts. Cut off are few rows, as damaged ones; or more
    whose clock stands, or shows a year before 2001, when loggers had not found a satellite yet.
    """
    keep = np.ones(len(seconds), dtype=np.bool_)
    if len(seconds) < RARE:
        return keep
    steps = np.abs(np.diff(seconds))
    rest_s = len(seconds) * float(np.median(steps[steps > 0.0])) if steps.any() else 0.0
    for gap in np.flatnonzero(steps > max(rest_s, _LEAST_GAP_S)).tolist():
        first, last = slice(None, gap + 1), slice(gap + 1, None)
        stands = np.ptp(seconds[first]) == 0.0 or seconds[gap] < _UNSET_S < np.median(seconds)
        if RARE * (gap + 1) <= len(seconds) or (stands and 2 * (gap + 1) <= len(seconds)):
            keep[first] = False
        elif RARE * (len(seconds) - gap - 1) <= len(seconds):
            keep[last] = False
    return keep


_LEAST_GAP_S = 60.0
"""A shorter gap is a pause of a drive."""
_UNSET_S = 978_307_200.0
"""The first second of 2001: receivers begin in 1970, 1980 or 2000, and no logger is as old."""


def longest_rising(stamps: Ints) -> Bools:
    """Return the members (N,) of a longest part of the stamps that never falls."""
    ends, members, previous = list[int](), list[int](), list[int]()
    for number, stamp in enumerate(stamps.tolist()):
        at = bisect_right(ends, stamp)
        previous.append(members[at - 1] if at else -1)
        ends[at : at + 1] = [stamp]
        members[at : at + 1] = [number]
    rising = np.zeros(len(stamps), dtype=np.bool_)
    member = members[-1] if members else -1
    while member >= 0:
        rising[member] = True
        member = previous[member]
    return rising


USUAL_S = (1e-4, 1.0)
"""Seconds between samples of an IMU in a vehicle: 1 to 10,000 a second, by data sheets."""
LIMITS_S = (1e-5, 10.0)
"""Ten times beyond, as rows of loggers may be fewer or parts of a burst: the unit is wrong."""
_DAY_ZEROS = (25_569, 719_529)
"""1 January 1970 as a day number of spreadsheets, and of MATLAB."""
_RECENT_DAY = 40_000 - _DAY_ZEROS[0]
"""July 2009: numbers below 40,000 of a spreadsheet may be seconds of a day."""


def day_zero(middle: float) -> int:
    """Return which day 1 January 1970 is, if the middle of a drive is a date as a day number."""
    return next((zero for zero in _DAY_ZEROS if _RECENT_DAY <= middle - zero < LAST_S / DAY_S), 0)


def steps_of(values: Floats) -> tuple[float, float]:
    """Return the median step between numbers, and the step that few of those forward exceed."""
    steps = np.diff(values[np.isfinite(values)])
    # Several sensors may write their rows in bursts.
    forward = steps[steps > 0.0]
    if not len(forward):
        return 0.0, np.inf
    return float(np.median(steps)), float(np.quantile(forward, 1.0 - 1.0 / RARE))


def unit_of(times: Sequence[float]) -> str:
    """Return the unit that times look like, empty if their size does not show it."""
    values = np.array(times)
    middle = float(np.median(values[np.isfinite(values)])) if np.isfinite(values).any() else 0.0
    if day_zero(middle) and steps_of(values)[1] < USUAL_S[0]:
        return 'day'
    return next((unit for unit, least in _SINCE_1970 if middle >= least), '')


_SINCE_1970 = (('ns', 1e17), ('us', 1e14), ('ms', 1e11), ('s', 1e8))
"""Times since 1970 of the years after 1973 in each unit, which no seconds reach."""


def unit_that_fits(step: float, factors: Mapping[str, float]) -> tuple[str, float] | None:
    """Return the unit in which a step is most usual for an IMU, and its seconds in it."""
    apart = {unit: step * factor for unit, factor in factors.items()}
    usual = {unit: each for unit, each in apart.items() if USUAL_S[0] <= each <= USUAL_S[1]}
    middle = np.log(USUAL_S).mean()
    return min(usual.items(), key=lambda each: abs(np.log(each[1]) - middle), default=None)


_FORMS = (('.', '%d.%m.%Y'), ('-', '%Y-%m-%d'))
_NO_DAY = datetime(1970, 1, 1, tzinfo=timezone.utc)

TextTime: TypeAlias = 'tuple[int, str | None, bool]'
"""Nanoseconds since 1970 or midnight, the zone, and whether there is a date."""


def times_of_texts(texts: Sequence[str]) -> tuple[list[TextTime | None], list[str]]:
    """Return what texts say, ``None`` for each that is no time, and notes."""
    cells = [text.upper() for text in texts]
    first, second = 0, 0
    for cell in cells:
        day, slash, rest = cell.partition('/')
        month, _, _ = rest.partition('/')
        if slash and day.isdigit() and month.isdigit() and len(day) <= 2:
            first, second = max(first, int(day)), max(second, int(month))
    order, notes = '%d/%m/%Y', list[str]()
    if first:
        order = '%m/%d/%Y' if second > 12 >= first else order
        if max(first, second) <= 12:
            notes = ['days are taken to stand before months: no date of the file shows it']
    return [_of_text(cell, order) for cell in cells], notes


def _of_text(text: str, order: str) -> TextTime | None:  # noqa: C901 - one form after the other
    """Return a time of text in capitals, with slashed dates in this order."""
    words = text[:60].replace(',', '.').split()
    if words and words[0][10:11] == 'T':
        words[:1] = [words[0][:10], words[0][11:]]
    zone = None
    if words and words[-1] in {'UTC', 'GMT', 'Z'}:
        zone = f'{words.pop()[:0]}+0000'
    half = words.pop() if words and words[-1] in {'AM', 'PM'} else ''
    if words and words[-1][:1] in {'+', '-'}:
        zone = words.pop()
    day = words.pop(0) if len(words) == 2 else ''
    if len(words) != 1:
        return None
    clock = words[0]
    for ending in ('UTC', 'Z', 'AM', 'PM'):
        if clock.endswith(ending):
            clock = clock.removesuffix(ending)
            zone, half = (zone, ending) if ending in {'AM', 'PM'} else ('+0000', half)
    for sign in '+-':
        clock, found, rest = clock.partition(sign)
        zone = f'{sign}{rest}' if found else zone
    hours, *others = clock.split(':')
    whole, _, fraction = (others[-1] if len(others) == 2 else '0').partition('.')
    numbers = [hours, *others[:1], whole]
    form = next((form for sign, form in _FORMS if sign in day), order)
    try:
        if len(others) not in {1, 2} or not all(each.isdecimal() for each in numbers):
            raise ValueError(clock)  # noqa: TRY301 - as strptime does
        hour, minute, second = map(int, numbers)
        if half:
            hour = hour % 12 + 12 * (half == 'PM')
        if not (hour < 24 and minute < 60 and second <= 60 and (fraction or '0').isdecimal()):
            raise ValueError(clock)  # noqa: TRY301 - as strptime does
        offset = (zone or '+0000').replace(':', '').ljust(5, '0')
        form = '%Y/%m/%d' if len(day.partition('/')[0]) == 4 else form
        when = datetime.strptime(f'{day}{offset}', f'{form}%z') if day else _NO_DAY
    except ValueError:
        return None
    seconds = round(when.timestamp()) + hour * 3600 + minute * 60 + second
    if not 0 <= seconds < LAST_S:
        return None
    return seconds * 10**9 + int((fraction or '0')[:9].ljust(9, '0')), zone, bool(day)
