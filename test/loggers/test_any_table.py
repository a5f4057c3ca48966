# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The same hundred samples in tables of any form become the same drive."""

from datetime import datetime, timedelta, timezone

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.plain_csv import parse_columns
from two_manifold_ros.loggers.reading import read_log
from two_manifold_ros.loggers.times import not_cut_off
from two_manifold_ros.loggers.to_bag import drive_of

IMU = 'ax,ay,az,gx,gy,gz'
VALUES = np.random.default_rng(1).normal(size=(100, 6)).round(4) + np.eye(6)[2] * 9.8
MILLISECONDS = [
    'time (ms)', 'millis', 'TimeMS', 'time_boot_ms', 'elapsed_ms', 'Zeit [ms]',
]  # fmt: skip
HEADS = [
    'sep=,\ntime,' + IMU,
    '# a log\n// of a car\ntime,' + IMU,
    'Rate,100\n\nMy car\ntime,' + IMU,
    'time,' + IMU + '\ns,m/s2,m/s2,m/s2,rad/s,rad/s,rad/s',
    '# time,' + IMU,
    'time,acc[0],acc[1],acc[2],gyro[0],gyro[1],gyro[2]',
    'time,acc (x),acc (y),acc (z),gyro (x),gyro (y),gyro (z)',
    'time (s),ax (m/s2) (raw),' + IMU[3:],
]
CLOCKS = [
    lambda i: f'03/14/2026 12:00:{i // 20:02d}.{i % 20 * 5:02d} PM',
    lambda i: f'14/03/2026 12:00:{i // 20:02d}.{i % 20 * 5:02d}',
    lambda i: f'2026-03-14 12:00:{i // 20:02d}.{i % 20 * 5:02d} UTC',
    lambda i: f'2026-03-14 14:00:{i // 20:02d}.{i % 20 * 5:02d}+02',
    lambda i: f'2026-03-14 07:{i // 2:02d}:{i % 2 * 30:02d}-05:00',
    lambda i: f'2026-03-14 07:{i // 2:02d} -0500',
    lambda i: f'14.03.2026 12:00:{i // 20:02d}.{i % 20 * 5:02d} PM UTC',
    lambda i: f'03/14/2026 07:00:{i // 20:02d}.{i % 20 * 5:02d} AM -05:00',
]
MIDNIGHT = datetime(2026, 2, 1, tzinfo=timezone(timedelta(hours=-5)))
NOON_NS = 1_773_489_600 * 10**9


def write(path, head, first, more=''):
    """Return a table with these names, and first cells by the number of a row."""
    rows = [f'{first(i)},{",".join(map(str, each))}{more}' for i, each in enumerate(VALUES)]
    path.write_text('\n'.join([head, *rows]))
    return path


def read(path, head, first, columns='', more=''):
    """Return the drive of such a table."""
    return drive_of(read_log([write(path, head, first, more)], parse_columns(columns)))


@pytest.mark.parametrize('head', HEADS)
def test_lines_above_the_names_and_brackets(head, tmp_path):
    found = read(tmp_path / 'a.csv', head, lambda i: i / 20)
    np.testing.assert_allclose(found.imu, VALUES)
    assert np.diff(found.imu_stamps).tolist() == [50_000_000] * 99


@pytest.mark.parametrize('name', MILLISECONDS)
def test_the_time_is_no_temperature(name, tmp_path):
    head = f'{name},{IMU},T'
    found = read(tmp_path / 'a.csv', head, lambda i: 50 * i, more=',41.5')
    assert np.diff(found.imu_stamps).tolist() == [50_000_000] * 99


@pytest.mark.parametrize('clock', CLOCKS)
def test_times_of_any_form(clock, tmp_path):
    found = read(tmp_path / 'a.csv', 'time,' + IMU, clock)
    assert found.imu_stamps[0] == NOON_NS
    # Apart from the date, and beside another date that does not count.
    for first in (lambda i: clock(i).replace(' ', ',', 1), lambda i: f'31.12.2025,{clock(i)}'):
        other = read(tmp_path / 'b.csv', 'date,time,' + IMU, first)
        assert other.imu_stamps.tolist() == found.imu_stamps.tolist()


@pytest.mark.parametrize('head', ['time', 'date,time', 'date,TIME', 'datetime'])
@pytest.mark.parametrize('before', [3, 50, 97])
@pytest.mark.parametrize('odd', ['', 'late', 'wild', 'date'])
def test_times_go_on_after_midnight(head, before, odd, tmp_path):
    """Whether there is no date, the date stands still, also in one cell, or it goes on."""

    def first(row: int) -> str:
        # The last row before midnight comes late, or another shows a wild time or date.
        row = {before - 1: before, before: before - 1}.get(row, row) if odd == 'late' else row
        time = MIDNIGHT + timedelta(seconds=(row - before) / 20)
        clock, day = f'{time:%H:%M:%S.%f-05:00}', f'{time:%Y-%m-%d}'
        if odd == 'wild' and row == 48:
            clock = f'09{clock[2:]}'
        day = day if head == 'date,TIME' else '2026-01-31'
        day = '2026-02-03' if odd == 'date' and row == 48 else day
        return {'time': clock, 'datetime': f'{day} {clock}'}.get(head, f'{day},{clock}')

    stamps = np.sort(read(tmp_path / 'a.csv', f'{head},{IMU}', first).imu_stamps)
    midnight = 2 * 86_400 if head == 'time' else MIDNIGHT.timestamp()
    at = np.round((stamps / 1e9 - midnight) * 20).astype(int) + before
    assert set(range(100)) - set(at.tolist()) <= ({48} if odd in {'wild', 'date'} else set())


def test_a_pause_of_more_than_half_a_day_is_none_over_midnight(tmp_path):
    for head, day in (('time', ''), ('date,time', '2026-01-31,')):
        found = read(
            tmp_path / 'a.csv',
            f'{head},{IMU}',
            lambda i, day=day: f'{day}{8 + i // 50 * 13}:{i % 50}',
        )
        assert found.imu_stamps[50] - found.imu_stamps[49] == (12 * 60 + 11) * 60 * 10**9


@pytest.mark.parametrize('bad', [None, '05/93', '31/15', '31/05', '05/31', '02/06'])
@pytest.mark.parametrize('at', [0, 20, 99])
@pytest.mark.parametrize(
    ('day', 'read_as', 'noted'),
    [('05/03', '2026-03-05', 1), ('15/03', '2026-03-15', 0), ('03/15', '2026-03-15', 0)],
)
def test_one_row_does_not_decide_the_order_of_day_and_month(
    day, read_as, noted, at, bad, tmp_path
):
    log = read_log(
        [
            write(
                tmp_path / 'a.csv',
                'time,' + IMU,
                lambda i: (
                    f'{bad if bad and i == at else day}/2026 12:00:{i // 20:02d}.{i % 20 * 5:02d}'
                ),
            )
        ],
        {},
    )
    stamps = log.channels['accel_x'].stamps
    assert len(stamps) == 100 - bool(bad)
    assert {str(each)[:10] for each in stamps.astype('datetime64[ns]')} == {read_as}
    assert sum('no date of the file shows it' in note for note in log.notes) == noted


@pytest.mark.parametrize('word', ['#N/A', '-nan(ind)', '?', 'NaN', 'null', '-1.#IND'])
def test_words_for_missing_cells(word, tmp_path):
    path = tmp_path / 'a.csv'
    path.write_text('time,ax\n' + ''.join(f'{i / 9},{word if i % 2 else i}\n' for i in range(99)))
    assert len(read_log([path], {}).channels['accel_x'].stamps) == 50


def test_a_map_names_some_roles_and_leaves_the_others(tmp_path):
    found = read(tmp_path / 'a.csv', 'when,' + IMU, lambda i: 50 * i, 't=when:ms,gz=-gz:deg/s')
    np.testing.assert_allclose(found.imu[:, :5], VALUES[:, :5])
    np.testing.assert_allclose(found.imu[:, 5], -np.radians(VALUES[:, 5]))
    with pytest.raises(InputError, match='one column for'):
        read(tmp_path / 'a.csv', 'when,' + IMU, lambda i: 50 * i, 't=when:ms,ax=ay,ay=ay')


@pytest.mark.parametrize('count', [3, 30])
def test_rows_before_the_clock_is_set_are_left_out(count, tmp_path):
    def clock(row: int) -> float:
        return 0.0 if row < count else 1.7e9 + row / 20

    found = read(tmp_path / 'a.csv', 'time,' + IMU, clock)
    assert len(found.imu) == 100 - count
    assert found.imu_stamps[0] > 10**18


@pytest.mark.parametrize('header', [True, False])
@pytest.mark.parametrize('damaged', [True, False])
def test_a_vbo_with_blanks_in_names_and_a_damaged_latitude(header, damaged, tmp_path):
    names = ['sats', 'time', 'lat', 'long', 'height', 'battery vo', 'longacc', 'latacc']
    lines = ['[header]', *names] if header else []
    lines += ['[column names]', ' '.join(names), '[data]']
    for index in range(60):
        north = 481 if damaged and index == 20 else 48.1 + index / 1e4
        lines.append(f'12 1000{index / 10:05.2f} {north} 11.5 400 12.1 0.{index % 7} 0.1')
    path = tmp_path / 'a.vbo'
    path.write_text('\n'.join(lines))
    found = drive_of(read_log([path], {}))
    assert len(found.fixes) == 60 - damaged
    assert found.fixes[0, :2].tolist() == [48.1, 11.5]


@pytest.mark.parametrize(
    ('name', 'unit', 'role'),
    [
        *(('x', unit, 'x') for unit in ('m', 'cm', 'mm', 'km', 'ft', 'metres')),
        *(('pos_x', unit, 'x') for unit in ('mm', 'm')),
        *(('x', unit, 'accel_x') for unit in ('m_s2', 'g', 'mg')),
        *(('accel_x', unit, 'accel_x') for unit in ('ft_s2', 'm_per_s2', 'mps2')),
        *(('x', unit, 'gyro_x') for unit in ('dps', 'rad_s')),
        *(('gx', unit, 'gyro_x') for unit in ('mdeg_s', 'mdps', 'deg_per_s', 'degps')),
        *(('lat', unit, 'latitude') for unit in ('deg', 'rad', 'degrees')),
        *(('alt', unit, 'altitude') for unit in ('m', 'ft', 'feet', 'cm')),
        # As likely a minimum as minutes.
        *((name, 'min', None) for name in ('x', 'ax', 'lat')),
    ],
)
def test_units_behind_a_name_count_as_in_brackets(name, unit, role, tmp_path):
    found = []
    for number, form in enumerate(('{}_{}', '{} [{}]')[: 1 + bool(role)]):
        head = form.format(name, unit)
        head += f',{head.replace("x", "y")}' if role == 'x' else ',any'
        rows = [f'{i / 20},9.8,{i},{i}' for i in range(100)]
        path = tmp_path / f'{number}.csv'
        path.write_text('\n'.join([f'time,az,{head}', *rows]))
        channels = read_log([path], {}).channels
        found.append({each: channels[each].values.tolist() for each in channels})
    assert (role in found[0]) == bool(role)
    assert len(found[0]) == (3 if role == 'x' else 1 + bool(role))
    assert found[0] == found[-1]


@pytest.mark.timeout(20)
@pytest.mark.parametrize('cell', ['(' * 20_000, 'a(' + ' ' * 20_000 + 'x', 'a_' * 9000 + 'ms'])
def test_no_header_takes_long(cell, tmp_path):
    read(tmp_path / 'a.csv', f'time,{IMU},{cell}', lambda i: i / 20, more=',1')


@pytest.mark.parametrize(('unit', 'step'), [('us', 50_000), ('ms', 50)])
@pytest.mark.parametrize('least', [0, -(2**31)], ids=['unsigned', 'signed'])
def test_a_counter_that_begins_again_is_named(least, unit, step, tmp_path):
    with pytest.raises(InputError, match=r'line 52: .* began again: add 2\^32'):
        read(tmp_path / 'a.csv', f'time ({unit}),{IMU}', lambda i: least + (i - 50) * step % 2**32)


def naive_cut_off(seconds):
    """Return what `not_cut_off` returns, gap by gap."""
    keep, count = np.ones(len(seconds), dtype=bool), len(seconds)
    steps = np.abs(np.diff(seconds))
    rest = count * np.median(steps[steps > 0]) if steps.any() else 0.0
    for end in range(1, count):
        if count < 20 or steps[end - 1] <= max(rest, 60.0):
            continue
        before_2001 = seconds[end - 1] < 978_307_200.0 < np.median(seconds)
        stands = len(set(seconds[:end])) == 1 or before_2001
        if 20 * end <= count or (stands and 2 * end <= count):
            keep[:end] = False
        elif 20 * (count - end) <= count:
            keep[end:] = False
    return keep


def test_times_that_are_cut_off_are_those_gap_by_gap():
    rng, seen = np.random.default_rng(5), set()
    for _ in range(3000):
        count = int(rng.integers(1, 90))
        steps = rng.choice([0.0, 0.05, 0.05, 0.05, 50.0, 4000.0, -4000.0, 1e9], count, p=P)
        steps[: int(rng.integers(0, 20))] *= rng.integers(0, 2)
        seconds = np.cumsum(steps) + rng.choice([0.0, 1.7e9])
        found = not_cut_off(seconds)
        np.testing.assert_array_equal(found, naive_cut_off(seconds))
        seen |= {(bool(found[0]), bool(found[-1]), bool(found.all()))}
    assert len(seen) > 3


P = [0.1, 0.3, 0.3, 0.2, 0.04, 0.03, 0.02, 0.01]
"""How likely each of the steps is."""
