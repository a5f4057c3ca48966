# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions put in step with the IMU, as asked for or as found."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.lag import estimate_lag, parse_position_lag, put_in_step

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.recordings.recording import Recording


def earlier_s(recording: Recording) -> float:
    assert recording.positions is not None
    return recording.positions.earlier_s


def test_nothing_is_touched_unless_asked_for(drive: Callable[..., Recording]) -> None:
    recordings = [drive(late_s=0.2)]
    assert put_in_step(recordings, '') == recordings


@pytest.mark.parametrize(
    ('wanted', 'words'), [('0.2', '0.200 s earlier'), ('-1', '1.000 s later')]
)
def test_seconds_are_taken_as_they_are(
    drive: Callable[..., Recording], wanted: str, words: str
) -> None:
    recording = replace(drive(), notes=('old',))
    (moved,) = put_in_step([recording], wanted)
    assert recording.positions is not None
    assert moved.positions is not None
    steps = recording.positions.stamps - moved.positions.stamps
    assert set(steps.tolist()) == {round(float(wanted) * 1e9)}
    assert moved.notes == ('old', f'positions made {words}, as asked for')


@pytest.mark.parametrize('late_s', [0.3, -0.15])
def test_the_lag_that_is_found_is_undone(drive: Callable[..., Recording], late_s: float) -> None:
    (moved,) = put_in_step([drive(late_s=late_s)], 'auto')
    assert earlier_s(moved) == pytest.approx(late_s, abs=0.003)
    left = estimate_lag(moved)
    assert left.seconds == pytest.approx(0.0, abs=0.002)
    assert 'as found (+- 0.01' in moved.notes[0]


def test_what_may_be_no_lag_is_left(drive: Callable[..., Recording]) -> None:
    (same,) = put_in_step([drive(late_s=0.005)], 'auto')
    assert earlier_s(same) == 0.0
    assert 'which may be none: left as they are' in same.notes[0]


def test_where_nothing_tells_it_is_left(drive: Callable[..., Recording]) -> None:
    recording = drive(late_s=0.2)
    silent = replace(recording.imu, samples=np.zeros_like(recording.imu.samples))
    (same,) = put_in_step([replace(recording, imu=silent)], 'auto')
    assert earlier_s(same) == 0.0
    assert same.notes == ('no lag of the positions can be told: left as they are',)


def test_recordings_of_one_setup_move_together(drive: Callable[..., Recording]) -> None:
    late = drive(late_s=0.2)
    silent = replace(late, imu=replace(late.imu, samples=np.zeros_like(late.imu.samples)))
    moved = put_in_step([late, drive(late_s=0.205), silent], 'auto')
    assert len({earlier_s(each) for each in moved}) == 1
    assert earlier_s(moved[2]) == pytest.approx(0.2025, abs=0.003)
    assert len({each.notes for each in moved}) == 1
    apart = put_in_step([late, drive(late_s=0.5)], 'auto')
    assert [earlier_s(each) for each in apart] == pytest.approx([0.2, 0.5], abs=0.005)
    assert all(each.notes[0].startswith('ellipse: positions made') for each in apart)


@pytest.mark.parametrize('text', ['soon', 'nan', 'inf', 'AUTO'])
def test_anything_else_is_refused(drive: Callable[..., Recording], text: str) -> None:
    with pytest.raises(InputError, match=f"'{text}' is neither auto nor a number of seconds"):
        parse_position_lag(text)
    with pytest.raises(InputError, match='neither'):
        put_in_step([drive(seconds=1.0)], text)


def test_what_is_understood() -> None:
    assert parse_position_lag('auto') is None
    assert parse_position_lag('-0.25') == -0.25
