# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Scales and feature maps from the first seconds of driving."""

from __future__ import annotations

from dataclasses import replace
import tracemalloc

import numpy as np

from two_manifold_ros.adapting.settings import AdaptingSettings
from two_manifold_ros.adapting.warm_up import WarmUp
from two_manifold_ros.ticks.channels import Channels

SETTINGS = AdaptingSettings(
    rate_hz=10.0, window_s=1.0, warm_up_s=8.0, features=40, observation_features=10
)
NAMES = ('a', 'b', 'c')


def standing(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(5.0, 0.1, (count, 3))


def driving(count: int, seed: int) -> np.ndarray:
    values = standing(count, seed)
    values[:, 1] += 2.0 * np.sin(0.4 * np.arange(count))
    return values


def test_standing_does_not_count() -> None:
    warm_up = WarmUp(SETTINGS, NAMES)
    assert not any(warm_up.push(values) for values in standing(400, 0))
    assert warm_up.progress == 0.0
    driven = driving(80, 1)
    assert [warm_up.push(values) for values in driven].index(True) == 79
    channels = warm_up.senses().channels
    assert channels.names == NAMES
    np.testing.assert_allclose(channels.mean, driven.mean(axis=0))
    np.testing.assert_allclose(channels.scale, driven.std(axis=0))


def test_what_is_frozen_does_not_count_either() -> None:
    warm_up = WarmUp(SETTINGS, NAMES)
    assert not any(warm_up.push(np.full(3, 7.0)) for _ in range(100))
    assert warm_up.progress == 0.0


def test_a_stretch_with_a_gap_is_not_a_window() -> None:
    warm_up = WarmUp(SETTINGS, NAMES)
    for values in driving(95, 1).reshape(19, 5, 3):
        for each in values:
            warm_up.push(each)
        warm_up.seam()
    assert warm_up.progress == 0.0


def test_bandwidths_are_median_distances_and_channels_of_a_model_are_kept() -> None:
    channels = Channels(
        np.full(3, 5.0), np.array([1.0, 2.0, 1.0]), np.full(3, 50.0), np.array([True, True, False])
    )
    settings = replace(SETTINGS, observation_features=300)
    warm_up = WarmUp(settings, channels.names, channels)
    driven = driving(80, 1)
    for values in driven:
        warm_up.push(values)
    senses = warm_up.senses()
    assert senses.channels is channels
    assert senses.observation_features.inputs == 2
    assert senses.window_features.inputs == 20
    assert senses.window_features.size == 41
    ticks = channels.standardise(driven)
    apart = np.linalg.norm(ticks[:, None] - ticks, axis=2)[np.triu_indices(80, 1)]
    scale = 1.0 / np.std(senses.observation_features.frequencies)
    assert 0.9 < scale / np.median(apart) < 1.1


def test_many_channels_take_little_memory_to_warm_up() -> None:
    """All pairs of windows at once, 4000 x 10 x 200 numbers, and their differences are 190 MB."""
    warm_up = WarmUp(SETTINGS, tuple(map(str, range(200))))
    for values in np.random.default_rng(0).normal(size=(80, 200)).cumsum(axis=0):
        warm_up.push(values)
    tracemalloc.start()
    try:
        senses = warm_up.senses()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert senses.window_features.inputs == 2000
    assert peak < 50_000_000
