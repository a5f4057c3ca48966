# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Summary of laps and lag in a model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.summary import (
    count_all_laps,
    lag_summary,
    lap_notes,
    measure_drives,
)
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.recordings.recording import Recording


@pytest.mark.parametrize(
    ('seconds', 'held_s', 'words'),
    [
        (48.0, 8.5, None),
        (48.0, 0.0, None),
        (48.0, 4.0, 'there are 6.0 laps, and 0.5 of one in the held-out blocks: settings are '),
        (16.0, 9.0, 'there are 2.0 laps, and 1.1 of one in the held-out blocks: settings are '),
        (16.0, 0.0, 'there are 2.0 laps: record at least 3'),
        (6.0, 0.0, 'the positions never close a lap: record'),
        (6.0, 1.5, 'the positions never close a lap: settings are hardly validated and the'),
    ],
)
def test_too_few_laps_are_said_in_one_sentence(
    drive: Callable[..., Recording], seconds: float, held_s: float, words: str | None
) -> None:
    notes = lap_notes(measure_drives([drive(seconds=seconds)]), held_s)
    assert len(notes) == (words is not None)
    if words is not None:
        assert notes[0].startswith(words)
        assert notes[0].endswith('record at least 3 laps, better 10, of one route')


def test_the_lag_is_that_of_the_bag_whatever_was_undone(drive: Callable[..., Recording]) -> None:
    late = drive(late_s=0.2)
    silent = replace(late.imu, samples=np.zeros_like(late.imu.samples))
    recordings = [late, late.with_positions_earlier(0.15), replace(late, imu=silent)]
    rows = lag_summary(recordings, measure_drives(recordings))
    assert [row['corrected_s'] for row in rows] == [0.0, 0.15, 0.0]
    assert [row['found_s'] for row in rows[:2]] == pytest.approx([0.2, 0.2], abs=0.003)
    assert [row['uncertainty_s'] for row in rows[:2]] == pytest.approx([0.014, 0.014], abs=0.001)
    assert rows[2]['found_s'] is rows[2]['uncertainty_s'] is None


def test_a_model_remembers_laps_and_lag(drive: Callable[..., Recording]) -> None:
    settings = TrainingSettings(rate_hz=10.0, window=10, states=5, horizons=(0, 5))
    recording = drive(seconds=20.0, late_s=0.2).with_positions_earlier(0.2)
    summary = train_model([recording], settings).summary
    assert summary['laps'] == pytest.approx(2.5, abs=0.1)
    (row,) = summary['position_lag']
    assert row['recording'] == 'ellipse'
    assert row['found_s'] == pytest.approx(0.2, abs=0.003)
    assert row['corrected_s'] == 0.2
    assert [note for note in summary['notes'] if note.startswith('there are 2.5 laps')]


def test_the_laps_of_all_recordings_count(drive: Callable[..., Recording]) -> None:
    drives = measure_drives([drive(seconds=20.0), drive(), drive(seconds=6.0)])
    assert count_all_laps(drives) == pytest.approx(2.5 + 6.0, abs=0.2)
