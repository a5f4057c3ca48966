# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The same hundred samples in tables of any form become the same drive."""

from datetime import datetime, timedelta, timezone

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.columns import parse_columns
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
    'time,' + IMU + '\n[s],[m/s2],[m/s^2],[m/s²],(rad/s),<rad/s>,{rad/s}',
    'sec,' + IMU + '\n-,,,,,,rad/s',
    'Time,12:00:00,ax,ay,az,gx,gy\nZeit,' + IMU + '\ns,m/s2,,,,,\nIMU,IMU 1,,,,,',
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
    with pytest.raises(InputError, match='each its own'):
        read(tmp_path / 'a.csv', 'when,' + IMU, lambda i: 50 * i, 't=when:ms,ax=ay,ay=ay')


@pytest.mark.parametrize('count', [3, 30])
def test_rows_before_the_clock_is_set_are_left_out(count, tmp_path):
    def clock(row: int) -> float:
        return 0.0 if row < count else 1.7e9 + row / 20

    found = read(tmp_path / 'a.csv', 'time,' + IMU, clock)
    assert len(found.imu) == 100 - count
    assert found.imu_stamps[0] > 10**18


@pytest.mark.parametrize('damaged', [True, False])
def test_a_vbo_with_blanks_in_names_and_a_damaged_latitude(damaged, tmp_path):
    names = ['sats', 'time', 'lat', 'long', 'height', 'battery vo', 'longacc', 'latacc']
    lines = ['[header]', *names, '[column names]', ' '.join(names), '[data]']
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


FIXES = {
    'lat,lon': lambda north, east: f'{north},{east}',
    'latitude,N/S,longitude,E/W': lambda north, east: f'{abs(north)},S,{abs(east)},W',
    'lat,lon,alt,NS,EW': lambda north, east: f'{abs(north)},{abs(east)},5,s,w',
    'lon,event,lat': lambda north, east: f'{east},E,{north}',
    'lat,EW,lon': lambda north, east: f'{north},West,{abs(east)}',
    'lat,lon,v,lon_hemisphere,a_hemisphere': lambda n, e: f'{n},{abs(e)},1,W,s',
    'lat,lon,': lambda north, east: f'{abs(north)} S,W{abs(east)},',
    'Lat,Long,': lambda n, e: f"{int(-n)}°{-n % 1 * 60:.7f}'S,-{int(-e)} {-e % 1 * 60:.7f} W,",
    'Latitude (deg S),Longitude [W],': lambda n, e: f'{-n},{-e},',
    'lat,N/S,lon,E/W,status,way': lambda n, e: f'{-n},S,{-e},W,S,NW',
}


@pytest.mark.parametrize('head', FIXES)
def test_a_hemisphere_is_a_sign(head, tmp_path):
    expected = np.stack([-33.85 + np.arange(100) / 1e4, -70.25 - np.arange(100) / 1e4], axis=1)
    cells = [FIXES[head](*each) for each in expected.round(4).tolist()]
    path = tmp_path / 'a.csv'
    rows = [f'{i / 20},{i % 7},{cell}' for i, cell in enumerate(cells)]
    path.write_text('\n'.join([f'time,ax,{head}', *rows]))
    found = drive_of(read_log([path], {}))
    np.testing.assert_allclose(found.fixes[:, :2], expected, atol=1e-9)


@pytest.mark.parametrize(
    ('head', 'cells'),
    [
        ('lat,lon,speed,status', '33.8,70.2,5,S'),
        ('lat,lon,speed,E/W', '33.8,70.2,5,O'),
        ('lat,lon,status', '33.8,70.2,SW'),
        ('lat,lon', '-33.8 N,70.2'),
        ('lat,lon', '33.8 W,70.2'),
    ],
)
def test_letters_that_are_no_hemisphere_for_sure_are_refused(head, cells, tmp_path):
    path = tmp_path / 'a.csv'
    path.write_text('\n'.join([f'time,ax,{head}', *(f'{i / 20},{i},{cells}' for i in range(99))]))
    with pytest.raises(InputError, match=r"a\.csv.*'(status|E/W|lat)'"):
        read_log([path], {})


@pytest.mark.parametrize(
    ('head', 'columns', 'found'),
    [
        ('x,y,z,gx,gy,gz', '', ''),
        ('X,Y,Z,a,b,c', '', ''),
        ('x,y,z,x,y,z', '', 'need names of their own'),
        ('gx,gy,gz,x,y,v', '', ''),
        ('x,y,z,gx,gy,gz', 'ax=x,ay=y,az=z', 'accel_x accel_y accel_z gyro_x gyro_y gyro_z'),
        ('x,y,z,gx,gy,gz', 'x=x,y=y', 'gyro_x gyro_y gyro_z x y'),
        ('x (m),y (m),z (m),gx,gy,gz', '', 'gyro_x gyro_y gyro_z x y'),
        ('x (g),y (g),z (g),gx,gy,gz', '', 'accel_x accel_y accel_z gyro_x gyro_y gyro_z'),
        ('x,y,z,ax,ay,gz', '', 'accel_x accel_y gyro_z x y'),
    ],
)
def test_letters_alone_are_positions_only_beside_accelerations(head, columns, found, tmp_path):
    path = tmp_path / 'a.csv'
    path.write_text('\n'.join([f'time,{head}', *(f'{i / 20},1,2,3,4,5,{i}' for i in range(99))]))
    if ' ' in found and 'names' not in found:
        assert sorted(read_log([path], parse_columns(columns)).channels) == found.split()
        return
    with pytest.raises(InputError, match=f",ax=x:UNIT.*'x=x,y=y.* out of 'time', '.*{found}"):
        read_log([path], parse_columns(columns))


@pytest.mark.parametrize('step_s', [0.0008, 0.05, 0.2])
@pytest.mark.parametrize('unit', ['ms', 'us', 'ns', 'day'])
@pytest.mark.parametrize('as_unit', ['', ':s', ':day', ':us'])
def test_a_unit_that_no_imu_has_is_named_with_the_one_that_fits(unit, as_unit, step_s, tmp_path):
    number = {'ms': 1e3, 'us': 1e6, 'ns': 1e9, 'day': 1 / 86_400}
    step = step_s * number[unit]
    held = step / {**number, 's': 1.0}[as_unit[1:] or 's']
    path = tmp_path / 'a.csv'
    cells = [str(value).strip('[]') for value in VALUES.tolist()]
    rows = [f'{i * step!r},{cell}' for i, cell in enumerate(cells)]
    path.write_text('\n'.join(['time,' + IMU, *rows]))
    columns = parse_columns(f'time=time{as_unit}')
    if 1e-5 < held < (10.0 if as_unit else 1.0):
        assert np.median(np.diff(drive_of(read_log([path], columns)).imu_stamps)) > 0
        return
    with pytest.raises(InputError, match='--columns') as caught:
        read_log([path], columns)
    advised = str(caught.value).partition("'time=time:")[2].partition("'")[0]
    factor = {'ms': 1e-3, 'us': 1e-6, 'ns': 1e-9, 'day': 86_400.0, 's': 1.0}[advised]
    assert advised == unit or 1e-4 <= step * factor <= 1.0
    assert advised == unit or step_s < 0.01
    read_log([path], parse_columns(f'time=time:{unit}'))


@pytest.mark.parametrize('zero', [25_569, 719_529])
@pytest.mark.parametrize('columns', ['', 'time=time:day'])
def test_day_numbers_are_dates(columns, zero, tmp_path):
    day = NOON_NS / 86_400e9 + zero
    found = read(
        tmp_path / 'a.csv', 'time,' + IMU, lambda i: f'{day + i / 1_728_000:.10f}', columns
    )
    np.testing.assert_allclose(found.imu_stamps - NOON_NS, np.arange(100) * 5e7, atol=2e5)


def minutes_of(degrees):
    """Return ddmm.mmmmmm of NMEA."""
    return f'{int(abs(degrees)):02d}{abs(degrees) % 1 * 60:09.6f}'


FORMS_OF_PLACES = {
    'lat,lon': lambda n, e: f'{n * 1e7:.0f},{e * 1e7:.0f}',
    'lat_e7,lon_e7': lambda n, e: f'{n * 1e7:.0f},{e * 1e7:.0f}',
    'lat (degE7),lon (degE7)': lambda n, e: f'{n * 1e7:.0f},{e * 1e7:.0f}',
    'lat,NS,lon,EW': lambda n, e: f'{minutes_of(n)},S,{minutes_of(e)},E',
    'Latitude,Longitude': lambda n, e: f'{minutes_of(n)}S,{minutes_of(e)} E',
    'lat (ddmm.mmmm),lon (dddmm.mmmm)': lambda n, e: f'-{minutes_of(n)},{minutes_of(e)}',
}


@pytest.mark.parametrize('head', FORMS_OF_PLACES)
@pytest.mark.parametrize('corner', [(-47.25, 8.5), (-0.001, 104.9), (-5.25, 0.001)])
def test_degrees_of_mavlink_and_nmea(head, corner, tmp_path):
    expected = np.array(corner) + np.arange(1, 101)[:, None] / 1e4 * [-1, 1]
    cells = [FORMS_OF_PLACES[head](*each) for each in expected.tolist()]
    path = tmp_path / 'a.csv'
    rows = [f'{i / 20},{i % 7},{cell}' for i, cell in enumerate(cells)]
    path.write_text('\n'.join([f'time,ax,{head}', *rows]))
    if head == 'lat,lon' and corner == (-5.25, 0.001):
        # As millionths of degrees they were a place on earth, too.
        with pytest.raises(InputError, match='lat=COLUMN:degE7'):
            drive_of(read_log([path], {}))
        return
    found = drive_of(read_log([path], {}))
    np.testing.assert_allclose(found.fixes[:, :2], expected, atol=6e-8)


@pytest.mark.parametrize(
    ('place', 'words'),
    [
        ((-121.9995, 47.0), 'look swapped'),
        ((1220000001, 470000001), 'look swapped'),
        ((4700.0042, 800.0316), 'NMEA'),
        ((5205000.25, 500120.75), 'metres'),
        ((5250, 8000), 'degE7'),
        ((95.5, 200.25), 'as degrees'),
    ],
)
def test_positions_that_are_all_not_on_earth_are_refused(place, words, tmp_path):
    path = tmp_path / 'a.csv'
    rows = [f'{i / 20},1,{place[0]},{place[1]}' for i in range(1, 100)]
    path.write_text('\n'.join(['time,ax,lat,lon', '0,1,0,0', *rows]))
    with pytest.raises(InputError, match=rf'a\.csv: none of the 100 positions .*{words}'):
        drive_of(read_log([path], {}))


@pytest.mark.parametrize('names', ['fwd,right,up,p,q,r', 'a,b,c,a,b,c', 'Drehrate Z,v'])
def test_columns_that_may_hold_the_imu_are_named(names, tmp_path):
    path = tmp_path / 'a.csv'
    count = names.count(',') + 1
    rows = [f'{i / 20},48.1,{11 + i / 1e4},FIX{",5" * count}' for i in range(99)]
    path.write_text('\n'.join([f'time,lat,lon,status,{names}', *rows]))
    said = ', '.join(map(repr, names.split(',')))
    with pytest.raises(
        InputError, match=f'no column is known .*--columns .* out of {said}; .*exported'
    ):
        drive_of(read_log([path], {}))


def test_a_line_of_units_that_are_none_is_no_line_of_names(tmp_path):
    counts = ',counts' * 6
    with pytest.raises(InputError, match="'counts' is no unit of accel_x"):
        read(tmp_path / 'a.csv', f'time,{IMU}\nsec{counts}', lambda i: i / 20)


@pytest.mark.parametrize(
    'cells', ['1,2', 'x,' + ','.join('123456'), '0.5,1,2,3,4,5,x', '1,2' + ',3' * 7]
)
@pytest.mark.parametrize('count', [1, 10])
def test_a_refusal_counts_the_lines_with_its_fault(cells, count, tmp_path):
    rows = [f'{i / 20},1,2,3,4,5,6' for i in range(9 + 10 * count)]
    rows[5 : 5 + count] = [cells] * count
    path = tmp_path / 'a.csv'
    path.write_text('\n'.join([f'time,{IMU}', *rows]))
    others = f', as in {count - 1} others of {len(rows)} lines; ' if count > 1 else '; '
    with pytest.raises(InputError, match=rf'a\.csv, line 7: .*{others}.*lines'):
        drive_of(read_log([path], {}))


@pytest.mark.parametrize(
    ('name', 'columns', 'note'),
    [
        ('ax (g)', 'ax=ax:m/s2', 'accel_x is ax in m/s2, though the file states g'),
        ('ax_g', 'ax=ax_g:m/s2', 'accel_x is ax_g in m/s2, though the file states g'),
        ('ax (g)', 'ax=ax:G', ''),
        ('ax', 'ax=ax:g', ''),
        ('ax (V)', 'ax=ax:g', ''),
        ('ax (g)', '', ''),
    ],
)
def test_a_map_against_the_unit_of_the_file_is_noted(name, columns, note, tmp_path):
    path = tmp_path / 'a.csv'
    path.write_text('\n'.join([f'time (s),{name}', *(f'{i / 20},1' for i in range(99))]))
    said = ' '.join(read_log([path], parse_columns(columns)).notes)
    assert note in said
    assert ('though' in said) == bool(note)
