# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The same drive in tables of any form is the same drive: names, units, times, places, order."""

from datetime import datetime, timedelta, timezone
import random
import re

from imported import read, written
from logger_files import drive, G
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.columns import parse_columns
from two_manifold_ros.loggers.log import factor_of
from two_manifold_ros.loggers.reading import read_log

MADE, DEG = drive(5.0), np.pi / 180
DAY_NS = 86_400 * 10**9


def clock(form, hours=0):
    """Return what writes a time of a zone, ten days later, with milliseconds for `%f`."""

    def write(ns: int) -> str:
        when = datetime.fromtimestamp((ns + 10 * DAY_NS) / 1e9, timezone(timedelta(hours=hours)))
        return when.strftime(form.replace('%f', f'{ns // 10**6 % 1000:03d}'))

    return write


def counted(each_s, begin_ns=0, form='.4f'):
    """Return what writes a time in units of some seconds."""
    return lambda ns: f'{(ns - begin_ns) / 1e9 / each_s:{form}}'


BEGIN = int(MADE.stamps[0])
TIMES = {
    'time (s)': counted(1.0),
    'timestamp': counted(1e-3, 0, '.0f'),
    'Zeit [ms]': counted(1e-3, BEGIN),
    'time_boot_ms': counted(1e-3, BEGIN, '.0f'),
    'TimeUS': counted(1e-6, BEGIN, '.0f'),
    'stamp': str,
    'Time': clock('%Y/%m/%d %I:%M:%S.%f %p'),
    'datetime': clock('%Y-%m-%d %H:%M:%S.%f+02', 2),
    'loggingTime(txt)': clock('%Y-%m-%d %H:%M:%S.%f -0500', -5),
    'Datum,Uhrzeit': clock('%d.%m.%Y,%I:%M:%S.%f %p UTC'),
    'date,time': clock('31.12.2025,%d.%m.%Y %I:%M:%S.%f %p -05:00', -5),
    'clock': clock('%H:%M:%S.%f'),
}
IMUS = {
    'a#,g#': (1, 1),
    'acc (#),gyro (#)': (1, 1),
    'Acc # (g),Gyro # [°/s]': (G, DEG),
    'a#_g,w#_degps': (G, DEG),
    'a# (m/s2) (raw),rotation_rate_#_rad_s': (1, 1),
    'linear_acceleration.#,angular_velocity.#': (1, 1),
    'accelerometer_m_s2[@],gyro_rad[@]': (1, 1),
    '# (mg),# [mdps]': (G / 1000, DEG / 1000),
    'gF#,omega_#': (G, 1),
    'total_acceleration_# (ft/s^2),gyr#': (0.3048, 1),
    '#_acc,#_rate_of_rotation': (1, DEG),
}
PLACES = {
    'lat,lon': lambda n, e: f'{n},{e}',
    'Lat (rad),Lng (rad)': lambda n, e: f'{n * DEG},{e * DEG}',
    'lon,event,lat': lambda n, e: f'{e},E,{n}',
    'lat,E/W,lon,way,,': lambda n, e: f'{n},W,{e},NW,,',
    'lat_e7,lon_e7': lambda n, e: f'{n * 1e7:.0f},{e * 1e7:.0f}',
    'Latitude (deg N),Longitude [W]': lambda n, e: f'{n},{e}',
    'GPS lat (min),GPS lon (min)': lambda n, e: f'{n * 60:.7f},{e * 60:.7f}',
}
HEADERS = {
    '': '',
    '# a log\n// of a car': '',
    'Rate,100\n\nMy car': '',
    'Time,12:00:00,ax,ay,az,gx,gy': '',
    ' ': '-,[m/s2],[m/s^2],m/s²,(rad/s),<rad/s>,{rad/s},-,-',
    '  ': '-,m/s2,m/s2,m/s2,rad/s,rad/s,rad/s,,',
}
STYLES = [(',', '.', 'utf-8'), (';', ',', 'cp1252'), ('\t', '.', 'utf-16'), ('\t', ',', 'utf-8')]
PARTS = (TIMES, IMUS, PLACES, HEADERS, STYLES)


def table(parts, order=None):
    """Return the drive in a table of some form, whose parts are in an order."""
    time, imu, places, above, (delimiter, mark, coding) = parts
    accel, gyro = (each * 3 for each in [[part] for part in imu.split(',')])
    heads = [each.replace('#', axis).replace('@', index) for words in (accel, gyro)
             for each, axis, index in zip(words, 'xyz', '012', strict=True)]  # fmt: skip
    blocks = [time.split(','), *([each] for each in heads), places.split(',')]
    order = range(len(blocks)) if order is None else order
    lines = [[cell for at in order for cell in blocks[at]]]
    # A unit that the name implies is no other one.
    if HEADERS[above] and IMUS[imu] == (1, 1):
        head, *units = HEADERS[above].split(',')[:7]
        below = [[head] * len(blocks[0]), *([each] for each in units), [''] * len(blocks[-1])]
        lines.append([cell for at in order for cell in below[at]])
    for row, (ns, sample) in enumerate(zip(MADE.stamps.tolist(), MADE.imu, strict=True)):
        values = sample / np.repeat(IMUS[imu], 3)
        place = PLACES[places](*MADE.fixes[row // 4, :2].round(7).tolist()).split(',')
        cells = [TIMES[time](ns).split(','), *([f'{each:.9f}'] for each in values), place]
        lines.append([re.sub(r'^([-\d]+)\.(\d+)$', rf'\1{mark}\2', cell)
                      for at in order for cell in cells[at]])  # fmt: skip
    text = '\n'.join([*above.strip(' ').splitlines(), *map(delimiter.join, lines)])
    return text.encode(coding)


FIRST = tuple(next(iter(part)) for part in PARTS)
FORMS = [
    ((*FIRST[:at], form, *FIRST[at + 1 :]), None) for at, part in enumerate(PARTS) for form in part
]
MIXER = random.Random(4)  # noqa: S311 - no secret
FORMS += [
    (tuple(MIXER.choice([*part]) for part in PARTS), MIXER.sample(range(8), 8)) for _ in range(40)
]


@pytest.mark.parametrize(('parts', 'order'), FORMS, ids=str)
def test_any_form_of_a_table_is_the_same_drive(parts, order, tmp_path):
    path = tmp_path / 'a.csv'
    path.write_bytes(table(parts, order))
    found = read(path)
    np.testing.assert_allclose(found.imu.values, MADE.imu, atol=1e-6)
    days = (found.imu.stamps - MADE.stamps) / DAY_NS
    np.testing.assert_allclose(days, days[0], atol=1e-10)
    since_1970 = (DAY_NS - BEGIN) / DAY_NS
    assert min(abs(days[0] - each) for each in (0, 10, since_1970, 1 - BEGIN // DAY_NS)) < 1e-10
    np.testing.assert_allclose(found.fixes.values[:, :2], MADE.fixes[:, :2], rtol=0, atol=2e-7)


SPELLED = {
    ('accel_x', 1.0): 'm/s^2;m/s²;m/s2;m/s/s;(m/s^2);m s-2;m·s⁻²;mps2;m_s2;ms^-2;'
    'metres per second squared;meters/second^2',
    ('gyro_z', DEG): 'Deg/Sec;deg_sec;°/s;dps;deg s-1;degrees/second',
    ('gyro_z', 1.0): 'rad/s;Rad/Sec;radians per second',
    ('gyro_z', DEG / 1000): 'mdps;mdeg/s',
    ('time', 1e-3): 'ms;milliseconds;millis',
    ('time', 1.0): 's;sec;secs;Seconds;unix time',
    ('time', 1e-6): 'us;µs;microseconds',
    ('time', 1e-9): 'nanoseconds',
    ('longitude', 1 / 60): 'Minutes',
    ('altitude', 0.3048): 'ft;Feet',
}  # fmt: skip


def test_units_and_missing_cells_as_loggers_spell_them(tmp_path):
    for (role, factor), units in SPELLED.items():
        for unit in units.split(';'):
            assert factor_of(role, unit, 'a file') == pytest.approx(factor), unit
    # And so are words for missing cells.
    for word in ('#N/A', '-nan(ind)', '?', 'NaN', 'null', '-1.#IND'):
        path = written(tmp_path, 'time,ax', lambda i, word=word: (i / 9, word if i % 2 else i))
        assert len(read_log([path], {}).channels['accel_x'].stamps) == 50


@pytest.mark.parametrize('head', ['time', 'date,time', 'date,TIME', 'datetime'])
@pytest.mark.parametrize('before', [3, 97])
@pytest.mark.parametrize('odd', ['', 'late', 'wild'])
def test_times_go_on_after_midnight(head, before, odd, tmp_path):
    """Whether there is no date, the date stands still, also in one cell, or it goes on."""
    midnight = datetime(2026, 2, 1, tzinfo=timezone(timedelta(hours=-5)))

    def cells(row: int) -> list[object]:
        # The last row before midnight comes late, or another shows a wild time.
        at = {before - 1: before, before: before - 1}.get(row, row) if odd == 'late' else row
        time = midnight + timedelta(seconds=(at - before) / 20)
        of_day = f'{time:%H:%M:%S.%f-05:00}'
        of_day = f'09{of_day[2:]}' if odd == 'wild' and at == 48 else of_day
        day = f'{time:%Y-%m-%d}' if head == 'date,TIME' else '2026-01-31'
        return [*{'time': [of_day], 'datetime': [f'{day} {of_day}']}.get(head, [day, of_day]), row]

    path = written(tmp_path, f'{head},ax', cells)
    if odd == 'wild':
        with pytest.raises(InputError, match=r'a\.csv, line \d+: the time is .* the time of line'):
            read(path)
        return
    zero = 2 * 86_400 if head == 'time' else midnight.timestamp()
    at = np.round((read(path).imu.stamps / 1e9 - zero) * 20).astype(int) + before
    np.testing.assert_array_equal(at, range(100))


SET = 1.7e9 + np.arange(100) / 20


@pytest.mark.parametrize(
    ('seconds', 'line'),
    [
        # Rows may be late by a second, and drives may pause.
        (np.r_[SET[:50], SET[50:] - 0.99], None),
        (np.r_[SET[:50], SET[50:] + 3500], None),
        # All else is refused with the line, as a clock that was not yet set.
        (np.r_[0.0, 0.0, 0.0, SET[3:]], 5),
        (np.r_[np.arange(30), SET[30:]], 32),
        (np.r_[SET[:50], SET[50:] - 1.1], 52),
        (np.r_[SET[:50], SET[50:] + 3700], 52),
        (np.r_[SET[:97], SET[97:] + 70], 99),
        (np.r_[SET[:40], SET[40] + 9e5, SET[41:]], 42),
        (np.r_[SET[:40], 0.0, SET[41:]], 42),
    ],
)
def test_no_time_is_repaired(seconds, line, tmp_path):
    path = written(tmp_path, 'time,ax', lambda row: (f'{seconds[row]:.3f}', row))
    if line:
        words = rf'a\.csv, line {line}: the time is .* s \w+ the time'
        with pytest.raises(InputError, match=words):
            read(path)
    else:
        steps = np.diff(read(path).imu.stamps) / 1e9
        np.testing.assert_allclose(steps, np.diff(np.unique(seconds.round(3))), atol=1e-5)


def test_damage_of_a_position_leaves_the_imu_of_its_row_and_a_torn_line_the_others(tmp_path):
    north = ['nofix' if i in {3, 40} else 48 + i / 1e4 for i in range(100)]
    path = written(tmp_path, 'time,ax,lat,lon', lambda i: (i / 9, i, north[i], 11))
    found = read(path)
    assert len(found.imu.stamps) == 100
    assert len(found.fixes.stamps) == 98
    assert any("line 5: 'nofix'" in note and '1 others' in note for note in found.notes)
    path.write_text('time,ax,ay\n0,1,2\n0.1,1,2\n0.2,1')
    found = read(path)
    assert len(found.imu.stamps) == 2
    assert any('line 4, the last' in note for note in found.notes)


@pytest.mark.parametrize(
    ('head', 'columns', 'found'),
    [
        ('when,a,b,c,d,e', 't=when:s,ax=a,gz=-b:deg/s', {'accel_x': 1.0, 'gyro_z': -2 * DEG}),
        ('time,a,ay,c,lat,lon', 'ax=-a:g', {'accel_x': -G, 'accel_y': 2, 'latitude': 4}),
        ('time,x,y,z,gx,gy', 'ax=x,ay=y', {'accel_x': 1, 'accel_y': 2, 'gyro_x': 4, 'gyro_y': 5}),
        ('time,x (mm),y (mm),z,gx,g', '', {'x': 0.001, 'y': 0.002, 'gyro_x': 4}),
        ('time,x,y,z,ax,gz', '', {'accel_x': 4, 'gyro_z': 5, 'x': 1, 'y': 2}),
        ('time,az,gx (g),gz,v,w', '', {'accel_z': 1, 'gyro_z': 3}),
        # As likely a minimum as minutes.
        ('time,ax,x_min,ay_min,lat_min,l', '', {'accel_x': 1}),
        # What was computed from satellites is no IMU, unless it is named.
        ('time,ax,lat_acc_calc,gps_long_acc,T,t', '', {'accel_x': 1}),
        ('time,gps_lat_acc,gps_long_acc,T,t,a', 'ax=gps_long_acc:g', {'accel_x': 2 * G}),
        ('time,alt_ft,ax,ax,yaw,roll (deg)', '', {'altitude': 0.3048, 'accel_x': 2}),
    ],
)
def test_a_name_a_unit_and_a_map_say_which_column_has_which_role(head, columns, found, tmp_path):
    path = written(tmp_path, head, lambda i: (i / 20, 1, 2, 3, 4, 5))
    log = read_log([path], parse_columns(columns))
    assert {role: each.values[0] for role, each in log.channels.items()} == pytest.approx(
        {'longitude': 5, **found} if 'latitude' in found else found
    )
    assert any('the first of 2 columns' in note for note in log.notes) == ('ax,ax' in head)


@pytest.mark.parametrize('step_s', [0.0008, 0.05, 0.2])
@pytest.mark.parametrize('unit', ['ms', 'us', 'ns'])
@pytest.mark.parametrize('as_unit', ['', ':s', ':us'])
def test_a_unit_that_no_imu_has_is_refused(unit, as_unit, step_s, tmp_path):
    factors = {'ms': 1e-3, 'us': 1e-6, 'ns': 1e-9, 's': 1.0}
    step = step_s / factors[unit]
    held = step * factors[as_unit[1:] or 's']
    path = written(tmp_path, 'time,ax', lambda i: (repr(i * step), i))
    if 1e-5 < held < (10.0 if as_unit else 1.0):
        found = read(path, columns=f'time=time{as_unit}')
        assert np.median(np.diff(found.imu.stamps)) > 0
        assert f'time is time in {as_unit[1:] or "s"}' in found.notes
    else:
        with pytest.raises(InputError, match="state its unit, as in --columns 'time=time:ms'"):
            read(path, columns=f'time=time{as_unit}')
    assert len(read(path, columns=f'time=time:{unit}').imu.values) == 100


@pytest.mark.timeout(20)
@pytest.mark.parametrize('cell', ['(' * 20_000, 'a(' + ' ' * 20_000 + 'x', 'a_' * 9000 + 'ms'])
def test_no_header_takes_long(cell, tmp_path):
    path = written(tmp_path, f'time,ax,{cell}', lambda i: (i / 20, i, 1))
    assert len(read(path).imu.values) == 100
