# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the file of a logger holds: channels in SI units with their times, and what was assumed."""

from __future__ import annotations

from dataclasses import dataclass, replace
import math
import re
from typing import Literal, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.recording import GRAVITY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from two_manifold_ros.typing import Floats, Ints

ACCELERATIONS = ('accel_x', 'accel_y', 'accel_z')
RATES = ('gyro_x', 'gyro_y', 'gyro_z')
IMU_ROLES = (*ACCELERATIONS, *RATES)
"""Channels of an IMU, x forward, y left, z up where the axes are those of the vehicle."""
FIX_ROLES = ('latitude', 'longitude', 'altitude')
"""Channels of a satellite receiver, degrees north and east, and metres."""

Axes = Literal['sensor', 'vehicle', 'satellites']
"""Axes of accelerations: of the sensor, however it is mounted; of the vehicle; or of the vehicle,
but computed from satellite positions by the logger."""

_FACTORS: dict[str, dict[str, float]] = {
    'acceleration': {'m/s2': 1.0, 'g': GRAVITY, 'mg': GRAVITY / 1000.0, 'ft/s2': 0.3048},
    'rate': {'rad/s': 1.0, 'deg/s': math.radians(1.0), 'mdeg/s': math.radians(0.001)},
    'angle': {'deg': 1.0, 'min': 1.0 / 60.0, 'rad': math.degrees(1.0)},
    'length': {'m': 1.0, 'ft': 0.3048, 'km': 1000.0},
    'time': {'s': 1.0, 'ms': 1e-3, 'us': 1e-6, 'ns': 1e-9},
}
_QUANTITIES = {
    **dict.fromkeys(ACCELERATIONS, 'acceleration'),
    **dict.fromkeys(RATES, 'rate'),
    'latitude': 'angle',
    'longitude': 'angle',
    'altitude': 'length',
    'time': 'time',
}
ROLES = tuple(_QUANTITIES)

LAST_S = 2**31
"""Seconds since 1970 that a stamp of ROS can have, which are those until 2038."""

UNDATED_NS = 86_400 * 1_000_000_000
"""Where a drive without a date begins: a stamp of 0 would be none."""
UNDATED = 'the file has no date: the drive begins on 2 January 1970'

_SPELLINGS = (
    (r'[\s^*().·]', ''),
    ('²|squared', '2'),
    ('⁻', '-'),
    ('[°º]|degrees?', 'deg'),
    ('[µμ]|micro', 'u'),
    ('nano', 'n'),
    ('milli', 'm'),
    ('met(er|re)s?', 'm'),
    ('feet', 'ft'),
    ('radians?', 'rad'),
    ('minutes?', 'min'),
    ('sec(ond)?s?|^unixtime$', 's'),
    ('_|per|p(?=s2?$)', '/'),
    # Powers, as of m s-2 and deg s-1.
    ('(?<!/)s-([12])$', r'/s\1'),
    ('/s1$', '/s'),
    ('/s/s$', '/s2'),
    ('^ms2$', 'm/s2'),
    ('(?<!ra)d/s$', 'deg/s'),
)


def factor_of(role: str, unit: str, place: str) -> float:
    """
    Return what a number in a unit is multiplied by: SI units, degrees for places on earth.

    Parameters
    ----------
    role
        One of ``ROLES``.
    unit
        As a file or a user writes it, such as ``G``, ``Deg/Sec`` or ``m/s²``.
    place
        File and column, for the error.

    Raises
    ------
    InputError
        If it is no known unit of such a quantity.

    """
    known = _FACTORS[_QUANTITIES[role]]
    plain = unit.strip().lower()
    for pattern, written in _SPELLINGS:
        plain = re.sub(pattern, written, plain)
    if plain not in known:
        msg = f'{place}: {unit!r} is no unit of {role}; it can be one of {", ".join(known)}'
        raise InputError(msg)
    return known[plain]


@dataclass(frozen=True)
class Channel:
    """
    One channel where it has values.

    Parameters
    ----------
    stamps : (N,) int64
        Nanoseconds since 1970, UTC.
    values : (N,) float64
        SI units, degrees for latitude and longitude.

    """

    stamps: Ints
    values: Floats

    @classmethod
    def of_cells(cls, stamps: Ints, values: Floats) -> Channel:
        """Return the cells that are not missing, which NaN stands for."""
        there = np.isfinite(values)
        return cls(stamps[there], values[there])


@dataclass(frozen=True)
class Log:
    """
    What was read from one file of a logger.

    Parameters
    ----------
    place
        The file.
    kind
        Name of its format.
    channels
        By their role, some of ``IMU_ROLES`` and ``FIX_ROLES``.
    axes
        Which axes its accelerations have.
    notes
        What was assumed and left out, as sentences.

    """

    place: str
    kind: str
    channels: Mapping[str, Channel]
    axes: Axes = 'sensor'
    notes: tuple[str, ...] = ()


def joined(logs: Sequence[Log]) -> Log:
    """
    Return several logs of one drive, or of one vehicle on one route, as one.

    Raises
    ------
    InputError
        If two of them have the same channel at the same time.

    """
    first = logs[0]
    channels: dict[str, Channel] = dict(first.channels)
    for log in logs[1:]:
        for role, channel in log.channels.items():
            known = channels.get(role)
            if known is None:
                channels[role] = channel
                continue
            before, after = sorted((known, channel), key=lambda each: int(each.stamps[0]))
            if before.stamps.max() >= after.stamps.min():
                msg = (
                    f'{log.place}: {role} is at the same time in another of the files; import '
                    'each into a bag of its own'
                )
                raise InputError(msg)
            channels[role] = Channel(
                np.concatenate([before.stamps, after.stamps]),
                np.concatenate([before.values, after.values]),
            )
    others = {log.axes for log in logs if set(log.channels) & set(ACCELERATIONS)}
    if len(others) > 1:
        msg = (
            f'{", ".join(log.place for log in logs)}: the axes of the accelerations differ '
            f'({", ".join(sorted(others))}); import each into a bag of its own'
        )
        raise InputError(msg)
    return replace(
        first,
        place=', '.join(log.place for log in logs),
        kind=', '.join(dict.fromkeys(log.kind for log in logs)),
        channels=channels,
        axes=others.pop() if others else first.axes,
        notes=tuple(note for log in logs for note in log.notes),
    )
