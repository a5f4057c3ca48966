# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter node as a process, over DDS, and what nodes refuse in one sentence."""

from collections.abc import Iterator
import gc
import math
from pathlib import Path
import re
import sys

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped, Vector3
from imu_feed import connect, Feed
from lifecycle_msgs.msg import TransitionEvent
from nav_msgs.msg import Odometry
from nav_msgs.msg import Path as PathMessage
import numpy as np
from other_models import small_tpsr, tolerant
from ros_talk import Board, given, Health, numbers_of, Process, quiet_node, ros, stamp_of
from sensor_msgs.msg import Imu, MagneticField
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.assessment import OUTSIDE
from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.nodes import callbacks
from two_manifold_ros.nodes.callbacks import TRANSFORM_TYPE
from two_manifold_ros.nodes.filter_node import FilterNode
from two_manifold_ros.nodes.updater_node import UpdaterNode
from two_manifold_ros.nodes.watching import listen
from two_manifold_ros.recordings.ros_messages import message_class
from two_manifold_ros.simulation.slot_car_run import run_to_recording, sensor_readings


def test_a_sensor_is_used_when_it_comes_and_gone_on_without(talk, follow, drive, sensed_path):
    """In frames of the user and by the time of arrival, as the stamps are zero."""
    frames = {'track_frame': 'world', 'child_frame': 'car', 'use_receive_time': 'true'}
    health, feed = follow(sensed_path, sensor_topics='["compass"]', status_rate_hz=50.0, **frames)
    odometry = talk.listen(Odometry, 'odometry')
    feed.spoil = lambda message: setattr(message.header, 'stamp', Time())
    begin = talk.node.get_clock().now().nanoseconds
    feed.go_on(0.02)
    health.until('nothing came from the sensor on /compass yet, and the filter goes on without it')
    talk.until(lambda: odometry, 'odometry')
    assert stamp_of(odometry[0]) > begin
    assert (odometry[0].header.frame_id, odometry[0].child_frame_id) == ('world', 'car')
    compass = talk.publisher(MagneticField, 'compass')
    readings = sensor_readings(drive, 'magnetometer')
    step = talk.meanwhile

    def read() -> None:
        x, y, z = readings[feed.sent].tolist()
        compass.publish(MagneticField(magnetic_field=Vector3(x=x, y=y, z=z)))
        step()

    talk.meanwhile = read
    talk.until(lambda: 'compass' not in health.why, 'no complaint')
    talk.meanwhile = step
    health.until('nothing came from the sensor on /compass for')
    assert health.values['cause'] == 'sensor_gone'


def test_silence_and_wrong_types_have_a_reason(talk, start, drive, model_path):
    start('filter_node', '-r', 'imu:=driver/data', model=model_path, input_timeout_s=0.3)
    health = Health(talk)
    health.until('it has no publisher; remap imu')
    wrong = talk.node.create_publisher(PoseStamped, 'driver/data', 1)
    health.until('published as geometry_msgs/msg/PoseStamped, not as sensor_msgs/msg/Imu')
    talk.node.destroy_publisher(wrong)
    imu = talk.publisher(Imu, 'driver/data')
    health.until('its publisher is there but silent')
    assert health.level == 2
    Feed(talk, drive, imu).send(10)
    health.until('no IMU message on /driver/data for')


def test_a_short_time_counts_from_the_discovery_and_namesakes_are_counted(talk):
    nodes = [quiet_node(name, talk.node.context) for name in ('twin', 'twin', 'single')]
    publishers = [node.create_publisher(DiagnosticArray, '/diagnostics', 10) for node in nodes]
    heard: dict[str, tuple[object, ...]] = {}

    def publish() -> None:
        for node, publisher in zip(nodes, publishers, strict=True):
            values = [KeyValue(key='a', value='b')]
            status = DiagnosticStatus(name=node.get_name(), message='w', values=values)
            publisher.publish(DiagnosticArray(status=[status]))

    listen(lambda name, *said: heard.update({name: said}), publish, 0.1, lambda: False)
    for node in nodes:
        node.destroy_node()
    assert heard == {'twin': (0, 'w', {'a': 'b'}, 2), 'single': (0, 'w', {'a': 'b'}, 1)}


def test_two_nodes_in_one_namespace_are_reported_apart_and_warn(talk, start, model_path):
    names, board = ('filter_a', 'filter_b'), Board(talk)
    nodes = {
        name: start('filter_node', '-r', f'__node:={name}', model=model_path) for name in names
    }
    for (name, said), other in zip(nodes.items(), names[::-1], strict=True):
        # The middleware may know a publisher before it knows whose it is.
        talk.until(lambda said=said: 'also published by' in said.said, f'a warning of {name}')
        (line,) = (each for each in said.said.splitlines() if 'also published by' in each)
        assert f'/{other}' in line or 'an unnamed node' in line
        assert f'/{name},' not in line
        assert '__ns:=' in line
        # Diagnostics are meant to be shared.
        assert '/diagnostics' not in line
    # A service belongs to one node, and not to whoever hears the call first, or to both.
    assert talk.call(SetBool, 'filter_a/enable', data=False).success
    talk.until(lambda: board.value('filter_a', 'cause') == 'disabled', 'one to be disabled')
    assert board.value('filter_b', 'cause') != 'disabled'
    assert nodes['filter_b'].stop() == 0
    talk.until(lambda: 'Over after' in nodes['filter_a'].said, 'the warning to be over')


CONFIGURE, CLEANUP, ACTIVATE, SHUTDOWN = 1, 2, 3, 5


def test_without_a_model_it_says_so_and_takes_one_later(talk, start, model_path, tmp_path):
    """Also without a clock."""
    broken = tmp_path / 'broken.npz'
    broken.write_bytes(b'no model')
    node = start('filter_node', model=broken, use_sim_time='true', modle='m.npz')
    health = Health(talk)
    heard = talk.listen(Float64MultiArray, 'status')
    health.until(str(broken))
    assert health.level == 2
    talk.until(lambda: heard, 'the status')
    numbers = numbers_of(heard[-1])
    assert (numbers['status'], math.isnan(numbers['received'])) == (OUTSIDE, True)
    assert node.said.count('modle (did you mean model?)') == 1
    assert talk.change('filter_node', 'model', '').successful
    assert not talk.transition(CONFIGURE)
    health.until('No model is given: start with -p model:=FILE')
    assert 'ros2 lifecycle set /filter_node configure' in health.why
    assert talk.change('filter_node', 'model', str(model_path)).successful
    assert talk.transition(CONFIGURE)
    assert talk.transition(ACTIVATE)
    health.until('no IMU message on /imu')
    assert 'takes effect only' in talk.change('filter_node', 'model', 'other.npz').reason
    # Each of the two is logged once by who met it, and not warned of as well.
    published = [line for line in node.said.splitlines() if 'ros2 lifecycle set' in line]
    assert ['[ERROR]' in line for line in published] == [True, True]


def test_it_is_reset_and_disabled_and_models_are_swapped_under_load(
    talk, start, drive, model_path, tmp_path
):
    other = tolerant(small_tpsr(run_to_recording(drive), (0, 5, 10, 20)))
    save_model(other, tmp_path / 'other.npz')
    (tmp_path / 'broken.npz').write_bytes(b'no model')
    node = start('filter_node', model=model_path, input_timeout_s=60.0)
    health = Health(talk)
    positions = talk.listen(PoseWithCovarianceStamped, 'position')
    paths = talk.listen(PathMessage, 'predicted_path')
    feed = Feed(talk, drive, connect(talk, health))
    feed.send(150)
    health.until_value('published', '10')
    assert talk.call(Trigger, 'filter_node/reset').success
    feed.send(50)
    health.until('filling the window')
    assert talk.call(SetBool, 'filter_node/enable', data=False).success
    health.until('disabled by the service enable')
    feed.send(150)
    assert talk.call(SetBool, 'filter_node/enable', data=True).success
    feed.send(50)
    health.until('filling the window: 9 of 20 ticks')
    assert health.values['published'] == '10'
    positions.clear()
    assert not talk.call(Trigger, 'filter_node/swap_model').success
    feed.go_on(0.01)
    talk.until(lambda: len(positions) > 10, 'positions')
    assert talk.swap(tmp_path / 'broken.npz')
    talk.until(lambda: health.values['swap'] == 'failed', 'the broken file to be refused')
    assert health.values['swap_trouble'].startswith(f'{tmp_path / "broken.npz"}: ')
    assert (health.values['model'], health.values['swaps']) == (str(model_path), '0')

    assert talk.swap(tmp_path / 'other.npz')
    talk.until(lambda: len(paths[-1].poses) == 4, 'the other model to run')
    talk.until(lambda: health.values['swaps'] == '1', 'diagnostics to report it')
    assert health.values['model'] == str(tmp_path / 'other.npz')
    assert 'swap_trouble' not in health.values

    # The path of a map follows the route; a TPSR has its horizons alone.
    kinds = [len(path.poses) == 4 for path in paths]
    assert np.flatnonzero(np.diff(kinds)).size == 1
    gaps = np.diff(list(map(stamp_of, positions)))
    assert 0 < gaps.min() <= gaps.max() <= 200_000_000
    assert health.values['callback_errors'] == '0'
    assert node.stop() == 0
    log = node.log()
    assert f'Model {tmp_path / "other.npz"} runs in place of {model_path}' in log
    assert 'horizons 0, 0.5, 1, 2 s' in log
    assert 'broken.npz: the model is refused' in log


PROGRAM = """
import sys
from pathlib import Path

from two_manifold_ros.processes import one_blas_thread
one_blas_thread()
from two_manifold_ros.model import model_file

load = model_file.load_model

def load_slowly(path):
    # Busy, as a compiler is, until the file is there.
    while not Path(path).exists():
        pass
    return load(path)

model_file.load_model = load_slowly
if not {with_events}:
    # As in Humble.
    sys.modules['rclpy.experimental.events_executor'] = None
from two_manifold_ros.nodes.__main__ import main
sys.exit(main())
"""


@pytest.fixture
def slow_node(request: pytest.FixtureRequest, domain: str, tmp_path: Path) -> Iterator[Process]:
    """A managed filter node that loads its model for as long as that is missing."""
    assert domain
    program = PROGRAM.format(with_events=getattr(request, 'param', True))
    parameters = given({'model': tmp_path / 'model.npz', 'managed': 'true'})
    slow = Process([sys.executable, '-c', program, 'filter_node', '--ros-args', *parameters], None)
    yield slow
    slow.stop()


@pytest.mark.parametrize(
    'slow_node', [True, False], ids=['events', 'single-threaded'], indirect=True
)
def test_it_answers_while_it_loads(talk, slow_node, model_path, tmp_path):
    # First, because the node has to find us as well before the first event.
    events = talk.listen(TransitionEvent, 'filter_node/transition_event')
    health = Health(talk)
    numbers = talk.listen(Float64MultiArray, 'status')
    configured = talk.ask(CONFIGURE)
    health.until_value('cause', 'configuring')
    assert health.level == 1
    numbers.clear()
    assert talk.state == 'configuring'
    talk.until(lambda: len(numbers) > 3, 'status')
    assert {message.data[2] for message in numbers} == {OUTSIDE}
    # Nothing else may start, nor change what it is configured with.
    assert not any(map(talk.transition, (CONFIGURE, ACTIVATE, CLEANUP, 99)))
    assert not talk.call(Trigger, 'filter_node/reset').success
    assert not talk.call(Trigger, 'filter_node/swap_model').success
    assert not talk.change('filter_node', 'model', 'other.npz').successful
    assert not configured.done()
    (tmp_path / 'model.npz').hardlink_to(model_path)
    talk.until(configured.done, 'the end of the transition')
    assert configured.result().success
    assert talk.state == 'inactive'
    assert talk.transition(ACTIVATE)
    talk.until(lambda: len(events) >= 4, 'the events of both transitions')
    ways = [(each.start_state.label, each.goal_state.label) for each in events]
    assert ways == [
        ('unconfigured', 'configuring'), ('configuring', 'inactive'), ('inactive', 'activating'),
        ('activating', 'active'),
    ]  # fmt: skip
    assert slow_node.stop() == 0


@pytest.mark.parametrize('asked', [{'number': SHUTDOWN}, {'label': 'shutdown'}], ids=str)
def test_a_shutdown_does_not_wait_for_it(talk, slow_node, model_path, tmp_path, asked):
    configured = talk.ask(label='configure')
    talk.until(lambda: talk.state == 'configuring', 'the transition')
    assert talk.transition(**asked)
    talk.until(configured.done, 'the answer to who configured')
    assert not configured.result().success
    assert talk.state == 'finalized'
    # What the thread makes has no owner now.
    (tmp_path / 'model.npz').hardlink_to(model_path)
    Health(talk).until('shut down by a lifecycle transition')
    assert talk.state == 'finalized'
    assert slow_node.stop() == 0


def test_a_signal_does_not_wait_for_it(talk, slow_node):
    talk.ask(CONFIGURE)
    talk.until(lambda: talk.state == 'configuring', 'the transition')
    assert slow_node.stop() == 0
    assert 'Traceback' not in slow_node.log()


MISSING, NO_TF = {'model': 'missing.npz'}, {'publish_tf': 'true', 'model': 'missing.npz'}
REFUSED = [
    (FilterNode, {}, 'No model is given'),
    (FilterNode, NO_TF, 'tf2_msgs'),
    (FilterNode, MISSING, 'missing.npz'),
    (FilterNode, MISSING | {'odometry_topic': 'odom'}, 'odometry_topic needs publish_tf'),
    (FilterNode, MISSING | {'mark_topic': '1line'}, 'mark_topic 1line is no name of a topic'),
    (FilterNode, {'start_line': 'pits'}, "start line 'pits': write X,Y in metres, or a share"),
    (FilterNode, {'sectors': '0.6 0.3'}, 'name where each sector after the first begins, in the'),
    (FilterNode, {'mark_topic': 'line', 'start_line': "'0.5'"}, 'both give the start line'),
    (FilterNode, {'mark_topic': 'line', 'sectors': '1.0,2.0'}, 'write them as shares of a lap'),
    (FilterNode, {'sensor_topics': '["compass"]'}, 'names compass, but the model takes none'),
    (UpdaterNode, NO_TF, 'tf2_msgs'),
    (UpdaterNode, MISSING, 'missing.npz'),
    (UpdaterNode, {'filter_node': 'f'}, 'set the parameter checkpoint_folder'),
]


@pytest.mark.parametrize(('kind', 'given', 'words'), REFUSED)
def test_what_makes_no_sense_is_refused(domain, model_path, monkeypatch, kind, given, words):
    """Missing transforms are noticed after a missing name and before a missing file."""

    def without_transforms(msgtype: str) -> type:
        if msgtype == TRANSFORM_TYPE:
            raise ImportError
        return message_class(msgtype)

    def make() -> None:
        node = kind()
        try:
            node.complete(node.prepare()())
        finally:
            # What it publishes would be there for the tests that follow.
            node.destroy_node()

    monkeypatch.setattr(callbacks, 'message_class', without_transforms)
    usual = {'model': model_path} if given and kind is FilterNode else {}
    with ros(domain, managed='true', **usual | given):
        with pytest.raises(InputError, match=re.escape(words)):
            make()
        # Of a node that was not made nothing is left but what the traceback held.
        gc.collect()
