# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A slot car that can be stepped live."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import accumulate
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np
from scipy.spatial.transform import Rotation

from two_manifold_ros.errors import InputError
from two_manifold_ros.simulation.track import Track

if TYPE_CHECKING:
    from two_manifold_ros.simulation.track import SpaceCurve
    from two_manifold_ros.typing import Floats


START_STAMP_NS = 1_767_225_600_000_000_000
"""Stamp of the first sample, nanoseconds: 2026-01-01 00:00 UTC, so that bags are reproducible."""

_RANGES = {'rate_hz': (1.0, 1000.0), 'noise': (0.0, 100.0), 'speed_wander': (0.0, 5.0)}


@dataclass(frozen=True)
class SlotCarSettings:
    """
    Choices for one run; the same settings give the same samples bit by bit.

    Parameters
    ----------
    seed
        Integer from 0 on. It draws the throttle, the bias and noise of the IMU and the camera.
    rate_hz
        IMU samples per second, 1 to 1000 Hz.
    noise
        Scales bias, noise and vibration of the IMU and the noise of the camera, 0 to 100
        (no unit); 1 is a cheap MEMS IMU, 0 the truth.
    speed_wander
        Scales the wander of the throttle and of the supply, 0 to 5 (no unit); 1 varies the speed
        at one place by about 5 %, 0 makes every lap the same.

    Raises
    ------
    InputError
        If a value is out of range.

    """

    seed: int = 0
    rate_hz: float = 100.0
    noise: float = 1.0
    speed_wander: float = 1.0

    def __post_init__(self) -> None:
        if self.seed < 0:
            msg = f'The seed of the slot car is {self.seed}: choose an integer from 0 on.'
            raise InputError(msg)
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if not low <= value <= high:
                msg = f'{name} of the slot car is {value:g}: choose {low:g} to {high:g}.'
                raise InputError(msg)

    @property
    def period_ns(self) -> int:
        """Distance between IMU samples, nanoseconds."""
        return round(1e9 / self.rate_hz)

    def generator(self, purpose: str) -> np.random.Generator:
        """
        Return the random generator of ``'bias'``, ``'throttle'``, ``'imu'`` or ``'camera'``.

        Each has a stream of its own, so that more noise on the IMU does not change the driving.
        """
        index = ('bias', 'throttle', 'imu', 'camera').index(purpose)
        return np.random.default_rng(np.random.SeedSequence([self.seed, index]))


MEAN_THROTTLE = 0.48
"""Share of the full voltage that the driver holds, no unit."""

# Standard deviation (share of the mean throttle) and time constant (seconds) at speed_wander 1.
_HAND = (0.06, 3.0)
_SUPPLY = (0.025, 60.0)


class Throttle:
    """
    A constant throttle on which two slow Ornstein-Uhlenbeck processes ride.

    The quicker one is the hand of the driver, the slower one the supply or battery.

    Parameters
    ----------
    settings
        Seed and ``speed_wander``.
    step_s
        Distance between two values, seconds.

    """

    def __init__(self, settings: SlotCarSettings, step_s: float) -> None:
        self._random = settings.generator('throttle')
        self._hand = _Wander(self._random.standard_normal(), *_HAND, settings, step_s)
        self._supply = _Wander(self._random.standard_normal(), *_SUPPLY, settings, step_s)

    def take(self, count: int) -> list[float]:
        """Return the next ``count`` values, 0 (shorted) to 1 (full voltage)."""
        shocks = self._random.standard_normal((count, 2)).T.tolist()
        pairs = zip(self._hand.take(shocks[0]), self._supply.take(shocks[1]), strict=True)
        return [
            min(max(MEAN_THROTTLE * (1.0 + hand) * (1.0 + supply), 0.0), 1.0)
            for hand, supply in pairs
        ]


class _Wander:
    """A stationary Ornstein-Uhlenbeck process, advanced exactly whatever the step."""

    def __init__(
        self, start: float, spread: float, time_s: float, settings: SlotCarSettings, step_s: float
    ) -> None:
        self._memory = math.exp(-step_s / time_s)
        spread *= settings.speed_wander
        self._shock = spread * math.sqrt(1.0 - self._memory**2)
        self._value = spread * start

    def take(self, shocks: list[float]) -> list[float]:
        """Return one value per standard normal shock."""
        memory, scale = self._memory, self._shock
        values = list(
            accumulate(
                shocks, lambda value, shock: memory * value + scale * shock, initial=self._value
            )
        )
        self._value = values.pop()
        return values


GRAVITY = 9.80665
"""Standard gravity, m/s^2."""

# All per kilogram of car, so m/s^2 unless said.
_STALL = 4.0  # pull of the motor at full voltage, standing
_FREE_SPEED = 5.0  # m/s at which the motor's own voltage equals the full supply
_ROLLING = 0.04  # drag per contact force, no unit
_SLOT_FRICTION = 0.15  # drag per lateral force on the guide and the tyres, no unit
_AIR_DRAG = 0.015  # 1/m, times the square of the speed

_CELLS_PER_METRE = 1000


class Motion:
    """
    A point mass in the slot: distance and speed along the track.

    Attributes
    ----------
    distance
        Metres driven since the start line was first crossed; never folded back at a lap.
    speed
        m/s, never negative.

    """

    def __init__(self, track: Track) -> None:
        self.distance = 0.0
        self.speed = 0.0
        cells = round(track.length * _CELLS_PER_METRE)
        self._cells = cells
        self._cells_per_metre = cells / track.length
        # A step at 1 kHz is longer than a cell, so nothing is gained between the cells.
        middles = np.arange(cells, dtype=np.float64) + 0.5
        self._loads = _loads(track, middles * (track.length / cells))

    def acceleration(self, throttle: float) -> float:
        """Return the acceleration along the tangent, m/s^2, at a throttle of 0 to 1."""
        speed = self.speed
        climb, side_bend, side_weight, normal_bend, normal_weight = self._loads[
            int(self.distance * self._cells_per_metre) % self._cells
        ]
        square = speed * speed
        contact = max(normal_bend * square + normal_weight, 0.0)
        side = abs(side_bend * square + side_weight)
        motor = _STALL * (throttle - speed / _FREE_SPEED)
        drag = _ROLLING * contact + _SLOT_FRICTION * side + _AIR_DRAG * square
        total = motor - drag - climb
        return total if speed > 0.0 else max(total, 0.0)

    def step(self, throttle: float, step_s: float) -> None:
        """Drive on for ``step_s`` seconds (1 ms or less) at one throttle."""
        acceleration = self.acceleration(throttle)
        self.distance += self.speed * step_s
        self.speed = max(self.speed + acceleration * step_s, 0.0)


def _loads(track: Track, s: Floats) -> list[tuple[float, ...]]:
    """Return, per arc length, climb and the lateral and normal forces: 1/m and m/s^2."""
    frame = track.frame(s)
    bend = np.einsum('nij,ni->nj', frame, track.curvature(s))
    weight = GRAVITY * frame[:, 2]
    columns = [weight[:, 0], bend[:, 1], weight[:, 1], bend[:, 2], weight[:, 2]]
    return [tuple(row) for row in np.stack(columns, axis=1).tolist()]


TYPICAL_SPEED = 1.5
"""Speed at which the stated variances hold, m/s."""

# Accelerometer (m/s^2), then gyroscope (rad/s), at noise 1: the constant bias, the density of the
# white noise (per root hertz), and the vibration per m/s of speed.
_BIAS = np.repeat([0.2, 0.02], 3)
_DENSITY = np.repeat([4e-3, 2e-4], 3)
_VIBRATION = np.repeat([0.3, 0.03], 3)


def true_imu(track: SpaceCurve, distance: Floats, speed: Floats, acceleration: Floats) -> Floats:
    """
    Return the (..., 6) specific force (m/s^2) and angular rate (rad/s) in the car's axes.

    The axes are x forward, y left, z up; at rest on a level track z reads +9.81 m/s^2 (REP-145).

    Parameters
    ----------
    track
        Where the car drives.
    distance, speed, acceleration : (...,)
        Along the track: m, m/s, m/s^2.

    """
    frame = track.frame(distance)
    force = acceleration[..., None] * frame[..., 0]
    force += np.square(speed)[..., None] * track.curvature(distance)
    force[..., 2] += GRAVITY
    specific_force = np.einsum('...ij,...i->...j', frame, force)
    return np.concatenate([specific_force, speed[..., None] * track.turning(distance)], axis=-1)


class ImuNoise:
    """
    The errors of one IMU: a bias drawn once, white noise, and vibration that grows with speed.

    Parameters
    ----------
    settings
        Seed, rate (a quicker IMU is noisier per sample) and ``noise``.

    """

    def __init__(self, settings: SlotCarSettings) -> None:
        self._random = settings.generator('imu')
        self.bias = settings.noise * _BIAS * settings.generator('bias').standard_normal(6)
        self._white = settings.noise * _DENSITY * np.sqrt(settings.rate_hz / 2.0)
        self._vibration = settings.noise * _VIBRATION

    def disturb(self, values: Floats, speed: Floats) -> Floats:
        """Return the (n, 6) true values with errors, given the (n,) speeds in m/s."""
        shape = np.sqrt(self.variances(speed))
        return values + self.bias + shape * self._random.standard_normal(values.shape)

    def variances(self, speed: Floats | float = TYPICAL_SPEED) -> Floats:
        """Return the (..., 6) variances without the bias, (m/s^2)^2 and (rad/s)^2."""
        vibration = np.multiply.outer(speed, self._vibration)
        return np.asarray(self._white**2 + vibration**2)


_SPREAD = 0.005  # metres, standard deviation per axis at noise 1


class Camera:
    """
    Sees the position of the car with a little noise.

    Parameters
    ----------
    settings
        Seed and ``noise``.

    """

    def __init__(self, settings: SlotCarSettings) -> None:
        self._random = settings.generator('camera')
        self._spread = settings.noise * _SPREAD

    def see(self, positions: Floats) -> Floats:
        """Return the (..., 3) positions, metres, as seen; one call or many give the same."""
        return positions + self._spread * self._random.standard_normal(positions.shape)


_LONGEST_STEP_S = 1e-3
_WARM_UP_S = 20.0  # many times the second or so in which the car forgets how it started
_SAMPLES_AT_ONCE = 32  # the geometry of so many samples costs little more than that of one


class SlotCarSample(NamedTuple):
    """
    One sample of the IMU with the truth beside it.

    Parameters
    ----------
    stamp_ns
        Nanoseconds; the first sample of every car has the same stamp.
    specific_force : (3,)
        m/s^2 in the car's axes (x forward, y left, z up), with the errors of the IMU.
    angular_rate : (3,)
        rad/s in the same axes, with the errors of the IMU.
    position : (3,)
        True position on the track, metres.
    quaternion : (4,)
        True orientation x, y, z, w of the car's axes in the track frame.
    distance
        Metres driven along the track, counted from the start line.
    speed
        True speed, m/s.

    """

    stamp_ns: int
    specific_force: Floats
    angular_rate: Floats
    position: Floats
    quaternion: Floats
    distance: float
    speed: float


class SlotCar:
    """
    A slot car that is rolling already and drives on by one IMU sample per call.

    Parameters
    ----------
    settings
        Seed, rate, noise and wander; equal settings give equal samples, bit by bit.

    """

    def __init__(self, settings: SlotCarSettings) -> None:
        self.track = Track()
        self.imu_noise = ImuNoise(settings)
        self._period_ns = settings.period_ns
        self._next_stamp_ns = START_STAMP_NS
        period_s = settings.period_ns * 1e-9
        self._steps = math.ceil(period_s / _LONGEST_STEP_S - 1e-9)
        self._step_s = period_s / self._steps
        self._motion = Motion(self.track)
        self._throttle = Throttle(settings, self._step_s)
        self._ready: deque[SlotCarSample] = deque()
        self._drive(self._throttle.take(round(_WARM_UP_S / self._step_s)))

    def step(self) -> SlotCarSample:
        """Return the next sample."""
        if not self._ready:
            self._ready.extend(self._more())
        return self._ready.popleft()

    def _drive(self, commands: list[float]) -> None:
        for command in commands:
            self._motion.step(command, self._step_s)

    def _more(self) -> list[SlotCarSample]:
        """Drive on by a block; the blocks are the same whoever asks."""
        states = []
        for _ in range(_SAMPLES_AT_ONCE):
            commands = self._throttle.take(self._steps)
            motion = self._motion
            states.append((motion.distance, motion.speed, motion.acceleration(commands[0])))
            self._drive(commands)
        return self._measure(np.array(states))

    def _measure(self, states: Floats) -> list[SlotCarSample]:
        """Return one sample per row of distance, speed and acceleration."""
        distance, speed, _ = states.T
        imu = self.imu_noise.disturb(true_imu(self.track, *states.T), speed)
        stamps = self._next_stamp_ns + self._period_ns * np.arange(len(states))
        self._next_stamp_ns += self._period_ns * len(states)
        rows = zip(
            stamps.tolist(),
            imu[:, :3],
            imu[:, 3:],
            self.track.position(distance),
            _quaternions(self.track.frame(distance)),
            distance.tolist(),
            speed.tolist(),
            strict=True,
        )
        return [SlotCarSample(*row) for row in rows]


def _quaternions(frames: Floats) -> Floats:
    """Return (n, 4) quaternions x, y, z, w with w never negative."""
    quaternions = np.asarray(Rotation.from_matrix(frames).as_quat())
    return np.where(quaternions[:, 3:] < 0.0, -quaternions, quaternions)
