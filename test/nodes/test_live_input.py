# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Live messages as a recording, and as reference positions."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, TYPE_CHECKING

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import numpy as np
from raw_imu import raw_imu
from rclpy.serialization import serialize_message
from updater_feed import SMALL, small_session, tpsr_session

from two_manifold_ros.adapting.stream_memory import make_head
from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.assessment import InputHealth, Level, Publisher
from two_manifold_ros.nodes import live_input
from two_manifold_ros.nodes.live_input import LiveRecording, ReferenceInput
from two_manifold_ros.nodes.publishing import to_message
from two_manifold_ros.recordings.recording import GeodeticOrigin
from two_manifold_ros.recordings.satellite_fixes import east_north

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.interface.messages import Message


POSE = 'geometry_msgs/msg/PoseStamped'
PLACE = {'x': 1.5, 'y': -2.5, 'z': 9.0}
REFERENCES = {
    'geometry_msgs/msg/PoseStamped': {'pose': {'position': PLACE}},
    'geometry_msgs/msg/PoseWithCovarianceStamped': {'pose': {'pose': {'position': PLACE}}},
    'geometry_msgs/msg/PointStamped': {'point': PLACE},
    'geometry_msgs/msg/TransformStamped': {'transform': {'translation': PLACE}},
    'nav_msgs/msg/Odometry': {'pose': {'pose': {'position': PLACE}}},
}


def raw(msgtype: str, fields: Message, seconds: int = 7) -> bytes:
    header = {'stamp': {'sec': seconds, 'nanosec': 5}, 'frame_id': 'arena'}
    return serialize_message(to_message(msgtype, {'header': header, **fields}))


SILENT = 3.0


class StandIn:
    """The IMU's topic in a given state."""

    name = '/imu'

    def __init__(self) -> None:
        self.known: dict[str, Any] = {'received': False}
        self.taken: Any = None

    def health(self, timeout_s: float) -> InputHealth:
        return InputHealth(timeout_s=timeout_s, **self.known)

    def listen(self, take: Callable[[bytes], object]) -> None:
        self.take = take


class Recorder:
    """A recording with stand-ins for its topics."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.imu, self.now_s = StandIn(), 0.0
        self.reference = SimpleNamespace(topic='/reference', problem='', find=self._find)
        monkeypatch.setattr(live_input, 'SensorTopic', lambda *_: self.imu)
        monkeypatch.setattr(live_input, 'LiveReference', lambda *_: self.reference)
        monkeypatch.setattr(live_input, 'monotonic', lambda: self.now_s)
        logger = SimpleNamespace(warning=lambda _: None, info=lambda _: None)
        node: Any = SimpleNamespace(get_logger=lambda: logger, now_ns=100)
        self.live = LiveRecording(node, '', 'until finish')

    def _find(self, start: Callable[[str], object], take: Callable[[bytes], object]) -> None:
        self.start_reference, self.take_reference = start, take

    @property
    def state(self) -> tuple[Level, str]:
        return self.live.assessment.level, self.live.assessment.cause


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    return Recorder(monkeypatch)


@pytest.fixture
def live(recorder: Recorder) -> Recorder:
    """Return a recording that has an IMU message."""
    recorder.imu.take(raw('sensor_msgs/msg/Imu', {'angular_velocity': {'z': 3.0}}))
    return recorder


def test_both_topics_are_recorded(live: Recorder) -> None:
    msgtype = 'nav_msgs/msg/Odometry'
    live.start_reference(msgtype)
    live.take_reference(raw(msgtype, REFERENCES[msgtype]))
    recording = live.live.recording(use_receive_time=False)
    assert recording.positions is not None
    np.testing.assert_array_equal(recording.positions.positions, [[1.5, -2.5]])
    assert recording.positions.stamps.tolist() == [7_000_000_005]
    np.testing.assert_array_equal(recording.imu.samples, [[0, 0, 0, 0, 0, 3]])
    assert recording.imu.stamps.tolist() == [7_000_000_005]


def test_satellite_fixes_are_projected(live: Recorder) -> None:
    live.start_reference('sensor_msgs/msg/NavSatFix')
    for latitude in (50.0, 50.001):
        fix = {'latitude': latitude, 'longitude': 8.0, 'altitude': 100.0}
        live.take_reference(raw('sensor_msgs/msg/NavSatFix', fix))
    positions = live.live.recording(use_receive_time=False).positions
    assert positions is not None
    assert positions.origin is not None
    assert positions.positions[1] == pytest.approx([0.0, 111.2], abs=0.2)


def test_references_in_another_frame_than_most_are_left_out(live: Recorder) -> None:
    msgtype = 'geometry_msgs/msg/PointStamped'
    live.start_reference(msgtype)
    for second, frame in enumerate(['odom', 'arena', 'arena'], start=1):
        header = {'stamp': {'sec': second}, 'frame_id': frame}
        message = to_message(msgtype, {'header': header, 'point': PLACE})
        live.take_reference(serialize_message(message))
    recording = live.live.recording(use_receive_time=False)
    assert recording.positions is not None
    assert recording.positions.frame_id == 'arena'
    assert recording.positions.stamps.tolist() == [2 * 10**9, 3 * 10**9]
    assert any("1 of 3 messages are not in 'arena'" in note for note in recording.notes)


def test_receive_times_on_request(live: Recorder) -> None:
    live.start_reference('geometry_msgs/msg/PointStamped')
    live.take_reference(raw('geometry_msgs/msg/PointStamped', {'point': PLACE}))
    recording = live.live.recording(use_receive_time=True)
    assert recording.positions is not None
    assert (recording.imu.stamps.tolist(), recording.positions.stamps.tolist()) == ([100], [100])
    assert any('Receive times' in note for note in recording.notes)


def test_malformed_messages_are_counted(live: Recorder) -> None:
    live.start_reference('geometry_msgs/msg/PointStamped')
    live.imu.take(b'\x00\x01\x00\x00')
    live.take_reference(b'\x00\x01')
    assert (live.live.imu_count, live.live.reference_count, live.live.malformed) == (1, 0, 2)


def test_what_is_missing_is_named(recorder: Recorder) -> None:
    with pytest.raises(InputError, match='No IMU message came on /imu'):
        recorder.live.recording(use_receive_time=False)
    recorder.imu.take(raw('sensor_msgs/msg/Imu', {}))
    with pytest.raises(InputError, match='No position came on /reference'):
        recorder.live.recording(use_receive_time=False)


def test_what_is_awaited_is_named_and_why_it_does_not_come(recorder: Recorder) -> None:
    assert recorder.state == (Level.WARN, 'waiting')
    recorder.imu.known['silence_s'] = SILENT
    assert recorder.state == (Level.ERROR, 'no_publisher')
    recorder.imu.known['publishers'] = (Publisher('sensor_msgs/msg/Imu'),)
    assert recorder.state == (Level.ERROR, 'silent')
    recorder.imu.known = {}
    recorder.imu.take(b'garbage')
    assert recorder.state == (Level.ERROR, 'malformed')
    recorder.imu.take(raw_imu(10**9, [1.0] * 6))
    assert recorder.state == (Level.WARN, 'no_reference')
    recorder.reference.problem = 'which type'
    assert recorder.state == (Level.WARN, 'reference_type')


def test_what_comes_no_more_is_named(recorder: Recorder) -> None:
    recorder.imu.known = {'publishers': (Publisher('sensor_msgs/msg/Imu'),)}
    recorder.imu.take(raw_imu(10**9, [1.0] * 6))
    recorder.start_reference(POSE)
    recorder.take_reference(raw(POSE, {}))
    assert recorder.live.assessment == (Level.OK, None, '', 'recording until finish')
    recorder.now_s = SILENT
    assert recorder.state == (Level.WARN, 'reference_gone')
    why = 'recording until finish, but no position came on /reference for 3 s'
    assert recorder.live.assessment.why == why
    recorder.imu.known['silence_s'] = SILENT
    assessment = recorder.live.assessment
    assert recorder.state == (Level.WARN, 'silent')
    assert (
        'recording until finish, but no data: no IMU message on /imu for 3.0 s' in assessment.why
    )
    assert recorder.live.summary(assessment).startswith('Recording until finish, but no data')


FIX = 'sensor_msgs/msg/NavSatFix'


def fix(latitude: float, longitude: float, altitude: float, status: int = 0) -> Message:
    return {
        'latitude': latitude,
        'longitude': longitude,
        'altitude': altitude,
        'status': {'status': status},
    }


@pytest.mark.parametrize('msgtype', REFERENCES)
def test_every_type(msgtype: str) -> None:
    session = small_session()
    seen = []
    session.on_position.append(lambda *each: seen.append(each))
    positions = ReferenceInput(session)
    assert not positions.take(b'before its type is known')
    positions.start(msgtype)
    assert positions.take(raw(msgtype, REFERENCES[msgtype]))
    assert seen == [(7_000_000_005, 1.5, -2.5)]
    assert session.head.frame_id == 'arena'
    assert not positions.take(b'\x00\x01')
    assert not positions.take(raw(msgtype, REFERENCES[msgtype]))
    assert positions.counts() == {'used': 1, 'malformed': 1, 'duplicate_stamp': 1}


def test_fixes_are_positions_in_the_plane_of_the_first_one() -> None:
    session = small_session()
    seen = []
    session.on_position.append(lambda _, x, y: seen.append((x, y)))
    positions = ReferenceInput(session)
    positions.start(FIX)
    assert not positions.take(raw(FIX, fix(50.0, 10.0, 100.0, status=-1), 1))
    assert not positions.take(raw(FIX, fix(np.nan, 10.0, 100.0), 2))
    # It waits for one that agrees with it.
    assert not positions.take(raw(FIX, fix(50.0, 10.0, 100.0), 3))
    assert positions.take(raw(FIX, fix(50.0001, 10.0002, np.nan), 4))
    origin = GeodeticOrigin(50.0, 10.0, 100.0)
    assert session.head.origin == origin
    assert seen[0] == (0.0, 0.0)
    there = east_north(np.array([50.0001]), np.array([10.0002]), np.array([100.0]), origin)
    assert seen[1] == pytest.approx(there[0])
    assert positions.counts() == {'used': 2, 'no_fix': 2}
    assert session.head.frame_id == 'map'


def test_an_origin_that_is_known_stays() -> None:
    session = small_session()
    session.head = replace(session.head, origin=GeodeticOrigin(50.0, 10.0, 0.0))
    seen = []
    session.on_position.append(lambda _, x, y: seen.append((x, y)))
    positions = ReferenceInput(session)
    positions.start(FIX)
    assert positions.take(raw(FIX, fix(50.001, 10.0, 0.0), 1))
    assert seen[0] == pytest.approx((0.0, 111.2), abs=0.5)


def test_the_origin_is_the_first_fix_that_the_next_one_agrees_with() -> None:
    session = small_session()
    seen = []
    session.on_position.append(lambda _, x, y: seen.append((x, y)))
    positions = ReferenceInput(session)
    positions.start(FIX)
    places = [(0.0, 0.0), (0.0, 0.0), (123.0, 10.0), (50.0, 190.0), (7.0, 7.0), (50.0, 10.0)]
    for second, place in enumerate(places, start=1):
        assert not positions.take(raw(FIX, fix(*place, 100.0), second))
    # A copy of a fix is no witness of it.
    assert not positions.take(raw(FIX, fix(50.0, 10.0, 100.0), len(places)))
    assert session.head.origin is None
    assert positions.take(raw(FIX, fix(50.00001, 10.0, np.nan), 7))
    assert session.head.origin == GeodeticOrigin(50.0, 10.0, 100.0)
    assert seen == [(0.0, 0.0), pytest.approx((0.0, 1.112), abs=1e-3)]
    assert not positions.take(raw(FIX, fix(123.0, 10.0, 100.0), 8))
    assert positions.counts() == {'used': 2, 'no_fix': 6, 'duplicate_stamp': 1}


def test_a_fix_that_waited_is_not_used_where_stamps_are_those_of_arrival() -> None:
    now = iter(range(10**18, 2 * 10**18, 10**8))
    session = tpsr_session(make_head(SMALL.horizons), clock_ns=lambda: next(now))
    positions = ReferenceInput(session)
    positions.start(FIX)
    used = [positions.take(raw(FIX, fix(50.0, 10.0, 0.0), second)) for second in (1, 2, 3)]
    assert used == [False, True, True]
    assert positions.counts()['used'] == 2


@pytest.mark.parametrize('geodetic', [False, True])
def test_positions_of_another_origin_are_not_used(geodetic: bool) -> None:
    msgtype = 'geometry_msgs/msg/PointStamped'
    point, here = raw(msgtype, REFERENCES[msgtype], 9), fix(50.0, 10.0, 100.0)
    fixes = [raw(FIX, here, second) for second in (8, 9)]
    session = small_session()
    origin = None if geodetic else GeodeticOrigin(50.0, 10.0, 0.0)
    session.head = replace(session.head, frame_id='map', origin=origin)
    positions = ReferenceInput(session)
    positions.start(FIX if geodetic else msgtype)
    assert not any(positions.take(each) for each in (fixes if geodetic else [point]))
    assert positions.counts() == {'other_origin': 2 if geodetic else 1}
    assert session.head.origin == origin


def test_it_knows_how_long_nothing_could_be_used() -> None:
    msgtype, now = 'geometry_msgs/msg/PointStamped', [0.0]
    positions = ReferenceInput(small_session(), lambda: now[0])
    positions.start(msgtype)
    assert np.isnan(positions.silence_s)
    positions.take(raw(msgtype, REFERENCES[msgtype]))
    now[0] = 6.0
    positions.take(raw(msgtype, REFERENCES[msgtype]))
    assert positions.silence_s == pytest.approx(6.0)
