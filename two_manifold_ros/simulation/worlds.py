# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Simulated worlds: vehicles on their routes, all made from one table of physical parameters.

`drive` is the only thing to call. The same world, day and seed give the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.recording import ImuStream, PositionStream, Recording
from two_manifold_ros.simulation.slot_car import START_STAMP_NS
from two_manifold_ros.simulation.world_course import generator, plan, ride, route
from two_manifold_ros.simulation.world_sensors import (
    CAMERA,
    CHEAP,
    FAIR,
    GOOD,
    GPS,
    LEAST_HZ,
    LIDAR,
    measured,
    MOCAP,
    RAILED,
    received,
    RTK,
    SLOW_GPS,
    STREET_GPS,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.simulation.world_course import Course
    from two_manifold_ros.simulation.world_sensors import ImuGrade, PositionGrade
    from two_manifold_ros.typing import Bools, Floats, Ints

_DAY_NS = 86_400_000_000_000

_DAY_GRIP = 0.03
"""Spread of the speed between days, no unit: weather, tyres, batteries, who drives."""

FEWEST_LAPS = 3
"""Of a drive that leaves the route: one before, one on which it leaves, one after."""

_NEVER_FASTER = 1.3
"""Greatest speed over the top speed, for how many laps a time can hold at most."""


@dataclass(frozen=True)
class World:
    """
    A vehicle on its route, with its sensors.

    Parameters
    ----------
    name
        Also draws what is not written here: hills, days, faults of the devices.
    corners
        Of the route seen from above: x and y in metres and the radius of the bend.
    hills_m, bank
        Height of hills, metres, and bank in the sharpest bend, radians; bends lean inwards.
    top_speed, lateral, thrust, brake
        m/s; m/s^2 across in bends, from rest, and when braking.
    ease_s
        How long driver and machine take to change the acceleration, seconds.
    line_m
        Spread of the line to the sides, metres.
    pace
        Spread of the speed at one place, no unit.
    lifts, blocked
        How often in a lap the driver is suddenly slower, and stands where there is no station.
    stations, dwell_s
        Where the vehicle stops in each lap, in shares of it, and from and up to how many seconds.
    lane_m
        Distance of a lane beside the route, metres.
    sway
        Roll and pitch of the body, and slip angle, radians per m/s^2.
    rate_hz, imu, mounting_deg, shift_deg, live
        Samples a second; errors; roll, pitch and yaw of the IMU in the vehicle, and the usual
        angle between its mountings on two days, degrees; which channels there are.
    vibration, idle, wheel_m
        Of accelerometer and gyroscope at top speed, m/s^2 and rad/s root mean square on the axis
        that is shaken most; the share of it that a standing vehicle has; metres per turn of a
        wheel.
    positions
        Errors of what tells positions.

    """

    name: str
    corners: tuple[tuple[float, float, float], ...]
    hills_m: float
    bank: float
    top_speed: float
    lateral: float
    thrust: float
    brake: float
    ease_s: float
    line_m: float
    pace: float
    lifts: float
    blocked: float
    stations: tuple[float, ...]
    dwell_s: tuple[float, float]
    lane_m: float
    sway: tuple[float, float, float]
    rate_hz: float
    imu: ImuGrade
    mounting_deg: tuple[float, float, float]
    vibration: tuple[float, float]
    idle: float
    wheel_m: float
    positions: PositionGrade
    shift_deg: float = 2.0
    live: tuple[bool, ...] = (True,) * 6


_TABLE_TOP = (
    (0.0, 0.0, 0.4), (3.2, 0.0, 0.4), (3.2, 1.2, 0.4), (2.1, 1.2, 0.25), (1.9, 0.65, 0.25),
    (1.1, 0.65, 0.25), (0.9, 1.3, 0.3), (-0.9, 1.3, 0.4), (-0.9, 0.3, 0.3), (-0.5, 0.0, 0.2),
)  # fmt: skip
_ROOM = (
    (0.0, 0.0, 0.9), (5.5, 0.0, 0.9), (6.0, 2.0, 0.7), (3.6, 2.6, 0.6), (4.2, 4.6, 0.8),
    (1.0, 5.0, 0.8), (1.3, 2.5, 0.7), (-0.5, 2.2, 0.7),
)  # fmt: skip
_HALL = (
    (0.0, 0.0, 0.8), (4.0, 0.0, 0.7), (5.5, 1.8, 0.7), (8.5, 0.6, 0.8), (9.0, 4.0, 0.9),
    (5.8, 4.4, 0.6), (4.0, 2.9, 0.6), (2.8, 5.0, 0.7), (-0.6, 4.0, 0.8),
)  # fmt: skip
_KART_TRACK = (
    (0.0, 0.0, 18.0), (204.0, 0.0, 14.0), (212.0, 60.0, 10.0), (145.0, 68.0, 8.0),
    (140.0, 110.0, 11.0), (212.0, 128.0, 11.0), (200.0, 183.0, 14.0), (94.0, 174.0, 9.0),
    (81.0, 94.0, 10.0), (42.0, 98.0, 9.0), (26.0, 170.0, 13.0), (-26.0, 162.0, 14.0),
)  # fmt: skip
_CIRCUIT = (
    (0.0, 0.0, 60.0), (1180.0, 0.0, 75.0), (1250.0, 350.0, 50.0), (940.0, 450.0, 45.0),
    (900.0, 190.0, 38.0), (610.0, 180.0, 45.0), (590.0, 500.0, 34.0), (295.0, 555.0, 65.0),
    (390.0, 295.0, 32.0), (-70.0, 270.0, 55.0),
)  # fmt: skip
_TOWN = (
    (0.0, 0.0, 40.0), (110.0, 0.0, 60.0), (210.0, 50.0, 60.0), (280.0, 50.0, 30.0),
    (330.0, 20.0, 22.0), (390.0, 35.0, 22.0), (395.0, 90.0, 22.0), (335.0, 97.0, 22.0),
    (280.0, 58.0, 30.0), (208.0, 58.0, 68.0), (108.0, 8.0, 52.0), (0.0, 8.0, 40.0),
    (-50.0, 38.0, 22.0), (-105.0, 27.0, 22.0), (-105.0, -27.0, 22.0), (-50.0, -32.0, 22.0),
)  # fmt: skip
_WAREHOUSE = (
    (0.0, 0.0, 1.0), (15.0, 0.0, 1.0), (15.0, 6.0, 1.0), (9.0, 6.0, 1.0), (9.0, 10.0, 1.0),
    (18.0, 10.0, 1.0), (18.0, 15.0, 1.0), (3.0, 15.0, 1.0), (3.0, 9.0, 1.0), (-3.0, 9.0, 1.0),
    (-3.0, 0.0, 1.0),
)  # fmt: skip
_EIGHT = (
    (-34.0, -14.0, 8.0), (30.0, 13.0, 8.0), (38.0, -2.0, 7.0), (28.0, -15.0, 8.0),
    (-30.0, 14.0, 9.0), (-42.0, 2.0, 7.0),
)  # fmt: skip

_SLOT_CAR = World(
    name='slot_car',
    corners=_TABLE_TOP,
    hills_m=0.03,
    bank=0.25,
    top_speed=4.0,
    lateral=6.0,
    thrust=4.0,
    brake=4.0,
    ease_s=0.06,
    line_m=0.002,
    pace=0.07,
    lifts=0.1,
    blocked=0.0,
    stations=(),
    dwell_s=(2.0, 6.0),
    lane_m=0.1,
    sway=(1e-3, 1e-3, 0.01),
    rate_hz=100.0,
    imu=CHEAP,
    mounting_deg=(2.0, -4.0, 90.0),
    vibration=(1.2, 0.12),
    idle=0.0,
    wheel_m=0.06,
    positions=CAMERA,
)

_RC_CAR = World(
    name='rc_car',
    corners=_ROOM,
    hills_m=0.0,
    bank=0.0,
    top_speed=5.0,
    lateral=7.0,
    thrust=4.0,
    brake=6.0,
    ease_s=0.1,
    line_m=0.06,
    pace=0.08,
    lifts=0.1,
    blocked=0.0,
    stations=(),
    dwell_s=(2.0, 6.0),
    lane_m=0.5,
    sway=(6e-3, 6e-3, 0.02),
    rate_hz=100.0,
    imu=FAIR,
    mounting_deg=(180.0, 3.0, 5.0),
    vibration=(3.2, 0.25),
    idle=0.0,
    wheel_m=0.33,
    positions=MOCAP,
)
_KART = World(
    name='kart',
    corners=_KART_TRACK,
    hills_m=1.0,
    bank=0.03,
    top_speed=31.0,
    lateral=17.0,
    thrust=5.5,
    brake=9.0,
    ease_s=0.2,
    line_m=0.5,
    pace=0.06,
    lifts=0.2,
    blocked=0.0,
    stations=(),
    dwell_s=(3.0, 10.0),
    lane_m=7.0,
    sway=(1e-3, 1e-3, 8e-3),
    rate_hz=100.0,
    imu=FAIR,
    mounting_deg=(3.0, -8.0, -90.0),
    vibration=(12.0, 0.8),
    idle=0.15,
    wheel_m=0.87,
    positions=GPS,
)
_CAR = World(
    name='car',
    corners=_CIRCUIT,
    hills_m=8.0,
    bank=0.05,
    top_speed=52.0,
    lateral=9.5,
    thrust=4.5,
    brake=9.0,
    ease_s=0.3,
    line_m=0.8,
    pace=0.07,
    lifts=0.3,
    blocked=0.0,
    stations=(),
    dwell_s=(5.0, 20.0),
    lane_m=14.0,
    sway=(6e-3, 4e-3, 4e-3),
    rate_hz=50.0,
    imu=FAIR,
    mounting_deg=(1.0, 6.0, 0.0),
    vibration=(2.0, 0.06),
    idle=0.1,
    wheel_m=2.0,
    positions=GPS,
)
_TRAM = World(
    name='tram',
    corners=_TOWN,
    hills_m=3.0,
    bank=0.04,
    top_speed=14.0,
    lateral=1.2,
    thrust=1.2,
    brake=1.3,
    ease_s=0.5,
    line_m=0.02,
    pace=0.1,
    lifts=0.5,
    blocked=0.2,
    stations=(0.02, 0.28, 0.62),
    dwell_s=(5.0, 30.0),
    lane_m=4.0,
    sway=(6e-3, 2e-3, 0.0),
    rate_hz=50.0,
    imu=GOOD,
    mounting_deg=(0.0, 0.0, 180.0),
    vibration=(0.5, 0.01),
    idle=0.05,
    wheel_m=2.1,
    positions=STREET_GPS,
)
_AGV = World(
    name='agv',
    corners=_WAREHOUSE,
    hills_m=0.02,
    bank=0.0,
    top_speed=1.8,
    lateral=0.8,
    thrust=0.6,
    brake=0.8,
    ease_s=0.25,
    line_m=0.05,
    pace=0.05,
    lifts=0.5,
    blocked=0.5,
    stations=(0.15, 0.45, 0.8),
    dwell_s=(3.0, 12.0),
    lane_m=1.6,
    sway=(3e-3, 3e-3, 0.0),
    rate_hz=50.0,
    imu=FAIR,
    mounting_deg=(0.0, 5.0, 45.0),
    vibration=(0.6, 0.02),
    idle=0.05,
    wheel_m=0.6,
    positions=LIDAR,
)
_FIGURE_EIGHT = World(
    name='figure_eight',
    corners=_EIGHT,
    hills_m=0.0,
    bank=0.0,
    top_speed=10.0,
    lateral=4.0,
    thrust=2.0,
    brake=3.0,
    ease_s=0.3,
    line_m=0.35,
    pace=0.1,
    lifts=0.3,
    blocked=0.1,
    stations=(),
    dwell_s=(3.0, 8.0),
    lane_m=4.0,
    sway=(5e-3, 4e-3, 4e-3),
    rate_hz=50.0,
    imu=CHEAP,
    mounting_deg=(-4.0, 2.0, 30.0),
    vibration=(1.8, 0.1),
    idle=0.1,
    wheel_m=1.2,
    positions=RTK,
)

WORLDS: tuple[World, ...] = (
    _SLOT_CAR,
    _RC_CAR,
    replace(
        _RC_CAR,
        name='rc_car_25hz',
        corners=_HALL,
        line_m=0.1,
        pace=0.1,
        lane_m=0.8,
        rate_hz=25.0,
        imu=CHEAP,
        mounting_deg=(2.0, -3.0, 90.0),
        live=(True, True, False, False, False, True),
        positions=CAMERA,
    ),
    _KART,
    replace(_KART, name='kart_25hz', rate_hz=25.0, imu=CHEAP, mounting_deg=(-5.0, 10.0, 0.0)),
    _CAR,
    replace(
        _CAR,
        name='car_5hz',
        pace=0.08,
        rate_hz=5.0,
        imu=RAILED,
        vibration=(9.0, 0.1),
        live=(True, True, True, False, False, True),
        positions=SLOW_GPS,
    ),
    _TRAM,
    _AGV,
    _FIGURE_EIGHT,
)
"""From a table top to a circuit of 4 km; the name of a world says what it is."""


@dataclass(frozen=True)
class WorldDrive:
    """
    A drive as a user would have recorded it, with the truth beside it.

    Parameters
    ----------
    recording
        IMU, and positions that are noisy and late.
    truth : (N, 2)
        Where the vehicle really was at the stamp of each IMU sample, metres.
    on_route : (N,) bool
        Whether it was on the route then, in the trained direction.

    """

    recording: Recording
    truth: Floats
    on_route: Bools


def world_named(name: str) -> World:
    """Return a world of the table; raise InputError if there is none of this name."""
    for world in WORLDS:
        if world.name == name:
            return world
    msg = f'there is no world {name!r}; choose one of {", ".join(each.name for each in WORLDS)}'
    raise InputError(msg)


def drive(
    world: World,
    *,
    day: int = 0,
    laps: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    course: Course = 'route',
    halts: Sequence[tuple[float, float]] = (),
) -> WorldDrive:
    """
    Drive in a world.

    Parameters
    ----------
    world
        One of ``WORLDS``, or another made like them.
    day
        From 0; the IMU is mounted a little differently each day, and has another bias.
    laps, seconds
        How long; one of the two. Laps are those on the route, whatever is driven besides.
    seed
        Of this drive, from 0: its lines, its paces, its noise.
    course
        ``route`` for laps alone; ``pit_lane`` to leave the route once some laps in, drive a lane
        beside it slowly, stop there and come back; ``off_route`` to drive another loop for twice
        the length of a lap in between; ``reverse`` for the route the wrong way round. The second
        and the third need ``FEWEST_LAPS``.
    halts
        Where the vehicle also stands, in laps since the start, and for how many seconds.

    Raises
    ------
    InputError
        If not exactly one of laps and seconds is given, or a number makes no sense.

    """
    laps = _check(world, laps, seconds, day, seed)
    if course in {'pit_lane', 'off_route'} and laps < FEWEST_LAPS:
        msg = f'{laps} laps in {world.name} are too few to leave the route: choose {FEWEST_LAPS}.'
        raise InputError(msg)
    random = generator(world, course, day, seed)
    way = plan(world, course, laps, random)
    every = math.ceil(LEAST_HZ / world.rate_hz)
    grip = 1.0 + _DAY_GRIP * float(generator(world, 'grip', day).standard_normal())
    ridden = ride(world, way, 1.0 / (world.rate_hz * every), random, grip=grip, halts=halts)
    if seconds is not None:
        ridden = ridden.until(seconds)
    samples = measured(world, ridden, every, day, seed)
    times, places = received(world, ridden, day, seed)
    stamps, late = (_stamps(each, day) for each in (ridden.times[::every], times))
    recording = Recording(
        f'{world.name}, {course}, day {day}, seed {seed}',
        ImuStream('/imu', 'imu', stamps, samples, stamps),
        PositionStream('/position', 'map', 'geometry_msgs/msg/PointStamped', late, places),
    )
    ridden = ridden.every(every)
    return WorldDrive(recording, ridden.positions[:, :2], ridden.on_route)


def _check(world: World, laps: int | None, seconds: float | None, day: int, seed: int) -> int:
    """Return for how many laps a way is needed."""
    if (laps is None) == (seconds is None):
        msg = f'A drive in {world.name} was asked for {laps} laps and {seconds} s: choose one.'
        raise InputError(msg)
    least = min(day, seed, 0 if laps is None else laps - 1)
    if least < 0 or not 0.0 < (seconds or 1.0) < math.inf:
        msg = (
            f'A drive in {world.name} was asked for day {day}, seed {seed}, {laps} laps and '
            f'{seconds} s: days and seeds begin at 0, laps at 1, and seconds are above 0.'
        )
        raise InputError(msg)
    if seconds is None:
        return laps or 1
    line = route(world)
    length = float(np.linalg.norm(np.diff(line[:, :2], axis=0), axis=1).sum())
    return math.ceil(_NEVER_FASTER * world.top_speed * seconds / length) + 2


def _stamps(times: Floats, day: int) -> Ints:
    """Return stamps in nanoseconds of times in seconds since the drive began."""
    return START_STAMP_NS + day * _DAY_NS + np.round(1e9 * times).astype(np.int64)
