# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""An IMU inside messages that only the bag defines, and sensors of every type as channels."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
import sqlite3

from ellipse import imu_fields, stamped
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.names import SENSOR_FIELDS
from two_manifold_ros.recordings.bag_writer import BagWriter
from two_manifold_ros.recordings.decoding import SensorTopic
from two_manifold_ros.recordings.reading import read_recording, ReadingOptions
from two_manifold_ros.recordings.recording import HeldStream
from two_manifold_ros.simulation.slot_car_run import imu_message

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


LATER = 30_000_000
"""How much later than their stamps messages reach the bag, ns."""


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=8),
    st.lists(st.integers(0, 40), min_size=1, max_size=8),
)
def test_each_reading_holds_until_the_next(known, asked):
    stream = HeldStream('/c', '', ('data',), np.array(known), np.arange(len(known))[:, None])
    held = stream.held_at(np.array(asked))
    for stamp, (value,) in zip(asked, held, strict=True):
        before = [(when, index) for index, when in enumerate(known) if when <= stamp]
        expected = max(before)[1] if before else np.nan
        np.testing.assert_equal(value, float(expected))


TWIST = {'twist': {'linear': {'x': 3.0}}}
MESSAGES = {
    'sensor_msgs/msg/MagneticField': {'magnetic_field': {'x': 3.0, 'y': 4.0, 'z': 5.0}},
    'sensor_msgs/msg/FluidPressure': {'fluid_pressure': 3.0},
    'nav_msgs/msg/Odometry': {'twist': TWIST},
    'geometry_msgs/msg/TwistStamped': TWIST,
    'sensor_msgs/msg/JointState': {'velocity': [3.0, 4.0]},
    'std_msgs/msg/Float64': {'data': 3.0},
    'std_msgs/msg/Float32': {'data': 3.0},
}
"""Of each type a message; numbers alone have no stamp."""


def bag_of(path, msgtype: str):
    """Write twenty samples of an IMU, and one reading that is taken before the eleventh."""
    with BagWriter(path) as bag:
        for index in range(20):
            stamp = (index + 1) * 10_000_000
            if index == 10:
                taken = stamp - 1_000_000
                header = {} if msgtype.startswith('std_msgs/') else stamped(taken)
                bag.write('/sensor', msgtype, taken + LATER, MESSAGES[msgtype] | header)
            imu = imu_message(stamp, np.full(6, index), np.zeros(6))
            bag.write('/imu', 'sensor_msgs/msg/Imu', stamp + LATER, imu)
    return path


@pytest.mark.parametrize('msgtype', SENSOR_FIELDS)
@pytest.mark.parametrize('receive_time', [False, True])
def test_every_type_is_read_and_held_on_the_time_base_of_the_imu(tmp_path, msgtype, receive_time):
    path = bag_of(tmp_path / 'bag', msgtype)
    options = ReadingOptions(sensor_topics=('/sensor',), need_positions=False)
    read = read_recording(path, replace(options, use_receive_time=receive_time))
    names = tuple(f'/sensor:{field}' for field in SENSOR_FIELDS[msgtype])
    assert read.sensors[0].names == names
    held = read.samples_with(names)
    np.testing.assert_array_equal(held[:, :6], read.imu.samples)
    np.testing.assert_array_equal(held[:10, 6:], np.nan)
    np.testing.assert_array_equal(held[10:, 6:], [[3.0, 4.0, 5.0][: len(names)]] * 10)


@pytest.mark.parametrize(
    ('topic', 'words'),
    [
        ('/absent', 'cannot give sensor messages on /absent'),
        ('/sensor:velocity.7', 'no number in its field velocity.7'),
        ('/sensor:torque', 'no number in its field torque'),
        ('/sensor:', 'TOPIC:FIELD'),
        (':velocity.1', 'TOPIC:FIELD'),
    ],
)
def test_a_topic_that_cannot_be_used_is_refused_in_one_sentence(tmp_path, topic, words):
    path = bag_of(tmp_path / 'bag', 'sensor_msgs/msg/JointState')
    with pytest.raises(InputError, match=words):
        read_recording(path, ReadingOptions(sensor_topics=(topic,), need_positions=False))


def test_a_model_takes_its_own_fields_from_a_topic_that_may_be_another():
    trained = SensorTopic.of_names(['/trained:data'])
    for given_topics, wanted in (([], '/trained:data'), (['/other: data'], '/other:data')):
        (topic,) = SensorTopic.of_model(given_topics, trained, 'set_it')
        assert topic.written == wanted
    for wrong in (['/other:x'], ['/other', '/more']):
        with pytest.raises(InputError, match=r'^set_it .*the model takes'):
            SensorTopic.of_model(wrong, trained, 'set_it')
