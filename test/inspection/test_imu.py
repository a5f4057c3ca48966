# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gravity, dead channels and stuck samples."""

from __future__ import annotations

import numpy as np
import pytest
from two_manifold_ros.inspection.imu import (measure_gravity, stuck_stretches, summarise_channels)
from two_manifold_ros.inspection.findings import (Stretch)
from two_manifold_ros.recordings.recording import (ImuStream)


def driving(gravity: tuple[float, float, float], strength: float) -> np.ndarray:
    """Return samples of a vehicle that turns both ways, in the unit of the arguments."""
    samples = np.random.default_rng(1).normal(scale=strength, size=(5000, 6))
    samples[:, :3] += gravity
    return samples


@pytest.mark.parametrize(
    ('gravity', 'strength', 'verdict', 'up_axis'),
    [
        ((0.0, 0.0, 9.8), 2.0, 'metres per second squared', '+z'),
        ((0.0, 0.0, -9.8), 2.0, 'metres per second squared', '-z'),
        ((9.6, 1.0, 0.3), 2.0, 'metres per second squared', '+x'),
        ((0.0, 0.1, 1.0), 0.2, 'g', '+z'),
        ((0.0, 0.0, 0.0), 2.0, 'removed', ''),
        ((0.0, 2.7, 0.0), 3.0, 'removed', ''),
        # Turning one way with 1 m/s^2 is not gravity in g: single samples are far from 1.
        ((0.0, 1.0, 0.0), 2.0, 'removed', ''),
        ((0.0, 0.0, 32.2), 5.0, 'unclear', ''),
    ],
)
def test_verdicts(
    gravity: tuple[float, float, float], strength: float, verdict: str, up_axis: str
) -> None:
    measured = measure_gravity(driving(gravity, strength))
    assert (measured.verdict, measured.up_axis) == (verdict, up_axis)


def test_magnitudes_are_of_the_mean_and_of_single_samples() -> None:
    samples = np.zeros((3, 6))
    samples[:, :3] = [[3.0, 4.0, 0.0], [-3.0, -4.0, 0.0], [3.0, 4.0, 0.0]]
    measured = measure_gravity(samples)
    assert measured.mean_magnitude == pytest.approx(5 / 3)
    assert measured.median_magnitude == pytest.approx(5.0)


def test_a_lateral_axis_that_follows_the_gyroscope_is_not_gravity_in_g() -> None:
    samples = driving((0.0, 1.0, 0.0), 0.1)
    assert measure_gravity(samples).verdict == 'g'
    samples[:, 5] = 0.5 * samples[:, 1]
    assert measure_gravity(samples).verdict == 'removed'


def test_gravity_in_banked_curves_is_gravity() -> None:
    samples = driving((0.0, 0.0, 9.8), 0.5)
    samples[:, 3] = 0.5 * samples[:, 2]
    assert measure_gravity(samples).verdict == 'metres per second squared'


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
