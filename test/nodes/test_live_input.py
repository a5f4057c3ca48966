# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Live messages as a recording, and as reference positions."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import numpy as np
from rclpy.serialization import serialize_message
from updater_feed import SMALL, small_session, tpsr_session

from two_manifold_ros.adapting.stream_learner import StreamLearner
from two_manifold_ros.adapting.stream_memory import make_head
from two_manifold_ros.adapting.updater_session import UpdaterSession
from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.assessment import Level
from two_manifold_ros.interface.messages import Message, Topic
from two_manifold_ros.interface.transforms import OdometryFrame
from two_manifold_ros.nodes import callbacks, live_input, trainer_node
from two_manifold_ros.nodes.trainer_node import LiveRecording
from two_manifold_ros.recordings.decoding import SensorTopic
from two_manifold_ros.recordings.recording import GeodeticOrigin
from two_manifold_ros.recordings.ros_messages import to_message
from two_manifold_ros.recordings.satellite_fixes import east_north

FLOAT, IMU = 'std_msgs/msg/Float64', 'sensor_msgs/msg/Imu'
POSE = 'geometry_msgs/msg/PoseStamped'
PLACE = {'x': 1.5, 'y': -2.5, 'z': 9.0}
FIX = 'sensor_msgs/msg/NavSatFix'
POINT = 'geometry_msgs/msg/PointStamped'


def raw(msgtype: str, fields: Message, seconds: int = 7, frame: str = 'arena') -> bytes:
    header = {'stamp': {'sec': seconds, 'nanosec': 5}, 'frame_id': frame}
    return serialize_message(to_message(msgtype, {'header': header, **fields}))


def fix(
    latitude: float, longitude: float, altitude: float, seconds: int = 7, status: int = 0
) -> bytes:
    place = {'latitude': latitude, 'longitude': longitude, 'altitude': altitude}
    return raw(FIX, {**place, 'status': {'status': status}}, seconds)


class Stand:
    """What stands for a node, with what takes the messages of each topic that it subscribes."""

    now_ns, now_s = 77, 0.0

    def __init__(self) -> None:
        # In which each topic is published; of other topics nothing is.
        self.types: dict[str, str] = {}
        self.take: dict[str, Callable[[bytes], object]] = {}

    def get_logger(self) -> Any:  # noqa: ANN401 - a stand-in as well
        return SimpleNamespace(info=lambda _: None)

    def get_publishers_info_by_topic(self, name: str) -> list[Any]:
        types = [kind for topic, kind in self.types.items() if name == f'/{topic}']
        named = {'node_namespace': '/', 'node_name': 'driver'}
        return [SimpleNamespace(topic_type=each, **named) for each in types]

    def count_publishers(self, name: str) -> int:
        return len(self.get_publishers_info_by_topic(name))

    def resolve_topic_name(self, name: str) -> str:
        return f'/{name.lstrip("/")}'

    def subscribe(self, topic: Topic, take: Callable[[bytes], object], *_: object) -> None:
        self.take[topic.name] = take


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Stand:
    """Return a node by whose time everything goes."""
    node = Stand()
    for module in (callbacks, live_input, trainer_node):
        monkeypatch.setattr(module, 'monotonic', lambda: node.now_s)
    return node


def test_an_odometry_is_taken_and_says_what_is_missing(node):
    frame = OdometryFrame('map', 'base_link')
    live = live_input.live_odometry(node, 'odom', frame)
    # Nothing can be found at once.
    assert live.complaint == ('odometry', '')
    node.now_s = 10.0
    assert '/odom: no odometry came yet' in live.complaint[1]
    fields = {'child_frame_id': 'base_link'}
    node.take['odom'](raw('nav_msgs/msg/Odometry', fields, frame='wheels'))
    assert live.complaint == ('odometry', '')
    assert frame.frame == 'wheels'


def test_both_topics_are_recorded_and_what_is_missing_is_named(node):
    live = LiveRecording(node, POINT, '')
    node.take['imu'](raw(IMU, {'angular_velocity': {'z': 3.0}}))
    with pytest.raises(InputError, match='No position came on /reference'):
        live.recording(use_receive_time=False)
    node.take['reference'](raw(POINT, {'point': PLACE}))
    for take in node.take.values():
        take(b'\x00\x01\x00\x00')
    assert live.counts == {'imu_messages': 1, 'reference_messages': 1, 'malformed': 2}
    for is_received, stamp_ns in ((False, 7_000_000_005), (True, 77)):
        recording = live.recording(use_receive_time=is_received)
        np.testing.assert_array_equal(recording.positions.positions, [[1.5, -2.5]])
        np.testing.assert_array_equal(recording.imu.samples, [[0, 0, 0, 0, 0, 3]])
        for part in (recording.imu, recording.positions):
            assert part.stamps.tolist() == [stamp_ns]
        assert any('Receive times' in note for note in recording.notes) == is_received


def test_what_is_awaited_or_comes_no_more_is_named_with_its_cause(node):
    live = LiveRecording(node, '', 'until finish')

    def state(now_s: float, **types: str) -> tuple[Level, str]:
        node.now_s = now_s
        node.types |= types
        live.find()
        return live.assessment.level, live.assessment.cause

    assert state(0.0) == (Level.WARN, 'waiting')
    assert state(6.0) == (Level.ERROR, 'no_publisher')
    assert state(6.0, imu=IMU) == (Level.ERROR, 'silent')
    node.take['imu'](b'garbage')
    assert state(6.0) == (Level.ERROR, 'malformed')
    node.take['imu'](raw(IMU, {}))
    assert state(6.0) == (Level.WARN, 'no_reference')
    assert state(6.0, reference=FLOAT) == (Level.WARN, 'reference_type')
    state(6.0, reference=POSE)
    node.take['reference'](raw(POSE, {}))
    assert live.assessment == (Level.OK, None, '', 'recording until finish')
    state(12.0)
    node.take['imu'](raw(IMU, {}))
    assert state(12.0) == (Level.WARN, 'reference_gone')
    begin = 'recording until finish, but no '
    assert live.assessment.why == f'{begin}position came on /reference for 6 s'
    assert state(18.0) == (Level.WARN, 'silent')
    assert f'{begin}data: no IMU message on /imu for 6.0 s' in live.assessment.why
    assert live.summary == '2 IMU messages on /imu, 1 positions on /reference'


def test_a_sensor_that_comes_no_more_is_reported_after_twice_its_longest_step_and_a_second(node):
    held: list[tuple[float, ...]] = []
    node.types['wheel'] = POSE
    live = live_input.live_sensor(node, SensorTopic('wheel', ('data',)), held.append)
    assert f'/wheel is published as {POSE}: publish it as one of' in live.complaint[1]

    def cause(at_s: float) -> str:
        node.now_s = at_s
        return live.complaint[0]

    def hear(at_s: float) -> None:
        node.now_s = at_s
        node.take['wheel'](serialize_message(to_message(FLOAT, {'data': 0.1 * at_s})))

    node.types['wheel'] = FLOAT
    assert cause(0.0) == 'no_sensor'
    assert 'set sensor_topics to its topic' in live.complaint[1]
    hear(0.0)
    # It may be one that is given once and holds.
    assert cause(1000.0) == ''
    for at_s in (0.5, 2.5, 3.0):
        hear(at_s)
    assert held == [(0.0,), (0.05,), (0.25,), (pytest.approx(0.3),)]
    assert cause(7.9) == ''
    assert cause(8.1) == 'sensor_gone'
    assert 'on /wheel for 5.1 s, where at most 2.0 s were usual' in live.complaint[1]
    assert 'the filter goes on without it' in live.complaint[1]
    hear(8.2)
    assert cause(8.3) == ''
    node.types.clear()
    assert cause(9.1) == ''
    assert cause(9.3) == 'sensor_gone'


def reference(
    msgtype: str = FIX, session: UpdaterSession | None = None
) -> tuple[live_input.ReferenceInput, StreamLearner]:
    """Return the input of a session, which takes messages of a type, and what learns of it."""
    session = session or small_session()
    positions = live_input.ReferenceInput(session)
    positions.start(msgtype)
    return positions, session.learner


def test_positions_are_used_and_how_long_none_could_be(node):
    positions, learner = reference(POINT)
    assert np.isnan(positions.silence_s)
    assert positions.take(raw(POINT, {'point': PLACE}))
    assert learner.reference.taken == [(7_000_000_005, 1.5, -2.5)]
    assert learner.head.frame_id == 'arena'
    node.now_s = 6.0
    assert not positions.take(b'\x00\x01')
    assert not positions.take(raw(POINT, {'point': PLACE}))
    assert positions.silence_s == pytest.approx(6.0)
    assert positions.counts() == {'used': 1, 'malformed': 1, 'duplicate_stamp': 1}


def test_fixes_are_positions_in_the_plane_of_the_first_one_that_the_next_agrees_with():
    positions, learner = reference()
    places = [(0.0, 0.0), (0.0, 0.0), (123.0, 10.0), (50.0, 190.0), (7.0, 7.0), (50.0, 10.0)]
    for second, place in enumerate(places, start=1):
        assert not positions.take(fix(*place, 100.0, second))
    # A copy of a fix is no witness of it, nor is one that is none.
    assert not positions.take(fix(50.0, 10.0, 100.0, len(places)))
    assert not positions.take(fix(50.0, 10.0, 100.0, 7, status=-1))
    assert not positions.take(fix(np.nan, 10.0, 100.0, 7))
    assert learner.head.origin is None
    assert positions.take(fix(50.0001, 10.0002, np.nan, 7))
    origin = GeodeticOrigin(50.0, 10.0, 100.0)
    head = learner.head
    assert (head.origin, head.frame_id) == (origin, 'map')
    (there,) = east_north(np.array([50.0001]), np.array([10.0002]), np.array([100.0]), origin)
    ((_, *place),) = learner.reference.taken
    assert place == pytest.approx(there)
    assert not positions.take(fix(123.0, 10.0, 100.0, 8))
    assert positions.counts() == {'used': 2, 'no_fix': 8, 'duplicate_stamp': 1}
    known, learner = reference()
    learner.head = replace(head, origin=GeodeticOrigin(50.0, 10.0, 0.0))
    assert known.take(fix(50.001, 10.0, 0.0, 1))
    (taken,) = learner.reference.taken
    assert taken[1:] == pytest.approx((0.0, 111.2), abs=0.5)


def test_a_fix_that_waited_is_not_used_where_stamps_are_those_of_arrival():
    now = iter(range(10**18, 2 * 10**18, 10**8))
    positions, _ = reference(FIX, tpsr_session(make_head(SMALL.horizons), lambda: next(now)))
    used = [positions.take(fix(50.0, 10.0, 0.0, second)) for second in (1, 2, 3)]
    assert used == [False, True, True]
    assert positions.counts()['used'] == 2


def test_positions_of_another_origin_are_not_used():
    for msgtype, known, messages in (
        (POINT, GeodeticOrigin(50.0, 10.0, 0.0), [raw(POINT, {'point': PLACE})]),
        (FIX, None, [fix(50.0, 10.0, 100.0, second) for second in (8, 9)]),
    ):
        positions, learner = reference(msgtype)
        learner.head = replace(learner.head, frame_id='map', origin=known)
        assert not any(map(positions.take, messages))
        assert positions.counts() == {'other_origin': len(messages)}
        assert learner.head.origin == known


def test_marks_count_by_stamp_or_arrival_and_a_type_that_is_not_installed_is_a_complaint(node):
    """The node subscribes them while it is configured, and does not crash."""
    for msgtype, message, stamp_ns in (
        (POINT, raw(POINT, {}), 7_000_000_005),
        ('std_msgs/msg/Empty', serialize_message(to_message('std_msgs/msg/Empty', {})), 77),
        ('pit_wall_msgs/msg/Beacon', b'', None),
        ('std_msgs/msg/Beacon', b'', None),
    ):
        stamps: list[int] = []
        laps: Any = SimpleNamespace(take_mark=stamps.append, mark_problem='')
        node.types['line'] = msgtype
        node.take.clear()
        marks = live_input.live_marks(node, 'line', lambda laps=laps: laps)
        if stamp_ns is None:
            assert not node.take
            assert f'as {msgtype}, which is not installed' in marks.complaint[1]
        else:
            node.take['line'](message)
            assert (stamps, marks.complaint) == ([stamp_ns], ('mark_topic', ''))
