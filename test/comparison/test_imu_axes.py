# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Axes of an IMU that is upside down, turned, biased and in odd units."""

from dataclasses import replace

from driven_paths import GRAVITY, MOUNT, steady, varied
import numpy as np
import pytest
from small_lessons import lesson_of, segment_of

from two_manifold_ros.comparison.dead_reckoning import learn_axes
from two_manifold_ros.errors import InputError
from two_manifold_ros.ticks.segments import Segment


def test_the_mount_is_found() -> None:
    axes = learn_axes(lesson_of(varied(600), varied(300)))
    expected = np.zeros((3, 6))
    expected[0, 5], expected[1, 1], expected[2, 0] = -2.0, -1.0, 1.0
    np.testing.assert_allclose(axes.weights, expected, atol=2e-3)
    np.testing.assert_allclose(axes.offsets, -expected @ GRAVITY, atol=0.02)
    assert axes.errors.max() < 0.01
    assert axes.speed_m_s == pytest.approx(2.0, abs=0.2)
    assert axes.fastest_m_s == pytest.approx(2.6, abs=0.1)


def test_reading_undoes_the_mount() -> None:
    inputs = np.array([[0.4, -0.3, 0.8], [0.0, 0.2, 0.0]])
    read = learn_axes(lesson_of(varied(600))).read(inputs @ MOUNT.T + GRAVITY)
    np.testing.assert_allclose(read, inputs, atol=0.02)


def disturbed(noise: float, jump: float) -> Segment:
    segment = varied(900)
    rng = np.random.default_rng(0)
    positions = segment.positions + rng.normal(scale=noise, size=segment.positions.shape)
    positions[400:] += jump
    positions[600:640] = np.nan
    values = segment.values + rng.normal(scale=0.05, size=segment.values.shape)
    return replace(segment, positions=positions, values=values)


def test_noise_jumps_and_holes_of_the_positions_are_borne() -> None:
    axes = learn_axes(lesson_of(disturbed(noise=0.01, jump=3.0)))
    assert axes.weights[0, 5] == pytest.approx(-2.0, abs=0.1)
    assert axes.weights[1, 1] == pytest.approx(-1.0, abs=0.1)
    assert axes.weights[2, 0] == pytest.approx(1.0, abs=0.05)
    still = learn_axes(lesson_of(disturbed(noise=0.01, jump=0.0)))
    np.testing.assert_allclose(axes.weights, still.weights, atol=0.05)
    assert 0.003 < axes.position_m < 0.012


@pytest.mark.parametrize(
    ('dead', 'named'), [(slice(0, 3), 'accelerometer'), (slice(3, 6), 'gyroscope')]
)
def test_dead_axes_are_refused(dead: slice, named: str) -> None:
    segment = varied(200)
    segment.values[:, dead] = 0.0
    with pytest.raises(InputError, match=f'no {named} axis'):
        learn_axes(lesson_of(segment))


@pytest.mark.parametrize('known', [0, 30])
def test_too_little_known_motion_is_refused(known: int) -> None:
    segment = varied(200)
    segment.positions[known:] = np.nan
    with pytest.raises(InputError, match='too few'):
        learn_axes(lesson_of(segment))


def test_a_vehicle_that_never_moves_is_refused() -> None:
    values = np.random.default_rng(0).normal(size=(200, 6))
    with pytest.raises(InputError, match='during 0 training ticks'):
        learn_axes(lesson_of(segment_of(values, np.zeros((200, 2)))))


def test_slow_driving_does_not_count() -> None:
    """A parked vehicle has a course made of noise; its ticks change nothing much."""
    parked = steady(400, 0.0, 0.0)
    parked.positions[:] += np.random.default_rng(1).normal(scale=0.002, size=(400, 2))
    axes = learn_axes(lesson_of(varied(900), parked))
    assert axes.weights[0, 5] == pytest.approx(-2.0, abs=0.05)
    assert axes.speed_m_s == pytest.approx(2.0, abs=0.2)
