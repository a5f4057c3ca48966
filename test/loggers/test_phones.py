# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings of phones: a folder of tables, or one table of everything."""

from datetime import datetime, timedelta, timezone
import os
from pathlib import Path

from logger_files import Drive, drive, G
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.columns import parse_columns
from two_manifold_ros.loggers.reading import read_log
from two_manifold_ros.loggers.to_bag import drive_of

ZONE = timezone(timedelta(hours=-8))


@pytest.fixture(scope='module')
def made() -> Drive:
    """Return the drive."""
    return drive(20.0)


def write(path: Path, head: str, rows: list[list[object]], separator: str = ',') -> None:
    """Write a table."""
    path.parent.mkdir(exist_ok=True, parents=True)
    lines = [head, *(separator.join(map(str, row)) for row in rows)]
    path.write_text('\n'.join([*lines, '']), encoding='utf-8')


def sensor_logger(folder: Path, made: Drive, platform: str, standardisation: str) -> Path:
    """Write the folder of Sensor Logger: axes in the order z, y, x, and nanoseconds."""
    head = 'time,seconds_elapsed,z,y,x'
    sign = -1 if (platform, standardisation) == ('ios', 'false') else 1
    for name, columns in (
        ('TotalAcceleration', sign * made.imu[:, 2::-1]),
        # Without gravity: the other one is better.
        ('Accelerometer', sign * (made.imu[:, 2::-1] - [G, 0.0, 0.0])),
        ('Gyroscope', made.imu[:, :2:-1]),
    ):
        # Sensors are not sampled at the same times.
        late = 3_000_000 if name == 'Gyroscope' else 0
        rows = [
            [stamp + late, f'{second:.3f}', *values]
            for stamp, second, values in zip(made.stamps, made.seconds, columns, strict=True)
        ]
        write(folder / f'{name}.csv', head, rows)
    head = 'time,seconds_elapsed,bearingAccuracy,speed,altitude,longitude,latitude'
    rows = [
        [stamp, 0.0, 1, 12.0, up, east, north]
        for stamp, (north, east, up) in zip(made.stamps[::4], made.fixes, strict=True)
    ]
    write(folder / 'Location.csv', head, rows)
    write(folder / 'Barometer.csv', 'time,seconds_elapsed,pressure', [[made.stamps[0], 0, 1013]])
    head = 'version,device name,platform,standardisation'
    write(folder / 'Metadata.csv', head, [[3, "Jane Example's phone", platform, standardisation]])
    return folder


@pytest.mark.parametrize(
    ('platform', 'standardisation'), [('android', 'false'), ('ios', 'true'), ('ios', 'false')]
)
def test_sensor_logger(platform, standardisation, made, tmp_path):
    folder = sensor_logger(tmp_path / 'phone', made, platform, standardisation)
    found = drive_of(read_log([folder], {}))
    first = int(np.argmin(np.abs(made.stamps - found.imu_stamps[0])))
    expected = made.imu[first : first + len(found.imu)]
    assert len(found.imu) >= len(made.imu) - 1
    np.testing.assert_allclose(found.imu[:, :3], expected[:, :3], atol=1e-9)
    # Between its samples.
    np.testing.assert_allclose(found.imu[:, 3:], expected[:, 3:], atol=0.02)
    np.testing.assert_allclose(found.fixes, made.fixes, rtol=0, atol=1e-9)
    assert not any('Jane' in note for note in found.notes)


def test_another_sensor_of_sensor_logger_is_refused_by_name(made, tmp_path):
    folder = sensor_logger(tmp_path / 'phone', made, 'android', 'true')
    with pytest.raises(InputError, match=r'Barometer\.csv'):
        read_log([folder / 'Gyroscope.csv', folder / 'Barometer.csv'], {})


@pytest.mark.parametrize('comma', [False, True])
def test_phyphox_with_a_pause(comma, made, tmp_path):
    """Its own clock stands during a pause; tables may have decimal commas."""
    folder, half, pause_s = tmp_path / 'phyphox', len(made.seconds) // 2, 100.0
    start = made.stamps[0] / 1e9
    for name, word, unit, columns in (
        ('Accelerometer', 'Acceleration', 'm/s^2', made.imu[:, :3]),
        ('Gyroscope', 'Gyroscope', 'rad/s', made.imu[:, 3:]),
    ):
        heads = ['"Time (s)"', *(f'"{word} {axis} ({unit})"' for axis in 'xyz')]
        rows = [
            [f'{second:.6E}', *(f'{each:.9E}' for each in values)]
            for second, values in zip(made.seconds, columns, strict=True)
        ]
        if comma:
            rows = [[cell.replace('.', ',') for cell in row] for row in rows]
        separator = ';' if comma else ','
        write(folder / f'{name}.csv', separator.join(heads), rows, separator)
    middle = made.seconds[half]
    events = [
        ['"START"', 0.0, start, '""'],
        ['"PAUSE"', middle, start + middle, '""'],
        ['"START"', middle, start + middle + pause_s, '""'],
    ]
    head = '"event","experiment time","system time","system time text"'
    write(folder / 'meta' / 'time.csv', head, events)
    found = drive_of(read_log([folder], {}))
    np.testing.assert_allclose(found.imu, made.imu, atol=1e-8)
    later = np.where(np.arange(len(made.seconds)) < half, 0, round(pause_s * 1e9))
    np.testing.assert_allclose(found.imu_stamps, made.stamps + later, rtol=0, atol=2000)


def test_sensorlog_has_zones_and_the_signs_of_ios(made, tmp_path):
    names = ['loggingTime(txt)', 'locationLatitude(WGS84)', 'locationLongitude(WGS84)']
    names += ['locationAltitude(m)', *(f'accelerometerAcceleration{axis}(G)' for axis in 'XYZ')]
    names += [f'gyroRotation{axis}(rad/s)' for axis in 'XYZ']
    rows = []
    for index, stamp in enumerate(made.stamps.tolist()):
        local = datetime.fromtimestamp(stamp // 10**9, ZONE)
        text = f'{local:%Y-%m-%d %H:%M:%S}.{stamp % 10**9 // 10**6:03d} -0800'
        rows.append(
            [text, *made.fixes[index // 4], *(-made.imu[index, :3] / G), *made.imu[index, 3:]]
        )
    path = tmp_path / 'log.csv'
    write(path, ','.join(names), rows)
    found = drive_of(read_log([path], {}))
    assert found.imu_stamps.tolist() == made.stamps.tolist()
    np.testing.assert_allclose(found.imu, made.imu, atol=1e-9)
    np.testing.assert_allclose(found.fixes, made.fixes, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ('text', 'stamp_ns', 'noted'),
    [
        ('1970-01-02T00:00:00Z', 86_400 * 10**9, False),
        ('1970-01-02 01:00:00.25+01:00', 86_400 * 10**9 + 250_000_000, False),
        ('1970-01-02 00:00:00.123456789', 86_400 * 10**9 + 123_456_789, True),
    ],
)
def test_times_as_text(text, stamp_ns, noted, tmp_path):
    path = tmp_path / 'a.csv'
    write(path, 'time,ax', [[text, 1.0]])
    found = read_log([path], {})
    assert found.channels['accel_x'].stamps.tolist() == [stamp_ns]
    assert any('UTC' in note for note in found.notes) == noted


def test_the_header_may_name_the_zone(tmp_path):
    path = tmp_path / 'a.csv'
    write(path, 'Timestamp (UTC),ax', [['2026-01-31 00:00:00', 1.0]])
    assert read_log([path], {}).channels['accel_x'].stamps.tolist() == [1_769_817_600 * 10**9]


def test_a_text_that_is_no_time_is_named(tmp_path):
    path = tmp_path / 'a.csv'
    write(path, 'time,ax', [['2026-01-01T00:00:00Z', 1.0], ['2026-13-01T00:00:00Z', 1.0]])
    with pytest.raises(InputError, match=r'a\.csv, line 3: .*2026-13-01'):
        read_log([path], {})


def test_an_empty_folder_and_an_archive_are_refused(tmp_path):
    with pytest.raises(InputError, match='no table'):
        read_log([tmp_path], {})
    archive = tmp_path / 'phone.zip'
    archive.write_bytes(b'PK\x03\x04rest')
    with pytest.raises(InputError, match='unpack it'):
        read_log([archive], {})


def test_of_several_tables_each_has_its_part_of_a_map(made, tmp_path):
    """The same letters are of another sensor in each table, as their units show."""
    for number, (name, unit) in enumerate([('Accelerometer', 'm/s^2'), ('Gyroscope', 'rad/s')]):
        part = made.imu[:, 3 * number : 3 * number + 3]
        rows = np.column_stack([made.seconds, part]).tolist()
        head = ','.join(['"Time (s)"', *(f'"{axis} ({unit})"' for axis in 'XYZ')])
        write(tmp_path / f'{name}.csv', head, rows)
    log = read_log([tmp_path], parse_columns('time=Time:s,ax=X,ay=Y,az=Z'))
    assert {f'{kind}_{axis}' for kind in ('accel', 'gyro') for axis in 'xyz'} <= set(log.channels)
    words = [note.partition(':')[0] for note in log.notes if ' is X in' in note]
    assert words == ['Accelerometer.csv', 'Gyroscope.csv']
    assert sum('no date' in note for note in log.notes) == 1
    with pytest.raises(InputError, match='no table has the column'):
        read_log([tmp_path], parse_columns('ax=W'))


def test_a_file_beside_the_table_that_never_ends_is_refused(made, tmp_path):
    folder = sensor_logger(tmp_path / 'phone', made, 'ios', 'true')
    (folder / 'Metadata.csv').unlink()
    os.mkfifo(folder / 'Metadata.csv')
    with pytest.raises(InputError, match=r'Metadata\.csv: .* no regular file'):
        read_log([folder], {})
