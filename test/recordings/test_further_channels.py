# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Commands of every type become channels that hold the newest one."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.bag_writer import BagWriter
from two_manifold_ros.recordings.further_channels import CommandStream, CommandTopic, fields_held
from two_manifold_ros.recordings.reading import read_recording, ReadingOptions
from two_manifold_ros.recordings.recording import IMU_CHANNELS
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import imu_message, simulate, write_messages

pytest.importorskip('rosbags')

LATER = 30_000_000
"""How much later than their stamps messages reach the bag, ns."""


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=8),
    st.lists(st.integers(0, 40), min_size=1, max_size=8),
)
def test_each_command_holds_until_the_next(known, asked):
    stream = CommandStream('/c', '', ('data',), np.array(known), np.arange(len(known))[:, None])
    held = stream.held_at(np.array(asked))
    for stamp, (value,) in zip(asked, held, strict=True):
        before = [(when, index) for index, when in enumerate(known) if when <= stamp]
        expected = max(before)[1] if before else np.nan
        np.testing.assert_equal(value, float(expected))


def header(stamp: int) -> dict:
    return {'header': {'stamp': {'sec': stamp // 10**9, 'nanosec': stamp % 10**9}}}


VECTORS = {'linear': {'x': 3.0}, 'angular': {'z': 4.0}}
MESSAGES = {
    'geometry_msgs/msg/Twist': (VECTORS, False, None),
    'geometry_msgs/msg/TwistStamped': ({'twist': VECTORS}, True, None),
    'ackermann_msgs/msg/AckermannDriveStamped': (
        {'drive': {'speed': 3.0, 'steering_angle': 4.0}},
        True,
        None,
    ),
    'std_msgs/msg/Float64': ({'data': 3.0}, False, None),
    'std_msgs/msg/Float32': ({'data': 3.0}, False, None),
    'sensor_msgs/msg/Joy': ({'axes': [0.0, 3.0], 'buttons': [4]}, True, 'axes.1,buttons.0'),
}


def bag_of(path, msgtype: str, fields: dict, *, stamped: bool):
    """Write twenty samples of an IMU, and one command that is given before the eleventh."""
    with BagWriter(path) as bag:
        for index in range(20):
            stamp = (index + 1) * 10_000_000
            if index == 10:
                given_at = stamp - 1_000_000
                message = fields | (header(given_at) if stamped else {})
                bag.write('/command', msgtype, given_at + LATER, message)
            imu = imu_message(stamp, np.full(6, index), np.zeros(6))
            bag.write('/imu', 'sensor_msgs/msg/Imu', stamp + LATER, imu)
    return path


@pytest.mark.parametrize('msgtype', MESSAGES)
@pytest.mark.parametrize('receive_time', [False, True])
def test_every_type_is_read_and_held_on_the_time_base_of_the_imu(tmp_path, msgtype, receive_time):
    fields, stamped, named = MESSAGES[msgtype]
    path = bag_of(tmp_path / 'bag', msgtype, fields, stamped=stamped)
    options = ReadingOptions(
        command_topic=f'/command:{named}' if named else 'auto',
        need_positions=False,
        use_receive_time=receive_time,
    )
    held = read_recording(path, options).with_commands_held()
    count = held.imu.samples.shape[1] - 6
    assert held.imu.names[:6] == IMU_CHANNELS
    assert len(fields_held(held.imu.names)) == count
    np.testing.assert_array_equal(held.imu.samples[:10, 6:], np.nan)
    np.testing.assert_array_equal(held.imu.samples[10:, 6:], [[3.0, 4.0][:count]] * 10)
    assert held.with_commands_held() is held
    again = CommandTopic.parse(held.commands.written)
    assert again.fields_of(msgtype) == fields_held(held.imu.names)


@pytest.mark.parametrize(
    ('topic', 'words'),
    [
        ('/absent', 'cannot give command messages on /absent'),
        ('/command', 'fields have to be named'),
        ('/command:axes.7', 'no number in its field axes.7'),
        ('/command:brake', 'no number in its field brake'),
        ('/command:', 'TOPIC:FIELD'),
        (':axes.1', 'TOPIC:FIELD'),
    ],
)
def test_a_topic_that_cannot_be_used_is_refused_in_one_sentence(tmp_path, topic, words):
    fields, stamped, _ = MESSAGES['sensor_msgs/msg/Joy']
    path = bag_of(tmp_path / 'bag', 'sensor_msgs/msg/Joy', fields, stamped=stamped)
    with pytest.raises(InputError, match=words):
        read_recording(path, ReadingOptions(command_topic=topic, need_positions=False))


@pytest.mark.parametrize(
    ('given', 'fields', 'wanted'),
    [
        ('', (), None),
        ('', ('data',), '/trained:data'),
        ('/other', ('data',), '/other:data'),
        ('/other: data', ('data',), '/other:data'),
        ('auto', ('data',), 'auto:data'),
        ('/other', (), InputError),
        ('/other:x', ('data',), InputError),
        ('/other:a,b', ('b', 'a'), InputError),
    ],
)
def test_a_model_takes_its_own_fields_from_a_topic_that_may_be_another(given, fields, wanted):
    if wanted is InputError:
        with pytest.raises(InputError, match=f'set_it {given}: the model'):
            CommandTopic.of_model(given, fields, '/trained:data', 'set_it')
        return
    topic = CommandTopic.of_model(given, fields, '/trained:data', 'set_it')
    assert (topic and topic.written) == wanted


def test_a_live_topic_is_named_and_holds_a_number_unless_fields_say_otherwise():
    assert CommandTopic.parse_live('/c') == CommandTopic('/c', ('data',))
    assert CommandTopic.parse_live('/c:x,y.z') == CommandTopic('/c', ('x', 'y.z'))
    with pytest.raises(InputError, match='a live topic has to be named'):
        CommandTopic.parse_live('auto:linear.x')


def test_the_throttle_of_the_simulator_is_read_back(tmp_path):
    run = simulate(SlotCarSettings(seed=1, rate_hz=50.0, driver='timid'), samples=400)
    with BagWriter(tmp_path / 'bag') as bag:
        write_messages(run, bag)
    read = read_recording(tmp_path / 'bag', ReadingOptions(command_topic='/throttle'))
    assert read.imu.of_imu
    part = read.between(2.0, 5.0).with_commands_held()
    np.testing.assert_array_equal(part.imu.samples[:, 6], run.commands[100:250])
    assert not replace(read, commands=None).with_commands_held().imu.samples.shape[1] > 6
