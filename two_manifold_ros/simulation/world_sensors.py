# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the IMU and the receiver of positions of a simulated world make of a ride."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.signal import lfilter
from scipy.spatial.transform import Rotation

from two_manifold_ros.simulation.slot_car import true_imu
from two_manifold_ros.simulation.world_course import generator

if TYPE_CHECKING:
    from two_manifold_ros.simulation.world_course import Ride
    from two_manifold_ros.simulation.worlds import World
    from two_manifold_ros.typing import Floats

LEAST_HZ = 50.0
"""Motion is worked out at least as often, so that the body's sway is smooth for a slow IMU too."""

_SWAY_S = 0.12
"""Time constant of a suspension, seconds; of a full-size car 0.1 to 0.2 s."""

_WARM_S = 900.0
"""Time constant in which an IMU warms up after it is switched on, seconds."""

_UNSTEADY_S = 300.0
"""Correlation time of the slow wander of a bias around that, seconds."""

_UNSTEADY = 0.2
"""Spread of the wander, in drifts."""

_AFRESH = 0.35
"""Share of the bias that is another one each time an IMU is switched on; the rest stays."""

_MISALIGNED = 0.3
"""Cross-axis errors in scale errors, as data sheets of MEMS sensors have them."""

_TONES = ((1.0, 0.3), (6.3, 0.5), (17.7, 0.4))
"""Turns of a wheel's imbalance, of a shaft and of gears per turn of a wheel, and amplitudes."""

_AXES = np.array([0.6, 0.7, 1.0, 1.0, 0.8, 0.25])
"""How vibration is shared between the axes: most vertical, rolling, and least in yaw."""

_SHIFT_SHARE = math.sqrt(1.0 / 6.0)
"""Spread per axis of a day's mounting over the usual angle between the mountings of two days."""


@dataclass(frozen=True)
class ImuGrade:
    """
    Errors of an IMU, each for the accelerometer and for the gyroscope.

    Parameters
    ----------
    density
        Of the white noise, m/s^2 and rad/s per root hertz.
    bias, drift
        Spread of what is there at once, and of what warming up adds, m/s^2 and rad/s.
    scale
        Spread of the scale errors, no unit.
    quantum, rail
        Smallest step and largest value, m/s^2 and rad/s; a quantum of 0 for none.

    """

    density: tuple[float, float]
    bias: tuple[float, float]
    drift: tuple[float, float]
    scale: float
    quantum: tuple[float, float]
    rail: tuple[float, float]


CHEAP = ImuGrade(
    density=(4e-3, 2e-4),
    bias=(0.3, 0.03),
    drift=(0.15, 0.015),
    scale=0.02,
    quantum=(0.04, 1.1e-3),
    rail=(39.2, 8.7),
)
"""As in toys and loggers: 400 ug/rtHz, 12 bits over +-8 g, 4 g, 500 deg/s, no calibration."""

FAIR = ImuGrade(
    density=(1.5e-3, 1e-4),
    bias=(0.1, 0.008),
    drift=(0.05, 0.004),
    scale=0.007,
    quantum=(2.4e-3, 2.7e-4),
    rail=(78.4, 8.7),
)
"""As on flight controllers: 150 ug/rtHz, 16 bits over 8 g and 500 deg/s."""

GOOD = ImuGrade(
    density=(5e-4, 3e-5),
    bias=(0.02, 1.5e-3),
    drift=(0.01, 8e-4),
    scale=0.0015,
    quantum=(0.0, 0.0),
    rail=(math.inf, math.inf),
)
"""As in calibrated industrial units: 50 ug/rtHz, 5 deg/h and less in bias over minutes."""

RAILED = ImuGrade(
    density=(4e-3, 2e-4),
    bias=(0.4, 0.02),
    drift=(0.15, 0.01),
    scale=0.02,
    quantum=(0.012, 2e-3),
    rail=(24.5, 5.2),
)
"""As in a data logger for racing cars, which goes up to 2.5 g and 300 deg/s."""


@dataclass(frozen=True)
class PositionGrade:
    """
    Errors of a source of positions.

    Parameters
    ----------
    rate_hz
        Positions a second.
    white_m
        Spread of the noise that is new in each position, metres per axis.
    wander_m, wander_s
        Spread, metres per axis, and correlation time, seconds, of the noise that stays for long.
    late_s
        By how much stamps are later than the positions.
    jumps, jump_m
        Jumps in an hour, each away for a second or two, and how far, metres.
    outages
        Outages in an hour, each of some seconds.

    """

    rate_hz: float
    white_m: float
    wander_m: float
    wander_s: float
    late_s: float
    jumps: float
    jump_m: float
    outages: float


MOCAP = PositionGrade(100.0, 5e-4, 1e-3, 20.0, 0.015, 6.0, 0.4, 60.0)
"""Markers and cameras in a room, with a marker taken for another now and then."""

CAMERA = PositionGrade(25.0, 0.01, 0.01, 5.0, 0.08, 20.0, 0.5, 60.0)
"""One camera under the ceiling: centimetres, the delay of a picture and of finding a car in it."""

LIDAR = PositionGrade(10.0, 0.02, 0.05, 8.0, 0.12, 10.0, 0.8, 20.0)
"""Matching of laser scans to a map: steady errors of centimetres, now and then a wrong match."""

RTK = PositionGrade(10.0, 0.015, 0.02, 60.0, 0.1, 6.0, 0.6, 30.0)
"""Satellites with carrier phase, which falls back to worse solutions."""

GPS = PositionGrade(10.0, 0.15, 0.8, 60.0, 0.3, 6.0, 12.0, 12.0)
"""A receiver of ten positions a second, filtered and thereby late."""

SLOW_GPS = PositionGrade(5.0, 0.25, 1.5, 120.0, 0.74, 8.0, 40.0, 10.0)
"""A receiver as in loggers, late by as much as one on a recorded drive was."""

STREET_GPS = PositionGrade(1.0, 0.5, 2.5, 90.0, 0.6, 20.0, 25.0, 20.0)
"""One position a second between houses."""

_JUMP_S = (0.2, 2.0)
"""How long a jump of positions lasts, seconds, as on recorded drives."""

_OUTAGE_S = (1.0, 12.0)
"""How long positions stay away: a gantry, a bridge, a short tunnel."""


def felt(world: World, ride: Ride) -> Floats:
    """
    Return what a faultless IMU in the body of the vehicle feels.

    The body rolls and pitches on its suspension under the forces, and points into bends by the
    angle of slip.

    Returns
    -------
    (T, 6)
        Specific force in m/s^2, then angular rate in rad/s, x forward, y left and z up.

    """
    imu = true_imu(ride.way.curve, ride.distances, ride.speeds, ride.accelerations)
    step_s = float(ride.times[1] - ride.times[0])
    forward, left = imu[:, 0], imu[:, 1]
    roll, pitch, slip = world.sway
    sway = np.stack([roll * left, -pitch * forward, slip * left], axis=1)
    sway = gaussian_filter1d(sway, _SWAY_S / step_s, axis=0, mode='nearest')
    rate = np.gradient(sway, step_s, axis=0)
    back = Rotation.from_rotvec(sway).inv()
    force, turning = back.apply(imu[:, :3]), back.apply(imu[:, 3:])
    # Rate of the axes themselves, to the second order in the angles of a few degrees.
    turning += rate - 0.5 * np.cross(sway, rate)
    return np.concatenate([force, turning], axis=1)


def measured(world: World, ride: Ride, every: int, day: int, seed: int) -> Floats:
    """Return the IMU's samples, with all of its errors, at every so many times of a ride."""
    grade = world.imu
    each = np.repeat([0, 1], 3)
    shaken = felt(world, ride)[::every]
    ride = ride.every(every)
    shaken += _vibration(world, ride, generator(world, 'vibration', day, seed))
    turned = mounting(world, day).inv()
    samples = np.concatenate([turned.apply(shaken[:, :3]), turned.apply(shaken[:, 3:])], axis=1)
    device = generator(world, 'device')
    crossing = _MISALIGNED * grade.scale * device.standard_normal((2, 3, 3))
    for axis in range(3):
        crossing[:, axis, axis] = 1.0 + grade.scale * device.standard_normal(2)
    samples = np.concatenate([samples[:, :3] @ crossing[0], samples[:, 3:] @ crossing[1]], axis=1)
    switched_on = generator(world, 'bias', day)
    shares = math.sqrt(1.0 - _AFRESH**2), _AFRESH
    spread = np.array(grade.bias)[each]
    for share, random in zip(shares, (device, switched_on), strict=True):
        samples += share * spread * random.standard_normal(6)
    noise = generator(world, 'imu', day, seed)
    samples += np.array(grade.drift)[each] * _warming(ride, device.standard_normal(6), noise)
    # A stationary density over the bandwidth of half the rate of the IMU.
    spread = np.array(grade.density)[each] * math.sqrt(world.rate_hz / 2.0)
    samples += spread * noise.standard_normal(samples.shape)
    samples = samples.clip(-np.array(grade.rail)[each], np.array(grade.rail)[each])
    for channel, quantum in enumerate(np.array(grade.quantum)[each]):
        if quantum > 0.0:
            samples[:, channel] = quantum * np.round(samples[:, channel] / quantum)
    samples[:, ~np.array(world.live)] = 0.0
    return samples


def mounting(world: World, day: int) -> Rotation:
    """Return the rotation from the axes of the IMU to those of the body on a day."""
    usual = Rotation.from_euler('xyz', world.mounting_deg, degrees=True)
    shift = generator(world, 'mounting', day).standard_normal(3)
    shift *= math.radians(world.shift_deg) * _SHIFT_SHARE
    return Rotation.from_rotvec(shift) * usual


def received(world: World, ride: Ride, day: int, seed: int) -> tuple[Floats, Floats]:
    """
    Return when positions come and what they say.

    Returns
    -------
    times : (M,)
        Stamps in seconds, late.
    positions : (M, 2)
        Metres.

    """
    grade = world.positions
    random = generator(world, 'positions', day, seed)
    seconds = float(ride.times[-1])
    true_times = np.arange(0.0, seconds - grade.late_s, 1.0 / grade.rate_hz)
    true = ride.positions[:, :2]
    places = np.stack([np.interp(true_times, ride.times, column) for column in true.T], axis=1)
    count = len(places)
    kept = np.ones(count, dtype=np.bool_)
    places += grade.white_m * random.standard_normal(places.shape)
    places += grade.wander_m * _remembered(random, (count, 2), grade.wander_s * grade.rate_hz)
    for _ in range(random.poisson(grade.jumps * seconds / 3600.0)):
        begin, width = random.uniform(0.0, seconds), random.uniform(*_JUMP_S)
        during = (true_times >= begin) & (true_times < begin + width)
        angle = random.uniform(0.0, 2.0 * math.pi)
        places[during] += grade.jump_m * np.array([math.cos(angle), math.sin(angle)])
    for _ in range(random.poisson(grade.outages * seconds / 3600.0)):
        begin, width = random.uniform(0.0, seconds), random.uniform(*_OUTAGE_S)
        kept &= (true_times < begin) | (true_times >= begin + width)
    return true_times[kept] + grade.late_s, places[kept]


def _vibration(world: World, ride: Ride, random: np.random.Generator) -> Floats:
    """
    Return (T, 6) of what wheels, engine and surface shake, growing with the speed.

    Half of its power is noise, half are tones in step with the wheels, whatever the rate of the
    IMU: those that are too quick for it are folded down, as where a filter before it is missing.
    """
    strength = world.idle + (1.0 - world.idle) * ride.speeds / world.top_speed
    shapes = random.standard_normal((len(strength), 6))
    turns = ride.distances / world.wheel_m
    for order, size in _TONES:
        phases = 2.0 * math.pi * (order * turns[:, None] + random.uniform(0.0, 1.0, 6))
        shapes += size * 2.0 * np.sin(phases)
    # The tones above have a power of 1 together, as has the noise.
    shapes *= _AXES / math.sqrt(2.0)
    return np.asarray(shapes * strength[:, None] * np.repeat(world.vibration, 3))


def _warming(ride: Ride, course: Floats, random: np.random.Generator) -> Floats:
    """Return (T, 6) of what temperature adds to the biases, in drifts."""
    warmth = 1.0 - np.exp(-ride.times / _WARM_S)
    steps = _UNSTEADY_S / float(ride.times[1] - ride.times[0])
    return course * warmth[:, None] + _UNSTEADY * _remembered(random, (len(warmth), 6), steps)


def _remembered(random: np.random.Generator, shape: tuple[int, int], steps: float) -> Floats:
    """Return noise of spread 1 along the first axis that is forgotten in so many steps."""
    memory = math.exp(-1.0 / steps) if steps > 0.0 else 0.0
    shocks = random.standard_normal(shape)
    shocks[1:] *= math.sqrt(1.0 - memory**2)
    return np.asarray(lfilter([1.0], [1.0, -memory], shocks, axis=0))
