# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions in other units, and such that stand still while the IMU drives."""

from dataclasses import replace

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.inspecting import inspect_recording
from two_manifold_ros.recordings.reading import without_frozen
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model


def with_places(recording, places):
    return replace(recording, positions=replace(recording.positions, positions=places))


@pytest.mark.parametrize('gravity', [1.0, 9.80665])
@pytest.mark.parametrize(('factor', 'word'), [(1e3, 'millimetres'), (1e2, 'centimetres'), (1, '')])
def test_other_units_than_metres_are_named_and_refused(drive, factor, word, gravity):
    recording = with_places(drive(), factor * drive().positions.positions)
    units = np.array([gravity / 9.80665] * 3 + [1.0] * 3)
    imu = replace(recording.imu, samples=recording.imu.samples * units)
    recording = replace(recording, imu=imu)
    said = [each.sentence for each in inspect_recording(recording).findings]
    assert any(f'probably in {word}' in each for each in said if word) == bool(word)
    assert any('not in metres' in each for each in said) == bool(word)
    if word:
        with pytest.raises(InputError, match=word):
            train_model([recording], TrainingSettings())


@pytest.mark.parametrize('kind', ['last', 'zero', 'other', 'stands'])
def test_positions_that_stand_still_while_the_imu_drives_are_left_out(drive, kind):
    recording = drive(seconds=60.0)
    places, at = recording.positions.positions.copy(), slice(500, 600)
    places[at] = {'zero': [0.0, 0.0], 'other': [7.0, 9.0]}.get(kind, places[500])
    if kind == 'stands':
        stamps = recording.positions.stamps[[500, 599]]
        samples = recording.imu.samples.copy()
        samples[(recording.imu.stamps >= stamps[0]) & (recording.imu.stamps <= stamps[1])] = 0.0
        recording = replace(recording, imu=replace(recording.imu, samples=samples))
    kept, notes = without_frozen(with_places(recording, places).positions, recording.imu)
    left_out = len(places) - len(kept.stamps)
    assert (left_out, len(notes)) == ((0, 0) if kind == 'stands' else (100, 1))


def test_a_frame_that_no_model_can_have_is_refused_before_the_work(drive):
    recording = drive()
    recording = replace(recording, imu=replace(recording.imu, frame_id='imu\x07'))
    assert 'frame_unprintable' in {each.code for each in inspect_recording(recording).findings}
    with pytest.raises(InputError, match='frame_id'):
        train_model([recording], TrainingSettings())
