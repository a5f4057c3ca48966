# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Files of loggers and phones, by the rules of their formats, become the drive, and its bag."""

import os
import re
import sys
import tracemalloc
from types import ModuleType, SimpleNamespace

from imported import read, write
from logger_files import Drive, drive, DRIVER, G, racecapture, SECOND, vbo, WRITERS
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.log import Channel, FIX_ROLES, IMU_ROLES, Log
from two_manifold_ros.loggers.to_bag import drive_of, write_drive
from two_manifold_ros.recordings.reading import read_recording

MADE = drive()
DAY_NS = 86_400 * SECOND


@pytest.mark.parametrize('name', WRITERS)
def test_each_format_gives_the_drive(name, tmp_path):
    writer, file = WRITERS[name]
    found = read(writer(tmp_path / file, MADE))
    # Channels that are positive to the right in the file stay so; a VBO has not all of them.
    expected = MADE.imu * ([1, -1, 1, 1, 1, -1] if name in {'vbo', 'aim'} else 1)
    if name == 'vbo':
        expected[:, 2:5] = G, 0.0, 0.0
    np.testing.assert_allclose(found.imu.stamps, MADE.stamps, rtol=0, atol=1_000_000)
    np.testing.assert_allclose(found.imu.values, expected, atol=2e-4)
    # West of Greenwich, and each fix once.
    np.testing.assert_allclose(found.fixes.stamps, MADE.stamps[::4], rtol=0, atol=1_000_000)
    np.testing.assert_allclose(found.fixes.values[:, :2], MADE.fixes[:, :2], rtol=0, atol=1e-7)
    np.testing.assert_allclose(found.fixes.values[:, 2], MADE.fixes[:, 2], rtol=0, atol=0.01)
    assert not any(DRIVER in note or 'if it is west' in note for note in found.notes)
    # A map counts in files of loggers, too.
    forward = dict(zip(WRITERS, ('LongAcc', 'x_acc', 'AccelX', 'InlineAcc'), strict=True))[name]
    turned = read(tmp_path / file, columns=f'ax=-{forward}:m/s2')
    np.testing.assert_allclose(turned.imu.values[:, 0], -found.imu.values[:, 0] / G)
    np.testing.assert_array_equal(turned.imu.values[:, 1:], found.imu.values[:, 1:])


@pytest.mark.parametrize(
    ('name', 'pattern', 'put', 'begin'),
    [
        # The date is of the first row, also if the file was closed a day later.
        ('vbo', rb'07/03/2026 at 23:59:41', b'08/03/2026 at 00:00:30', MADE.stamps[0]),
        ('vbo', rb'07/03/2026 at 23:59:41', b'07/03/2026', MADE.stamps[0]),
        ('vbo', rb'File created on [^\r]*', b'', DAY_NS + MADE.stamps[0] % DAY_NS),
        ('racecapture', rb'"Utc"', b'"Other"', DAY_NS),
        ('aim', rb'"Saturday, March 7, 2026"', b'""', DAY_NS),
        ('aim', rb'"Saturday, March 7, 2026"', b'"Saturday March 7 2026"', MADE.stamps[0]),
        ('aim', rb'"Saturday, March 7, 2026"', b'"2026-01-31"', MADE.stamps[0] - 35 * DAY_NS),
    ],
)
def test_a_drive_begins_on_its_date_or_in_1970(name, pattern, put, begin, tmp_path):
    writer, file = WRITERS[name]
    path = writer(tmp_path / file, MADE)
    content, count = re.subn(pattern, put, path.read_bytes())
    assert count == 1
    path.write_bytes(content)
    found = read(path)
    expected = MADE.stamps - MADE.stamps[0] + begin
    np.testing.assert_allclose(found.imu.stamps, expected, rtol=0, atol=1_000_000)
    assert any('no date' in note for note in found.notes) == (begin < 3 * DAY_NS)


@pytest.mark.parametrize('damaged', [True, False])
def test_a_vbo_may_have_degrees_and_blanks_in_names(damaged, tmp_path):
    names = ['sats', 'time', 'lat', 'long', 'height', 'battery vo', 'longacc', 'latacc']
    head = '\n'.join(['[header]', *names, '[column names]', ' '.join(names), '[data]'])
    rows = [
        (12, f'1000{row / 10:05.2f}', 48.1 + row / 1e4, 11.5, 400, 12.1, row % 7, 0.1)
        for row in range(60)
    ]
    rows[20] = (*rows[20][:2], 481 if damaged else 48.1, *rows[20][3:])
    found = read(write(tmp_path / 'a.vbo', head, rows, ' '))
    assert len(found.fixes.values) == 60 - damaged
    assert found.fixes.values[0, :2].tolist() == [48.1, 11.5]
    assert any('lat in deg' in note for note in found.notes)


def test_rows_of_a_vbo_without_satellites_are_no_positions(tmp_path):
    file = vbo(tmp_path / 'a.vbo', MADE)
    content = file.read_bytes()
    for count in (80, len(MADE.stamps)):
        file.write_bytes(content.replace(b'\n012 ', b'\n000 ', count))
        found = read(file)
        assert found.fixes.stamps[:1].tolist() == MADE.stamps[count : count + 1].tolist()
        assert len(found.imu.stamps) == len(MADE.stamps)


def test_the_clock_of_racecapture_runs_evenly(tmp_path):
    """Though its UTC has a jitter, and is late with the first fixes."""
    file = racecapture(tmp_path / 'rc.log', MADE)
    rows = [line.split(',') for line in file.read_text().splitlines()]
    for number in (4, 5, 6, 50, 51):
        rows[number][1] = str(int(rows[number][1]) + 700)
    file.write_text('\n'.join(map(','.join, rows)))
    np.testing.assert_allclose(read(file).imu.stamps, MADE.stamps, rtol=0, atol=1_000_000)


@pytest.mark.parametrize(
    ('names', 'devices', 'found'),
    [
        *((f'{name},lateral_acc', f'{device},calc', None)
          for name in ('longitudinal_acc', 'x_acc') for device in ('calc', '100: gps', '')),
        ('x_acc,x_acc', 'calc,101: acc', [2.0, 0.0]),
        ('speed,lateral_acc', '100: gps,100: can', [0.0, 2.0]),
    ],
)  # fmt: skip
def test_accelerations_by_satellites_are_no_imu(names, devices, found, tmp_path):
    """The line of devices tells them from measured ones of the same name."""
    head = 'This file is created using RaceChrono Pro v9\nFormat,3\n\n'
    head += f'timestamp,{names}\nunix time,G,G\n,{devices}'
    rows = [(f'{17_000_000_000 + at}e-1', 1, 2) for at in range(20)]
    path = write(tmp_path / 'a.csv', head, rows)
    if found is None:
        with pytest.raises(InputError, match='hold samples'):
            read(path)
        assert len(read(path, columns=f'ax={names.split(",")[0]}').imu.values) == 20
    else:
        np.testing.assert_allclose(read(path).imu.values[0, :2], np.array(found) * G)


def test_files_of_one_vehicle_become_one_drive_in_any_order(tmp_path):
    later = Drive(MADE.seconds + 100.0, MADE.imu, MADE.fixes)
    files = [vbo(tmp_path / f'{number}.vbo', each) for number, each in enumerate((later, MADE))]
    # The later one begins on the next day.
    changed = files[0].read_bytes().replace(b'07/03/2026', b'08/03/2026', 1)
    files[0].write_bytes(changed.replace(b'23:59:41', b'00:01:20', 1))
    assert read(*files).imu.stamps.tolist() == [*MADE.stamps, *later.stamps]
    with pytest.raises(InputError, match='at the same time'):
        read(files[0], files[0])


@pytest.mark.parametrize(
    ('times', 'gap', 'count', 'note'),
    [
        # Late rows are sorted.
        ([*range(0, 500, 10), 455, *range(510, 1000, 10)], (), 100, ''),
        # One missing cell is a value between two; twenty are a gap.
        (range(0, 1000, 10), range(20, 40), 80, '20 of 100'),
        (range(0, 1000, 10), range(20, 21), 100, ''),
        ([each - each % 100 // 90 * 10 for each in range(0, 1000, 10)], (), 90, '10 of 100'),
    ],
)
def test_samples_are_sorted_and_have_all_channels(times, gap, count, note, tmp_path):
    rows = [(10 * at, 1, '' if row in gap else row) for row, at in enumerate(times)]
    found = read(write(tmp_path / 'a.csv', 'time (ms),ax,ay', rows))
    assert len(found.imu.stamps) == count
    assert (np.diff(found.imu.stamps) > 0).all()
    assert note in ' '.join(found.notes)


SHORT = drive(20.0)


def sensor_logger(folder, platform, standardisation):
    """Write the folder of Sensor Logger: axes in the order z, y, x, and nanoseconds."""
    sign = -1 if (platform, standardisation) == ('ios', 'false') else 1
    seconds = np.zeros(len(SHORT.stamps))
    for name, names, late, columns in (
        ('TotalAcceleration', 'z,y,x', 0, sign * SHORT.imu[:, 2::-1]),
        # Without gravity: the other one is better.
        ('Accelerometer', 'z,y,x', 0, sign * (SHORT.imu[:, 2::-1] - [G, 0.0, 0.0])),
        # Sensors are not sampled at the same times.
        ('Gyroscope', 'z,y,x', 3_000_000, SHORT.imu[:, :2:-1]),
        ('Location', 'altitude,longitude,latitude', 0, SHORT.fixes[:, ::-1]),
        ('Barometer', 'pressure', 0, np.full((2, 1), 1013.0)),
    ):
        stamps = SHORT.stamps[:: 4 if name == 'Location' else 1] + late
        rows = [[stamp, *each] for stamp, *each in zip(stamps, seconds, *columns.T, strict=False)]
        write(folder / f'{name}.csv', f'time,seconds_elapsed,{names}', rows)
    head = 'version,device name,platform,standardisation'
    write(folder / 'Metadata.csv', head, [[3, f"{DRIVER}'s phone", platform, standardisation]])
    return folder


@pytest.mark.parametrize(
    ('platform', 'standardisation'), [('android', 'false'), ('ios', 'true'), ('ios', 'false')]
)
def test_sensor_logger(platform, standardisation, tmp_path):
    folder = sensor_logger(tmp_path / 'phone', platform, standardisation)
    found = read(folder)
    # Those of the gyroscope begin later.
    expected = SHORT.imu[1:]
    np.testing.assert_allclose(found.imu.values[:, :3], expected[:, :3], atol=1e-9)
    # Between its samples.
    np.testing.assert_allclose(found.imu.values[:, 3:], expected[:, 3:], atol=0.02)
    np.testing.assert_allclose(found.fixes.values, SHORT.fixes, rtol=0, atol=1e-9)
    assert not any(DRIVER in note for note in found.notes)
    with pytest.raises(InputError, match=r'Barometer\.csv'):
        read(folder / 'Gyroscope.csv', folder / 'Barometer.csv')
    (folder / 'Metadata.csv').unlink()
    os.mkfifo(folder / 'Metadata.csv')
    with pytest.raises(InputError, match=r'Metadata\.csv: .* no regular file'):
        read(folder)


@pytest.mark.parametrize('comma', [False, True])
def test_phyphox_with_a_pause(comma, tmp_path):
    """Its own clock stands during a pause; tables may have decimal commas."""
    half, pause_s, start = len(SHORT.seconds) // 2, 100.0, SHORT.stamps[0] / 1e9
    for name, word, unit, columns in (
        ('Accelerometer', 'Acceleration', 'm/s^2', SHORT.imu[:, :3]),
        ('Gyroscope', 'Gyroscope', 'rad/s', SHORT.imu[:, 3:]),
    ):
        heads = ['"Time (s)"', *(f'"{word} {axis} ({unit})"' for axis in 'xyz')]
        rows = [[f'{each:.9E}' for each in row] for row in np.c_[SHORT.seconds, columns]]
        rows = [[cell.replace('.', ',' if comma else '.') for cell in row] for row in rows]
        separator = ';' if comma else ','
        write(tmp_path / f'{name}.csv', separator.join(heads), rows, separator)
    middle = SHORT.seconds[half]
    events = ('START', 0.0, 0.0), ('PAUSE', middle, middle), ('START', middle, middle + pause_s)
    rows = [(f'"{name}"', at, start + later, '""') for name, at, later in events]
    head = '"event","experiment time","system time","system time text"'
    write(tmp_path / 'meta' / 'time.csv', head, rows)
    found = read(tmp_path)
    np.testing.assert_allclose(found.imu.values, SHORT.imu, atol=1e-8)
    later = np.where(np.arange(len(SHORT.seconds)) < half, 0, round(pause_s * 1e9))
    np.testing.assert_allclose(found.imu.stamps, SHORT.stamps + later, rtol=0, atol=2000)


def test_sensorlog_has_the_signs_of_ios(tmp_path):
    names = ['loggingTime(txt)', 'locationLatitude(WGS84)', 'locationLongitude(WGS84)']
    names += ['locationAltitude(m)', *(f'accelerometerAcceleration{axis}(G)' for axis in 'XYZ')]
    names += [f'gyroRotation{axis}(rad/s)' for axis in 'XYZ']
    times = (SHORT.stamps - 8 * 3600 * SECOND).astype('datetime64[ns]').astype(str)
    numbers = np.c_[SHORT.fixes.repeat(4, axis=0), -SHORT.imu[:, :3] / G, SHORT.imu[:, 3:]]
    rows = [[f'{time} -0800', *each] for time, each in zip(times, numbers, strict=True)]
    bare = [name.replace('(G)', '') for name in names]
    in_g = ','.join(f'a{axis.lower()}=accelerometerAcceleration{axis}:g' for axis in 'XYZ')
    # Units may be missing, and whoever states them need not know of the sign.
    for heads, columns in ((names, ''), (bare, ''), (bare, in_g)):
        write(tmp_path / 'log.csv', ','.join(heads), rows)
        found = read(tmp_path / 'log.csv', columns=columns)
        assert found.imu.stamps.tolist() == SHORT.stamps.tolist()
        np.testing.assert_allclose(found.imu.values, SHORT.imu, atol=1e-9)
        np.testing.assert_allclose(found.fixes.values, SHORT.fixes, rtol=0, atol=1e-9)


def test_of_several_tables_each_has_its_part_of_a_map(tmp_path):
    """The same letters are of another sensor in each table, as their units show."""
    with pytest.raises(InputError, match='no table'):
        read(tmp_path)
    for number, (name, unit) in enumerate([('Accelerometer', 'm/s^2'), ('Gyroscope', 'rad/s')]):
        rows = np.c_[SHORT.seconds, SHORT.imu[:, 3 * number : 3 * number + 3]].tolist()
        write(tmp_path / f'{name}.csv', f'Time (s),X ({unit}),Y ({unit}),Z ({unit})', rows)
    found = read(tmp_path, columns='time=Time:s,ax=X,ay=Y,az=Z')
    np.testing.assert_allclose(found.imu.values, SHORT.imu)
    assert sum(' is X in' in note for note in found.notes) == 2
    assert sum('no date' in note for note in found.notes) == 1
    with pytest.raises(InputError, match='no table has the column'):
        read(tmp_path, columns='ax=W')


def library(found):
    """Return a stand-in for the library that reads XRK files, whose channels have these values."""

    def channel(name: str, every: int, values: np.ndarray, unit: str) -> object:
        field = SimpleNamespace(metadata={b'units': unit.encode()} if unit else None)
        times = np.rint(found.seconds * 1000).astype(np.int64)[::every]
        columns = {name: SimpleNamespace(to_numpy=lambda: values)}
        other = SimpleNamespace(to_numpy=lambda: times)
        schema = SimpleNamespace(field={name: field}.get)
        return SimpleNamespace(schema=schema, column=lambda each: columns.get(each, other))

    def aim_xrk(_: str) -> object:
        sys.stdout.write('Unknown units\n')
        if found is None:
            raise IndexError
        names = ['InlineAcc', 'LateralAcc', 'VerticalAcc', 'RollRate', 'PitchRate', 'YawRate']
        units = ['g', '', 'm/s2', *['deg/s'] * 3]
        values = [*(found.imu * [1 / G, -1 / G, 1.0, *np.degrees([1.0, 1.0, -1.0])]).T]
        names += ['GPS Latitude', 'GPS Longitude', 'GPS Altitude']
        units += ['deg', 'deg', 'm']
        rows = zip(names, [1] * 6 + [4] * 3, [*values, *found.fixes.T], units, strict=True)
        stated = {'Driver': DRIVER, 'Log Date': '03/07/2026', 'Log Time': '23:59:40'}
        return SimpleNamespace(channels={row[0]: channel(*row) for row in rows}, metadata=stated)

    module = ModuleType('libxrk')
    module.aim_xrk = aim_xrk  # type: ignore[attr-defined]
    return module


def test_xrk_files_are_read_by_their_library(tmp_path, monkeypatch, capsys):
    path = tmp_path / 'run.dat'
    path.write_bytes(b'<hCNF\x00rest')
    monkeypatch.setitem(sys.modules, 'libxrk', library(MADE))
    found = read(path)
    # Positive to the right, as the file has them.
    np.testing.assert_allclose(found.imu.values, MADE.imu * [1, -1, 1, 1, 1, -1], atol=1e-9)
    np.testing.assert_allclose(found.fixes.values, MADE.fixes, rtol=0, atol=1e-9)
    assert found.imu.stamps.tolist() == MADE.stamps.tolist()
    assert all(DRIVER not in note for note in found.notes)
    assert capsys.readouterr().out == ''
    # Of a channel without a value nothing is read.
    empty = Drive(MADE.seconds, MADE.imu, MADE.fixes * [1.0, 1.0, np.nan])
    monkeypatch.setitem(sys.modules, 'libxrk', library(empty))
    np.testing.assert_allclose(read(path).fixes.values, MADE.fixes * [1, 1, 0], atol=1e-9)
    for module, words in ((library(None), ''), (None, '.*pip install libxrk')):
        monkeypatch.setitem(sys.modules, 'libxrk', module)
        with pytest.raises(InputError, match=rf'run\.dat{words}'):
            read(path)


def log_of(made: Drive) -> Log:
    samples = zip(IMU_ROLES, made.imu.T, strict=True)
    channels = {role: Channel(made.stamps, values) for role, values in samples}
    fixes = zip(FIX_ROLES, made.fixes.T, strict=True)
    channels |= {role: Channel(made.stamps[::4], values) for role, values in fixes}
    return Log('a file', 'a format', channels)


def test_standard_gravity_is_up_where_it_is_not_measured_and_zero_otherwise():
    log = log_of(drive())
    for role in ('accel_z', 'gyro_x'):
        del log.channels[role]
    assert set(map(tuple, drive_of(log).imu.values[:, 2:4].tolist())) == {(9.80665, 0.0)}


def test_the_bag_is_read_as_it_was_written(tmp_path):
    pytest.importorskip('rosbags')
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


def test_memory_does_not_hold_all_messages(tmp_path):
    stamps = SECOND + np.arange(5000)
    made = drive_of(Log('a file', 'a format', {'accel_x': Channel(stamps, np.zeros(5000))}))
    write_drive(made, tmp_path / 'once')
    tracemalloc.start()
    write_drive(made, tmp_path / 'again')
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 1000 * len(stamps)
