# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Samples and fixes of a log, and the bag that they become."""

import tracemalloc

from logger_files import Drive, drive, SECOND
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.log import Channel, IMU_ROLES, Log
from two_manifold_ros.loggers.to_bag import drive_of, write_drive
from two_manifold_ros.recordings.reading import read_recording

pytest.importorskip('rosbags')

FIX_ROLES = ('latitude', 'longitude', 'altitude')


def log_of(made: Drive) -> Log:
    """Return the log of a drive."""
    samples = zip(IMU_ROLES, made.imu.T, strict=True)
    channels = {role: Channel(made.stamps, values) for role, values in samples}
    fixes = zip(FIX_ROLES, made.fixes.T, strict=True)
    channels |= {role: Channel(made.stamps[::4], values) for role, values in fixes}
    return Log('a file', 'a format', channels)


@pytest.mark.parametrize('part', [slice(None), slice(0, 300), slice(500, 530), slice(700, None)])
def test_any_part_of_a_file_has_the_signs_of_the_file(part):
    """One mounting has one set of signs, whatever a session shows of them."""
    made = drive()
    made.imu[:] *= [-1, 1, 1, 1, 1, -1]
    log = log_of(made)
    for role in IMU_ROLES:
        whole = log.channels[role]
        log.channels[role] = Channel(whole.stamps[part], whole.values[part])
    found = drive_of(log)
    np.testing.assert_array_equal(found.imu.values, made.imu[part])
    # Standard gravity up where it is not measured, and zero otherwise.
    for role in ('accel_z', 'gyro_x'):
        del log.channels[role]
    assert set(map(tuple, drive_of(log).imu.values[:, 2:4].tolist())) == {(9.80665, 0.0)}


def test_the_bag_is_read_as_it_was_written(tmp_path):
    made = drive()
    log = log_of(made)
    assert write_drive(drive_of(log), tmp_path / 'bag') == {'/imu': 1200, '/gps/fix': 300}
    recording = read_recording(tmp_path / 'bag')
    np.testing.assert_array_equal(recording.imu.samples, made.imu)
    assert recording.imu.stamps.tolist() == made.stamps.tolist()
    assert recording.positions is not None
    assert recording.positions.stamps.tolist() == made.stamps[::4].tolist()
    assert recording.positions.origin.longitude_deg < 0
    # Positions in metres are poses, if there are no fixes.
    metres = np.random.default_rng(1).normal(size=(len(made.stamps), 2))
    for role, values in zip('xy', metres.T, strict=True):
        log.channels[role] = Channel(made.stamps, values)
    assert len(drive_of(log).poses.values) == 0
    for role in FIX_ROLES:
        del log.channels[role]
    assert write_drive(drive_of(log), tmp_path / 'poses') == {'/imu': 1200, '/pose': 1200}
    positions = read_recording(tmp_path / 'poses').positions
    assert positions is not None
    np.testing.assert_array_equal(positions.positions, metres)
    # A drive before 1970 is refused.
    log = Log('a file', 'a format', {'accel_x': Channel(np.array([-5, 5]), np.zeros(2))})
    with pytest.raises(InputError, match='1970'):
        write_drive(drive_of(log), tmp_path / 'old')


def test_memory_does_not_hold_all_messages(tmp_path):
    stamps = SECOND + np.arange(5000)
    made = drive_of(Log('a file', 'a format', {'accel_x': Channel(stamps, np.zeros(5000))}))
    write_drive(made, tmp_path / 'once')
    tracemalloc.start()
    write_drive(made, tmp_path / 'again')
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 1000 * len(stamps)


def test_repeated_positions_and_none_are_left_out_but_not_a_standstill():
    made = drive(10.0)
    log = log_of(made)
    # Each row of 20 Hz has the last fix; then the vehicle stands for five seconds.
    held = np.repeat(made.fixes, 4, axis=0)
    held[100:] = held[100]
    for role, values in zip(FIX_ROLES, held.T, strict=True):
        log.channels[role] = Channel(made.stamps, values)
    found = drive_of(log)
    assert found.fixes.stamps[:26].tolist() == made.stamps[:104:4].tolist()
    assert np.diff(found.fixes.stamps[25:]).tolist() == [SECOND] * 4
    held[:20, :2] = 0.0
    held[20, 0] = 91.0
    found = drive_of(log)
    assert found.fixes.stamps[0] == made.stamps[21]
    assert any('21 of 200' in note for note in found.notes)
