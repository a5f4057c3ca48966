# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Trials with made-up errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.tuning_trials import Trial

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def usual() -> TrainingSettings:
    """Return settings that leave nothing open."""
    return TrainingSettings(
        rate_hz=20.0, window=60, states=20, neighbours=30, horizons=(0, 10), sharpness=0.2,
        persistence=0.5,
    )  # fmt: skip


@pytest.fixture
def alike() -> Callable[[float], Trial]:
    """Return a function that makes a trial with nearly the same error on four laps."""

    def make(error_m: float) -> Trial:
        laps = ((0.99 * error_m, error_m), (error_m, 1.01 * error_m))
        return Trial(error_m, laps)

    return make
