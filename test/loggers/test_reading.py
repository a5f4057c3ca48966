# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Files of loggers, written by the rules of their formats, become the drive that was driven."""

import re

from logger_files import Drive, drive, DRIVER, G, racecapture, SECOND, vbo, WRITERS
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.columns import parse_columns
from two_manifold_ros.loggers.reading import read_log
from two_manifold_ros.loggers.to_bag import drive_of


@pytest.fixture(scope='module')
def made() -> Drive:
    """Return the drive."""
    return drive()


# What a format has not: the channels, and what stands there instead.
ABSENT = {'vbo': {2: G, 3: 0.0, 4: 0.0}}
# Channels that are positive to the right in the file, and stay so.
TURNED = {'vbo': [1, 5], 'aim': [1, 5]}


@pytest.mark.parametrize('name', WRITERS)
def test_each_format_gives_the_drive(name, made, tmp_path):
    writer, file = WRITERS[name]
    found = drive_of(read_log([writer(tmp_path / file, made)], {}))
    expected = made.imu.copy()
    for channel, value in ABSENT.get(name, {}).items():
        expected[:, channel] = value
    expected[:, TURNED.get(name, [])] *= -1
    np.testing.assert_allclose(found.imu_stamps, made.stamps, rtol=0, atol=1_000_000)
    np.testing.assert_allclose(found.imu, expected, atol=2e-4)
    # West of Greenwich, and each fix once.
    np.testing.assert_allclose(found.fix_stamps, made.stamps[::4], rtol=0, atol=1_000_000)
    np.testing.assert_allclose(found.fixes[:, :2], made.fixes[:, :2], rtol=0, atol=1e-7)
    if name != 'semicolons':
        np.testing.assert_allclose(found.fixes[:, 2], made.fixes[:, 2], rtol=0, atol=0.01)
    assert all(DRIVER not in note for note in found.notes)


def test_a_vbo_goes_on_after_midnight(made, tmp_path):
    found = drive_of(read_log([vbo(tmp_path / 'a.vbo', made)], {}))
    assert np.diff(found.imu_stamps).max() < SECOND
    day = 86_400 * SECOND
    assert found.imu_stamps[-1] // day == found.imu_stamps[0] // day + 1


@pytest.mark.parametrize('created', ['08/03/2026 at 00:00:30', '07/03/2026'])
def test_the_date_is_that_of_the_first_row(created, made, tmp_path):
    """Also where the file was closed a day later."""
    file = vbo(tmp_path / 'a.vbo', made)
    text = file.read_bytes().replace(b'07/03/2026 at 23:59:41', created.encode())
    file.write_bytes(text)
    assert drive_of(read_log([file], {})).imu_stamps[0] == made.stamps[0]


def test_degrees_in_a_vbo_are_seen(tmp_path):
    file = tmp_path / 'a.vbo'
    rows = [
        f'12 1000{index / 10:05.2f} 45.5 {9.5 + index * 1e-5:.5f} 50 90 30 0.{index % 7} 0.1'
        for index in range(30)
    ]
    head = '[column names]\nsats time lat long velocity heading height longacc latacc\n[data]\n'
    file.write_text(head + '\n'.join(rows))
    found = drive_of(read_log([file], {}))
    assert found.fixes[0, :2].tolist() == [45.5, 9.5]
    assert any('degrees' in note for note in found.notes)


def test_rows_of_a_vbo_without_satellites_are_no_positions(made, tmp_path):
    file = vbo(tmp_path / 'a.vbo', made)
    lines = file.read_bytes().splitlines()
    first = lines.index(b'[data]') + 1
    for number in range(first, first + 80):
        lines[number] = lines[number].replace(b'012 ', b'000 ', 1)
    file.write_bytes(b'\n'.join(lines))
    found = drive_of(read_log([file], {}))
    assert found.fix_stamps[0] == made.stamps[80]
    assert len(found.imu_stamps) == len(made.stamps)


def test_the_clock_of_racecapture_runs_evenly(made, tmp_path):
    """Though its UTC has a jitter, and is late with the first fixes."""
    file = racecapture(tmp_path / 'rc.log', made)
    lines = file.read_text().splitlines()
    for number in (4, 5, 6, 50, 51):
        cells = lines[number].split(',')
        cells[1] = str(int(cells[1]) + 700)
        lines[number] = ','.join(cells)
    file.write_text('\n'.join(lines))
    found = drive_of(read_log([file], {}))
    np.testing.assert_allclose(found.imu_stamps, made.stamps, rtol=0, atol=1_000_000)


@pytest.mark.parametrize(
    ('name', 'pattern', 'put'),
    [
        ('vbo', rb'File created on [^\r]*', b''),
        ('racecapture', rb'"Utc"', b'"Other"'),
        ('aim', rb'"Saturday, March 7, 2026"', b'""'),
    ],
)
def test_a_drive_without_a_date_has_positive_stamps(name, pattern, put, made, tmp_path):
    writer, file = WRITERS[name]
    path = writer(tmp_path / file, made)
    content, count = re.subn(pattern, put, path.read_bytes())
    assert count == 1
    path.write_bytes(content)
    found = drive_of(read_log([path], {}))
    assert 0 < found.imu_stamps[0] < 3 * 86_400 * SECOND
    steps = np.diff(found.imu_stamps)
    np.testing.assert_allclose(steps, np.diff(made.stamps), rtol=0, atol=1_000_000)
    assert any('no date' in note for note in found.notes)


@pytest.mark.parametrize('device', ['calc', '100: gps'])
def test_accelerations_by_satellites_are_named(device, tmp_path):
    path = tmp_path / 'a.csv'
    rows = [f'{1_700_000_000 + index / 10:.1f},0.1,{index / 100}' for index in range(20)]
    head = ['This file is created using RaceChrono Pro v9', 'Format,3', '']
    head += ['timestamp,longitudinal_acc,lateral_acc', 'unix time,G,G', f',{device},{device}']
    path.write_text('\n'.join([*head, *rows]))
    log = read_log([path], {})
    assert log.axes == 'satellites'
    assert any('no accelerometer' in note for note in drive_of(log).notes)


def test_more_values_than_columns_are_refused(tmp_path):
    path = tmp_path / 'a.csv'
    path.write_text('time,ax\n1,2\n2,3,\n3,4,5\n4,5\n')
    with pytest.raises(InputError, match='line 4: 3 values for 2 columns'):
        read_log([path], {})


@pytest.mark.parametrize('name', WRITERS)
def test_a_torn_last_line_is_left_out(name, made, tmp_path):
    writer, file = WRITERS[name]
    path = writer(tmp_path / file, made)
    whole = drive_of(read_log([path], {}))
    content = path.read_bytes().rstrip()
    path.write_bytes(content[: len(content) - len(content.splitlines()[-1]) + 12])
    found = drive_of(read_log([path], {}))
    assert len(found.imu_stamps) == len(whole.imu_stamps) - 1
    assert any('not whole' in note for note in found.notes)


def damaged(lines, numbers, damage, name):
    """Return the lines of a file of a format with some of them damaged."""
    lines = list(lines)
    separator = {'vbo': b' ', 'semicolons': b';'}.get(name, b',')
    time = {'vbo': 1}.get(name, 0)
    # The last cell of a row may be empty.
    column = {'text': -1 if name != 'racecapture' else 4}.get(damage, time)
    for number in numbers:
        cells = lines[number - 1].split(separator)
        if damage == 'cells':
            cells = cells[:-2]
        else:
            cells[column] = {'zero': b'0', 'ahead': b'235000.00' if name == 'vbo' else b'9'}.get(
                damage, b'x'
            )
        lines[number - 1] = separator.join(cells)
    return lines


@pytest.mark.parametrize('name', WRITERS)
@pytest.mark.parametrize('damage', ['cells', 'text', 'time', 'zero', 'ahead'])
def test_one_damaged_line_decides_nothing_and_is_named(name, damage, made, tmp_path):
    writer, file = WRITERS[name]
    path = writer(tmp_path / file, made)
    whole = drive_of(read_log([path], {}))
    lines = path.read_bytes().splitlines()
    number = len(lines) - 40
    path.write_bytes(b'\n'.join(damaged(lines, [number], damage, name)))
    found = drive_of(read_log([path], {}))
    kept = np.isin(whole.imu_stamps, found.imu_stamps)
    assert (~kept).sum() <= 1
    np.testing.assert_allclose(found.imu[:600], whole.imu[:600], atol=1e-9)
    assert any(f'line {number}' in note for note in found.notes) or damage in {'zero', 'ahead'}
    if damage in {'zero', 'ahead'}:
        return
    path.write_bytes(b'\n'.join(damaged(lines, range(number - 200, number), damage, name)))
    with pytest.raises(InputError, match=f'{path}, line {number - 200}:') as caught:
        read_log([path], {})
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize(
    ('content', 'words'),
    [
        (b'', 'is empty'),
        (b'\x00\x01\x02', 'it is no text'),
        (b'hello\n', 'no table'),
        (b'a,b\n1,2\n', "'a', 'b'"),
        (b'[header]\ntime\n[data]\n', 'no line with data'),
        (b'[data]\n1 2 3\n', '[column names] is missing'),
        (b'This file is created using RaceChrono v7\nFormat,2\nTime (s),X\n1,2\n', 'CSV v3'),
        (b'"Interval"|"ms"|0|0|1,Utc\n1,2\n', "'Utc'"),
        (b'"Format","AiM CSV File"\n"Time","1 PM"\n', 'no column is known'),
        (b'time,ax\n', 'no line with data'),
        (b'time,force,place\n1,2,3\n', "'time', 'force', 'place'"),
        (b'time,lat,lon\n1,2,3\n', 'neither accelerations'),
        (b'time,ax (V)\n1,2\n', "'V' is no unit of accel_x"),
    ],
)
def test_what_is_no_recording_is_refused_in_a_sentence(content, words, tmp_path):
    path = tmp_path / 'file'
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        drive_of(read_log([path], {}))
    assert str(path) in str(caught.value)
    assert words in str(caught.value)


def test_a_map_names_columns_units_and_signs(tmp_path):
    path = tmp_path / 'table.csv'
    path.write_text(
        'when,fwd,side,spin,n,e\n' + ''.join(f'{i},1,2,90,0.5,9{i}\n' for i in range(9))
    )
    columns = parse_columns('t=when:ms, ax=fwd:g, ay=-side:m/s², gz=spin:dps, lat=n:rad, lon=e')
    found = drive_of(read_log([path], columns))
    # On the second day of 1970, as no date is known.
    day = 86_400 * SECOND
    assert found.imu_stamps.tolist() == [day + index * 1_000_000 for index in range(9)]
    np.testing.assert_allclose(found.imu[0], [G, -2.0, G, 0.0, 0.0, np.pi / 2])
    np.testing.assert_allclose(found.fixes[1, :2], [np.degrees(0.5), 91.0])


@pytest.mark.parametrize(
    'columns', ['t', 't=', 'speed=v', 't=a,t=b', 't=a:parsec', 'time=a,t=b', '=a', 't=-a']
)
def test_a_map_that_is_none_is_refused(columns):
    with pytest.raises(InputError, match='--columns'):
        parse_columns(columns)


def test_a_column_that_is_not_there_is_named(tmp_path):
    path = tmp_path / 'table.csv'
    path.write_text('t,a\n1,2\n')
    with pytest.raises(InputError, match="no column 'b'"):
        read_log([path], parse_columns('t=t,ax=b'))


def test_two_files_of_one_day_become_one_drive(made, tmp_path):
    later = Drive(made.seconds + 100.0, made.imu, made.fixes)
    files = [vbo(tmp_path / f'{number}.vbo', each) for number, each in enumerate((later, made))]
    # The later one begins on the next day.
    files[0].write_bytes(files[0].read_bytes().replace(b'07/03/2026', b'08/03/2026', 1))
    files[0].write_bytes(files[0].read_bytes().replace(b'23:59:41', b'00:01:20', 1))
    found = drive_of(read_log(files, {}))
    assert found.imu_stamps.tolist() == [*made.stamps, *later.stamps]
    with pytest.raises(InputError, match='at the same time'):
        read_log([files[0], files[0]], {})


def test_samples_without_a_channel_are_left_out(tmp_path):
    path = tmp_path / 'table.csv'
    rows = [f'{index / 10},{index},{"" if 20 <= index < 40 else index}' for index in range(100)]
    path.write_text('time,ax,ay\n' + '\n'.join(rows))
    found = drive_of(read_log([path], {}))
    # One missing cell is a value between two; twenty are a gap.
    assert len(found.imu_stamps) == 80
    assert any('20 of 100' in note for note in found.notes)


def test_two_files_without_satellites_become_one_drive(made, tmp_path):
    files = []
    for number, day in enumerate((b'07/03/2026', b'09/03/2026')):
        file = vbo(tmp_path / f'{number}.vbo', made)
        content = file.read_bytes().replace(b'07/03/2026', day, 1)
        file.write_bytes(content.replace(b'\r\n012 ', b'\r\n000 '))
        files.append(file)
    found = drive_of(read_log(files, {}))
    assert len(found.fixes) == 0
    assert len(found.imu) == 2 * len(made.imu)


@pytest.mark.parametrize('name', WRITERS)
def test_two_drives_in_one_file_are_refused(name, made, tmp_path):
    """As where the logger was started again and its clock with it."""
    writer, file = WRITERS[name]
    path = writer(tmp_path / file, made)
    lines = path.read_bytes().splitlines()
    path.write_bytes(b'\n'.join([*lines, *lines[-600:]]))
    with pytest.raises(InputError, match=f'line {len(lines) + 1}: the time is'):
        read_log([path], {})


def test_late_rows_are_sorted(tmp_path):
    path = tmp_path / 'table.csv'
    at = np.arange(0, 1000, 10)
    at[50] -= 45
    path.write_text('time (ms),ax\n' + ''.join(f'{each},1\n' for each in at))
    stamps = drive_of(read_log([path], {})).imu_stamps
    assert (np.diff(stamps) > 0).all()
    assert len(stamps) == 100


def test_samples_at_the_same_time_are_named(tmp_path):
    path = tmp_path / 'table.csv'
    path.write_text(
        'time (s),ax\n' + ''.join(f'{index - (index % 10 == 5)},1\n' for index in range(99))
    )
    found = drive_of(read_log([path], {}))
    assert any('10 of 99' in note for note in found.notes)
    path.write_text('time (s),ax\n' + ''.join(f'{index // 10},1\n' for index in range(99)))
    with pytest.raises(InputError, match='more decimals'):
        drive_of(read_log([path], {}))


def table(path, head, separator=','):
    """Write a hundred samples, ten milliseconds apart, and return the file."""
    rows = [separator.join([str(10 * index), '1', '2', '3']) for index in range(100)]
    path.write_text('\n'.join([head, *rows]))
    return path


@pytest.mark.parametrize(
    'head',
    [
        'time_ms,ax_g,gz_deg_s,lat',
        'timestamp_ms,accel_x_g,gyro_z_dps,lat',
        'T_ms,AX_G,wz_degps,lat',
    ],
)
def test_units_are_read_from_the_ends_of_names(head, tmp_path):
    found = drive_of(read_log([table(tmp_path / 'a.csv', head)], {}))
    np.testing.assert_allclose(found.imu[0], [G, 0.0, 0.0, 0.0, 0.0, np.radians(2.0)])
    assert np.diff(found.imu_stamps).tolist() == [10_000_000] * 99


def test_a_time_without_unit_is_not_taken_for_seconds_against_the_odds(tmp_path):
    path = table(tmp_path / 'a.csv', 'time,ax,ay,az')
    with pytest.raises(InputError, match='time=time:ms'):
        read_log([path], {})
    found = drive_of(read_log([path], parse_columns('t=time:ms,ax=ax')))
    assert np.diff(found.imu_stamps).tolist() == [10_000_000] * 99
    with pytest.raises(InputError, match='time=time:ms'):
        read_log([path], parse_columns('t=time,ax=ax'))
    # Fixes have a rate as low as this.
    assert read_log([table(tmp_path / 'b.csv', 'time,a,lat,lon')], {}).channels


def test_a_table_of_two_bytes_a_character_is_read(tmp_path):
    path = table(tmp_path / 'a.txt', 'time (ms)\tax\tay\taz', '\t')
    path.write_bytes(path.read_text().encode('utf-16'))
    assert drive_of(read_log([path], {})).imu[0, :3].tolist() == [1.0, 2.0, 3.0]


def test_columns_of_one_name_are_named(tmp_path):
    log = read_log([table(tmp_path / 'a.csv', 'time (ms),ax,ay,ax')], {})
    assert log.channels['accel_x'].values[0] == 1.0
    assert any('first of 2' in note for note in log.notes)


def test_text_of_windows_has_no_more_lines_than_it_shows(tmp_path):
    path = tmp_path / 'a.csv'
    path.write_bytes('time (s),ax,note…,\n0,1,,\n0.1,x,,\n'.encode('cp1252'))
    with pytest.raises(InputError, match="line 3: 'x'"):
        read_log([path], {})


def test_the_order_of_files_does_not_matter(tmp_path):
    """As where a shell sorts the tenth before the second."""
    files = []
    for begin in (0, 20, 10):
        files.append(tmp_path / f'{begin}.csv')
        rows = [f'{1_700_000_000 + begin + index / 10},{index}' for index in range(50)]
        files[-1].write_text('time (s),ax\n' + '\n'.join(rows))
    stamps = drive_of(read_log(files, {})).imu_stamps
    assert len(stamps) == 150
    assert (np.diff(stamps) > 0).all()
