# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Windows over a noisy lap."""

from collections.abc import Callable

import numpy as np
import pytest

from two_manifold_ros.ticks.windows import WindowSet


@pytest.fixture(scope='session')
def make_windows() -> Callable[..., WindowSet]:
    """Return a function that makes a set of windows of a noisy circle."""

    def make(count: int = 90, width: int = 5, noise: float = 0.3) -> WindowSet:
        angles = np.arange(count + width - 1) * 2.0 * np.pi / 30.0
        series = np.stack([np.cos(angles), np.sin(angles)])
        series += noise * np.random.default_rng(0).normal(size=series.shape)
        return WindowSet(series, np.arange(count), width)

    return make
