# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A rate and a window that suit how slowly the observations change."""

from __future__ import annotations

from dataclasses import replace
import math
from typing import TYPE_CHECKING

from two_manifold_ros.route.passes import memory_of
from two_manifold_ros.training.dataset import build_dataset, LEAST_WINDOW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.training.settings import TrainingSettings

TICKS_IN_MEMORY = 10.0
"""
Ticks in the memory of the observations: a slow vehicle does the same for many ticks.

Twice and half as many change the errors of the simulated cars and the tram by less than a fifth.
"""

LEAST_RATE_HZ = 5.0
"""Of a slow vehicle: predictions are wanted in steps of a fraction of a second."""

WINDOW_MEMORIES = 5.0
"""Memories of the observations in a window: some bends, which tell one place from another."""

LARGEST_WINDOW = 0.02
"""Share of the longest drive that a window above the usual one may take: laps are needed."""


def with_time_scales(
    recordings: Sequence[Recording], settings: TrainingSettings
) -> TrainingSettings:
    """Return the settings with a rate and a window that suit the memory of the observations."""
    if settings.rate_hz is not None and settings.window is not None:
        return settings
    usual = build_dataset(recordings, settings)
    observations = [usual.channels.standardise(each.values) for each in usual.segments]
    memory_s = memory_of(observations, usual.period_ns * 1e-9)
    rate_hz = usual.rate_hz
    slower_hz = max(TICKS_IN_MEMORY / memory_s, LEAST_RATE_HZ)
    # A little slower changes nothing but that ticks are no whole samples any more.
    if settings.rate_hz is None and slower_hz < rate_hz / 1.5:
        rate_hz = float(math.ceil(slower_hz))
    if settings.window is not None:
        return replace(settings, rate_hz=rate_hz)
    longest_s = max(map(len, usual.segments)) / usual.rate_hz
    window_s = min(WINDOW_MEMORIES * memory_s, LARGEST_WINDOW * longest_s)
    window_s = max(window_s, usual.window / usual.rate_hz)
    return replace(settings, rate_hz=rate_hz, window=max(round(window_s * rate_hz), LEAST_WINDOW))
