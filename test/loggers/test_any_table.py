# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The same drive in tables of any form is the same drive: names, units, times, places, order."""

from datetime import datetime, timedelta, timezone
import random
import re

from logger_files import drive, G
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.columns import parse_columns
from two_manifold_ros.loggers.log import factor_of
from two_manifold_ros.loggers.reading import read_log
from two_manifold_ros.loggers.times import not_cut_off
from two_manifold_ros.loggers.to_bag import drive_of

MADE, DEG = drive(5.0), np.pi / 180
DAY_NS = 86_400 * 10**9


def clock(form, hours=0):
    """Return what writes a time of a zone, ten days later, with milliseconds for `%f`."""

    def write(ns: int) -> str:
        zone = timezone(timedelta(hours=hours))
        ns += 10 * DAY_NS
        return datetime.fromtimestamp(ns / 1e9, zone).strftime(
            form.replace('%f', f'{ns // 10**6 % 1000:03d}')
        )

    return write


def counted(each_s, begin_ns=0, form='.4f'):
    """Return what writes a time in units of some seconds."""
    return lambda ns: f'{(ns - begin_ns) / 1e9 / each_s:{form}}'


BEGIN = int(MADE.stamps[0])
TIMES = {
    'time (s)': counted(1.0),
    'timestamp': counted(1e-3, 0, '.0f'),
    'Zeit [ms]': counted(1e-3, BEGIN),
    **dict.fromkeys(
        ('millis', 'TimeMS', 'time_boot_ms', 'elapsed_ms'), counted(1e-3, BEGIN, '.0f')
    ),
    'TimeUS': counted(1e-6, BEGIN, '.0f'),
    'stamp': str,
    'unix time': counted(1.0),
    'time': clock('%m/%d/%Y %I:%M:%S.%f %p'),
    'Time': clock('%d/%m/%Y %H:%M:%S.%f'),
    'UTC': clock('%Y-%m-%dT%H:%M:%S.%fZ'),
    'datetime': clock('%Y-%m-%d %H:%M:%S.%f+02', 2),
    'Timestamp (UTC)': clock('%Y-%m-%d %H:%M:%S.%f'),
    'loggingTime(txt)': clock('%Y-%m-%d %H:%M:%S.%f -0500', -5),
    'Datum,Uhrzeit': clock('%d.%m.%Y,%I:%M:%S.%f %p UTC'),
    'date,time': clock('31.12.2025,%m/%d/%Y %I:%M:%S.%f %p -05:00', -5),
    'clock': clock('%H:%M:%S.%f'),
}
IMUS = {
    'a#,g#': (1, 1),
    'acc[@],gyro[@]': (1, 1),
    'acc (#),gyro (#)': (1, 1),
    'Acc # (g),Gyro # [°/s]': (G, DEG),
    'a#_g,w#_degps': (G, DEG),
    'a# (m/s2) (raw),rotation_rate_#_rad_s': (1, 1),
    'accelerometer_m_s2[@],gyro_rad[@]': (1, 1),
    'linear_acceleration.#,angular_velocity.#': (1, 1),
    '# (mg),# [mdps]': (G / 1000, DEG / 1000),
    '#_m_per_s2,#_deg_per_s': (1, DEG),
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
    'sep=,': '',
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
        below = HEADERS[above].split(',')
        below = [
            below[:1] * len(blocks[0]),
            *([each] for each in below[1:7]),
            [''] * len(blocks[-1]),
        ]
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
    pytest.param((*FIRST[:at], form, *FIRST[at + 1 :]), None, id=f'{form!r}')
    for at, part in enumerate(PARTS)
    for form in part
]
MIXER = random.Random(4)  # noqa: S311 - no secret
FORMS += [
    pytest.param(
        tuple(MIXER.choice([*part]) for part in PARTS), MIXER.sample(range(8), 8), id=f'mix {at}'
    )
    for at in range(40)
]


@pytest.mark.parametrize(('parts', 'order'), FORMS)
def test_any_form_of_a_table_is_the_same_drive(parts, order, tmp_path):
    path = tmp_path / 'a.csv'
    path.write_bytes(table(parts, order))
    found = drive_of(read_log([path], {}))
    np.testing.assert_allclose(found.imu.values, MADE.imu, atol=1e-6)
    days = (found.imu.stamps - MADE.stamps) / DAY_NS
    np.testing.assert_allclose(days, days[0], atol=1e-10)
    since_1970 = (DAY_NS - BEGIN) / DAY_NS
    assert min(abs(days[0] - each) for each in (0, 10, since_1970, 1 - BEGIN // DAY_NS)) < 1e-10
    expected = MADE.fixes[:, :2]
    np.testing.assert_allclose(found.fixes.values[:, :2], expected, rtol=0, atol=2e-7)


SPELLED = {
    ('accel_x', G): 'G;g; g ',
    ('accel_x', 1.0): 'm/s^2;m/s²;m/s2;m/s/s;(m/s^2);m s-2;m·s⁻²;mps2;m_s2;ms^-2;'
    'metres per second squared;meters/second^2',
    ('accel_x', 0.3048): 'ft/s^2',
    ('gyro_z', DEG): 'Deg/Sec;deg_sec;°/s;dps;deg s-1;degrees/second',
    ('gyro_z', 1.0): 'rad/s;Rad/Sec;radians per second',
    ('gyro_z', DEG / 1000): 'mdps;mdeg/s',
    ('time', 1e-3): 'ms;milliseconds;millis',
    ('time', 1.0): 's;sec;secs;Seconds;unix time',
    ('time', 1e-6): 'us;µs;microseconds;usec',
    ('time', 1e-9): 'ns;nanoseconds',
    ('latitude', 1.0): 'deg;Degrees;°',
    ('longitude', 1 / 60): 'Minutes',
    ('altitude', 0.3048): 'ft;Feet',
    ('x', 1.0): 'm;M;meters;Metres',
    ('y', 0.001): 'mm',
}  # fmt: skip


def test_units_as_loggers_spell_them():
    for (role, factor), units in SPELLED.items():
        for unit in units.split(';'):
            assert factor_of(role, unit, 'a file') == pytest.approx(factor), unit


def written(folder, head, cells, count=100, name='a.csv'):
    """Return a table with the cells of each row."""
    path = folder / name
    path.write_text('\n'.join([head, *(','.join(map(str, cells(i))) for i in range(count))]))
    return path


def read(path, columns=''):
    """Return the drive in a table."""
    return drive_of(read_log([path], parse_columns(columns)))


@pytest.mark.parametrize('head', ['time', 'date,time', 'date,TIME', 'datetime'])
@pytest.mark.parametrize('before', [3, 50, 97])
@pytest.mark.parametrize('odd', ['', 'late', 'wild', 'date'])
def test_times_go_on_after_midnight(head, before, odd, tmp_path):
    """Whether there is no date, the date stands still, also in one cell, or it goes on."""
    midnight = datetime(2026, 2, 1, tzinfo=timezone(timedelta(hours=-5)))

    def cells(row: int) -> list[object]:
        # The last row before midnight comes late, or another shows a wild time or date.
        at = {before - 1: before, before: before - 1}.get(row, row) if odd == 'late' else row
        time = midnight + timedelta(seconds=(at - before) / 20)
        of_day = f'{time:%H:%M:%S.%f-05:00}'
        of_day = f'09{of_day[2:]}' if odd == 'wild' and at == 48 else of_day
        day = f'{time:%Y-%m-%d}' if head == 'date,TIME' else '2026-01-31'
        day = '2026-02-03' if odd == 'date' and at == 48 else day
        return [*{'time': [of_day], 'datetime': [f'{day} {of_day}']}.get(head, [day, of_day]), row]

    stamps = np.sort(read(written(tmp_path, f'{head},ax', cells)).imu.stamps)
    zero = 2 * 86_400 if head == 'time' else midnight.timestamp()
    at = np.round((stamps / 1e9 - zero) * 20).astype(int) + before
    assert set(range(100)) - set(at.tolist()) <= ({48} if odd in {'wild', 'date'} else set())


def test_a_pause_of_more_than_half_a_day_is_none_over_midnight(tmp_path):
    for head, day in (('time', []), ('date,time', ['2026-01-31'])):
        path = written(
            tmp_path, f'{head},ax', lambda i, d=day: (*d, f'{8 + i // 50 * 13}:{i % 50}', i)
        )
        stamps = read(path).imu.stamps
        assert stamps[50] - stamps[49] == (12 * 60 + 11) * 60 * 10**9


@pytest.mark.parametrize('bad', [None, '05/93', '31/15', '31/05', '05/31', '02/06'])
@pytest.mark.parametrize('at', [0, 20, 99])
@pytest.mark.parametrize(
    ('day', 'read_as', 'noted'),
    [('05/03', '2026-03-05', 1), ('15/03', '2026-03-15', 0), ('03/15', '2026-03-15', 0)],
)
def test_one_row_does_not_decide_the_order_of_day_and_month(
    day, read_as, noted, at, bad, tmp_path
):
    def cells(i: int) -> tuple[str, int]:
        return f'{bad if bad and i == at else day}/2026 12:00:{i // 20}.{i % 20 * 5:02d}', i

    log = read_log([written(tmp_path, 'time,ax', cells)], {})
    stamps = log.channels['accel_x'].stamps
    assert len(stamps) == 100 - bool(bad)
    assert {str(each)[:10] for each in stamps.astype('datetime64[ns]')} == {read_as}
    assert sum('no date of the file shows it' in note for note in log.notes) == noted


def test_times_that_are_cut_off_are_those_gap_by_gap(tmp_path):
    def naive(seconds: np.ndarray) -> np.ndarray:
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

    rng, seen = np.random.default_rng(5), set()
    chances = [0.1, 0.3, 0.3, 0.2, 0.04, 0.03, 0.02, 0.01]
    for _ in range(3000):
        count = int(rng.integers(1, 90))
        steps = rng.choice([0.0, 0.05, 0.05, 0.05, 50.0, 4000.0, -4000.0, 1e9], count, p=chances)
        steps[: int(rng.integers(0, 20))] *= rng.integers(0, 2)
        seconds = np.cumsum(steps) + rng.choice([0.0, 1.7e9])
        found = not_cut_off(seconds)
        np.testing.assert_array_equal(found, naive(seconds))
        seen |= {(bool(found[0]), bool(found[-1]), bool(found.all()))}
    assert len(seen) > 3
    for lost in (3, 30):
        path = written(
            tmp_path, 'time,ax', lambda i, n=lost: (1.7e9 + i / 20 if i >= n else 0.0, i)
        )
        assert len(read(path).imu.values) == 100 - lost


@pytest.mark.parametrize('word', ['#N/A', '-nan(ind)', '?', 'NaN', 'null', '-1.#IND'])
def test_words_for_missing_cells(word, tmp_path):
    path = written(tmp_path, 'time,ax', lambda i: (i / 9, word if i % 2 else i))
    assert len(read_log([path], {}).channels['accel_x'].stamps) == 50


@pytest.mark.parametrize(
    ('head', 'columns', 'found'),
    [
        ('when,a,b,c,d,e', 't=when:s,ax=a,gz=-b:deg/s', {'accel_x': 1.0, 'gyro_z': -2 * DEG}),
        ('time,a,ay,c,lat,lon', 'ax=-a:g', {'accel_x': -G, 'accel_y': 2, 'latitude': 4}),
        ('time,x,y,z,gx,gy', 'ax=x,ay=y', {'accel_x': 1, 'accel_y': 2, 'gyro_x': 4, 'gyro_y': 5}),
        ('time,x,y,z,gx,gy', 'x=x,y=y', {'x': 1, 'y': 2, 'gyro_x': 4, 'gyro_y': 5}),
        ('time,x (mm),y (mm),z (m),gx,g', '', {'x': 0.001, 'y': 0.002, 'gyro_x': 4}),
        ('time,x,y,z,ax,gz', '', {'accel_x': 4, 'gyro_z': 5, 'x': 1, 'y': 2}),
        ('time,pos_x_cm,pos_y_cm,z,ax,t', '', {'accel_x': 4, 'x': 0.01, 'y': 0.02}),
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
    channels = read_log([path], parse_columns(columns)).channels
    assert {role: each.values[0] for role, each in channels.items()} == pytest.approx(
        {'longitude': 5, **found} if 'latitude' in found else found
    )


@pytest.mark.parametrize('step_s', [0.0008, 0.05, 0.2])
@pytest.mark.parametrize('unit', ['ms', 'us', 'ns'])
@pytest.mark.parametrize('as_unit', ['', ':s', ':us'])
def test_a_unit_that_no_imu_has_is_named_with_the_one_that_fits(unit, as_unit, step_s, tmp_path):
    factors = {'ms': 1e-3, 'us': 1e-6, 'ns': 1e-9, 's': 1.0}
    step = step_s / factors[unit]
    held = step * factors[as_unit[1:] or 's']
    path, columns = (
        written(tmp_path, 'time,ax', lambda i: (repr(i * step), i)),
        f'time=time{as_unit}',
    )
    if 1e-5 < held < (10.0 if as_unit else 1.0):
        assert np.median(np.diff(read(path, columns).imu.stamps)) > 0
        return
    with pytest.raises(InputError, match='--columns') as caught:
        read(path, columns)
    advised = str(caught.value).partition("'time=time:")[2].partition("'")[0]
    assert advised == unit or (1e-4 <= step * factors[advised] <= 1.0 and step_s < 0.01)
    assert len(read(path, f'time=time:{unit}').imu.values) == 100


@pytest.mark.timeout(20)
@pytest.mark.parametrize('cell', ['(' * 20_000, 'a(' + ' ' * 20_000 + 'x', 'a_' * 9000 + 'ms'])
def test_no_header_takes_long(cell, tmp_path):
    assert (
        len(read(written(tmp_path, f'time,ax,{cell}', lambda i: (i / 20, i, 1))).imu.values) == 100
    )


@pytest.mark.parametrize(
    ('head', 'cells', 'columns', 'words'),
    [
        ('time,ax,lat,lon,speed,status', '1,33.8,70.2,5,S', '', "'status'.*'latitude=-lat'"),
        ('time,ax,lat,lon,W', '1,33.8,70.2,east', '', None),
        ('time,ax,lat,lon,E/W', '1,33.8,70.2,O', '', "'E/W'.*'longitude=-lon' if it is W"),
        ('time,ax,lat,lon,E/W', '1,33.8,-70.2,W', '', None),
        ('time,ax,lat,lon,E/W', '1,33.8,70.2,W', 'lon=-lon', None),
        ('time,ax,lat,lon,status', '1,33.8,70.2,SW', '', "'status'"),
        ('time,ax,lat,Longitude [W]', '1,33.8,70.2', '', r"'Longitude \[W\]'"),
        ('time,ax,lat,lon', '1,33.8 S,70.2', '', "'lat' is no number.*negative to the south"),
        ('time,ax,lat,lon,alt', '1,33.8,70.2,488000', '', "488000 m.*'altitude=COLUMN:mm'"),
        *(('time,ax,lat,lon', f'1,{place}', '', r'none of the 99 positions .*on earth: .*lat=')
          for place in ('-121.9995,47.0', '1220000001,470000001', '4700.0042,800.0316')),
        ('time,x,y,z,gx,gy,gz', '1,2,3,4,5,6', '',
         "accelerations; .*,ax=x:UNIT.*'x=x,y=y'.*'time', 'x'"),
        ('time,gx,gy,gz,X,Y,v', '1,2,3,4,5,6', '', 'accelerations; .*ax=x:UNIT'),
        ('time,x,y,z,x,y,z', '1,2,3,4,5,6', '', 'need names of their own'),
        ('time,a,b', '1,2', 'ax=b,ay=b', 'each its own'),
        ('time,a,b', '1,2', 'ax=c', "no column 'c'; name one of 'time', 'a', 'b'"),
        ('when,ax', '1', '', "hold the time; .*'when', 'ax'"),
        ('time,force', '1', '', "hold samples; .*'time', 'force'"),
        ('time,lat,lon', '48.1,11.5', '', 'no column is known to hold accelerations'),
        ('time,lat,lon,status,fwd,r', '48.1,11.5,FIX,5,5', '', "no column .* 'fwd', 'r', or"),
        ('time,ax (V)', '1', '', "'V' is no unit of accel_x"),
        ('time,ax,ay\nsec,counts,counts', '1,2', '', "'counts' is no unit of accel_x"),
        ('time,ax', 'x', '', 'line 2: .* is no number, as in 98 others of 99 lines'),
        ('time,ax', '1,2', '', 'line 2: 3 values for 2 columns, as in 98 others of 99 lines'),
    ],
)  # fmt: skip
def test_what_is_not_clear_is_refused_with_its_cure(head, cells, columns, words, tmp_path):
    path = written(tmp_path, head, lambda i: (f'{(i + 1) / 20},{cells}',), 99)
    if words is None:
        assert len(read(path, columns).fixes.values) > 0
        return
    with pytest.raises(InputError, match=rf'a\.csv.*{words}'):
        read(path, columns)


@pytest.mark.parametrize(
    'columns', ['t', 't=', 'speed=v', 't=a,t=b', 't=a:parsec', 'time=a,t=b', '=a', 't=-a']
)
def test_a_map_that_is_none_is_refused(columns):
    with pytest.raises(InputError, match='--columns'):
        parse_columns(columns)
