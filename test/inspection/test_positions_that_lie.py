# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions in other units, and such that stand still while the IMU drives."""

from dataclasses import replace

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.inspecting import inspect_recording
from two_manifold_ros.inspection.positions import scale_of
from two_manifold_ros.recordings.reading import without_frozen
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model


def with_places(recording, places):
    return replace(recording, positions=replace(recording.positions, positions=places))


@pytest.mark.parametrize('imu_unit', [1.0, 1.0 / 9.80665])
@pytest.mark.parametrize(
    ('unit_m', 'word'),
    [
        (1e-3, 'millimetres'), (1e-2, 'centimetres'), (0.0254, 'inches'), (0.3048, 'feet'),
        (1e3, 'kilometres'), (111_195.0, 'degrees'), (0.9144, ''), (1, ''),
    ],
)  # fmt: skip
def test_other_units_than_metres_are_named_and_refused(drive, unit_m, word, imu_unit):
    recording = with_places(drive(), drive().positions.positions / unit_m + [8.0, 47.0])
    units = np.array([imu_unit] * 3 + [1.0] * 3)
    imu = replace(recording.imu, samples=recording.imu.samples * units)
    recording = replace(recording, imu=imu)
    report = inspect_recording(recording)
    said = [each.sentence for each in report.findings if 'not in metres' in each.sentence]
    assert len(said) == bool(word)
    assert all(f'probably in {word}, not' in each for each in said)
    # All else is measured in metres.
    right = inspect_recording(drive()).positions
    assert report.positions.extent_m == pytest.approx(right.extent_m, rel=0.1)
    assert report.positions.standing == pytest.approx(right.standing, abs=0.01)
    if word:
        with pytest.raises(InputError, match=f'{recording.name}.*{word}'):
            train_model([recording], TrainingSettings())


@pytest.mark.parametrize('factor', [1e-9, 1e-5, 1e-3, 1e3, 1e6])
def test_positions_that_no_model_can_hold_are_refused_before_the_work(drive, factor):
    """Where an IMU whose accelerometer is dead cannot show their unit."""
    recording = with_places(drive(), factor * drive().positions.positions)
    samples = recording.imu.samples * [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    recording = replace(recording, imu=replace(recording.imu, samples=samples))
    stages: list[str] = []
    with pytest.raises(InputError, match=f'{recording.name}: .* on /pose .* convert to metres'):
        train_model([recording], TrainingSettings(), lambda stage, _: stages.append(stage))
    assert not stages


@pytest.mark.parametrize('imu_unit', [1.0, 1.0 / 9.80665])
@pytest.mark.parametrize('every', [1, 10, 20])
def test_positions_in_metres_are_never_refused(drive, imu_unit, every):
    """Whether the IMU removes gravity, in m/s^2 or g, and however rare the positions are."""
    recording = drive()
    samples = (recording.imu.samples - [0, 0, 9.80665, 0, 0, 0]) * [*[imu_unit] * 3, 1, 1, 1]
    rare = recording.positions.select(np.arange(len(recording.positions.stamps)) % every == 0)
    assert scale_of(rare, replace(recording.imu, samples=samples)) is None


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
