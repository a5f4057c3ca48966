# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Drives around a circle, of which the channels show the angle."""

import numpy as np

from two_manifold_ros.recordings.recording import ImuStream, PositionStream, Recording

START_NS = 1_700_000_000_000_000_000


def recording_of(
    samples: np.ndarray, positions: np.ndarray, rate_hz: float, name: str = 'rounds'
) -> Recording:
    """Return a recording with a position at each sample."""
    stamps = START_NS + np.round(np.arange(len(samples)) * 1e9 / rate_hz).astype(np.int64)
    imu = ImuStream('/imu', 'imu_link', stamps, samples, stamps)
    return Recording(name, imu, PositionStream('/pose', 'map', '', stamps, positions))


def felt(angle: np.ndarray) -> np.ndarray:
    """Return the six channels at these angles, of which three never change."""
    nothing = np.zeros_like(angle)
    live = np.cos(angle), np.sin(2.0 * angle), np.cos(3.0 * angle + 1.0)
    return np.stack([*live[:2], nothing, nothing, nothing, live[2]], axis=1)


def on_circle(angle: np.ndarray, radius_m: float = 1.0) -> np.ndarray:
    return radius_m * np.stack([np.cos(angle), np.sin(angle)], axis=1)
