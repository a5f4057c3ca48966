# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A run of the slot car as arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.simulation.slot_car import SlotCar

if TYPE_CHECKING:
    from two_manifold_ros.simulation.slot_car import SlotCarSample
    from two_manifold_ros.simulation.slot_car_settings import SlotCarSettings
    from two_manifold_ros.typing import Floats, Ints

Report: TypeAlias = Callable[[str, float], None]
"""Hears what is being done and how far it is, 0 to 1."""

_REPORT_EVERY = 1000  # samples


def unheard(what: str, fraction: float) -> None:
    """Be the `Report` of those who do not want one."""


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
    settings: SlotCarSettings,
    *,
    laps: int | None = None,
    samples: int | None = None,
    report: Report = unheard,
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
    report
        Hears now and then how far it is.

    Raises
    ------
    InputError
        Unless exactly one of the two is given and is at least 1.

    """
    goal = laps if samples is None else samples
    if goal is None or goal < 1 or (laps is not None and samples is not None):
        msg = f'The slot car was asked for {laps} laps and {samples} samples: choose one, from 1.'
        raise InputError(msg)
    car = SlotCar(settings)
    taken: list[SlotCarSample] = []
    fraction = 0.0
    while fraction < 1.0:
        taken.append(car.step())
        driven = (taken[-1].distance - taken[0].distance) / car.track.length
        fraction = (len(taken) if laps is None else driven) / goal
        if len(taken) % _REPORT_EVERY == 0:
            report('driving', fraction)
    return _as_run(settings, taken)


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
