# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Samples and fixes of a log, and the bag that they become."""

from logger_files import Drive, drive, SECOND
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.imu import imu_findings, measure_imu
from two_manifold_ros.loggers.log import Channel, factor_of, IMU_ROLES, Log, ROLES
from two_manifold_ros.loggers.to_bag import drive_of, write_drive
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.recordings.recording import FASTEST_RATE

pytest.importorskip('rosbags')


def log_of(made: Drive, signs: tuple[int, ...] = (1,) * 6, axes: str = 'vehicle') -> Log:
    """Return the log of a drive, with some channels the other way."""
    channels = {
        role: Channel(made.stamps, sign * made.imu[:, column])
        for column, (role, sign) in enumerate(zip(IMU_ROLES, signs, strict=True))
    }
    for column, role in enumerate(('latitude', 'longitude', 'altitude')):
        channels[role] = Channel(made.stamps[::4], made.fixes[:, column])
    return Log('a file', 'a format', channels, axes)


@pytest.mark.parametrize('axes', ['vehicle', 'sensor', 'satellites'])
@pytest.mark.parametrize('part', [slice(None), slice(0, 300), slice(500, 530), slice(700, None)])
def test_any_part_of_a_file_has_the_signs_of_the_file(axes, part):
    """One mounting has one set of signs, whatever a session shows of them."""
    made = drive()
    log = log_of(made, (-1, 1, 1, 1, 1, -1), axes)
    for role in IMU_ROLES:
        whole = log.channels[role]
        log.channels[role] = Channel(whole.stamps[part], whole.values[part])
    found = drive_of(log)
    np.testing.assert_array_equal(found.imu, made.imu[part] * [-1, 1, 1, 1, 1, -1])


@pytest.mark.parametrize(
    ('factor', 'gravity', 'words'),
    [
        (1.0, 1.0, ''),
        (1.0, 0.0, 'left gravity out'),
        (1 / 9.80665, 1.0, 'look like g'),
        (1000 / 9.80665, 1.0, 'mg'),
        (16384 / 9.80665, 1.0, 'look like counts'),
    ],
)
def test_gravity_tells_the_unit_on_a_car_that_corners(factor, gravity, words):
    made = drive()
    made.imu[:, 2] -= (1.0 - gravity) * 9.80665
    made.imu[:, :3] *= factor
    notes = [each for each in drive_of(log_of(made, axes='sensor')).notes if 'mean' in each]
    assert len(notes) == bool(words)
    assert all(words in note for note in notes)


@pytest.mark.parametrize('turn', np.random.default_rng(3).normal(size=(4, 3)).tolist())
@pytest.mark.parametrize('length', [FASTEST_RATE - 1.0, FASTEST_RATE + 1.0])
def test_rates_are_too_fast_as_inspect_says_it(turn, length, tmp_path):
    """Whatever the axis they are around."""
    made = drive()
    made.imu[:, 3:] = np.divide(turn, np.linalg.norm(turn)) * length
    found = drive_of(log_of(made, axes='sensor'))
    assert any('look like deg/s' in note for note in found.notes) == (length > FASTEST_RATE)
    write_drive(found, tmp_path / 'bag')
    report = measure_imu(read_recording(tmp_path / 'bag').imu, 'a bag')
    warned = [each.code for each in imu_findings(report)]
    assert ('gyroscope_too_fast' in warned) == (length > FASTEST_RATE)


def test_positions_in_metres_are_poses(tmp_path):
    made = drive()
    log = log_of(made)
    metres = np.random.default_rng(1).normal(size=(len(made.stamps), 2))
    channels = {role: each for role, each in log.channels.items() if role in IMU_ROLES}
    for role, values in zip('xy', metres.T, strict=True):
        channels[role] = Channel(made.stamps, values)
    found = drive_of(Log('a file', 'a format', channels))
    assert write_drive(found, tmp_path / 'bag') == {'/imu': 1200, '/pose': 1200}
    positions = read_recording(tmp_path / 'bag').positions
    assert positions is not None
    np.testing.assert_array_equal(positions.positions, metres)


def test_repeated_positions_are_left_out_but_not_a_standstill():
    made = drive(10.0)
    log = log_of(made)
    # Each row of 20 Hz has the last fix; then the vehicle stands for five seconds.
    held = np.repeat(made.fixes, 4, axis=0)
    held[100:] = held[100]
    for column, role in enumerate(('latitude', 'longitude', 'altitude')):
        log.channels[role] = Channel(made.stamps, held[:, column])
    found = drive_of(log)
    assert found.fix_stamps[:26].tolist() == made.stamps[:104:4].tolist()
    assert np.diff(found.fix_stamps[25:]).tolist() == [SECOND] * 4


def test_positions_that_are_none_are_left_out():
    made = drive(10.0)
    log = log_of(made)
    made.fixes[:5, :2] = 0.0
    made.fixes[5, 0] = 91.0
    found = drive_of(log)
    assert found.fix_stamps[0] == made.stamps[24]
    assert any('6 of 50' in note for note in found.notes)


def test_the_bag_is_read_as_it_was_written(tmp_path):
    made = drive()
    found = drive_of(log_of(made))
    counts = write_drive(found, tmp_path / 'bag')
    assert counts == {'/imu': len(made.stamps), '/gps/fix': len(made.fixes)}
    recording = read_recording(tmp_path / 'bag')
    np.testing.assert_array_equal(recording.imu.samples, made.imu)
    assert recording.imu.stamps.tolist() == made.stamps.tolist()
    assert recording.positions is not None
    assert recording.positions.stamps.tolist() == made.stamps[::4].tolist()
    assert recording.positions.origin.longitude_deg < 0


def test_a_drive_before_1970_is_refused(tmp_path):
    log = Log('a file', 'a format', {'accel_x': Channel(np.array([-5, 5]), np.zeros(2))})
    with pytest.raises(InputError, match='1970'):
        write_drive(drive_of(log), tmp_path / 'bag')


@pytest.mark.parametrize(
    ('role', 'unit', 'factor'),
    [
        *((('accel_x', unit, 9.80665)) for unit in ('G', 'g', ' g ')),
        *((('accel_y', unit, 1.0)) for unit in ('m/s^2', 'm/s²', 'm/s2', 'm/s/s', '(m/s^2)')),
        *((('accel_z', unit, 1.0)) for unit in ('m s-2', 'm·s⁻²', 'mps2', 'm_s2', 'ms^-2')),
        *((('accel_z', unit, 1.0)) for unit in ('metres per second squared', 'meters/second^2')),
        ('accel_z', 'ft/s^2', 0.3048),
        *((('gyro_z', unit, np.pi / 180)) for unit in ('Deg/Sec', 'deg_sec', '°/s', 'dps')),
        *((('gyro_z', unit, 1.0)) for unit in ('rad/s', 'Rad/Sec', 'radians per second')),
        *((('gyro_z', unit, np.pi / 180)) for unit in ('deg s-1', 'degrees/second')),
        *((('gyro_z', unit, np.pi / 180_000)) for unit in ('mdps', 'mdeg/s')),
        *((('time', unit, 1e-3)) for unit in ('ms', 'milliseconds', 'millis')),
        *((('time', unit, 1.0)) for unit in ('s', 'sec', 'secs', 'Seconds', 'unix time')),
        *((('time', unit, 1e-6)) for unit in ('us', 'µs', 'microseconds', 'usec')),
        *((('time', unit, 1e-9)) for unit in ('ns', 'nanoseconds')),
        *((('latitude', unit, 1.0)) for unit in ('deg', 'Degrees', '°')),
        ('longitude', 'Minutes', 1 / 60),
        *((('altitude', unit, 0.3048)) for unit in ('ft', 'Feet')),
        *((('altitude', unit, 1.0)) for unit in ('m', 'M', 'meters', 'Metres')),
    ],
)
def test_units_as_loggers_spell_them(role, unit, factor):
    assert role in ROLES
    assert factor_of(role, unit, 'a file') == pytest.approx(factor)
