# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Dead channels, and stretches in which nothing changes."""

from __future__ import annotations

import numpy as np

from two_manifold_ros.inspection.findings import Stretch
from two_manifold_ros.inspection.imu import stuck_stretches, summarise_channels
from two_manifold_ros.recordings.recording import ImuStream

STAMPS = 10**18 + np.arange(1000) * 10_000_000


def noise() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(1000, 6))


def stuck(samples: np.ndarray) -> tuple[Stretch, ...]:
    return stuck_stretches(ImuStream('/imu', '', STAMPS, samples, STAMPS))


def test_a_constant_channel_is_dead_whatever_its_value() -> None:
    samples = noise()
    samples[:, 2] = 9.81
    samples[:, 4] = 0.0
    samples[7, 0] = np.nan
    channels = summarise_channels(samples)
    assert [channel.dead for channel in channels] == [False, False, True, False, True, False]
    assert channels[2].name == 'linear_acceleration.z'
    assert channels[2].unit == 'm/s^2'
    assert np.isclose(channels[2].mean, 9.81)
    assert channels[5].highest == np.delete(samples, 7, axis=0)[:, 5].max()


def test_a_stuck_sensor_is_found_from_its_first_to_its_last_equal_sample() -> None:
    samples = noise()
    samples[200:351] = samples[200]
    assert stuck(samples) == (Stretch(2.0, 1.5),)


def test_it_may_be_stuck_at_either_end() -> None:
    samples = noise()
    samples[:150] = 1.0
    samples[-150:] = 2.0
    assert [stretch.start_s for stretch in stuck(samples)] == [0.0, 8.5]


def test_a_few_samples_of_a_slow_sensor_are_not_stuck() -> None:
    samples = noise()
    samples[200:208] = samples[200]
    slow = ImuStream('/imu', '', 20 * STAMPS, samples, STAMPS)
    assert stuck_stretches(slow) == ()


def test_short_repetitions_and_single_constant_channels_are_not_stuck() -> None:
    samples = noise()
    samples[200:280] = samples[200]
    samples[:, 1] = 0.0
    assert stuck(samples) == ()
