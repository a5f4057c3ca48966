# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Windows over a noisy lap."""

import numpy as np

from two_manifold_ros.ticks.windows import WindowSet


def noisy_lap(count: int = 90, width: int = 5) -> WindowSet:
    angles = np.arange(count + width - 1) * 2.0 * np.pi / 30.0
    series = np.stack([np.cos(angles), np.sin(angles)])
    series += 0.3 * np.random.default_rng(0).normal(size=series.shape)
    return WindowSet(series, np.arange(count), width)
