# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Runs become arrays, recordings, messages and bags with the same content."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import (
    imu_message,
    reference_message,
    run_to_recording,
    samples_per_reference,
    simulate,
    SlotCarRun,
    write_run,
)
from two_manifold_ros.simulation.track import Track

if TYPE_CHECKING:
    from pathlib import Path

STAMP = 1_700_000_000_000_000_007


@pytest.fixture(scope='module')
def run() -> SlotCarRun:
    return simulate(SlotCarSettings(seed=2), samples=301)


def test_laps_end_with_the_sample_that_completes_them() -> None:
    run = simulate(SlotCarSettings(), laps=2)
    driven = run.distances - run.distances[0]
    assert driven[-2] < 2 * Track().length <= driven[-1]


def test_same_settings_same_run_other_seed_other_run() -> None:
    first, again, other = (simulate(SlotCarSettings(seed=s), samples=10) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.imu, again.imu)
    assert np.abs(first.imu - other.imu).min() > 0.0


@pytest.mark.parametrize('choice', [{}, {'laps': 0}, {'samples': 0}, {'laps': 1, 'samples': 1}])
def test_one_positive_length_is_wanted(choice: dict[str, int]) -> None:
    with pytest.raises(InputError, match='laps'):
        simulate(SlotCarSettings(), **choice)


def test_progress_is_reported() -> None:
    heard = []
    simulate(SlotCarSettings(), samples=2500, report=lambda *what: heard.append(what))
    assert heard == [('driving', 0.4), ('driving', 0.8)]


def nearest_neighbour_rmse(imu: np.ndarray, places: np.ndarray, width: int) -> float:
    """Return the error of the mean place of the five nearest windows among the first 1500."""
    windows = np.lib.stride_tricks.sliding_window_view(imu, width, axis=0)
    windows = windows.reshape(len(windows), -1)
    train, test = windows[: 1500 - width + 1], windows[-400:]
    distances = np.square(train).sum(axis=1) - 2.0 * test @ train.T
    nearest = np.argpartition(distances, 5, axis=1)[:, :5]
    errors = places[width - 1 + nearest].mean(axis=1) - places[-400:]
    return np.sqrt(np.square(errors).sum(axis=1).mean())


def test_long_windows_give_the_place_away_and_short_ones_do_not() -> None:
    run = simulate(SlotCarSettings(), samples=20_000)
    imu = run.imu.reshape(2000, 10, 6).mean(axis=1)
    imu = (imu - imu.mean(axis=0)) / imu.std(axis=0)
    places = run.positions[9::10, :2]
    long, short = (nearest_neighbour_rmse(imu, places, width) for width in (30, 5))
    assert long < 0.25
    assert short > 2.0 * long


def test_imu_message() -> None:
    message = imu_message(STAMP, np.arange(6.0), np.arange(1.0, 7.0))
    assert message['header'] == {
        'stamp': {'sec': 1_700_000_000, 'nanosec': 7},
        'frame_id': 'imu_link',
    }
    assert message['linear_acceleration'] == {'x': 0.0, 'y': 1.0, 'z': 2.0}
    assert message['angular_velocity'] == {'x': 3.0, 'y': 4.0, 'z': 5.0}
    assert message['orientation_covariance'].tolist() == [-1.0] + [0.0] * 8
    for name, values in (('linear_acceleration', (1, 2, 3)), ('angular_velocity', (4, 5, 6))):
        np.testing.assert_array_equal(message[f'{name}_covariance'], np.diag(values).ravel())


def test_reference_message() -> None:
    message = reference_message(STAMP, np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.5, 0.5, -0.5]))
    assert message['header'] == {'stamp': {'sec': STAMP // 10**9, 'nanosec': 7}, 'frame_id': 'map'}
    assert message['pose']['position'] == {'x': 1.0, 'y': 2.0, 'z': 3.0}
    assert message['pose']['orientation'] == {'x': 0.5, 'y': 0.5, 'z': 0.5, 'w': -0.5}


@pytest.mark.parametrize(
    ('rate_hz', 'every'), [(10.0, 1), (50.0, 1), (51.0, 2), (100.0, 2), (1000.0, 20)]
)
def test_references_come_at_fifty_hertz_at_most(rate_hz: float, every: int) -> None:
    assert samples_per_reference(rate_hz) == every


def test_bag_and_recording_hold_the_run(run: SlotCarRun, tmp_path: Path) -> None:
    for folder in ('first', 'second'):
        (tmp_path / folder).mkdir()
        write_run(run, tmp_path / folder / 'bag')
    expected, actual = run_to_recording(run), read_recording(tmp_path / 'first' / 'bag')
    assert (run.imu.shape, run.quaternions.shape) == ((301, 6), (301, 4))
    np.testing.assert_array_equal(expected.imu.samples, run.imu)
    np.testing.assert_array_equal(expected.positions.stamps, run.stamps_ns[::2])
    assert 0.003 < (expected.positions.positions - run.positions[::2, :2]).std() < 0.007
    assert (actual.imu.topic, actual.imu.frame_id) == ('/imu', 'imu_link')
    assert (actual.positions.topic, actual.positions.frame_id) == ('/reference', 'map')
    assert actual.positions.msgtype == expected.positions.msgtype
    for name in ('stamps', 'receive_stamps', 'samples'):
        np.testing.assert_array_equal(getattr(actual.imu, name), getattr(expected.imu, name))
    for name in ('stamps', 'positions'):
        found, wanted = (getattr(each.positions, name) for each in (actual, expected))
        np.testing.assert_array_equal(found, wanted)
    assert not actual.notes
    first, second = (sorted((tmp_path / name / 'bag').iterdir()) for name in ('first', 'second'))
    assert [file.name for file in first] == [file.name for file in second]
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]
    assert len(first) == 2
