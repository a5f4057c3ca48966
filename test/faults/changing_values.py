# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Faults of what an IMU measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from fault import Change, Stretch
    from healthy_drive import HealthyDrive, Sample

GRAVITY = 9.80665
FORCE, RATE = slice(0, 3), slice(3, 6)
X, Y, Z = 0, 1, 2
ROLL, PITCH, YAW = 3, 4, 5


def values_by(change: Callable[[np.ndarray], np.ndarray]) -> Change:
    """Change the values of every sample."""

    def apply(stretch: Stretch, _: HealthyDrive) -> Stretch:
        return [each._replace(values=change(each.values.copy())) for each in stretch]

    return apply


def scaled(channels: slice | int, factor: float) -> Change:
    """Give wrong units, or a wrong sign."""

    def scale(values: np.ndarray) -> np.ndarray:
        values[channels] *= factor
        return values

    return values_by(scale)


def set_to(channels: slice | int, value: float, *, refused: str = '', every: int = 1) -> Change:
    """Put a number in the place of what was measured, in each so-manieth message."""

    def apply(stretch: Stretch, _: HealthyDrive) -> Stretch:
        changed = []
        for index, sample in enumerate(stretch):
            if index % every:
                changed.append(sample)
                continue
            values = sample.values.copy()
            values[channels] = value
            changed.append(sample._replace(values=values, refused=refused))
        return changed

    return apply


def without_gravity(values: np.ndarray) -> np.ndarray:
    values[Z] -= GRAVITY
    return values


def turned(values: np.ndarray) -> np.ndarray:
    """Return what an IMU that is mounted half round about z measures."""
    return values * np.array([-1.0, -1.0, 1.0, -1.0, -1.0, 1.0])


def upside_down(values: np.ndarray) -> np.ndarray:
    """Return what axes x forward, y right, z down (NED) measure."""
    return values * np.array([1.0, -1.0, -1.0, 1.0, -1.0, -1.0])


def clipped(channels: slice | int, at: float) -> Change:
    """Let channels saturate."""

    def clip(values: np.ndarray) -> np.ndarray:
        values[channels] = np.clip(values[channels], -at, at)
        return values

    return values_by(clip)


def rounded(step: float) -> Change:
    """Let all channels have coarse steps."""
    return values_by(lambda values: np.round(values / step) * step)


def frozen(stretch: Stretch, _: HealthyDrive) -> Stretch:
    """Repeat the first values, with stamps that go on."""
    return [each._replace(values=stretch[0].values) for each in stretch]


def garbled(raw: bytes, every: int = 1) -> Change:
    """Send bytes that are no message."""

    def garble(index: int, sample: Sample) -> Sample:
        return sample if index % every else sample._replace(raw=raw, refused='malformed')

    def apply(stretch: Stretch, _: HealthyDrive) -> Stretch:
        return [garble(index, sample) for index, sample in enumerate(stretch)]

    return apply


def framed(name: str) -> Change:
    """Name another frame in every header."""

    def apply(stretch: Stretch, _: HealthyDrive) -> Stretch:
        return [each._replace(frame=name) for each in stretch]

    return apply
