# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Live messages as a recording, as reference positions, and pictures in the place of the IMU."""

from array import array
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from image_message import make_image
import numpy as np
from raw_imu import raw_imu
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Image
from updater_feed import SMALL, small_session, tpsr_session

from two_manifold_ros.adapting.stream_memory import make_head
from two_manifold_ros.adapting.updater_session import UpdaterSession
from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.assessment import Health, Level, Publisher
from two_manifold_ros.interface.image_values import channel_names
from two_manifold_ros.interface.messages import Message
from two_manifold_ros.interface.transforms import OdometryFrame
from two_manifold_ros.nodes import live_input, trainer_node
from two_manifold_ros.nodes.live_input import (
    image_decoder,
    live_marks,
    live_odometry,
    LiveSensor,
    ReferenceInput,
)
from two_manifold_ros.nodes.trainer_node import LiveRecording
from two_manifold_ros.recordings.further_channels import SensorTopic
from two_manifold_ros.recordings.recording import GeodeticOrigin
from two_manifold_ros.recordings.ros_messages import to_message
from two_manifold_ros.recordings.satellite_fixes import east_north

POSE = 'geometry_msgs/msg/PoseStamped'
PLACE = {'x': 1.5, 'y': -2.5, 'z': 9.0}
REFERENCES = {
    'geometry_msgs/msg/PoseStamped': {'pose': {'position': PLACE}},
    'geometry_msgs/msg/PoseWithCovarianceStamped': {'pose': {'pose': {'position': PLACE}}},
    'geometry_msgs/msg/PointStamped': {'point': PLACE},
    'geometry_msgs/msg/TransformStamped': {'transform': {'translation': PLACE}},
    'nav_msgs/msg/Odometry': {'pose': {'pose': {'position': PLACE}}},
}


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


SILENT = 6.0


def stand_in(msgtype: str = '', **changes: object) -> Any:  # noqa: ANN401 - for a node
    """Return what stands for a node, whose topics are published as one type."""
    driver = SimpleNamespace(topic_type=msgtype, node_namespace='/', node_name='driver')
    known = {
        'now_ns': 77,
        'get_logger': lambda: SimpleNamespace(info=lambda _: None, warning=lambda _: None),
        'get_publishers_info_by_topic': lambda _: [driver],
        'resolve_topic_name': lambda name: f'/{name.lstrip("/")}',
    }
    return SimpleNamespace(**known | changes)


def test_an_odometry_is_taken_and_says_what_is_missing(monkeypatch):
    now_s = [0.0]
    monkeypatch.setattr(live_input, 'monotonic', lambda: now_s[0])
    taken: list[Callable[[bytes], object]] = []
    node = stand_in(subscribe=lambda topic, take: taken.append(take) or topic)
    frame = OdometryFrame('map', 'base_link')
    live = live_odometry(node, 'odom', frame)
    # Nothing can be found at once.
    assert live.complaints == {}
    now_s[0] = 10.0
    assert '/odom: no odometry came yet' in live.complaints['odometry']
    (take,) = taken
    take(raw('nav_msgs/msg/Odometry', {'child_frame_id': 'base_link'}, frame='wheels'))
    assert live.complaints == {}
    assert frame.frame == 'wheels'


class Recorder:
    """A recording with stand-ins for its topics."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 0.0
        self.heard: dict[str, Any] = {'received': False}
        self.imu = SimpleNamespace(name='/imu', health=self._health, listen=self._listen)
        self.reference = SimpleNamespace(topic='/reference', problem='', find=lambda: None)
        monkeypatch.setattr(trainer_node, 'SensorTopic', lambda *_: self.imu)
        monkeypatch.setattr(trainer_node, 'LiveTopic', self._listen_to_positions)
        monkeypatch.setattr(trainer_node, 'monotonic', lambda: self.now_s)
        self.live = LiveRecording(stand_in(), '', 'until finish')

    def _health(self, timeout_s: float) -> Health:
        return Health(timeout_s=timeout_s, **self.heard)

    def _listen(self, take: Callable[[bytes], object]) -> None:
        self.take_imu = take

    def _listen_to_positions(
        self, _: object, __: str, begin: Callable[[str], Callable[[bytes], object]], **_given: str
    ) -> SimpleNamespace:
        self.begin = begin
        return self.reference

    def start_reference(self, msgtype: str) -> None:
        self.take_reference = self.begin(msgtype)

    @property
    def state(self) -> tuple[Level, str]:
        return self.live.assessment.level, self.live.assessment.cause


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    return Recorder(monkeypatch)


@pytest.fixture
def live(recorder: Recorder) -> Recorder:
    """Return a recording that has an IMU message."""
    recorder.take_imu(raw('sensor_msgs/msg/Imu', {'angular_velocity': {'z': 3.0}}))
    return recorder


def test_both_topics_are_recorded(live):
    msgtype = 'nav_msgs/msg/Odometry'
    live.start_reference(msgtype)
    live.take_reference(raw(msgtype, REFERENCES[msgtype]))
    recording = live.live.recording(use_receive_time=False)
    np.testing.assert_array_equal(recording.positions.positions, [[1.5, -2.5]])
    assert recording.positions.stamps.tolist() == [7_000_000_005]
    np.testing.assert_array_equal(recording.imu.samples, [[0, 0, 0, 0, 0, 3]])
    assert recording.imu.stamps.tolist() == [7_000_000_005]


def test_receive_times_on_request(live):
    live.start_reference(POINT)
    live.take_reference(raw(POINT, {'point': PLACE}))
    recording = live.live.recording(use_receive_time=True)
    assert (recording.imu.stamps.tolist(), recording.positions.stamps.tolist()) == ([77], [77])
    assert any('Receive times' in note for note in recording.notes)


def test_malformed_messages_are_counted(live):
    live.start_reference(POINT)
    live.take_imu(b'\x00\x01\x00\x00')
    live.take_reference(b'\x00\x01')
    assert (live.live.imu_count, live.live.reference_count, live.live.malformed) == (1, 0, 2)


def test_what_is_missing_is_named(recorder):
    with pytest.raises(InputError, match='No IMU message came on /imu'):
        recorder.live.recording(use_receive_time=False)
    recorder.take_imu(raw('sensor_msgs/msg/Imu', {}))
    with pytest.raises(InputError, match='No position came on /reference'):
        recorder.live.recording(use_receive_time=False)


def test_what_is_awaited_is_named_and_why_it_does_not_come(recorder):
    assert recorder.state == (Level.WARN, 'waiting')
    recorder.heard['silence_s'] = SILENT
    assert recorder.state == (Level.ERROR, 'no_publisher')
    recorder.heard['publishers'] = (Publisher('sensor_msgs/msg/Imu'),)
    assert recorder.state == (Level.ERROR, 'silent')
    recorder.heard = {}
    recorder.take_imu(b'garbage')
    assert recorder.state == (Level.ERROR, 'malformed')
    recorder.take_imu(raw_imu(10**9, [1.0] * 6))
    assert recorder.state == (Level.WARN, 'no_reference')
    recorder.reference.problem = 'which type'
    assert recorder.state == (Level.WARN, 'reference_type')


def test_what_comes_no_more_is_named(recorder):
    recorder.heard = {'publishers': (Publisher('sensor_msgs/msg/Imu'),)}
    recorder.take_imu(raw_imu(10**9, [1.0] * 6))
    recorder.start_reference(POSE)
    recorder.take_reference(raw(POSE, {}))
    assert recorder.live.assessment == (Level.OK, None, '', 'recording until finish')
    recorder.now_s = SILENT
    assert recorder.state == (Level.WARN, 'reference_gone')
    why = 'recording until finish, but no position came on /reference for 6 s'
    assert recorder.live.assessment.why == why
    recorder.heard['silence_s'] = SILENT
    assessment = recorder.live.assessment
    assert recorder.state == (Level.WARN, 'silent')
    assert (
        'recording until finish, but no data: no IMU message on /imu for 6.0 s' in assessment.why
    )
    assert recorder.live.summary == '1 IMU messages on /imu, 1 positions on /reference'


FLOAT = 'std_msgs/msg/Float64'


class HeardSensor:
    """A live sensor with a stand-in for its node."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, msgtype: str = FLOAT) -> None:
        self.now_s = 10.0
        self.held: list[tuple[float, ...]] = []
        self.node = node = stand_in(msgtype, subscribe=lambda _, take: setattr(self, 'take', take))
        monkeypatch.setattr(live_input, 'monotonic', lambda: self.now_s)
        self.live = LiveSensor(node, SensorTopic('wheel', ('data',)), self.held.append)

    def hear(self, value: float, at_s: float) -> None:
        self.now_s = at_s
        self.take(serialize_message(to_message(FLOAT, {'data': value})))

    def causes(self, at_s: float) -> list[str]:
        self.now_s = at_s
        return [*self.live.complaints]


def test_a_sensor_that_comes_no_more_is_reported_after_twice_its_longest_step_and_a_second(
    monkeypatch,
):
    wrong = HeardSensor(monkeypatch, POSE)
    assert f'/wheel is published as {POSE}: publish it as one of' in str(wrong.live.complaints)
    sensor = HeardSensor(monkeypatch)
    assert sensor.causes(11.0) == ['no_sensor']
    assert 'set sensor_topics to its topic' in str(sensor.live.complaints)
    sensor.hear(0.5, 12.0)
    # It may be one that is given once and holds.
    assert sensor.causes(1000.0) == []
    sensor.hear(0.6, 1001.0)
    assert sensor.held == [(0.5,), (0.6,)]
    other = HeardSensor(monkeypatch)
    for at_s in (0.0, 0.5, 2.5, 3.0):
        other.hear(0.1 * at_s, at_s)
    assert other.causes(7.9) == []
    assert other.causes(8.1) == ['sensor_gone']
    assert 'on /wheel for 5.1 s, where at most 2.0 s were usual' in str(other.live.complaints)
    assert 'the filter goes on without it' in str(other.live.complaints)
    other.hear(1.0, 8.2)
    assert other.causes(8.3) == []
    other.node.get_publishers_info_by_topic = lambda _: []
    assert other.causes(9.1) == []
    assert other.causes(9.3) == ['sensor_gone']


class Reference:
    """The reference input of a session, and the positions that the session was given."""

    def __init__(self, msgtype: str = FIX, session: UpdaterSession | None = None) -> None:
        self.session = session or small_session()
        self.seen: list[tuple[int, float, float]] = []
        taker = self.session.take_position

        def take_position(*given: Any) -> bool:  # noqa: ANN401 - passed on
            used = taker(*given)
            self.seen += self.session.learner.reference.taken if used else []
            return used

        self.session.take_position = take_position  # type: ignore[method-assign]
        self.input = ReferenceInput(self.session)
        self.input.start(msgtype)
        self.take, self.counts = self.input.take, self.input.counts


@pytest.mark.parametrize('msgtype', REFERENCES)
def test_every_type(msgtype):
    positions = Reference(msgtype)
    assert positions.take(raw(msgtype, REFERENCES[msgtype]))
    assert positions.seen == [(7_000_000_005, 1.5, -2.5)]
    assert positions.session.head.frame_id == 'arena'
    assert not positions.take(b'\x00\x01')
    assert not positions.take(raw(msgtype, REFERENCES[msgtype]))
    assert positions.counts() == {'used': 1, 'malformed': 1, 'duplicate_stamp': 1}


def test_fixes_are_positions_in_the_plane_of_the_first_one():
    positions = Reference()
    assert not positions.take(fix(50.0, 10.0, 100.0, 1, status=-1))
    assert not positions.take(fix(np.nan, 10.0, 100.0, 2))
    # It waits for one that agrees with it.
    assert not positions.take(fix(50.0, 10.0, 100.0, 3))
    assert positions.take(fix(50.0001, 10.0002, np.nan, 4))
    origin = GeodeticOrigin(50.0, 10.0, 100.0)
    assert positions.session.head.origin == origin
    there = east_north(np.array([50.0001]), np.array([10.0002]), np.array([100.0]), origin)
    assert [each[1:] for each in positions.seen] == [(0.0, 0.0), pytest.approx(there[0])]
    assert positions.counts() == {'used': 2, 'no_fix': 2}
    assert positions.session.head.frame_id == 'map'


def test_an_origin_that_is_known_stays():
    positions = Reference()
    head = replace(positions.session.head, origin=GeodeticOrigin(50.0, 10.0, 0.0))
    positions.session.head = head
    assert positions.take(fix(50.001, 10.0, 0.0, 1))
    assert positions.seen[0][1:] == pytest.approx((0.0, 111.2), abs=0.5)


def test_the_origin_is_the_first_fix_that_the_next_one_agrees_with():
    positions = Reference()
    places = [(0.0, 0.0), (0.0, 0.0), (123.0, 10.0), (50.0, 190.0), (7.0, 7.0), (50.0, 10.0)]
    for second, place in enumerate(places, start=1):
        assert not positions.take(fix(*place, 100.0, second))
    # A copy of a fix is no witness of it.
    assert not positions.take(fix(50.0, 10.0, 100.0, len(places)))
    assert positions.session.head.origin is None
    assert positions.take(fix(50.00001, 10.0, np.nan, 7))
    assert positions.session.head.origin == GeodeticOrigin(50.0, 10.0, 100.0)
    seen = [each[1:] for each in positions.seen]
    assert seen == [(0.0, 0.0), pytest.approx((0.0, 1.112), abs=1e-3)]
    assert not positions.take(fix(123.0, 10.0, 100.0, 8))
    assert positions.counts() == {'used': 2, 'no_fix': 6, 'duplicate_stamp': 1}


def test_a_fix_that_waited_is_not_used_where_stamps_are_those_of_arrival():
    now = iter(range(10**18, 2 * 10**18, 10**8))
    session = tpsr_session(make_head(SMALL.horizons), clock_ns=lambda: next(now))
    positions = Reference(session=session)
    used = [positions.take(fix(50.0, 10.0, 0.0, second)) for second in (1, 2, 3)]
    assert used == [False, True, True]
    assert positions.counts()['used'] == 2


@pytest.mark.parametrize(
    ('msgtype', 'known', 'messages'),
    [
        (POINT, GeodeticOrigin(50.0, 10.0, 0.0), [raw(POINT, REFERENCES[POINT])]),
        (FIX, None, [fix(50.0, 10.0, 100.0, second) for second in (8, 9)]),
    ],
    ids=['plane', 'geodetic'],
)
def test_positions_of_another_origin_are_not_used(msgtype, known, messages):
    positions = Reference(msgtype)
    positions.session.head = replace(positions.session.head, frame_id='map', origin=known)
    assert not any(map(positions.take, messages))
    assert positions.counts() == {'other_origin': len(messages)}
    assert positions.session.head.origin == known


def test_it_knows_how_long_nothing_could_be_used(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(live_input, 'monotonic', lambda: now[0])
    positions = ReferenceInput(small_session())
    positions.start(POINT)
    assert np.isnan(positions.silence_s)
    positions.take(raw(POINT, REFERENCES[POINT]))
    now[0] = 6.0
    positions.take(raw(POINT, REFERENCES[POINT]))
    assert positions.silence_s == pytest.approx(6.0)


GRID = 4, 3
FRAMES_HZ = 25
LAP_S = 6.0


def raw_image(
    pixels: np.ndarray, encoding: str, frame_id: str = 'cam', stamp_ns: int = 5_000_000_007
) -> bytes:
    """Return a serialised image."""
    fields = vars(make_image(pixels, encoding, frame=frame_id, stamp_ns=stamp_ns))
    header = fields.pop('header')
    message = Image(**{**fields, 'data': array('B', fields['data'])})
    message.header.frame_id = header.frame_id
    message.header.stamp.sec, message.header.stamp.nanosec = header.stamp.sec, header.stamp.nanosec
    return serialize_message(message)


def frame(angle: float, rng: np.random.Generator) -> np.ndarray:
    """Return what a camera sees in a direction: stripes that differ all around."""
    height, width = 12, 16
    columns = angle + np.linspace(-0.6, 0.6, width)
    rows = np.linspace(0.0, 1.0, height)[:, None]
    wall = 0.5 + 0.2 * np.sin(3 * columns) + 0.2 * np.cos(2 * columns + 2.0 * rows)
    noisy = wall + 0.01 * rng.standard_normal(wall.shape)
    return np.clip(255 * noisy, 0, 255).astype(np.uint8)[..., None]


@pytest.mark.slow
def test_it_learns_where_the_camera_is():
    rng = np.random.Generator(np.random.PCG64(2))
    head = make_head(SMALL.horizons, names=channel_names(*GRID))
    session = tpsr_session(head, image_decoder(*GRID))
    errors = []
    angle = 0.0
    for index in range(70 * FRAMES_HZ):
        angle += 2 * np.pi / LAP_S / FRAMES_HZ * (1.0 + 0.2 * np.sin(index / 40.0))
        stamp = 10**9 + index * 10**9 // FRAMES_HZ
        place = 2.0 * np.cos(angle), 2.0 * np.sin(angle)
        image = raw_image(frame(angle, rng), 'mono8', 'camera', stamp)
        errors += [np.linalg.norm(each.positions[0] - place) for each in session.take(image)]
        session.take_position(stamp, 'map', *place)
    assert session.head.imu_frame_id == 'camera'
    assert len(errors) > 300
    # Always to say the middle would err by 2 m.
    assert np.sqrt(np.mean(np.square(errors[-100:]))) < 0.5


def test_an_image_that_cannot_be_used_is_reported_and_costs_nothing():
    head = make_head(SMALL.horizons, names=channel_names(*GRID))
    session = tpsr_session(head, image_decoder(*GRID))
    pixels = np.zeros((12, 16, 1), np.uint8)
    assert session.take(raw_image(pixels, 'jpeg')) == []
    assert "images are encoded as 'jpeg'" in session.fault
    assert session.take(raw_image(pixels, 'mono8')[:30]) == []
    assert session.take(raw_image(pixels, 'mono8')) == []
    assert session.counts()['malformed'] == 2
    assert session.counts()['used'] == 1


class Marked:
    """Marks of a type, and what of them reaches the laps."""

    def __init__(self, msgtype: str) -> None:
        self.stamps: list[int] = []
        self.taken: list[Callable[[bytes], object]] = []
        laps: Any = SimpleNamespace(take_mark=self.stamps.append, mark_problem='')
        node = stand_in(msgtype, subscribe=lambda _, take: self.taken.append(take))
        self.marks = live_marks(node, 'line', lambda: laps)


def test_marks_count_by_their_stamp_or_when_they_were_received() -> None:
    stamped, empty = Marked(POINT), Marked('std_msgs/msg/Empty')
    for each, message in (
        (stamped, raw(POINT, {})),
        (empty, serialize_message(to_message('std_msgs/msg/Empty', {}))),
    ):
        (take,) = each.taken
        take(message)
        assert each.marks.complaints == {}
    assert stamped.stamps == [7_000_000_005]
    assert empty.stamps == [77]


@pytest.mark.parametrize('msgtype', ['pit_wall_msgs/msg/Beacon', 'std_msgs/msg/Beacon'])
def test_marks_of_a_type_that_is_not_installed_are_a_complaint_and_no_crash(msgtype: str) -> None:
    """The node subscribes them while it is configured."""
    marked = Marked(msgtype)
    assert not marked.taken
    assert f'as {msgtype}, which is not installed' in marked.marks.complaints['mark_topic']
