# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What files of loggers hold: the table of quantities, their units and names, and channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
import math
import re

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.recording import GRAVITY
from two_manifold_ros.typing import Floats, Ints

ACCELERATIONS = ('accel_x', 'accel_y', 'accel_z')
RATES = ('gyro_x', 'gyro_y', 'gyro_z')
IMU_ROLES = (*ACCELERATIONS, *RATES)
"""Channels of an IMU, x forward, y left, z up where the axes are those of the vehicle."""
FIX_ROLES = ('latitude', 'longitude', 'altitude')
"""Channels of a satellite receiver, degrees north and east, and metres."""
COUNTED = {'s': 1.0, 'ms': 1e-3, 'us': 1e-6, 'ns': 1e-9}
"""Seconds of the units of times."""
TEXT, OF_DAY = 'text', 'hhmmss'
"""What stands for the unit of times that are text, and numbers such as 235959.95."""
_UNITS: dict[tuple[str, ...], dict[str, float]] = {
    ACCELERATIONS: {'m/s2': 1.0, 'g': GRAVITY, 'mg': GRAVITY / 1000.0, 'ft/s2': 0.3048},
    RATES: {'rad/s': 1.0, 'deg/s': math.radians(1.0), 'mdeg/s': math.radians(0.001)},
    FIX_ROLES[:2]: {'deg': 1.0, 'min': 1.0 / 60.0, 'rad': math.degrees(1.0), 'dege7': 1e-7},
    # Positions in one plane, as of motion capture, have the roles x and y.
    ('altitude', 'x', 'y'): {'m': 1.0, 'ft': 0.3048, 'km': 1000.0, 'cm': 0.01, 'mm': 0.001},
    ('time',): COUNTED,
}
_FACTORS = {role: factors for roles, factors in _UNITS.items() for role in roles}
ROLES = tuple(_FACTORS)
SI = {role: next(iter(factors)) for role, factors in _FACTORS.items()}
"""Units of roles that none states."""
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
    ('_?per_?|_|p(?=s2?$)', '/'),
    # Powers, as of m s-2 and deg s-1.
    ('(?<!/)s-([12])$', r'/s\1'),
    ('/s1$', '/s'),
    ('/s/s$', '/s2'),
    ('^ms2$', 'm/s2'),
    ('(?<!ra)d/s$', 'deg/s'),
)
LONGEST_NAME = 200
"""Characters of a name or a unit that are read: longer ones are no names, and take time."""

_WORDS = {
    '{}': ('x', 'y', 'z'),
    '{way}': ('long longitudinal lon inline forward', 'lat lateral', 'vert vertical'),
    '{turn}': ('roll', 'pitch', 'yaw'),
    '{noun}': ('acc accel acceleration accelg accg accelerationg gforce',) * 3,
}
"""What stands in names of columns for each axis, and for accelerations."""
_ACCELERATION = """totalacceleration{} accel{} acc{} accelerometer{} a{} acceleration{} {}acc
    {}accel {}accacc {}acceleration linearacceleration{} useracceleration{} linearaccel{}
    linacc{}"""
_RATE = """gyro{} gyr{} g{} w{} omega{} angularvelocity{} gyroscope{} rotationrate{} {}gyro
    gyrorad{} gyrorotation{} motionrotationrate{}"""
_TURNING = '{}rateofrotationgyro {}rateofrotation {}rotationgyroscope {turn}rate {turn} {}'
_LONGITUDE = 'longitude lon lng long gpslongitude gpslon gpslong locationlongitude'
_TIME = """loggingtime timestamp time unixtime datetime utc epoch elapsed seconds millis micros
    nanos uptime zeit date clock stamp cts t secondselapsed secs sec gpstime utctime systemtime
    relativetime sampletime logtime second milli micro nano"""
_ENDINGS = {
    'us': 'us usec usecs micros microseconds bootus',
    'ms': 'ms msec msecs millis milliseconds bootms',
    'ns': 'ns nsec nsecs nanos nanoseconds',
    's': 'sec secs',
}
"""Units with which names of times end, as TimeUS."""
_NAMES = (
    ('accel_{}', 'g', 'gf{} accelerometeracceleration{}'),
    ('accel_{}', '', _ACCELERATION),
    ('accel_{}', 'g', '{way}{noun} logger{way}acc'),
    ('accel_{}', '', '{}'),
    ('gyro_{}', '', _RATE),
    ('gyro_{}', 'deg/s', _TURNING),
    ('latitude', '', 'latitude lat gpslatitude gpslat locationlatitude'),
    ('longitude', '', _LONGITUDE),
    ('latitude', 'degE7', 'late7'),
    ('longitude', 'degE7', 'lone7'),
    ('altitude', '', 'altitude alt height gpsaltitude locationaltitude'),
    ('x', '', 'x posx positionx posex px'),
    ('y', '', 'y posy positiony posey py'),
    ('time', '', _TIME),
)
"""Roles, the unit of a column that states none (SI units if empty), and its `plain` names, the
preferred ones first. What a logger computes from satellite positions is no IMU and has none."""
UNCLEAR = frozenset({'x', 'y', 'z', 'roll', 'pitch', 'yaw'})
"""Names of the quantity whose unit they have, positions or angles if they have none."""


def _known() -> dict[str, dict[str, str]]:
    known: dict[str, dict[str, str]] = {role: {} for role in ROLES}
    for of_role, unit, names in _NAMES:
        for number, axis in enumerate('xyz' if '{}' in of_role else 'x'):
            words = names.split()
            for mark, by_axis in _WORDS.items():
                pairs = product(words, by_axis[number].split())
                words = [word.replace(mark, put) for word, put in pairs]
            for word in words:
                known[of_role.replace('{}', axis)].setdefault(word, unit)
    # The letter t alone is no beginning of a name.
    begins = ['', *known['time']]
    begins.remove('t')
    for unit, ends in _ENDINGS.items():
        known['time'] |= dict.fromkeys(map(''.join, product(begins, ends.split())), unit)
    return known


KNOWN = _known()
"""Units of the columns of each role that need no map, by their `plain` names."""


def factor_of(role: str, unit: str, place: str) -> float:
    """Return what a number in a unit is multiplied by: SI units, degrees for places on earth."""
    if not fits(role, unit):
        known = ', '.join(_FACTORS[role])
        raise InputError(f'{place}: {unit!r} is no unit of {role}; it can be one of {known}')
    return _FACTORS[role][_spelled(unit)]


def fits(role: str, unit: str) -> bool:
    """Return whether a unit is one of a role, as a file or a user writes it."""
    return _spelled(unit) in _FACTORS[role]


def is_unit(text: str) -> bool:
    """Return whether a text is a unit of some role."""
    return any(fits(role, text) for role in ROLES)


@lru_cache
def _spelled(unit: str) -> str:
    spelled = unit[:LONGEST_NAME].lower()
    for pattern, written in _SPELLINGS:
        spelled = re.sub(pattern, written, spelled)
    return spelled


def plain(name: str) -> str:
    """Return the letters and digits of a name in lower case: loggers differ in the others."""
    return re.sub('[^a-z0-9]', '', name.lower())


def listed(names: Sequence[str]) -> str:
    """Return names of columns as a sentence has them."""
    twice = '; columns of one name need names of their own' if len({*names}) < len(names) else ''
    return ', '.join(map(repr, names)) + twice


def name_and_unit(cell: str, below: str = '') -> tuple[str, str]:
    """Return the name and axis of a column, and the unit: bracketed, as of `ax_g`, or below."""
    # RaceCapture states name, unit, limits and rate.
    name, _, rest = cell[:LONGEST_NAME].strip().replace('"', '').partition('|')
    unit, axis = rest.partition('|')[0], ''
    while (begin := max(name.rfind('('), name.rfind('['))) > 0 and name.endswith((')', ']')):
        inner, name = name[begin + 1 : -1].strip(), name[:begin].strip()
        if inner.lower() in _AXES:
            axis = _AXES[inner.lower()]
        elif not is_unit(unit) and (is_unit(inner) or not unit):
            unit = inner
    words = name.rsplit('_', 4)  # as many as of metres_per_second_squared
    for at in range(1, len(words)):
        start, end = '_'.join(words[:at]), '_'.join(words[at:])
        roles = [role for role, names in KNOWN.items() if plain(f'{start}{axis}') in names]
        # As likely a minimum as minutes.
        if end.lower() != 'min' and any(
            fits(role, end) for role in roles or IMU_ROLES * bool(axis)
        ):
            name, unit = start, end
            break
    return f'{name}_{axis}' if axis else name, unit or below


_AXES = dict(zip('012xyz', 'xyzxyz', strict=True))


@dataclass(frozen=True)
class Channel:
    """Stamps (N,), ns since 1970 UTC, and values (N,) or (N, k): SI units, degrees of places."""

    stamps: Ints
    values: Floats

    @classmethod
    def of_cells(cls, stamps: Ints, values: Floats) -> Channel:
        """Return the cells that are not missing, which NaN stands for."""
        there = np.isfinite(values)
        return cls(stamps[there], values[there])


@dataclass(frozen=True)
class Log:
    """What was read from one file of a logger, in a format of this ``kind``."""

    place: str
    kind: str
    channels: Mapping[str, Channel]  # by their role, some of ``ROLES``
    notes: tuple[str, ...] = ()  # what was assumed and left out, as sentences
    unread: tuple[str, ...] = ()  # names of columns that are read as no channel
