# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Faults of the car rather than of its IMU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from healthy_drive import RATE_HZ
import numpy as np

from two_manifold_ros.simulation.slot_car import ImuNoise, true_imu
from two_manifold_ros.simulation.track import Track

if TYPE_CHECKING:
    from fault import Change, Stretch
    from healthy_drive import HealthyDrive, Sample

OVAL = np.array(
    [
        (1.9 * np.cos(angle), 1.2 * np.sin(angle) + 0.3 * np.cos(3 * angle), 0.0, 0.0)
        for angle in np.linspace(0.0, 2.0 * np.pi, 20, endpoint=False)
    ]
)
"""Control points of another track, as long as that of the model and with as tight bends."""


def elsewhere(seconds: float) -> Change:
    """Lift the car off and put it down where it would have been later, driving."""

    def apply(stretch: Stretch, drive: HealthyDrive) -> Stretch:
        begin_s = (stretch[0].taken_ns - drive.begin_ns) / 1e9 + seconds
        there = drive.between(begin_s, begin_s + len(stretch) / RATE_HZ)
        return [
            here._replace(taken_ns=other.taken_ns, values=other.values)
            for here, other in zip(stretch, there, strict=True)
        ]

    return apply


def in_the_hand(stretch: Stretch, _: HealthyDrive) -> Stretch:
    """Carry the car: tilted, turned and shaken."""
    random = np.random.default_rng(4)
    time = np.arange(len(stretch)) / RATE_HZ
    tilt = np.minimum(time, 1.0)
    values = random.normal(scale=[1.0, 1.0, 1.0, 0.5, 0.5, 0.5], size=(len(stretch), 6))
    values[:, 1] += 9.81 * np.sin(tilt)
    values[:, 2] += 9.81 * np.cos(tilt)
    values[:, 3] += tilt < 1.0
    rows = zip(stretch, values, strict=True)
    return [each._replace(taken_ns=None, values=row) for each, row in rows]


def backwards(stretch: Stretch, drive: HealthyDrive) -> Stretch:
    """
    Turn the car round and let it drive back the way it came, as quickly.

    Turned round in time forces stay and rates turn; turned round in space x and y turn.
    """
    end = (stretch[0].taken_ns - drive.begin_ns) / 1e9
    before = drive.between(end - len(stretch) / RATE_HZ, end)[::-1]
    return [_driven_back(*pair) for pair in zip(stretch, before, strict=True)]


def _driven_back(here: Sample, there: Sample) -> Sample:
    values = there.values * np.array([-1.0, -1.0, 1.0, 1.0, 1.0, -1.0])
    return here._replace(taken_ns=there.taken_ns, values=values)


def onwards(seconds: float) -> Change:
    """Let the car drive on from where it was so long before this stretch."""
    return elsewhere(-seconds)


def on_another_track(stretch: Stretch, drive: HealthyDrive) -> Stretch:
    """Put the car on another track and let it drive there as quickly."""
    run = drive.run
    rows = np.searchsorted(run.stamps_ns, [each.taken_ns for each in stretch])
    speed = run.speeds
    pull = np.gradient(speed, (run.stamps_ns - run.stamps_ns[0]) / 1e9)
    felt = true_imu(Track(OVAL), run.distances[rows], speed[rows], pull[rows])
    noisy = ImuNoise(run.settings).disturb(felt, speed[rows])
    return [
        each._replace(taken_ns=None, values=values)
        for each, values in zip(stretch, noisy, strict=True)
    ]
