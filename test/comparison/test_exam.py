# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Segments to follow, and the truth about them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.comparison.method import Lesson
from two_manifold_ros.comparison.protocol import cut_exams
from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.scores import travel_directions
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats

SETTINGS = TrainingSettings(rate_hz=10.0, window=20, horizons=(0, 5, 20))


@pytest.fixture(scope='session')
def lesson(drive: Callable[..., Recording]) -> Lesson:
    """Return a lesson of 30 s."""
    learned = drive(30.0)
    return Lesson((learned,), build_dataset([learned], SETTINGS), SETTINGS)


def with_samples(recording: Recording, samples: Floats) -> Recording:
    return replace(recording, imu=replace(recording.imu, samples=samples))


def test_the_truth_is_that_of_the_positions(
    lesson: Lesson, drive: Callable[..., Recording]
) -> None:
    recording = drive(12.0)
    (exam,) = cut_exams(recording, lesson)
    stream = recording.positions
    assert stream is not None
    for column, seconds in enumerate((0.0, 0.5, 2.0)):
        stamps = exam.segment.stamps + round(seconds * 1e9)
        inside = stamps <= stream.stamps[-1]
        wanted = [np.interp(stamps[inside], stream.stamps, axis) for axis in stream.positions.T]
        np.testing.assert_allclose(exam.truth[inside, column], np.stack(wanted, axis=1), atol=1e-9)
        assert np.isnan(exam.truth[~inside, column]).all()
        assert (~inside).sum() >= 10 * seconds - 1


def test_the_directions_and_the_samples_are_those_of_the_recording(
    lesson: Lesson, drive: Callable[..., Recording]
) -> None:
    recording = drive(12.0)
    (exam,) = cut_exams(recording, lesson)
    assert exam.segment.imu is recording.imu
    for column, horizon in enumerate((0, 5, 20)):
        stamps = exam.segment.stamps + horizon * 100_000_000
        wanted = travel_directions(recording.positions, stamps)
        np.testing.assert_array_equal(exam.directions[:, column], wanted)


def test_ticks_count_once_the_window_has_filled(
    lesson: Lesson, drive: Callable[..., Recording]
) -> None:
    (exam,) = cut_exams(drive(12.0), lesson)
    assert not exam.scored[:19].any()
    assert exam.scored[19:].all()


def test_a_gap_makes_two_exams_and_positions_reach_across_it(
    lesson: Lesson, drive: Callable[..., Recording]
) -> None:
    recording = drive(20.0)
    elapsed = (recording.imu.stamps - recording.imu.stamps[0]) * 1e-9
    kept = (elapsed < 8.0) | (elapsed > 9.0)
    first, second = cut_exams(replace(recording, imu=recording.imu.select(kept)), lesson)
    assert (len(first.segment), len(second.segment)) == (79, 109)
    assert not second.scored[:19].any()
    # The camera saw what the IMU missed.
    assert np.isfinite(first.truth[-1]).all()


def test_dead_channels_and_absurd_samples_are_as_in_the_live_filter(
    drive: Callable[..., Recording],
) -> None:
    learned, recording = drive(30.0), drive(12.0)
    dead = np.array([False, False, True, True, True, False])
    learned = with_samples(learned, np.where(dead, 9.8, learned.imu.samples))
    lesson = Lesson((learned,), build_dataset([learned], SETTINGS), SETTINGS)
    (clean,) = cut_exams(recording, lesson)
    noisy = np.where(dead, np.nan, recording.imu.samples)
    (exam,) = cut_exams(with_samples(recording, noisy), lesson)
    np.testing.assert_array_equal(exam.segment.values, clean.segment.values)
    noisy[500, 0] = 1e9
    (exam,) = cut_exams(with_samples(recording, noisy), lesson)
    np.testing.assert_allclose(exam.segment.values, clean.segment.values, atol=0.1)


def test_recordings_that_do_not_fit(lesson: Lesson, drive: Callable[..., Recording]) -> None:
    recording = drive(12.0)
    slow = np.zeros(len(recording.imu.stamps), dtype=np.bool_)
    slow[::40] = True
    with pytest.raises(InputError, match=r'runs at 2.5 Hz, slower than the 10 Hz'):
        list(cut_exams(replace(recording, imu=recording.imu.select(slow)), lesson))
    frozen = recording.imu.samples.copy()
    frozen[:, 5] = 0.25
    with pytest.raises(InputError, match=r'no signal on angular_velocity.z'):
        list(cut_exams(with_samples(recording, frozen), lesson))
    with pytest.raises(InputError, match=r'no signal on'):
        list(cut_exams(with_samples(recording, np.full_like(frozen, np.nan)), lesson))
    assert recording.positions is not None
    elsewhere = replace(recording.positions, frame_id='odom')
    with pytest.raises(InputError, match=r'different frames \(map, odom\)'):
        list(cut_exams(replace(recording, positions=elsewhere), lesson))
