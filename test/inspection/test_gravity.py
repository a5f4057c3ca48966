# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The unit of the accelerometer, from gravity."""

from __future__ import annotations

import numpy as np
import pytest

from two_manifold_ros.inspection.imu import measure_gravity


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
