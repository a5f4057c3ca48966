# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A drive in a simulated world: the samples of its IMU, its positions, and the truth.

The same world, day and seed give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.signal import lfilter
from scipy.spatial.transform import Rotation

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.recording import ImuStream, PositionStream, Recording
from two_manifold_ros.simulation.slot_car import START_STAMP_NS, true_imu
from two_manifold_ros.typing import Bools, Floats, Ints
from worlds.course import lap_factor, plan, ride, route

if TYPE_CHECKING:
    from worlds.course import Course, Ride
    from worlds.table import World


def oversampling(world: World) -> int:
    """Return the steps of the motion per IMU sample: 50 Hz or more, so that the sway is smooth."""
    return math.ceil(50.0 / world.rate_hz)


def ideal_imu(world: World, ride: Ride) -> Floats:
    """
    Return the output of a faultless IMU in the body of the vehicle.

    The body rolls and pitches on its suspension under the forces, and points into bends by the
    slip angle. It is (T, 6): specific force, m/s^2, and angular rate, rad/s, in x, y and z.
    """
    imu = true_imu(ride.way.curve, ride.distances, ride.speeds, ride.accelerations)
    step_s = float(ride.times[1] - ride.times[0])
    forward, left = imu[:, 0], imu[:, 1]
    roll, pitch, slip = world.sway
    sway = np.stack([roll * left, -pitch * forward, slip * left], axis=1)
    # Time constant of a suspension: of a full-size car 0.1 to 0.2 s.
    sway = gaussian_filter1d(sway, 0.12 / step_s, axis=0, mode='nearest')
    rate = np.gradient(sway, step_s, axis=0)
    back = Rotation.from_rotvec(sway).inv()
    force, turning = back.apply(imu[:, :3]), back.apply(imu[:, 3:])
    # Rate of the axes themselves, to the second order in the angles of a few degrees.
    turning += rate - 0.5 * np.cross(sway, rate)
    return np.concatenate([force, turning], axis=1)


def imu_samples(world: World, ride: Ride, ideal: Floats, day: int, seed: int) -> Floats:
    """Return the (T, 6) samples of the IMU, with all its errors, of the ``ideal`` ones (T, 6)."""
    grade = world.imu
    each = np.repeat([0, 1], 3)
    shaken = ideal + _vibration(world, ride, world.generator('vibration', day, seed))
    turned = mounting(world, day).inv()
    samples = np.concatenate([turned.apply(shaken[:, :3]), turned.apply(shaken[:, 3:])], axis=1)
    device = world.generator('device')
    crossing = grade.crossing * grade.scale * device.standard_normal((2, 3, 3))
    for axis in range(3):
        crossing[:, axis, axis] = 1.0 + grade.scale * device.standard_normal(2)
    samples = np.concatenate([samples[:, :3] @ crossing[0], samples[:, 3:] @ crossing[1]], axis=1)
    switched_on = world.generator('bias', day)
    shares = math.sqrt(1.0 - grade.renewed**2), grade.renewed
    spread = np.array(grade.bias)[each]
    for share, random in zip(shares, (device, switched_on), strict=True):
        samples += share * spread * random.standard_normal(6)
    noise = world.generator('imu', day, seed)
    # What temperature adds to the biases, in drifts.
    course = device.standard_normal(6)
    warmth = 1.0 - np.exp(-ride.times / grade.warm_s)
    steps = grade.wander_s / float(ride.times[1] - ride.times[0])
    warming = course * warmth[:, None] + grade.wander * _remembered(noise, len(warmth), 6, steps)
    samples += np.array(grade.drift)[each] * warming
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
    shift = world.generator('mounting', day).standard_normal(3)
    # Per axis and per day, of an angle between two days about any axis.
    shift *= math.radians(world.shift_deg) * math.sqrt(1.0 / 6.0)
    return Rotation.from_rotvec(shift) * usual


def received_positions(world: World, ride: Ride, day: int, seed: int) -> tuple[Floats, Floats]:
    """Return the (M,) late stamps, seconds, and (M, 2) positions, metres, as received."""
    grade = world.positions
    random = world.generator('positions', day, seed)
    seconds = float(ride.times[-1])
    true_times = np.arange(0.0, seconds - grade.late_s, 1.0 / grade.rate_hz)
    true = ride.positions[:, :2]
    places = np.stack([np.interp(true_times, ride.times, column) for column in true.T], axis=1)
    count = len(places)
    kept = np.ones(count, dtype=np.bool_)
    places += grade.white_m * random.standard_normal(places.shape)
    places += grade.wander_m * _remembered(random, count, 2, grade.wander_s * grade.rate_hz)
    for _ in range(random.poisson(grade.jumps * seconds / 3600.0)):
        begin, width = random.uniform(0.0, seconds), random.uniform(*grade.jump_s)
        during = (true_times >= begin) & (true_times < begin + width)
        angle = random.uniform(0.0, 2.0 * math.pi)
        places[during] += grade.jump_m * np.array([math.cos(angle), math.sin(angle)])
    for _ in range(random.poisson(grade.outages * seconds / 3600.0)):
        begin, width = random.uniform(0.0, seconds), random.uniform(*grade.outage_s)
        kept &= (true_times < begin) | (true_times >= begin + width)
    return true_times[kept] + grade.late_s, places[kept]


def _vibration(world: World, ride: Ride, random: np.random.Generator) -> Floats:
    """
    Return the (T, 6) vibration from wheels, engine and surface, which grows with the speed.

    Half of its power is noise, half are tones in step with the wheels, whatever the rate of the
    IMU: faster ones are aliased, as where an analogue filter is missing.
    """
    strength = world.idle + (1.0 - world.idle) * np.abs(ride.speeds) / world.top_speed
    shapes = random.standard_normal((len(strength), 6))
    turns = ride.distances / world.wheel_m
    # Imbalance of a wheel, a shaft and gears: turns per turn of a wheel, and amplitude.
    for order, size in ((1.0, 0.3), (6.3, 0.5), (17.7, 0.4)):
        phases = 2.0 * math.pi * (order * turns[:, None] + random.uniform(0.0, 1.0, 6))
        shapes += size * 2.0 * np.sin(phases)
    # The tones have a power of 1 together, as has the noise. Shared between the axes: most
    # vertical, then rolling, and least in yaw.
    shapes *= np.array([0.6, 0.7, 1.0, 1.0, 0.8, 0.25]) / math.sqrt(2.0)
    return np.asarray(shapes * strength[:, None] * np.repeat(world.vibration, 3))


def _remembered(random: np.random.Generator, count: int, columns: int, steps: float) -> Floats:
    """Return (count, columns) noise of spread 1 along the rows with a memory of some steps."""
    memory = math.exp(-1.0 / steps) if steps > 0.0 else 0.0
    shocks = random.standard_normal((count, columns))
    shocks[1:] *= math.sqrt(1.0 - memory**2)
    return np.asarray(lfilter([1.0], [1.0, -memory], shocks, axis=0))


@dataclass(frozen=True)
class WorldDrive:
    """A drive as a user would have recorded it, with the truth beside it."""

    recording: Recording  # IMU, and positions that are noisy and late
    truth: Floats  # (N, 2), true position at the stamp of each IMU sample, metres
    on_route: Bools  # (N,), whether it was on the route then, in the trained direction
    laps: Floats  # (N,), laps since the start, without what was driven elsewhere


def drive(
    world: World,
    *,
    day: int = 0,
    laps: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    course: Course = 'route',
    halts: Sequence[tuple[float, float]] = (),
    lap_ratios: Sequence[float] = (),
) -> WorldDrive:
    """
    Drive in a world for so many ``laps`` on its route or ``seconds``, one of the two.

    On each ``day`` the IMU is mounted a little differently and has another bias; the ``seed``
    draws lines, speed ratios and noise of this drive. The ``course`` is ``route`` for laps alone;
    ``pit_lane`` to leave the route once some laps in, drive a lane beside it slowly, stop there
    and come back; ``off_route`` to drive another loop for twice the length of a lap in between;
    ``reverse`` for the route the wrong way round. The second and the third need three laps.
    ``halts`` are further stops: laps since the start, and seconds. ``lap_ratios`` are factors on
    all speeds of the first laps. An ``InputError`` says which number makes no sense.
    """
    if not all(0.0 < ratio <= 1.0 for ratio in lap_ratios):
        msg = f'Laps in {world.name} were asked for at ratios {tuple(lap_ratios)}: 0 to 1.'
        raise InputError(msg)
    laps = _laps_needed(world, laps, seconds, day, seed)
    # One lap before it leaves the route, one on which it leaves, one after.
    if course in {'pit_lane', 'off_route'} and laps < 3:
        raise InputError(f'{laps} laps in {world.name} are too few to leave the route: choose 3.')
    random = world.generator(course, day, seed)
    way = plan(world, course, laps, random)
    every = oversampling(world)
    spread = world.habits.day_grip
    grip: float | Floats = 1.0 + spread * float(world.generator('grip', day).standard_normal())
    if lap_ratios:
        grip = grip * lap_factor(world, way, lap_ratios)
    ridden = ride(world, way, 1.0 / (world.rate_hz * every), random, grip=grip, halts=halts)
    if seconds is not None:
        ridden = ridden.until(seconds)
    ideal = ideal_imu(world, ridden)
    return recorded(world, ridden, ideal, every, day, seed, course)


def recorded(
    world: World, ride: Ride, ideal: Floats, every: int, day: int, seed: int, what: str
) -> WorldDrive:
    """
    Return a ride as it is recorded, with a sample at every so many of its times.

    ``ideal`` (T, 6) is what a faultless IMU reads, see `ideal_imu`; ``what`` was driven goes into
    the name.
    """
    times, places = received_positions(world, ride, day, seed)
    ridden = ride.every(every)
    samples = imu_samples(world, ridden, ideal[::every], day, seed)
    stamps, late = (_stamps(each, day) for each in (ridden.times, times))
    recording = Recording(
        f'{world.name}, {what}, day {day}, seed {seed}',
        ImuStream('/imu', 'imu', stamps, samples, stamps),
        PositionStream('/position', 'map', 'geometry_msgs/msg/PointStamped', late, places),
    )
    way = ridden.way
    laps = np.interp(ridden.distances, way.distances, way.phases)
    return WorldDrive(recording, ridden.positions[:, :2], ridden.on_route, laps)


def _laps_needed(
    world: World, laps: int | None, seconds: float | None, day: int, seed: int
) -> int:
    """Check the numbers of a drive; return the laps that its line needs."""
    if (laps is None) == (seconds is None):
        msg = f'A drive in {world.name} was asked for {laps} laps and {seconds} s: choose one.'
        raise InputError(msg)
    least = min(day, seed, 0 if laps is None else laps - 1)
    if least < 0 or not 0.0 < (seconds or 1.0) < math.inf:
        raise InputError(
            f'A drive in {world.name} was asked for day {day}, seed {seed}, {laps} laps and '
            f'{seconds} s: days and seeds start at 0, laps at 1, and seconds are above 0.'
        )
    if seconds is None:
        return laps or 1
    line = route(world)
    length = float(np.linalg.norm(np.diff(line[:, :2], axis=0), axis=1).sum())
    # No vehicle is faster than 1.3 times its top speed.
    return math.ceil(1.3 * world.top_speed * seconds / length) + 2


def _stamps(times: Floats, day: int) -> Ints:
    """Return stamps in nanoseconds of times in seconds since the drive started."""
    return START_STAMP_NS + day * 86_400_000_000_000 + np.round(1e9 * times).astype(np.int64)
