# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Readings of sensors of every type become channels that hold the newest one."""

from dataclasses import replace

from ellipse import stamped
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

pytest.importorskip('rosbags')

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
