# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A run of the slot car as arrays."""

from __future__ import annotations

from dataclasses import dataclass
import itertools
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.simulation.slot_car import SlotCar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from two_manifold_ros.simulation.slot_car import SlotCarSample
    from two_manifold_ros.simulation.slot_car_settings import SlotCarSettings
    from two_manifold_ros.typing import Floats, Ints


@dataclass(frozen=True)
class SlotCarRun:
    """
    All samples of one run.

    Parameters
    ----------
    settings
        What the run was made with.
    stamps_ns : (N,) int64
        Nanoseconds.
    imu : (N, 6)
        Specific force in m/s^2 and angular rate in rad/s with the errors of the IMU.
    positions : (N, 3)
        True positions, metres.
    quaternions : (N, 4)
        True orientations x, y, z, w.
    distances : (N,)
        Metres driven along the track, counted from the start line.
    speeds : (N,)
        True speeds, m/s.

    """

    settings: SlotCarSettings
    stamps_ns: Ints
    imu: Floats
    positions: Floats
    quaternions: Floats
    distances: Floats
    speeds: Floats


def simulate(
    settings: SlotCarSettings, *, laps: int | None = None, samples: int | None = None
) -> SlotCarRun:
    """
    Drive a number of laps, or a number of IMU samples.

    Parameters
    ----------
    settings
        Seed, rate, noise and wander.
    laps
        Whole laps to drive; the last sample is the first one that completes them.
    samples
        IMU samples to take instead.

    Raises
    ------
    InputError
        Unless exactly one of the two is given and is at least 1.

    """
    count = laps if samples is None else samples
    if count is None or count < 1 or (laps is not None and samples is not None):
        msg = f'The slot car was asked for {laps} laps and {samples} samples: choose one, from 1.'
        raise InputError(msg)
    car = SlotCar(settings)
    if laps is None:
        return _as_run(settings, [car.step() for _ in range(count)])
    return _as_run(settings, list(_driven(car, laps * car.track.length)))


def _driven(car: SlotCar, metres: float) -> Iterator[SlotCarSample]:
    """Yield samples up to the first that is so far behind the first one."""
    first = car.step()
    yield first
    for sample in (car.step() for _ in itertools.count()):
        yield sample
        if sample.distance - first.distance >= metres:
            return


def _as_run(settings: SlotCarSettings, samples: list[SlotCarSample]) -> SlotCarRun:
    stamps, forces, rates, positions, quaternions, distances, speeds = zip(*samples, strict=True)
    return SlotCarRun(
        settings=settings,
        stamps_ns=np.array(stamps, dtype=np.int64),
        imu=np.hstack([np.array(forces), np.array(rates)]),
        positions=np.array(positions),
        quaternions=np.array(quaternions),
        distances=np.array(distances),
        speeds=np.array(speeds),
    )
