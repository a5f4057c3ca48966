# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Times of tables: which of them can be true, and how they are written as text."""

from __future__ import annotations

from bisect import bisect_right
from datetime import date
import re
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.typing import Bools, Floats, Ints

DAY_S = 86_400.0
DAY_NS = 86_400 * 10**9

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


def days_over_midnight(stamps: Ints) -> Ints:
    """Return how many days to add to times of one day (N,), ns, if fewer are far then."""
    seconds = stamps / 1e9
    # On the circle of a day one wild time begins no further day; a long pause is no midnight.
    days = np.rint((np.unwrap(seconds, period=DAY_S) - seconds) / DAY_S).astype(np.int64)
    far, fewer = (far_from_others(each).sum() for each in (stamps, stamps + days * DAY_NS))
    return days if fewer < far else np.zeros_like(days)


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
    gaps = np.flatnonzero(steps > max(rest_s, _LEAST_GAP_S))
    # The clock stood until the first gap, or was not set.
    unset = (seconds[gaps] < _UNSET_S) & (np.median(seconds) > _UNSET_S)
    stands = unset | (gaps == np.argmax(steps > 0.0))
    early = RARE * (gaps + 1) <= len(seconds)
    early |= stands & (2 * (gaps + 1) <= len(seconds))
    late = RARE * (len(seconds) - gaps - 1) <= len(seconds)
    keep[: gaps[early].max(initial=-1) + 1] = False
    keep[gaps[late].min(initial=len(seconds)) + 1 :] = False
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


SINCE_1970 = {'ns': 1e17, 'us': 1e14, 'ms': 1e11, 's': 1e8}
"""Times since 1970 of the years after 1973 in each unit, which no seconds reach."""

COUNTED = {'s': 1.0, 'ms': 1e-3, 'us': 1e-6, 'ns': 1e-9}
"""Seconds of the units of times."""

TextTime: TypeAlias = 'tuple[int, bool, str]'
"""Nanoseconds since 1970 or midnight, whether there is a zone, and the date, or nothing."""
_TEXT = re.compile(
    r'(?:(\d{1,4})([-/.])(\d{1,2})[-/.](\d{1,4})[ T])?'
    r'(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:[.,](\d*))?)?'
    r'(?: ?(AM|PM))?(?: ?(UTC|GMT|Z))?(?: ?([-+]\d{2}):?(\d{2})?)?',
    re.ASCII,
)


def times_of_texts(texts: Sequence[str]) -> tuple[list[TextTime | None], str]:
    """Return what texts say, ``None`` for each that is no time, and a note or nothing."""
    found = [_TEXT.fullmatch(' '.join(text[:60].upper().split())) for text in texts]
    days_first, months_first = (
        [each and _time_of(each, months_first=order) for each in found] for order in (False, True)
    )
    # Not one row decides, as a damaged one would.
    if RARE * (days_first.count(None) - months_first.count(None)) > len(found):
        return months_first, ''
    sure = RARE * (months_first.count(None) - days_first.count(None)) > len(found)
    note = '' if sure or days_first == months_first else _DAYS_FIRST
    return days_first, note


_DAYS_FIRST = 'days are taken to stand before months: no date of the file shows it'


def _time_of(found: re.Match[str], *, months_first: bool) -> TextTime | None:
    """Return a time of text with slashed dates in this order, ``None`` if there is none such."""
    first, sign, second, last, *clock, fraction, half, utc, zone, minutes = found.groups('')
    hour, minute, second_of = (int(each or 0) for each in clock)
    if half:
        hour = hour % 12 + 12 * (half == 'PM')
    if len(first) == 4:
        first, last = last, first
    elif months_first and sign == '/':
        first, second = second, first
    try:
        day = date(int(last), int(second), int(first)).toordinal() - _DAY_1970 if sign else 0
    except ValueError:
        return None
    seconds = day * 86_400 + hour * 3600 + minute * 60 + second_of
    if zone and sign:
        seconds -= int(zone) * 3600 + int(f'{zone[0]}{minutes or 0}') * 60
    if hour > 23 or minute > 59 or second_of > 60 or not 0 <= seconds < LAST_S:
        return None
    written = f'{first}{sign}{second}{sign}{last}' if sign else ''
    return seconds * 10**9 + int(fraction[:9].ljust(9, '0')), bool(utc or zone), written


_DAY_1970 = date(1970, 1, 1).toordinal()
