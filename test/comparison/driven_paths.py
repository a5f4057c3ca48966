# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Segments of a vehicle that drives in the plane with a perfect IMU."""

from collections.abc import Callable

import numpy as np
from small_trains import PERIOD_NS, segment_of

from two_manifold_ros.ticks.segments import Segment

PERIOD_S = PERIOD_NS * 1e-9
FINE = 200

MOUNT = np.zeros((6, 3))
"""Upside down and turned by a right angle, the yaw rate in units of two rad/s."""
MOUNT[0, 2], MOUNT[1, 1], MOUNT[5, 0] = 1.0, -1.0, -0.5
GRAVITY = np.array([0.3, -0.2, -9.81, 0.0, 0.0, 0.01])


def driven(
    ticks: int, rate: Callable[[np.ndarray], np.ndarray], speed: Callable[[np.ndarray], np.ndarray]
) -> Segment:
    """Integrate a yaw rate and a speed, functions of the seconds, 200 steps a tick."""
    step = PERIOD_S / FINE
    seconds = step * (np.arange(ticks * FINE) + 0.5)
    rates, speeds = rate(seconds), speed(seconds)
    heading = step * (np.cumsum(rates) - rates / 2.0)
    velocity = speeds[:, None] * np.stack([np.cos(heading), np.sin(heading)], axis=1)
    positions = step * velocity.cumsum(axis=0)[FINE - 1 :: FINE]
    inputs = np.stack([rates, np.gradient(speeds, step), speeds * rates], axis=1)
    means = inputs.reshape(ticks, FINE, 3).mean(axis=1)
    return segment_of(means @ MOUNT.T + GRAVITY, positions)


def varied(ticks: int) -> Segment:
    """Return bends to both sides at changing speed, to learn the axes from."""
    return driven(
        ticks,
        lambda t: 0.5 * np.sin(0.4 * t) + 0.3 * np.cos(0.23 * t),
        lambda t: 2.0 + 0.6 * np.sin(0.5 * t + 1.0),
    )


def steady(ticks: int, rate: float, speed: float) -> Segment:
    """Return a circle, or a straight line."""
    return driven(ticks, lambda t: np.full_like(t, rate), lambda t: np.full_like(t, speed))
