# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Trials come back to the last digit, and only for the data and settings they are of."""

from __future__ import annotations

from dataclasses import replace
import json
import math
from typing import TYPE_CHECKING

import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.training.tuning_trials import Failure, Journal, key_of, Trial

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.training.settings import TrainingSettings


def test_trials_come_back(tmp_path: Path, usual: TrainingSettings) -> None:
    path = tmp_path / 'm.tuning.json'
    journal = Journal(path, 'key')
    assert len(journal) == 0
    assert journal.start is None
    assert not path.exists()
    other = replace(usual, window=30)
    trial = Trial(1 / 3, ((0.1 + 0.2, math.nan), (1e-17,)))
    journal.keep(usual, trial)
    journal.keep(other, Failure('why'))
    assert list(tmp_path.iterdir()) == [path]
    json.loads(path.read_text(), parse_constant=pytest.fail)
    again = Journal(path, 'key')
    assert len(again) == 2
    assert again.start == usual
    assert repr(again.find(usual)) == repr(trial)
    assert again.find(other) == Failure('why')
    assert again.find(replace(usual, window=31)) is None
    for forgetful in (Journal(path, 'other key'), Journal(path, 'key', resume=False)):
        assert len(forgetful) == 0
        assert forgetful.find(usual) is None


@pytest.mark.parametrize('text', ['', 'notes', '[1]', '{"format": "another"}', '{}'])
def test_what_is_no_journal_is_left_alone(text: str, tmp_path: Path) -> None:
    path = tmp_path / 'm.tuning.json'
    path.write_text(text)
    with pytest.raises(InputError, match=r'm\.tuning\.json exists and is no journal of a tuning'):
        Journal(path, 'key', resume=False)
    assert path.read_text() == text


def test_a_folder_that_is_gone(tmp_path: Path, usual: TrainingSettings) -> None:
    journal = Journal(tmp_path / 'none' / 'm', 'key')
    with pytest.raises(InputError, match='the trials cannot be written'):
        journal.keep(usual, Failure('why'))


def test_the_key_is_of_data_settings_and_what_is_given(
    drive: Callable[..., Recording], usual: TrainingSettings
) -> None:
    recording = drive(4.0)
    assert recording.positions is not None
    key = key_of([recording], usual, {'states'})
    assert key == key_of([replace(drive(4.0), name='moved')], usual, ['states'])
    samples, places = recording.imu.samples.copy(), recording.positions.positions.copy()
    samples[-1, -1] += 1e-9
    places[-1, -1] += 1e-9
    other_imu = replace(recording, imu=replace(recording.imu, samples=samples))
    late = recording.with_positions_earlier(-0.1)
    moved = replace(recording, positions=replace(recording.positions, positions=places))
    others = [key_of([each], usual, {'states'}) for each in (other_imu, late, moved)]
    others.append(key_of([recording, recording], usual, {'states'}))
    others.append(key_of([recording], replace(usual, horizons=(0,)), {'states'}))
    others.append(key_of([recording], usual, set()))
    assert len({key, *others}) == len(others) + 1
