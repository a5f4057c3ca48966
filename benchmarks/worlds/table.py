# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The table of simulated worlds: vehicles on their routes, by physical parameters.

`course` makes lines and rides of a world, `drive` drives as a user would record them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
import math
import zlib

import numpy as np

from two_manifold_ros.errors import InputError

Pair = tuple[float, float]


@dataclass(frozen=True)
class ImuGrade:
    """Errors of an IMU; pairs are for the accelerometer, m/s^2, and the gyroscope, rad/s."""

    density: Pair  # of the white noise, per root hertz
    bias: Pair  # spread of the bias from the first sample on
    drift: Pair  # spread of what warming up adds
    scale: float  # spread of the scale errors, no unit
    quantum: Pair  # smallest step; 0 for none
    rail: Pair  # largest value
    warm_s: float = 900.0  # time constant of warming up after it is switched on
    wander_s: float = 300.0  # correlation time of the slow wander of a bias around that
    wander: float = 0.2  # spread of this wander, in drifts
    renewed: float = 0.35  # share of the bias that is drawn each time an IMU is switched on
    crossing: float = 0.3  # cross-axis errors in scale errors, as in data sheets of MEMS sensors


@dataclass(frozen=True)
class PositionGrade:
    """Errors of a source of positions."""

    rate_hz: float
    white_m: float  # spread of the noise that is new in each position, per axis
    wander_m: float  # spread of the noise that stays for long, per axis
    wander_s: float  # its correlation time
    late_s: float  # by how much stamps are later than the positions
    jumps: float  # in an hour
    jump_m: float
    outages: float  # in an hour
    jump_s: Pair = (0.2, 2.0)  # shortest and longest jump, as on recorded drives
    outage_s: Pair = (1.0, 12.0)  # a gantry, a bridge, a short tunnel


@dataclass(frozen=True)
class Habits:
    """Distributions of lines, speeds and detours; shares are of a lap unless stated otherwise."""

    eased: float = 0.004  # share over which a bend starts and ends, as roads have transitions
    joined: float = 0.002  # share over which one leg of a drive goes over into the next
    line_knots: float = 12.0  # independent choices of the line in a lap: one for each bend or so
    bend_knots: float = 20.0  # and of the speed: one for its entry and one for its exit
    bend_spread: float = 0.5  # spread of the speed in a bend, in spreads of the speed ratio
    slowest: float = 0.5  # bounds of what the factors of one moment make of the usual speed
    fastest: float = 1.3
    lift_share: Pair = (0.02, 0.06)  # over which a driver who lifts is slower: some seconds
    lift_depth: Pair = (0.2, 0.6)  # share of the speed lost then, from a lift to an evasion
    lane_share: float = 0.22  # that a pit lane runs beside the route, as on racing circuits
    ramp_share: float = 0.2  # share of the lane over which it leaves the route and comes back
    lane_speed: float = 0.4  # its speed over the usual mean speed: 60 to 80 km/h of a racing car
    lane_stop_s: Pair = (8.0, 20.0)  # a change of drivers or tyres
    leaves_after: int = 3  # laps before the vehicle leaves the route, or half of the laps if fewer
    rounds_elsewhere: int = 2  # of the other loop, each as long as a lap
    reach: Pair = (0.45, 1.0)  # distances of its corners from its middle, over the farthest
    off_route: float = 4.0  # spreads of the line beyond which the vehicle has left the route
    starts_s: float = 3.0  # that it stands first, while the recorder is already running
    creep: float = 0.02  # share of the top speed below which only a stop limits the speed
    day_grip: float = 0.03  # spread of the speed between days: weather, tyres, who drives
    lap_eased: float = 0.02  # share over which a driver changes over to the ratio of the next lap


OF_VEHICLE = {'device', 'bias', 'mounting', 'grip'}
"""Purposes of random numbers that are of the vehicle and its IMU, wherever it drives."""


@dataclass(frozen=True)
class World:
    """A vehicle on its route, with its sensors; its name also draws what is not written here."""

    name: str
    corners: tuple[tuple[float, float, float], ...]  # x and y, m, and the radius of the bend, m
    top_speed: float  # m/s
    lateral: float  # greatest acceleration across in bends, m/s^2
    thrust: float  # from rest, m/s^2
    brake: float  # m/s^2
    ease_s: float  # how long driver and machine take to change the acceleration
    line_m: float  # spread of the line to the sides
    speed_spread: float  # spread of the speed at one place, no unit
    lifts: float  # how often in a lap the driver is suddenly slower
    lane_m: float  # distance of a lane beside the route
    sway: tuple[float, float, float]  # roll and pitch of the body, and slip angle, rad per m/s^2
    vibration: Pair  # at top speed, rms of accelerometer and gyroscope on the most shaken axis
    wheel_m: float  # metres per turn of a wheel
    rate_hz: float  # samples a second
    imu: ImuGrade
    mounting_deg: tuple[float, float, float]  # roll, pitch and yaw of the IMU in the vehicle
    positions: PositionGrade
    hills_m: float = 0.0  # height of hills
    bank: float = 0.0  # in the sharpest bend, radians; bends lean inwards
    blocked: float = 0.0  # how often in a lap it stands where there is no station
    stations: tuple[float, ...] = ()  # where it stops in each lap, in shares of it
    dwell_s: Pair = (2.0, 6.0)  # shortest and longest stop
    idle: float = 0.0  # share of the vibration that a standing vehicle has
    shift_deg: float = 2.0  # usual angle between the mountings of the IMU on two days
    live: tuple[bool, ...] = (True,) * 6  # which channels the IMU has
    habits: Habits = Habits()
    vehicle: str = ''  # whose vehicle and IMU it is; its own where empty

    def generator(self, purpose: str, *numbers: int) -> np.random.Generator:
        """Return the random generator of one purpose; each has a stream of its own."""
        name = self.vehicle if self.vehicle and purpose in OF_VEHICLE else self.name
        keys = [zlib.crc32(name.encode()), zlib.crc32(purpose.encode()), *numbers]
        return np.random.default_rng(np.random.SeedSequence(keys))


def _table_of_worlds() -> tuple[World, ...]:
    """Make all worlds."""
    # Toys and loggers: 400 ug/rtHz, 12 bits over +-8 g, 4 g, 500 deg/s, no calibration.
    cheap = ImuGrade((4e-3, 2e-4), (0.3, 0.03), (0.15, 0.015), 0.02, (0.04, 1.1e-3), (39.2, 8.7))
    # Flight controllers: 150 ug/rtHz, 16 bits over 8 g and 500 deg/s.
    fair = ImuGrade(
        (1.5e-3, 1e-4), (0.1, 0.008), (0.05, 0.004), 0.007, (2.4e-3, 2.7e-4), (78.4, 8.7)
    )
    # Calibrated industrial units: 50 ug/rtHz, 5 deg/h and less in bias over minutes.
    boundless = math.inf, math.inf
    good = ImuGrade((5e-4, 3e-5), (0.02, 1.5e-3), (0.01, 8e-4), 0.0015, (0.0, 0.0), boundless)
    # A data logger for racing cars, up to 2.5 g and 300 deg/s.
    railed = ImuGrade((4e-3, 2e-4), (0.4, 0.02), (0.15, 0.01), 0.02, (0.012, 2e-3), (24.5, 5.2))

    # Markers and cameras in a room, with a marker taken for another now and then.
    mocap = PositionGrade(100.0, 5e-4, 1e-3, 20.0, 0.015, 6.0, 0.4, 60.0)
    # One camera under the ceiling: centimetres, the delay of a picture and of finding a car in it.
    camera = PositionGrade(25.0, 0.01, 0.01, 5.0, 0.08, 20.0, 0.5, 60.0)
    # Laser scans matched to a map: steady errors of centimetres, now and then a wrong match.
    lidar = PositionGrade(10.0, 0.02, 0.05, 8.0, 0.12, 10.0, 0.8, 20.0)
    # Satellites with carrier phase, which falls back to worse solutions.
    rtk = PositionGrade(10.0, 0.015, 0.02, 60.0, 0.1, 6.0, 0.6, 30.0)
    # A receiver of ten positions a second, filtered and thereby late.
    gps = PositionGrade(10.0, 0.15, 0.8, 60.0, 0.3, 6.0, 12.0, 12.0)
    # A receiver as in loggers, late by as much as one on a recorded drive was.
    slow_gps = PositionGrade(5.0, 0.25, 1.5, 120.0, 0.74, 8.0, 40.0, 10.0)
    # One position a second between houses.
    street_gps = PositionGrade(1.0, 0.5, 2.5, 90.0, 0.6, 20.0, 25.0, 20.0)

    # Rows of a table, by route, vehicle, driver, body, sensors.
    # fmt: off
    slot_car = World(
        name='slot_car', hills_m=0.03, bank=0.25, corners=(
            (0.0, 0.0, 0.4), (3.2, 0.0, 0.4), (3.2, 1.2, 0.4), (2.1, 1.2, 0.25), (1.9, 0.65, 0.25),
            (1.1, 0.65, 0.25), (0.9, 1.3, 0.3), (-0.9, 1.3, 0.4), (-0.9, 0.3, 0.3),
            (-0.5, 0.0, 0.2)),
        top_speed=4.0, lateral=6.0, thrust=4.0, brake=4.0, ease_s=0.06,
        line_m=0.002, speed_spread=0.07, lifts=0.1, lane_m=0.1,
        sway=(1e-3, 1e-3, 0.01), vibration=(1.2, 0.12), wheel_m=0.06,
        rate_hz=100.0, imu=cheap, mounting_deg=(2.0, -4.0, 90.0), positions=camera,
    )
    rc_car = World(
        name='rc_car', corners=(
            (0.0, 0.0, 0.9), (5.5, 0.0, 0.9), (6.0, 2.0, 0.7), (3.6, 2.6, 0.6), (4.2, 4.6, 0.8),
            (1.0, 5.0, 0.8), (1.3, 2.5, 0.7), (-0.5, 2.2, 0.7)),
        top_speed=5.0, lateral=7.0, thrust=4.0, brake=6.0, ease_s=0.1,
        line_m=0.06, speed_spread=0.08, lifts=0.1, lane_m=0.5,
        sway=(6e-3, 6e-3, 0.02), vibration=(3.2, 0.25), wheel_m=0.33,
        rate_hz=100.0, imu=fair, mounting_deg=(180.0, 3.0, 5.0), positions=mocap,
    )
    rc_car_25hz = replace(
        rc_car, name='rc_car_25hz', corners=(
            (0.0, 0.0, 0.8), (4.0, 0.0, 0.7), (5.5, 1.8, 0.7), (8.5, 0.6, 0.8), (9.0, 4.0, 0.9),
            (5.8, 4.4, 0.6), (4.0, 2.9, 0.6), (2.8, 5.0, 0.7), (-0.6, 4.0, 0.8)),
        line_m=0.1, speed_spread=0.1, lane_m=0.8,
        rate_hz=25.0, imu=cheap, mounting_deg=(2.0, -3.0, 90.0), positions=camera,
        live=(True, True, False, False, False, True),
    )
    kart = World(
        name='kart', hills_m=1.0, bank=0.03, corners=(
            (0.0, 0.0, 18.0), (204.0, 0.0, 14.0), (212.0, 60.0, 10.0), (145.0, 68.0, 8.0),
            (140.0, 110.0, 11.0), (212.0, 128.0, 11.0), (200.0, 183.0, 14.0), (94.0, 174.0, 9.0),
            (81.0, 94.0, 10.0), (42.0, 98.0, 9.0), (26.0, 170.0, 13.0), (-26.0, 162.0, 14.0)),
        top_speed=31.0, lateral=17.0, thrust=5.5, brake=9.0, ease_s=0.2,
        line_m=0.5, speed_spread=0.06, lifts=0.2, dwell_s=(3.0, 10.0), lane_m=7.0,
        sway=(1e-3, 1e-3, 8e-3), vibration=(12.0, 0.8), idle=0.15, wheel_m=0.87,
        rate_hz=100.0, imu=fair, mounting_deg=(3.0, -8.0, -90.0), positions=gps,
    )
    kart_25hz = replace(
        kart, name='kart_25hz', rate_hz=25.0, imu=cheap, mounting_deg=(-5.0, 10.0, 0.0),
    )
    car = World(
        name='car', hills_m=8.0, bank=0.05, corners=(
            (0.0, 0.0, 60.0), (1180.0, 0.0, 75.0), (1250.0, 350.0, 50.0), (940.0, 450.0, 45.0),
            (900.0, 190.0, 38.0), (610.0, 180.0, 45.0), (590.0, 500.0, 34.0), (295.0, 555.0, 65.0),
            (390.0, 295.0, 32.0), (-70.0, 270.0, 55.0)),
        top_speed=52.0, lateral=9.5, thrust=4.5, brake=9.0, ease_s=0.3,
        line_m=0.8, speed_spread=0.07, lifts=0.3, dwell_s=(5.0, 20.0), lane_m=14.0,
        sway=(6e-3, 4e-3, 4e-3), vibration=(2.0, 0.06), idle=0.1, wheel_m=2.0,
        rate_hz=50.0, imu=fair, mounting_deg=(1.0, 6.0, 0.0), positions=gps,
    )
    car_5hz = replace(
        car, name='car_5hz', speed_spread=0.08, vibration=(9.0, 0.1),
        rate_hz=5.0, imu=railed, positions=slow_gps,
        live=(True, True, True, False, False, True),
    )
    tram = World(
        name='tram', hills_m=3.0, bank=0.04, corners=(
            (0.0, 0.0, 40.0), (110.0, 0.0, 60.0), (210.0, 50.0, 60.0), (280.0, 50.0, 30.0),
            (330.0, 20.0, 22.0), (390.0, 35.0, 22.0), (395.0, 90.0, 22.0), (335.0, 97.0, 22.0),
            (280.0, 58.0, 30.0), (208.0, 58.0, 68.0), (108.0, 8.0, 52.0), (0.0, 8.0, 40.0),
            (-50.0, 38.0, 22.0), (-105.0, 27.0, 22.0), (-105.0, -27.0, 22.0),
            (-50.0, -32.0, 22.0)),
        stations=(0.02, 0.28, 0.62), dwell_s=(5.0, 30.0), blocked=0.2,
        top_speed=14.0, lateral=1.2, thrust=1.2, brake=1.3, ease_s=0.5,
        line_m=0.02, speed_spread=0.1, lifts=0.5, lane_m=4.0,
        sway=(6e-3, 2e-3, 0.0), vibration=(0.5, 0.01), idle=0.05, wheel_m=2.1,
        rate_hz=50.0, imu=good, mounting_deg=(0.0, 0.0, 180.0), positions=street_gps,
    )
    agv = World(
        name='agv', hills_m=0.02, corners=(
            (0.0, 0.0, 1.0), (15.0, 0.0, 1.0), (15.0, 6.0, 1.0), (9.0, 6.0, 1.0), (9.0, 10.0, 1.0),
            (18.0, 10.0, 1.0), (18.0, 15.0, 1.0), (3.0, 15.0, 1.0), (3.0, 9.0, 1.0),
            (-3.0, 9.0, 1.0), (-3.0, 0.0, 1.0)),
        stations=(0.15, 0.45, 0.8), dwell_s=(3.0, 12.0), blocked=0.5,
        top_speed=1.8, lateral=0.8, thrust=0.6, brake=0.8, ease_s=0.25,
        line_m=0.05, speed_spread=0.05, lifts=0.5, lane_m=1.6,
        sway=(3e-3, 3e-3, 0.0), vibration=(0.6, 0.02), idle=0.05, wheel_m=0.6,
        rate_hz=50.0, imu=fair, mounting_deg=(0.0, 5.0, 45.0), positions=lidar,
    )
    figure_eight = World(
        name='figure_eight', corners=(
            (-34.0, -14.0, 8.0), (30.0, 13.0, 8.0), (38.0, -2.0, 7.0), (28.0, -15.0, 8.0),
            (-30.0, 14.0, 9.0), (-42.0, 2.0, 7.0)),
        blocked=0.1, dwell_s=(3.0, 8.0),
        top_speed=10.0, lateral=4.0, thrust=2.0, brake=3.0, ease_s=0.3,
        line_m=0.35, speed_spread=0.1, lifts=0.3, lane_m=4.0,
        sway=(5e-3, 4e-3, 4e-3), vibration=(1.8, 0.1), idle=0.1, wheel_m=1.2,
        rate_hz=50.0, imu=cheap, mounting_deg=(-4.0, 2.0, 30.0), positions=rtk,
    )
    # fmt: on
    return (
        *(slot_car, rc_car, rc_car_25hz, kart, kart_25hz),
        *(car, car_5hz, tram, agv, figure_eight),
    )


WORLDS = _table_of_worlds()
"""From a table top to a circuit of 4 km; the name of a world says what it is."""


def world_named(name: str) -> World:
    """Return a world of the table; raise InputError if there is none of this name."""
    for world in WORLDS:
        if world.name == name:
            return world
    msg = f'there is no world {name!r}; choose one of {", ".join(each.name for each in WORLDS)}'
    raise InputError(msg)
