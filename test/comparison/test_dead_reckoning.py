# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Dead reckoning where the drive is known, and its drift computed by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from driven_paths import driven, GRAVITY, PERIOD_S, steady, varied
import numpy as np
import pytest
from small_lessons import check_causal, check_repeatable, lesson_of, recorded_lesson

from two_manifold_ros.comparison.dead_reckoning import DeadReckoning, FittedDeadReckoning, ImuAxes
from two_manifold_ros.training.dataset import build_dataset

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.ticks.segments import Segment

TOLD = 20
"""Ticks after which no position may be told to a vehicle that drives from the first tick on."""


@pytest.fixture(scope='module')
def fitted() -> FittedDeadReckoning:
    return DeadReckoning().fit(lesson_of(varied(900), horizons=(0, 5, 20)))


def errors_of(fitted: FittedDeadReckoning, segment: Segment) -> np.ndarray:
    told = fitted.follow(segment).positions[:, 0]
    return np.asarray(np.linalg.norm(told - segment.positions, axis=1))


def biased(segment: Segment, bias: float) -> Segment:
    """Add a bias in rad/s to the yaw rate, in the units and the sense of the mount."""
    values = segment.values.copy()
    values[:, 5] -= 0.5 * bias
    return replace(segment, values=values)


def exact(errors: tuple[float, float, float]) -> FittedDeadReckoning:
    """Return the method with the true axes, which it believes to have some errors."""
    weights = np.zeros((3, 6))
    weights[0, 5], weights[1, 1], weights[2, 0] = -2.0, -1.0, 1.0
    axes = ImuAxes(weights, -weights @ GRAVITY, np.array(errors), 0.01, 2.0, 3.0)
    return FittedDeadReckoning(axes, (0, 5, 20), PERIOD_S)


@pytest.mark.parametrize(('rate', 'speed'), [(0.5, 2.0), (-1.0, 2.0), (0.1, 3.0), (0.0, 1.0)])
def test_a_circle_is_followed_within_centimetres(rate: float, speed: float) -> None:
    errors = errors_of(exact((0.01, 0.1, 0.1)), steady(600, rate, speed))
    assert errors[TOLD:].max() < 0.05


def test_a_circle_is_followed_with_learned_axes(fitted: FittedDeadReckoning) -> None:
    assert errors_of(fitted, steady(200, 0.5, 2.0))[TOLD:].max() < 0.05


def test_changing_speed_and_bends_are_followed(fitted: FittedDeadReckoning) -> None:
    segment = driven(150, lambda t: 0.6 * np.sin(t), lambda t: 2.0 + 0.5 * np.cos(0.7 * t))
    assert errors_of(fitted, segment)[TOLD:].max() < 0.1


@pytest.mark.parametrize('bias', [0.01, -0.02])
def test_a_gyroscope_bias_drifts_as_by_hand(bias: float) -> None:
    """Heading b t, and sideways v b t^2 / 2, after the positions are no longer told."""
    segment = biased(steady(220, 0.0, 2.0), bias)
    course = exact((1e-3, 0.5, 0.5)).follow(segment)
    assert course.states is not None
    since = PERIOD_S * (len(segment) - TOLD / 2)
    assert course.states[-1, 2] == pytest.approx(bias * since, rel=0.1)
    sideways = course.positions[-1, 0, 1] - segment.positions[-1, 1]
    assert sideways == pytest.approx(2.0 * bias * since**2 / 2.0, rel=0.1)


def test_a_turn_that_is_not_felt_looks_like_lost_speed() -> None:
    """The more the filter trusts the accelerometer, the more speed it gives up."""
    segment = biased(steady(220, 0.0, 2.0), 0.03)
    speeds = [
        np.asarray(exact((1e-3, 0.5, error)).follow(segment).states)[-1, 3]
        for error in (0.02, 0.1, 0.5)
    ]
    assert speeds == sorted(speeds)
    assert speeds[0] < 1.0
    assert speeds[-1] > 1.5


def test_ahead_it_drives_on_as_now(fitted: FittedDeadReckoning) -> None:
    segment = steady(120, 0.5, 2.0)
    told = fitted.follow(segment).positions
    for column, horizon in ((1, 5), (2, 20)):
        wanted = segment.positions[TOLD + horizon :]
        errors = np.linalg.norm(told[TOLD : len(told) - horizon, column] - wanted, axis=1)
        assert errors.max() < 0.15


def test_later_positions_change_nothing(fitted: FittedDeadReckoning) -> None:
    segment = varied(300)
    moved = segment.positions.copy()
    moved[TOLD:150] += [50.0, -20.0]
    moved[150:] = np.nan
    before = fitted.follow(segment)
    after = fitted.follow(replace(segment, positions=moved))
    np.testing.assert_array_equal(before.positions, after.positions)
    np.testing.assert_array_equal(before.states, after.states)


def test_the_first_second_does_change_something(fitted: FittedDeadReckoning) -> None:
    segment = varied(100)
    shifted = replace(segment, positions=segment.positions + np.array([7.0, -3.0]))
    difference = fitted.follow(shifted).positions - fitted.follow(segment).positions
    np.testing.assert_allclose(
        difference, np.broadcast_to([7.0, -3.0], difference.shape), atol=1e-9
    )


def test_standing_is_told_until_it_sets_off(fitted: FittedDeadReckoning) -> None:
    """Without a course there is nothing to integrate; the start is where it drives off."""
    segment = driven(200, lambda t: 0.2 * np.tanh(t - 8.0) + 0.2, lambda t: 1.0 + np.tanh(t - 8.0))
    course = fitted.follow(segment)
    assert course.states is not None
    begun = int(np.flatnonzero(np.isfinite(course.states[:, 0]))[0])
    assert 60 < begun < 90
    np.testing.assert_array_equal(
        course.positions[:begun], segment.positions[:1, None] + np.zeros((begun, 3, 2))
    )
    assert errors_of(fitted, segment)[begun + TOLD :].max() < 0.5


def test_it_waits_for_the_first_position(fitted: FittedDeadReckoning) -> None:
    segment = varied(200)
    segment.positions[:40] = np.nan
    told = fitted.follow(segment).positions
    assert np.isnan(told[:40]).all()
    assert np.isfinite(told[40:]).all()
    segment.positions[:] = np.nan
    nowhere = fitted.follow(segment)
    assert np.isnan(nowhere.positions).all()
    assert nowhere.states is not None


def test_it_is_never_nan_once_started(fitted: FittedDeadReckoning) -> None:
    segment = varied(6000)
    rng = np.random.default_rng(0)
    segment.values[50:] += rng.normal(scale=3.0, size=segment.values[50:].shape)
    segment.values[3000] = 1e6
    course = fitted.follow(segment)
    assert np.isfinite(course.positions).all()
    assert np.nanmax(np.abs(np.asarray(course.states)[:, 3])) < 6.0


def test_it_is_causal_and_repeatable(fitted: FittedDeadReckoning) -> None:
    segment = varied(80)
    for now in (1, 7, 15, 40):
        check_causal(fitted, segment, now)
    check_repeatable(DeadReckoning(), lesson_of(varied(300)), segment)


def test_a_slot_car_is_followed_for_some_seconds(
    slot_car_laps: tuple[Recording, Recording],
) -> None:
    lesson = recorded_lesson(slot_car_laps[0], window=40, horizons=(0,))
    segment = build_dataset([slot_car_laps[1]], lesson.settings).segments[0]
    errors = errors_of(DeadReckoning().fit(lesson), segment)
    assert errors[:40].max() < 1.5
    assert errors[-50:].mean() > errors[:40].mean()


def test_a_real_car_is_followed_for_some_seconds(recordings_folder: Path) -> None:
    pytest.importorskip('rosbags')
    from two_manifold_ros.recordings.reading import read_recording  # noqa: PLC0415 - an extra

    whole = read_recording(recordings_folder / 'f1tenth_ipz10')
    lesson = recorded_lesson(whole.between(0.0, 31.0), window=60, horizons=(0,))
    segment = build_dataset([whole.between(31.0, 44.0)], lesson.settings).segments[0]
    assert errors_of(DeadReckoning().fit(lesson), segment)[20:100].max() < 1.0
