# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gravity, dead channels and stuck samples."""

from __future__ import annotations

import numpy as np
import pytest

from two_manifold_ros.inspection.imu import measure_gravity, stuck_stretches, summarise_channels
from two_manifold_ros.inspection.timing import Stretch
from two_manifold_ros.recordings.recording import ImuStream


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


@pytest.mark.parametrize(
    ('same', 'period', 'found'),
    [
        ([(200, 351)], 1, (Stretch(2.0, 1.5),)),
        ([(0, 150), (850, 1000)], 1, (Stretch(0.0, 1.49), Stretch(8.5, 1.49))),
        ([(200, 280)], 1, ()),
        # A few samples of a slow sensor say nothing.
        ([(200, 208)], 20, ()),
    ],
)
def test_where_a_sensor_is_stuck(
    same: list[tuple[int, int]], period: int, found: tuple[Stretch, ...]
) -> None:
    samples = noise()
    samples[:, 1] = 0.0
    for start, stop in same:
        samples[start:stop] = samples[start]
    assert stuck_stretches(ImuStream('/imu', '', period * STAMPS, samples, STAMPS)) == found
