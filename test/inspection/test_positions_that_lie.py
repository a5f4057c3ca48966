# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions in other units, and such that stand still while the IMU drives."""

from dataclasses import replace
from itertools import product

import numpy as np
from other_recordings import with_imu, with_positions
import pytest
from rounds import recording_of

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.inspecting import inspect_recording
from two_manifold_ros.inspection.positions import scale_of
from two_manifold_ros.recordings.reading import without_frozen
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model


@pytest.mark.parametrize('imu_unit', [1.0, 1.0 / 9.80665])
@pytest.mark.parametrize(
    ('unit_m', 'word'),
    [
        (1e-3, 'millimetres'), (1e-2, 'centimetres'), (0.0254, 'inches'), (0.3048, 'feet'),
        (1e3, 'kilometres'), (111_195.0, 'degrees'), (0.9144, ''), (1, ''),
    ],
)  # fmt: skip
def test_other_units_than_metres_are_named_and_refused(drive, unit_m, word, imu_unit):
    recording = with_positions(
        drive(), positions=drive().positions.positions / unit_m + [8.0, 47.0]
    )
    units = np.array([imu_unit] * 3 + [1.0] * 3)
    recording = with_imu(recording, samples=recording.imu.samples * units)
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
    recording = with_positions(drive(), positions=factor * drive().positions.positions)
    samples = recording.imu.samples * [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    recording = with_imu(recording, samples=samples)
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


def left_out(recording):
    """Return how many positions are left out, and hold that they are those that are said."""
    kept, notes = without_frozen(recording.positions, recording.imu)
    count = len(recording.positions.stamps) - len(kept.stamps)
    assert [f'{count} of ' in each and 'check the camera' in each for each in notes] == [True] * (
        count > 0
    )
    return count


@pytest.mark.parametrize('at', [slice(100), slice(1400, 1500), slice(300, 500)])
@pytest.mark.parametrize('place', ['last', [0.0, 0.0], [7.0, 9.0]])
@pytest.mark.parametrize('off_s', [0.0, 1.0])
def test_positions_that_stand_still_while_the_imu_drives_are_left_out(drive, at, place, off_s):
    """At the beginning, in the middle, at the end, and for a whole lap."""
    recording = drive(seconds=60.0, late_s=off_s)
    places = recording.positions.positions.copy()
    places[at] = places[at.start or 0] if place == 'last' else place
    assert left_out(with_positions(recording, positions=places)) == len(places[at])


@pytest.mark.parametrize(('share', 'count'), [(0.0, 0), (0.15, 0), (0.5, 100)])
def test_how_much_of_the_usual_the_imu_changes_tells_a_drive_from_a_stop(drive, share, count):
    """Vibration and slopes change what an IMU shows of a vehicle that stands, too."""
    recording = drive(seconds=60.0)
    places = recording.positions.positions.copy()
    places[500:600] = 7.0
    begin, end = recording.positions.stamps[[500, 599]]
    within = (recording.imu.stamps >= begin) & (recording.imu.stamps <= end)
    samples = recording.imu.samples.copy()
    samples[within] = samples.mean(axis=0) + share * (samples[within] - samples.mean(axis=0))
    recording = with_imu(recording, samples=samples)
    assert left_out(with_positions(recording, positions=places)) == count


def driven(speed, rate):
    """Return a drive by speed and rate of turn, 50 Hz, with an odometry that is exact, 10 Hz."""
    course = np.cumsum(rate) / 50.0
    places = np.cumsum(speed[:, None] * np.stack([np.cos(course), np.sin(course)], 1) / 50.0, 0)
    none = np.zeros(len(speed))
    samples = [np.gradient(speed) * 50.0, speed * rate, none + 9.81, none, none, rate]
    noise = np.random.default_rng(0).normal(scale=0.05, size=(len(speed), 6))
    exact = recording_of(np.stack(samples, axis=1) + noise, places, 50.0)
    return replace(exact, positions=exact.positions.select(slice(None, None, 5)))


def stop_and_go(kind):
    """Return a drive that stands, or turns, for 4 s of each 30 s, the last time at its end."""
    seconds = np.arange(0.0, 286.5, 0.02)
    ahead = np.clip(np.abs(seconds % 30.0 - 15.0) - 2.0, 0.0, 1.0 if kind == 'slows' else 0.001)
    speed, rate = ahead / ahead.max(), 0.3 * np.sin(1.1 * seconds) * (ahead > 0)
    if kind.startswith('turns'):
        rate = np.where(ahead > 0, 0.0 if 'straight' in kind else rate, np.pi / 8)
    if 'last' in kind:
        speed = np.where(seconds > 280.0, 0.0, 1.0)
        rate = np.where(speed > 0, 0.0 if 'straight' in kind else 0.3 * np.sin(1.1 * seconds), 1.0)
    return driven(speed, rate)


KINDS = ['slows', 'brakes', 'turns', 'turns straight', 'turns last', 'turns last straight']


@pytest.mark.parametrize(
    ('kind', 'off_s'), [*product(KINDS, [0.0, 0.8, 18.0, -7.0]), ('slows', -1.5)]
)
def test_a_vehicle_that_stops_or_turns_on_the_spot_is_not_lost(kind, off_s):
    """Whatever its clock shows: by its stops the clock is found."""
    assert left_out(stop_and_go(kind).with_positions_earlier(-off_s)) == 0


@pytest.mark.parametrize('used', [slice(6), slice(3), slice(3, 6), slice(4), slice(1, 2)])
def test_who_is_lost_at_the_end_did_not_slow_down_before(used):
    """By any sensor, though the vehicle stood for as long before."""
    recording = stop_and_go('slows').between(0.0, 277.0)
    places = recording.positions.positions.copy()
    places[-36:] = places[-36]
    recording = with_imu(recording, samples=recording.imu.samples[:, used])
    assert left_out(with_positions(recording, positions=places)) == 36
