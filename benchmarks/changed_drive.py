# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A drive of the slot car during which something changes for good."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from two_manifold_ros.simulation.camera import Camera
from two_manifold_ros.simulation.motion import Motion
from two_manifold_ros.simulation.slot_car_imu import ImuNoise, true_imu
from two_manifold_ros.simulation.slot_car_settings import SlotCarSettings
from two_manifold_ros.simulation.throttle import Throttle
from two_manifold_ros.simulation.track import Track

BEFORE_S, AFTER_S = 200, 60
RATE_HZ = 100.0
STEPS = 10
WARM_UP_STEPS = 20_000
EVERY = 4
"""Samples of the IMU for one position of the reference."""


@dataclass(frozen=True)
class Change:
    """What becomes different half way."""

    throttle: float = 1.0
    noise: float = 1.0
    reversed_channel: int | None = None


@dataclass(frozen=True)
class Drive:
    """Samples at 100 Hz with the truth beside them."""

    stamps: np.ndarray
    imu: np.ndarray
    positions: np.ndarray
    seen: np.ndarray
    laps: np.ndarray


def drive(seed: int, change: Change) -> Drive:
    """Drive past the change; before it the same seed gives the same samples."""
    settings = SlotCarSettings(seed=seed, rate_hz=RATE_HZ)
    track = Track()
    motion, throttle, step_s = Motion(track), Throttle(settings, 1e-3), 1e-3
    for command in throttle.take(WARM_UP_STEPS):
        motion.step(command, step_s)
    count, begin = int((BEFORE_S + AFTER_S) * RATE_HZ), int(BEFORE_S * RATE_HZ)
    states = np.empty((count, 3))
    for index in range(count):
        factor = change.throttle if index >= begin else 1.0
        commands = [factor * each for each in throttle.take(STEPS)]
        states[index] = motion.distance, motion.speed, motion.acceleration(commands[0])
        for command in commands:
            motion.step(command, step_s)
    distance, speed, _ = states.T
    noise, true = ImuNoise(settings), true_imu(track, *states.T)
    imu = noise.disturb(true, speed)
    imu[begin:] += (change.noise - 1.0) * (imu - true - noise.bias)[begin:]
    if change.reversed_channel is not None:
        imu[begin:, change.reversed_channel] *= -1.0
    positions = track.position(distance)
    stamps = 10**18 + settings.period_ns * np.arange(count, dtype=np.int64)
    laps = np.floor((distance - distance[begin]) / track.length).astype(int)
    seen = Camera(settings).see(positions[::EVERY])
    return Drive(stamps, imu, positions[:, :2], seen[:, :2], laps)
