# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A slot car on its track that can be stepped live: driver, throttle, motion, IMU and camera."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from two_manifold_ros.errors import InputError
from two_manifold_ros.names import DRIVERS
from two_manifold_ros.recordings.recording import GRAVITY
from two_manifold_ros.typing import Floats

CONTROL_POINTS = np.array([
    (0.000, 0.000, 0.000, 0), (0.334, 0.000, 0.000, 0), (0.669, 0.000, 0.000, 0),
    (1.003, 0.000, 0.000, 0), (1.337, 0.000, 0.000, 0), (1.671, 0.000, 0.000, 0),
    (2.005, 0.002, 0.000, -4), (2.330, 0.062, 0.003, -17), (2.445, 0.362, 0.010, -7),
    (2.448, 0.696, 0.018, -4), (2.393, 1.022, 0.028, -17), (2.097, 1.141, 0.040, -11),
    (1.773, 1.074, 0.050, -7), (1.506, 0.874, 0.060, 6), (1.191, 0.789, 0.074, 13),
    (0.903, 0.948, 0.089, 1), (0.618, 1.117, 0.105, -8), (0.286, 1.138, 0.119, -12),
    (0.030, 0.961, 0.136, -15), (0.001, 0.629, 0.150, -2), (0.000, 0.295, 0.159, 0),
    (0.000, -0.039, 0.162, 0), (0.000, -0.373, 0.157, 0), (-0.002, -0.708, 0.147, 4),
    (-0.063, -1.032, 0.133, 17), (-0.364, -1.145, 0.120, 6), (-0.698, -1.150, 0.109, 0),
    (-1.033, -1.150, 0.099, 0), (-1.367, -1.150, 0.090, 0), (-1.701, -1.150, 0.081, 0),
    (-2.035, -1.147, 0.071, 4), (-2.354, -1.070, 0.061, 17), (-2.447, -0.758, 0.051, 5),
    (-2.449, -0.424, 0.043, 2), (-2.421, -0.092, 0.034, 15), (-2.167, 0.087, 0.022, 13),
    (-1.836, 0.056, 0.013, 8), (-1.555, -0.120, 0.006, 0), (-1.272, -0.292, 0.002, -9),
    (-0.942, -0.288, 0.000, -7), (-0.641, -0.146, 0.000, 1), (-0.333, -0.021, 0.000, 5),
])  # fmt: skip
CONTROL_POINTS[:, 3] = np.radians(CONTROL_POINTS[:, 3])
"""
(42, 4) float64: x, y, z in metres and the bank in radians, positive where the left side is up.

The points of the slot car's track in driving order, a third of a metre apart; the last is followed
by the first. The car passes the origin twice: on the table, then over the bridge. Bends and
straights repeat, as on a track of standard pieces, so that a moment of IMU does not give the place
away.
"""


class SpaceCurve:
    """
    A line to drive along, twice continuously differentiable, with a bank angle along it.

    Every method takes arc lengths `s` in metres of any shape and returns that shape followed by
    the shape that it names. The ``curve`` is x, y, z in metres and the bank in radians (positive
    where the left side is up) over arc length; the tangent must never be vertical.
    """

    def __init__(self, curve: CubicSpline, length: float) -> None:
        self.length = length
        self._curve = curve
        self._slopes = curve.derivative()
        self._bends = self._slopes.derivative()

    def position(self, s: Floats | float) -> Floats:
        """Return the (3,) position of the centre line, metres."""
        return np.asarray(self._curve(s)[..., :3])

    def bank(self, s: Floats | float) -> Floats:
        """Return the bank angle, radians; positive where the left side is up."""
        return np.asarray(self._curve(s)[..., 3])

    def curvature(self, s: Floats | float) -> Floats:
        """Return the (3,) derivative of the tangent, 1/m, pointing to the centre of the bend."""
        return np.asarray(self._bends(s)[..., :3])

    def frame(self, s: Floats | float) -> Floats:
        """Return the (3, 3) rotation whose columns are the tangent, left and up of the car."""
        tangent, left, up = self._level_frame(s)
        cosine, sine = np.cos(self.bank(s))[..., None], np.sin(self.bank(s))[..., None]
        return np.stack([tangent, cosine * left + sine * up, cosine * up - sine * left], axis=-1)

    def turning(self, s: Floats | float) -> Floats:
        """
        Return the (3,) rotation of the frame per metre driven, rad/m, in its own axes.

        Heading turns about the vertical, pitch about the level left axis and bank about the
        tangent; the axes of the frame split their sum.
        """
        tangent, left, _ = self._level_frame(s)
        bend = self.curvature(s)
        level = np.hypot(tangent[..., 0], tangent[..., 1])
        heading = (tangent[..., 0] * bend[..., 1] - tangent[..., 1] * bend[..., 0]) / level**2
        pitch = -bend[..., 2] / level
        total = self._slopes(s)[..., 3, None] * tangent + pitch[..., None] * left
        total[..., 2] += heading
        return np.asarray(np.einsum('...ij,...i->...j', self.frame(s), total))

    def _level_frame(self, s: Floats | float) -> tuple[Floats, Floats, Floats]:
        """Return tangent, left and up of a frame without bank, each (3,)."""
        slopes = self._slopes(s)[..., :3]
        tangent = slopes / np.linalg.norm(slopes, axis=-1, keepdims=True)
        level = np.stack(
            [-tangent[..., 1], tangent[..., 0], np.zeros(tangent.shape[:-1])], axis=-1
        )
        left = level / np.linalg.norm(level, axis=-1, keepdims=True)
        return tangent, left, np.cross(tangent, left)


class Track(SpaceCurve):
    """A closed centre line, periodic in its length, through points (P, 4) as `CONTROL_POINTS`."""

    def __init__(self, control_points: Floats = CONTROL_POINTS) -> None:
        closed = np.vstack([control_points, control_points[:1]])
        chords = np.linalg.norm(np.diff(closed[:, :3], axis=0), axis=1)
        knots = np.concatenate([[0.0], np.cumsum(chords)])
        spline = CubicSpline(knots, closed, bc_type='periodic')
        # Measured at 40,000 points and laid through 2,000: the speed is one but for millionths.
        parameter = np.linspace(0.0, knots[-1], 40_001)
        rate = np.linalg.norm(spline(parameter, 1)[:, :3], axis=1)
        pieces = 0.5 * (rate[1:] + rate[:-1]) * np.diff(parameter)
        arc_length = np.concatenate([[0.0], np.cumsum(pieces)])
        even = np.linspace(0.0, arc_length[-1], 2_001)
        points = spline(np.interp(even, arc_length, parameter))
        points[-1] = points[0]
        super().__init__(CubicSpline(even, points, bc_type='periodic'), float(arc_length[-1]))


START_STAMP_NS = 1_767_225_600_000_000_000
"""Stamp of the first sample, nanoseconds: 2026-01-01 00:00 UTC, so that bags are reproducible."""


@dataclass(frozen=True)
class Driver:
    """A driver who chooses once a second between two throttles, by the bend that lies ahead."""

    bend: float  # probability of the low throttle where a bend is ahead, and where none is
    straight: float

    # Shares of the full voltage, around the 0.48 of a steady hand; 0.4 takes every climb.
    levels = 0.40, 0.60
    hold_s = 1.0  # how long a choice is held; the speed follows a throttle within about 1.2 s
    look_ahead = 0.3  # metres, a fifth of the way until the next choice
    bend_from = 0.8  # rad/m of turning: half of the track lies in such bends


POLICIES = dict(
    zip(DRIVERS, (None, Driver(0.7, 0.3), Driver(0.3, 0.7), Driver(0.5, 0.5)), strict=True)
)
"""Drivers by name: the timid brakes for bends, the bold in between, the random does not look."""


@dataclass(frozen=True)
class SlotCarSettings:
    """Choices for one run; the same settings give the same samples bit by bit."""

    seed: int = 0  # from 0 on; it draws the throttle, bias and noise of the IMU and the camera
    rate_hz: float = 100.0  # IMU samples per second, 1 to 1000 Hz
    noise: float = 1.0  # scales errors of IMU and camera, 0 (the truth) to 100; 1 is a cheap IMU
    # Scales the wander of throttle and supply, 0 to 5; 1 varies the speed at a place by some 5 %.
    speed_wander: float = 1.0
    driver: str = 'steady'  # one of `DRIVERS`

    def __post_init__(self) -> None:
        ranges = {'rate_hz': (1.0, 1000.0), 'noise': (0.0, 100.0), 'speed_wander': (0.0, 5.0)}
        choices = {name: f'{low:g} to {high:g}' for name, (low, high) in ranges.items()}
        choices |= {'seed': 'an integer from 0 on', 'driver': f'one of {", ".join(DRIVERS)}'}
        bad = [
            name for name, (low, high) in ranges.items() if not low <= getattr(self, name) <= high
        ]
        bad += ['seed'] * (self.seed < 0) + ['driver'] * (self.driver not in DRIVERS)
        for name in bad:
            msg = f'{name} of the slot car is {getattr(self, name)}: choose {choices[name]}.'
            raise InputError(msg)

    @property
    def period_ns(self) -> int:
        """Interval between IMU samples, nanoseconds."""
        return round(1e9 / self.rate_hz)

    def generator(self, purpose: str) -> np.random.Generator:
        """Return the random generator of a purpose, each with a stream of its own."""
        known = ('bias', 'throttle', 'imu', 'camera', 'driver', '/magnetometer', '/wheel')
        index = known.index(purpose)
        return np.random.default_rng(np.random.SeedSequence([self.seed, index]))


class Throttle:
    """A throttle with two slow Ornstein-Uhlenbeck processes on it, in steps of ``step_s``."""

    mean = 0.48  # share of the full voltage that the driver holds
    # Standard deviation (share of the mean) and time constant (seconds) at speed_wander 1:
    hand = 0.06, 3.0  # of the driver
    supply = 0.025, 60.0  # of the battery or supply

    def __init__(self, settings: SlotCarSettings, step_s: float) -> None:
        self._random = settings.generator('throttle')
        # Of both processes: memory in a step, scale of a shock, and value.
        self._wanders: list[tuple[float, float, float]] = []
        for spread, time_s in (self.hand, self.supply):
            memory, spread_now = math.exp(-step_s / time_s), spread * settings.speed_wander
            scale = spread_now * math.sqrt(1.0 - memory**2)
            self._wanders.append((memory, scale, spread_now * self._random.standard_normal()))
        # What the driver commanded at the start of the last values, 0 to 1.
        self.command = self.mean

    def take(self, count: int, level: float | None = None) -> list[float]:
        """Return the next values, 0 to 1, of a steady hand or of the ``level`` of a driver."""
        shocks, wanders = self._random.standard_normal((count, 2)).T.tolist(), []
        for index, (memory, scale, newest) in enumerate(self._wanders):
            values = [newest]
            # Exact whatever the step.
            for shock in shocks[index]:
                values.append(memory * values[-1] + scale * shock)
            self._wanders[index] = memory, scale, values.pop()
            wanders.append(values)
        hands, supplies = wanders
        held = [self.mean * (1.0 + hand) for hand in hands] if level is None else [level] * count
        self.command = min(max(held[0], 0.0), 1.0)
        return [
            min(max(command * (1.0 + supply), 0.0), 1.0)
            for command, supply in zip(held, supplies, strict=True)
        ]


class Motion:
    """A point mass in the slot: ``distance`` (m) since the first start, and ``speed`` (m/s)."""

    # All per kilogram of car, so m/s^2 unless said.
    stall = 4.0  # pull of the motor at full voltage, standing
    free_speed = 5.0  # m/s at which the motor's own voltage equals the full supply
    rolling = 0.04  # drag per contact force, no unit
    slot_friction = 0.15  # drag per lateral force on the guide and the tyres, no unit
    air_drag = 0.015  # 1/m, times the square of the speed

    def __init__(self, track: Track) -> None:
        self.distance = 0.0
        self.speed = 0.0
        # Cells of a millimetre: a step at 1 kHz is longer, so there is no need to interpolate.
        self._cells = cells = round(track.length * 1000)
        self._cells_per_metre = cells / track.length
        s = (np.arange(cells, dtype=np.float64) + 0.5) * (track.length / cells)
        frame = track.frame(s)
        bend = np.einsum('nij,ni->nj', frame, track.curvature(s))
        weight = GRAVITY * frame[:, 2]
        # Climb, then lateral and normal force by speed squared (1/m) and by gravity (m/s^2).
        columns = [weight[:, 0], bend[:, 1], weight[:, 1], bend[:, 2], weight[:, 2]]
        self._loads: list[tuple[float, ...]] = np.stack(columns, axis=1).tolist()

    def acceleration(self, throttle: float) -> float:
        """Return the acceleration along the tangent, m/s^2, at a throttle of 0 to 1."""
        speed = self.speed
        climb, side_bend, side_weight, normal_bend, normal_weight = self._loads[
            int(self.distance * self._cells_per_metre) % self._cells
        ]
        square = speed * speed
        contact = max(normal_bend * square + normal_weight, 0.0)
        side = abs(side_bend * square + side_weight)
        motor = self.stall * (throttle - speed / self.free_speed)
        drag = self.rolling * contact + self.slot_friction * side + self.air_drag * square
        total = motor - drag - climb
        return total if speed > 0.0 else max(total, 0.0)

    def step(self, throttle: float, step_s: float) -> None:
        """Drive on for ``step_s`` seconds (1 ms or less) at one throttle."""
        acceleration = self.acceleration(throttle)
        self.distance += self.speed * step_s
        self.speed = max(self.speed + acceleration * step_s, 0.0)


def true_imu(track: SpaceCurve, distance: Floats, speed: Floats, acceleration: Floats) -> Floats:
    """
    Return the (..., 6) specific force (m/s^2) and angular rate (rad/s) in the car's axes.

    The axes are x forward, y left, z up; at rest on a level track z reads +9.81 m/s^2 (REP-145).
    Distance, speed and acceleration are along the track: (...,), m, m/s, m/s^2.
    """
    frame = track.frame(distance)
    force = acceleration[..., None] * frame[..., 0]
    force += np.square(speed)[..., None] * track.curvature(distance)
    force[..., 2] += GRAVITY
    specific_force = np.einsum('...ij,...i->...j', frame, force)
    return np.concatenate([specific_force, speed[..., None] * track.turning(distance)], axis=-1)


class ImuNoise:
    """The errors of one IMU: a bias drawn once, white noise, vibration that grows with speed."""

    typical_speed = 1.5  # m/s, at which messages state the variances

    def __init__(self, settings: SlotCarSettings) -> None:
        self._random, noise = settings.generator('imu'), settings.noise
        # Of the accelerometer (m/s^2) and the gyroscope (rad/s); density per root hertz, vibration
        # per m/s of speed.
        spread, density, vibration = np.repeat([[0.2, 0.02], [4e-3, 2e-4], [0.3, 0.03]], 3, axis=1)
        self.bias = noise * spread * settings.generator('bias').standard_normal(6)
        self._white = noise * density * np.sqrt(settings.rate_hz / 2.0)
        self._vibration = noise * vibration

    def disturb(self, values: Floats, speed: Floats) -> Floats:
        """Return the (n, 6) true values with errors, given the (n,) speeds in m/s."""
        shape = np.sqrt(self.variances(speed))
        return np.asarray(values + self.bias + shape * self._random.standard_normal(values.shape))

    def variances(self, speed: Floats | float = typical_speed) -> Floats:
        """Return the (..., 6) variances without the bias, (m/s^2)^2 and (rad/s)^2."""
        vibration = np.multiply.outer(speed, self._vibration)
        return np.asarray(self._white**2 + vibration**2)


class Camera:
    """A camera that sees the car, with 5 mm of noise per axis times ``noise`` of the settings."""

    def __init__(self, settings: SlotCarSettings) -> None:
        self._random = settings.generator('camera')
        self._spread = settings.noise * 0.005

    def see(self, positions: Floats) -> Floats:
        """Return the (..., 3) positions, metres, with noise; one call or many give the same."""
        return positions + self._spread * self._random.standard_normal(positions.shape)


class SlotCarSample(NamedTuple):
    """One sample of the IMU with the truth beside it."""

    stamp_ns: int  # the first sample of every car has the same stamp
    specific_force: Floats  # (3,), m/s^2, x forward, y left, z up, with the errors of the IMU
    angular_rate: Floats  # (3,), rad/s in the same axes, with the errors of the IMU
    position: Floats  # (3,), metres, true
    quaternion: Floats  # (4,), x, y, z, w of the car in the track frame, true; w is never negative
    distance: float  # metres driven along the track since the start line, true
    speed: float  # m/s, true
    command: float  # throttle that the driver commands from here on, share of the full voltage
    chance: float  # with which he chose it, given all that he saw; 1 of a steady driver


class SlotCar:
    """A slot car that is rolling already and drives on by one IMU sample per call."""

    def __init__(self, settings: SlotCarSettings, track: Track | None = None) -> None:
        self.track = track or Track()
        self.imu_noise = ImuNoise(settings)
        self._period_ns = settings.period_ns
        self._next_stamp_ns = START_STAMP_NS
        period_s = settings.period_ns * 1e-9
        # No step of the motion is longer than a millisecond.
        self._steps = math.ceil(period_s / 1e-3 - 1e-9)
        self._step_s = period_s / self._steps
        self._motion = Motion(self.track)
        self._throttle = Throttle(settings, self._step_s)
        self._driver = POLICIES[settings.driver]
        self._choices = settings.generator('driver')
        self._level: float | None = None
        self._chance = 1.0
        self._held = 0  # samples so far
        self._ready: deque[SlotCarSample] = deque()
        # After 20 s, many times its time constant, the car has forgotten how it started.
        for throttle in self._throttle.take(round(20.0 / self._step_s)):
            self._motion.step(throttle, self._step_s)

    def step(self) -> SlotCarSample:
        """Return the next sample."""
        if not self._ready:
            # The geometry of 32 samples costs little more than that of one.
            self._ready.extend(self._measure(np.array([self._next_state() for _ in range(32)])))
        return self._ready.popleft()

    def _next_state(self) -> tuple[float, ...]:
        """Drive on by one sample; return the true state before, as `_measure` takes it."""
        driver, motion = self._driver, self._motion
        # A driver chooses when he has held the last choice for long enough.
        if driver and self._held % math.ceil(driver.hold_s * 1e9 / self._period_ns) == 0:
            ahead = np.float64(motion.distance + driver.look_ahead)
            bends = abs(float(self.track.turning(ahead)[2])) > driver.bend_from
            low = driver.bend if bends else driver.straight
            chosen = int(self._choices.random() >= low)
            self._level, self._chance = driver.levels[chosen], (low, 1.0 - low)[chosen]
        self._held += 1
        throttles = self._throttle.take(self._steps, self._level)
        acceleration = motion.acceleration(throttles[0])
        state = motion.distance, motion.speed, acceleration, self._throttle.command, self._chance
        for throttle in throttles:
            motion.step(throttle, self._step_s)
        return state

    def _measure(self, states: Floats) -> list[SlotCarSample]:
        """Return one sample per row of distance, speed, acceleration, command and chance."""
        distance, speed, acceleration, command, chance = states.T
        true = true_imu(self.track, distance, speed, acceleration)
        imu = self.imu_noise.disturb(true, speed)
        stamps = self._next_stamp_ns + self._period_ns * np.arange(len(states))
        self._next_stamp_ns += self._period_ns * len(states)
        quaternions = np.asarray(Rotation.from_matrix(self.track.frame(distance)).as_quat())
        rows = zip(
            stamps.tolist(),
            imu[:, :3],
            imu[:, 3:],
            self.track.position(distance),
            np.where(quaternions[:, 3:] < 0.0, -quaternions, quaternions),
            distance.tolist(),
            speed.tolist(),
            command.tolist(),
            chance.tolist(),
            strict=True,
        )
        return [SlotCarSample(*row) for row in rows]
