# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A slot car that can be stepped live."""

from __future__ import annotations

from collections import deque
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np
from scipy.spatial.transform import Rotation

from two_manifold_ros.simulation.motion import Motion
from two_manifold_ros.simulation.slot_car_imu import ImuNoise, true_imu
from two_manifold_ros.simulation.slot_car_settings import START_STAMP_NS
from two_manifold_ros.simulation.throttle import Throttle
from two_manifold_ros.simulation.track import Track

if TYPE_CHECKING:
    from two_manifold_ros.simulation.slot_car_settings import SlotCarSettings
    from two_manifold_ros.typing import Floats

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
