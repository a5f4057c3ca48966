# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter node times laps live as the command does offline, on lines that a user names."""

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from dataclasses import replace

from imu_feed import connect, Feed
from ros_talk import Health, numbers_of
from std_msgs.msg import Float64MultiArray

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.lap_times import time_laps
from two_manifold_ros.interface.messages import choose_scene
from two_manifold_ros.laps.lines import make_timer
from two_manifold_ros.model.model_file import load_model, save_model
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.nodes.callbacks import EstimatePublishers
from two_manifold_ros.simulation.slot_car_run import run_to_recording

SECOND = 1_000_000_000


def test_the_laps_of_the_node_are_those_of_the_command(talk, start, drive, model_path):
    start(
        'filter_node', model=model_path, start_line="'0.25'", sectors="'0.5'", input_timeout_s=60.0
    )
    health = Health(talk)
    health.until('waiting for the first IMU message on /imu')
    heard = talk.listen(Float64MultiArray, 'laps', 1000)
    feed = Feed(talk, drive, connect(talk, health))
    # Three laps and a bit.
    count = len(drive.stamps_ns) // 2
    feed.send(count)
    model = load_model(model_path)
    recording = run_to_recording(drive)
    offline = time_laps(model, recording, make_timer(model, '0.25', '0.5'))
    states = {state.stamp_ns: state.numbers() for state in offline.states}
    last = max(stamp for stamp in states if stamp <= drive.stamps_ns[count - 1] - SECOND)

    def stamps() -> list[int]:
        found = [numbers_of(each) for each in heard]
        return [int(each['sec']) * SECOND + int(each['nanosec']) for each in found]

    talk.until(lambda: last in stamps(), 'the laps')
    compared = 0
    for stamp, message in zip(stamps(), heard, strict=True):
        numbers = numbers_of(message)
        assert list(numbers) == ['sec', 'nanosec', *states[stamp]]
        for name, value in states[stamp].items():
            assert numbers[name] == pytest.approx(value, nan_ok=True), name
        compared += 1
    assert compared > 100
    assert numbers_of(heard[-1])['lap'] >= 2.0


@pytest.mark.parametrize(
    ('name', 'value', 'words'),
    [
        ('start_line', 'pits', "start line 'pits': write X,Y in metres, or a share of a lap"),
        ('sectors', '0.6 0.3', 'in the order driven and none on the start line'),
    ],
)
def test_a_line_that_is_none_leaves_the_node_unconfigured(
    talk, start, model_path, name, value, words
):
    node = start('filter_node', model=model_path, **{name: value})
    health = Health(talk)
    health.until(words)
    assert health.level == 2
    assert node.alive


def test_a_model_of_laps_alone_publishes_laps_and_no_position(
    talk, start, drive, model_path, tmp_path
):
    path = tmp_path / 'laps.npz'
    save_model(replace(load_model(model_path), frame_id=LAP_FRAME), path)
    node = start('filter_node', model=path, input_timeout_s=60.0)
    health = Health(talk)
    health.until('waiting for the first IMU message on /imu')
    heard = talk.listen(Float64MultiArray, 'laps', 1000)
    feed = Feed(talk, drive, connect(talk, health))
    feed.send(len(drive.stamps_ns) // 4)
    talk.until(lambda: len(heard) > 20, 'the laps')
    topics = dict(talk.node.get_topic_names_and_types())
    assert '/laps' in topics
    assert '/position' not in topics
    assert node.stop() == 0


def test_nothing_is_advertised_where_a_transform_has_no_positions(talk, model_path):
    laps = replace(load_model(model_path), frame_id=LAP_FRAME)
    before = {each.topic_name for each in talk.node.publishers}
    with pytest.raises(InputError, match='the model knows laps and no positions'):
        EstimatePublishers(talk.node, choose_scene(laps), transform=True)
    assert {each.topic_name for each in talk.node.publishers} == before
