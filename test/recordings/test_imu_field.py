# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""An IMU inside messages of a type that only the bag defines."""

from contextlib import closing
from pathlib import Path
import sqlite3

from ellipse import imu_fields, stamped
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.bag_writer import BagWriter
from two_manifold_ros.recordings.reading import read_recording, ReadingOptions

typesys = pytest.importorskip('rosbags.typesys')

STATE = """\
# The state of a car.
uint8 MOVING=1
std_msgs/Header header
string name "nobody's"
car_msgs/Data data
float64[6] raw
"""
DATA = 'float32 steering\nsensor_msgs/Imu imu\n'
COUNT = 40
FORCE, RATE = np.arange(3.0) + 1.0, np.arange(3.0) + 10.0


def write(path: Path, outer_ns: int, inner_ns: int) -> Path:
    """Write messages that are stamped outside, inside, or nowhere, a tenth of a second apart."""
    with BagWriter(path, storage='sqlite3') as bag:
        for text, name in ((DATA, 'car_msgs/msg/Data'), (STATE, 'car_msgs/msg/State')):
            bag._builder.typestore.register(typesys.get_types_from_msg(text, name))
        for index in range(COUNT):
            later = index * 100_000_000
            outer, inner = (stamped(first and first + later) for first in (outer_ns, inner_ns))
            imu = inner | imu_fields([*(FORCE + index), *(RATE + index)])
            state = outer | {'data': {'imu': imu}, 'raw': np.arange(6.0) * index}
            bag.write('/car/state', 'car_msgs/msg/State', 5_000_000_000 + later, state)
    return path


def options(field: str) -> ReadingOptions:
    """Return how the IMU of the car is read."""
    return ReadingOptions(imu_topic='/car/state', imu_field=field, need_positions=False)


@pytest.mark.parametrize(
    ('outer_ns', 'inner_ns', 'first'),
    [
        (10**9, 0, 10**9),
        (10**9, 3 * 10**9, 3 * 10**9),
        (0, 3 * 10**9, 3 * 10**9),
        (0, 0, 5 * 10**9),
    ],
)
def test_samples_and_stamps_are_those_inside(outer_ns, inner_ns, first, tmp_path):
    imu = read_recording(write(tmp_path / 'bag', outer_ns, inner_ns), options('data.imu')).imu
    index = np.arange(COUNT)
    assert imu.stamps.tolist() == (first + index * 100_000_000).tolist()
    expected = np.concatenate([FORCE, RATE]) + index[:, None]
    np.testing.assert_array_equal(imu.samples, expected)
    # Six fields make an IMU too.
    fields = ','.join(f'raw.{index}' for index in (5, 4, 3, 2, 1, 0))
    imu = read_recording(tmp_path / 'bag', options(fields)).imu
    np.testing.assert_array_equal(imu.samples[3], [15.0, 12.0, 9.0, 6.0, 3.0, 0.0])


def test_what_is_not_there_is_named_and_leads_to_the_option(tmp_path):
    path = write(tmp_path / 'bag', 10**9, 0)
    for field, words in (
        ('data.imo', r'/car/state.* data\.imo\.linear_acceleration\.x'),
        ('raw.0,raw.1', '--imu-topic.* six fields'),
    ):
        with pytest.raises(InputError, match=words):
            read_recording(path, options(field))
    with pytest.raises(InputError, match='--imu-topic T:FIELD'):
        read_recording(path, ReadingOptions(imu_topic='/car/state', need_positions=False))
    with pytest.raises(InputError) as caught:
        read_recording(path, ReadingOptions(imu_topic='/none', need_positions=False))
    assert 'T:FIELD' not in str(caught.value)
    with closing(sqlite3.connect(next(path.glob('*.db3')))) as database, database:
        # As recorders before Iron left them.
        database.execute('DELETE FROM message_definitions')
    with pytest.raises(InputError, match=r'does not define car_msgs/msg/State.* convert'):
        read_recording(path, options('data.imu'))


def test_definitions_run_no_code():
    """The library makes Python of them; what is no name of a member does not get there."""
    from two_manifold_ros.recordings.bag import types_with  # noqa: PLC0415 - an extra

    text = 'string a "\\"); raise SystemExit  # "\nint32 B=1\nint32 c 1 # raise\n);raise\nbool d'
    types = types_with(typesys.Stores.ROS2_JAZZY, text, 'x_msgs/msg/X')
    assert [name for name, _ in types.fielddefs['x_msgs/msg/X'][1]] == ['a', 'c', 'd']
