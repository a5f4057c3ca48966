# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What can be chosen about the simulated slot car."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from two_manifold_ros.errors import InputError

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
