# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Lessons made of arrays and of paths that are driven."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from two_manifold_ros.comparison.comparing import TrainSplit
from two_manifold_ros.ticks.segments import fit_channels, Segment
from two_manifold_ros.training.dataset import Dataset
from two_manifold_ros.training.settings import TrainingSettings

PERIOD_NS = 100_000_000


def segment_of(values: np.ndarray, positions: np.ndarray) -> Segment:
    return Segment(PERIOD_NS * np.arange(1, len(values) + 1), values, positions)


def wander(seed: int, ticks: int) -> Segment:
    """Return six channels and a position without any relation between them."""
    rng = np.random.default_rng(seed)
    return segment_of(rng.normal(size=(ticks, 6)), rng.normal(size=(ticks, 2)).cumsum(axis=0))


def circle(seed: int, ticks: int, lap: int = 40) -> Segment:
    """Return laps of the unit circle; the channels show the phase, with a little noise."""
    phase = 2 * np.pi * np.arange(ticks) / lap
    harmonics = [np.cos(phase), np.sin(phase), np.cos(2 * phase), np.sin(2 * phase)]
    values = np.stack([*harmonics, np.cos(3 * phase), np.sin(3 * phase)], axis=1)
    noise = np.random.default_rng(seed).normal(scale=0.05, size=values.shape)
    return segment_of(values + noise, np.stack(harmonics[:2], axis=1))


def train_of(
    *segments: Segment, window: int = 5, horizons: tuple[int, ...] = (0, 2, 7)
) -> TrainSplit:
    channels = fit_channels(segments, np.full(6, 100.0))
    dataset = Dataset(segments, channels, 10.0, PERIOD_NS, window, 2 * PERIOD_NS, Counter())
    return TrainSplit((), dataset, TrainingSettings(window=window, horizons=horizons))


def without_positions(segment: Segment) -> Segment:
    return replace(segment, positions=np.full_like(segment.positions, np.nan))


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
