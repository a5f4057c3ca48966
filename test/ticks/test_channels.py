# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Channels are scaled over the training ticks, and dead ones left out."""

from __future__ import annotations

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.ticks.segments import Channels, fit_channels, LIMIT_FACTOR, Segment

SCALES = np.array([2.0, 0.5, 1e-3, 0.0, 0.0, 40.0])
MEANS = np.array([1.0, -3.0, 9.81, 0.0, 5.0, 0.1])
LARGEST = np.array([8.0, 5.0, 9.9, 0.0, 5.0, 200.0])


def segments(scales: np.ndarray = SCALES) -> list[Segment]:
    """Return two segments of known mean and scale in each channel."""
    noise = np.random.default_rng(0).normal(size=(500, 6))
    noise = (noise - noise.mean(axis=0)) / noise.std(axis=0)
    values = MEANS + scales * noise
    stamps = np.arange(500)
    known = np.zeros((500, 2))
    whole = Segment(stamps, values, known)
    return [whole.part(0, 120), whole.part(120, 500)]


@pytest.fixture
def channels() -> Channels:
    return fit_channels(segments(), LARGEST)


def test_mean_and_scale_are_over_all_segments(channels: Channels) -> None:
    np.testing.assert_allclose(channels.mean, MEANS, atol=1e-12)
    np.testing.assert_allclose(channels.scale, SCALES, atol=1e-12)


def test_a_channel_that_does_not_vary_is_left_out_and_named(channels: Channels) -> None:
    assert channels.live.tolist() == [True, True, True, False, False, True]
    assert channels.dead_names == ('angular_velocity.x', 'angular_velocity.y')
    assert channels.live_names == (
        'linear_acceleration.x',
        'linear_acceleration.y',
        'linear_acceleration.z',
        'angular_velocity.z',
    )


def test_standardised_channels_have_mean_0_and_variance_1(channels: Channels) -> None:
    values = np.concatenate([segment.values for segment in segments()])
    scaled = channels.standardise(values)
    assert scaled.shape == (500, 4)
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(scaled.std(axis=0), 1.0, atol=1e-9)
    np.testing.assert_array_equal(channels.standardise(values[7]), scaled[7])


def test_the_limit_leaves_room_beyond_the_largest_sample(channels: Channels) -> None:
    live = channels.live
    np.testing.assert_allclose(
        channels.limit[live], LIMIT_FACTOR * (LARGEST + np.abs(MEANS))[live]
    )
    assert (np.abs(channels.mean) + channels.limit >= LARGEST).all()


def test_a_channel_left_out_may_be_anything(channels: Channels) -> None:
    assert (channels.limit[~channels.live] > 1e300).all()
    assert np.isfinite(channels.limit).all()


def test_rounding_noise_on_a_large_constant_is_no_signal() -> None:
    scales = np.array([1.0, 0.0, 0.0, 0.0, 1e-12, 0.0])
    assert fit_channels(segments(scales), LARGEST).live.tolist() == [True, *[False] * 5]


def test_no_live_channel_is_refused() -> None:
    with pytest.raises(InputError, match='no channel varies during training; record while'):
        fit_channels(segments(np.zeros(6)), LARGEST)
