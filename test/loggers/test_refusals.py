# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is no recording, not clear or damaged is refused in one sentence, with line and cure."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
import warnings

from hypothesis import given, settings
from hypothesis import strategies as st
from imported import read, written
from logger_files import drive, WRITERS
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.columns import parse_columns

MADE = drive()

ODD = (b'', b',', b' ', b'-', b'1e400', b'99999999999', b'[data]', b'"', b'\xff', b'nan', b'\n')


@cache
def content_of(name: str) -> bytes:
    writer, file = WRITERS[name]
    with TemporaryDirectory() as folder:
        return writer(Path(folder) / file, drive(3.0)).read_bytes()


PUT = st.sampled_from(ODD) | st.binary(max_size=4)
CHANGE = st.tuples(st.floats(0, 1), st.integers(0, 12), PUT)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(WRITERS)), st.lists(CHANGE, min_size=1, max_size=4))
def test_damaged_files_are_read_or_refused(name, changes):
    content = content_of(name)
    for where, cut, put in changes:
        # Headers are short, so that one change of two is there.
        begin = round(len(content) * where**2)
        content = content[:begin] + put + content[begin + cut :]
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter('error')
        path = Path(folder) / 'file'
        path.write_bytes(content)
        said = str(path)
        try:
            found = read(path)
            assert np.isfinite(found.imu.values).all()
            assert len(found.imu.values) == len(found.imu.stamps) > 0
            assert (np.diff(found.imu.stamps) > 0).all()
        except InputError as error:
            said = str(error)
        assert str(path) in said
        assert '\n' not in said


DAMAGES = {'text': b'x', 'time': b'x', 'zero': b'0', 'ahead': b'9'}


def damaged(lines, numbers, damage, name):
    """Return the lines of a file of a format with some of them damaged."""
    lines = list(lines)
    separator, time = (b' ', 1) if name == 'vbo' else (b',', 0)
    # The last cell of a row may be empty.
    column = time if damage != 'text' else 4 if name == 'racecapture' else -1
    for number in numbers:
        cells = lines[number - 1].split(separator)
        cells[column] = DAMAGES.get(damage, b'')
        if (name, damage) == ('vbo', 'ahead'):
            cells[column] = b'235000.00'
        lines[number - 1] = separator.join(cells[:-2] if damage == 'cells' else cells)
    return lines


@pytest.mark.parametrize('name', WRITERS)
@pytest.mark.parametrize('damage', ['torn', 'cells', *DAMAGES])
def test_a_damaged_line_is_left_out_and_a_wrong_time_or_new_start_refused(name, damage, tmp_path):
    writer, file = WRITERS[name]
    path = writer(tmp_path / file, MADE)
    whole = read(path)
    lines = path.read_bytes().rstrip().splitlines()
    number = len(lines) - 40
    if damage == 'torn':
        number = len(lines)
        path.write_bytes(b'\n'.join([*lines, *lines[-600:]]))
        with pytest.raises(InputError, match=f'line {number + 1}: the time is'):
            read(path)
        path.write_bytes(b'\n'.join([*lines[:-1], lines[-1][:12]]))
    else:
        path.write_bytes(b'\n'.join(damaged(lines, [number], damage, name)))
    if damage in {'zero', 'ahead'}:
        with pytest.raises(InputError, match=rf'line ({number}|{number + 1}): the time is'):
            read(path)
        return
    found = read(path)
    assert (~np.isin(whole.imu.stamps, found.imu.stamps)).sum() <= 1
    np.testing.assert_allclose(found.imu.values[:600], whole.imu.values[:600], atol=1e-9)
    assert any(f'line {number}' in note for note in found.notes)
    path.write_bytes(b'\n'.join(damaged(lines, range(number - 200, number), damage, name)))
    with pytest.raises(InputError, match=f'{path}, line {number - 200}:') as caught:
        read(path)
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize(
    ('content', 'words'),
    [
        (b'', 'is empty'),
        (b'\x00\x01\x02', 'it is no text'),
        (b'PK\x03\x04rest', 'unpack it'),
        (b'hello\n', 'no table'),
        (b'a,b\n1,2\n', "'a', 'b'"),
        (b'1,2\n3,4\n', 'names of columns is missing'),
        (b'[data]\n1 2 3\n', '[column names] is missing'),
        (b'File created on 31/02/2026\n[column names]\ntime x_acc\n[data]\n1 2\n', '31/02/2026'),
        (b'This file is created using RaceChrono v7\nFormat,2\nTime (s),X\n1,2\n', 'hold the'),
        (b'time,ax\n', 'no line with data'),
        # Text of Windows has no more lines than it shows.
        ('time (s),ax,note…,\n0,1,,\n0.1,x,,\n'.encode('cp1252'), "line 3: 'x'"),
        (b'time,ax\n2026-01-01T00:00Z,1\n2026-13-01T00:00Z,1\n', "line 3: '2026-13-01"),
        (b'time,ax\n25/03/2026 1:00,1\n25/03/2026 1:01,1\n', "1:00' has slashes, and such dates"),
        (b'"Format","AiM CSV File"\nDate,25/03/2026\nTime,1:00 PM\nTime,InlineAcc\n0,1\n1,1\n',
         "'25/03/2026' has slashes, and such dates"),
        (b'time (s),ax\n' + b'1,1\n' * 50 + b'2,1\n' * 50, 'more decimals'),
    ],
)  # fmt: skip
def test_what_is_no_recording_is_refused_in_a_sentence(content, words, tmp_path):
    path = tmp_path / 'file'
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ('head', 'cells', 'columns', 'words'),
    [
        ('time,ax,lat,lon', '1,33.8 S,70.2', '', "'lat' is no number.*negative to the south"),
        ('time,ax,lat,lon,alt', '1,33.8,70.2,488000', '', "488000 m.*'altitude=COLUMN:mm'"),
        *(('time,ax,lat,lon', f'1,{place}', '', r'none of the 99 positions .*on earth: .*lat=')
          for place in ('-121.9995,47.0', '1220000001,470000001', '4700.0042,800.0316')),
        ('time,x,y,z,gx,gy,gz', '1,2,3,4,5,6', '',
         "accelerations; .*,ax=COLUMN:UNIT.*'x=COLUMN,y=COLUMN'.*'time', 'x'"),
        ('time,gx,gy,gz,X,Y,v', '1,2,3,4,5,6', 'gz=v', 'accelerations; .*ax=COLUMN'),
        ('time,x,y,z,x,y,z', '1,2,3,4,5,6', '', 'need names of their own'),
        ('time,a,b', '1,2', 'ax=b,ay=b', 'each its own'),
        ('time,a,b', '1,2', 'ax=c', "no column 'c'; name one of 'time', 'a', 'b'"),
        ('when,ax', '1', '', "hold the time; .*'when', 'ax'"),
        ('time,lat,lon,status,fwd,r', '48.1,11.5,FIX,5,5', '', "no column .* 'fwd', 'r', or"),
        ('time,ax,ay\nsec,counts,counts', '1,2', '', "'counts' is no unit of accel_x"),
        ('date,time,ax', '12:00:01,1', '', 'line 2: .* is no time such as 2026-01-31'),
        ('time,ax', 'x', '', 'line 2: .* is no number, as in 98 others of 99 lines'),
        ('time,ax', '1,2', '', 'line 2: 3 values for 2 columns, as in 98 others of 99 lines'),
    ],
)  # fmt: skip
def test_what_is_not_clear_is_refused_with_its_cure(head, cells, columns, words, tmp_path):
    path = written(tmp_path, head, lambda i: (f'{(i + 1) / 20},{cells}',), 99)
    with pytest.raises(InputError, match=rf'a\.csv.*{words}'):
        read(path, columns=columns)


@pytest.mark.parametrize(
    ('cells', 'columns', 'noted'), [('70.2', '', 1), ('-70.2', '', 0), ('70.2', 'lon=-lon', 0)]
)
def test_a_longitude_without_a_sign_is_noted(cells, columns, noted, tmp_path):
    path = written(tmp_path, 'time,ax,lat,lon', lambda i: (f'{i / 20},1,-33.8,{cells}',), 99)
    found = read(path, columns=columns)
    assert sum('if it is west, give --columns longitude=-lon' in n for n in found.notes) == noted


def test_a_map_that_is_none_is_refused():
    for columns in ('t', 't=', 'speed=v', 't=a,t=b', 't=a:parsec', 'time=a,t=b', '=a', 't=-a'):
        with pytest.raises(InputError, match='--columns'):
            parse_columns(columns)
