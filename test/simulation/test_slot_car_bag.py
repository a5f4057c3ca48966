# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Runs become recordings and bags with the same content."""

from pathlib import Path

import numpy as np
import pytest

from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import (
    run_to_recording,
    samples_per_reference,
    simulate,
    SlotCarRun,
    write_run,
)


@pytest.fixture(scope='module')
def run() -> SlotCarRun:
    return simulate(SlotCarSettings(seed=2), samples=301)


@pytest.mark.parametrize(
    ('rate_hz', 'every'), [(10.0, 1), (50.0, 1), (51.0, 2), (100.0, 2), (1000.0, 20)]
)
def test_references_come_at_fifty_hertz_at_most(rate_hz: float, every: int) -> None:
    assert samples_per_reference(rate_hz) == every


def test_recording_holds_the_run(run: SlotCarRun) -> None:
    recording = run_to_recording(run)
    np.testing.assert_array_equal(recording.imu.samples, run.imu)
    np.testing.assert_array_equal(recording.positions.stamps, run.stamps_ns[::2])
    errors = recording.positions.positions - run.positions[::2, :2]
    assert 0.003 < errors.std() < 0.007


def test_bag_and_recording_hold_the_same(run: SlotCarRun, tmp_path: Path) -> None:
    write_run(run, tmp_path / 'bag')
    expected, actual = run_to_recording(run), read_recording(tmp_path / 'bag')
    assert (actual.imu.topic, actual.imu.frame_id) == ('/imu', 'imu_link')
    assert (actual.positions.topic, actual.positions.frame_id) == ('/reference', 'map')
    assert actual.positions.msgtype == expected.positions.msgtype
    np.testing.assert_array_equal(actual.imu.stamps, expected.imu.stamps)
    np.testing.assert_array_equal(actual.imu.receive_stamps, expected.imu.receive_stamps)
    np.testing.assert_array_equal(actual.imu.samples, expected.imu.samples)
    np.testing.assert_array_equal(actual.positions.stamps, expected.positions.stamps)
    np.testing.assert_array_equal(actual.positions.positions, expected.positions.positions)
    assert not actual.notes


def test_same_bytes_twice(run: SlotCarRun, tmp_path: Path) -> None:
    contents = []
    for folder in ('first', 'second'):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / 'bag'
        write_run(run, path)
        contents.append({file.name: Path(file).read_bytes() for file in path.iterdir()})
    assert contents[0] == contents[1]
    assert len(contents[0]) == 2
