# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Drives around a made-up loop whose phase is known at each sample."""

import numpy as np

from two_manifold_ros.recordings.recording import ImuStream, Recording
from two_manifold_ros.typing import Floats

RATE_HZ = 20.0


def signal(phases: Floats, seed: int) -> Floats:
    """Return what six channels see at phases (T,), laps: (T, 6)."""
    random = np.random.default_rng(seed)
    waves = np.arange(1, 8)
    turns = 2.0 * np.pi * phases[:, None] * waves
    along, aside = random.normal(size=(2, 7, 6))
    seen: Floats = np.sin(turns) @ along + np.cos(turns) @ aside
    return seen


def phases_driven(laps: float, lap_s: float, seed: int, spread: float = 0.1) -> Floats:
    """Return rising phases (T,) at speeds that wander by ``spread`` over half a lap."""
    random = np.random.default_rng(seed + 100)
    count = int(laps * lap_s * RATE_HZ)
    knots = np.arange(0, count + lap_s * RATE_HZ, 0.5 * lap_s * RATE_HZ)
    speeds = np.interp(np.arange(count), knots, 1.0 + spread * random.standard_normal(len(knots)))
    rising: Floats = np.cumsum(np.clip(speeds, 0.3, None)) / (lap_s * RATE_HZ)
    return rising


def recorded(samples: Floats, rate_hz: float = RATE_HZ) -> Recording:
    """Return a recording of samples (N, 6)."""
    stamps = 10**18 + (np.arange(len(samples)) * 1e9 / rate_hz).astype(np.int64)
    return Recording('made up', ImuStream('/imu', 'imu', stamps, samples, stamps))


def driven(
    laps: float = 7.3, lap_s: float = 20.0, seed: int = 0, noise: float = 0.5
) -> tuple[Recording, Floats]:
    """Return a drive, and its phases."""
    phases = phases_driven(laps, lap_s, seed)
    random = np.random.default_rng(seed + 200)
    seen = signal(phases, seed) + noise * random.standard_normal((len(phases), 6))
    return recorded(seen), phases


def wrong_by(found: Floats, truth: Floats) -> float:
    """Return the median distance of phases after the best shift, laps."""
    away = found - truth
    away -= np.median(away)
    return float(np.median(np.abs(away)))
