# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter node as a process, over DDS."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
import math
from multiprocessing import get_context
from typing import Any, TYPE_CHECKING, TypeAlias

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PoseStamped
from imu_feed import connect, ESTIMATES, expected, messages, send
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message
from ros_talk import Health, KINDS
from sensor_msgs.msg import Imu
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from two_manifold_ros.filtering.status import Status
from two_manifold_ros.interface.assessment import REJECTIONS
from two_manifold_ros.interface.status import CODES, OUTSIDE
from two_manifold_ros.nodes.bag_session import listen
from two_manifold_ros.nodes.publishing import to_message

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ros_talk import NodeProcess, Talk

    from two_manifold_ros.simulation.slot_car_run import SlotCarRun


Start: TypeAlias = 'Callable[..., NodeProcess]'


def over_the_wire(kind: type, name: str, fields: dict[str, Any]) -> object:
    """Return a message as it arrives: colours have single precision."""
    return deserialize_message(serialize_message(to_message(name, fields)), kind)


def test_publishes_exactly_what_replay_computes(
    talk: Talk, start: Start, drive: SlotCarRun, model_path: Path
) -> None:
    start('filter_node', model=model_path)
    health = Health(talk)
    heard = {topic: talk.listen(kind, topic) for topic, kind in KINDS.items()}
    imu = connect(talk, health)
    send(talk, imu, messages(drive))
    # In a process of its own, which takes its loops from disk as the node does.
    with ProcessPoolExecutor(1, get_context('spawn')) as another:
        wanted = another.submit(expected, drive, model_path).result()
    for topic, kind in KINDS.items():
        name = f'{kind.__module__.split(".")[0]}/msg/{kind.__name__}'
        all_wanted = [over_the_wire(kind, name, each) for each in wanted[topic]]
        got = heard[topic]
        talk.until(lambda got=got, last=all_wanted[-1]: got and got[-1] == last, topic)
        # The node may have found our subscription only after its first messages.
        assert got == all_wanted[-len(got) :]
        assert len(got) > len(all_wanted) / 2
    assert len(wanted['position']) == ESTIMATES
    assert len(wanted['particles']) == pytest.approx(ESTIMATES / 2, abs=1)


def test_reset_and_enable(talk: Talk, start: Start, drive: SlotCarRun, model_path: Path) -> None:
    start('filter_node', model=model_path, input_timeout_s=60.0)
    health = Health(talk)
    health.until('waiting for the first IMU message on /imu')
    imu = connect(talk, health)
    good = messages(drive)
    send(talk, imu, good[:150])
    health.until_value('published', '10')
    assert talk.call(Trigger, 'filter_node/reset').success
    send(talk, imu, good[150:200])
    health.until('filling the window')
    assert talk.call(SetBool, 'filter_node/enable', data=False).success
    health.until('disabled by the service enable')
    send(talk, imu, good[200:350])
    assert talk.call(SetBool, 'filter_node/enable', data=True).success
    send(talk, imu, good[350:])
    health.until('filling the window: 9 of 20 ticks')
    assert health.values['published'] == '10'


def test_silence_and_wrong_types_have_a_reason(
    talk: Talk, start: Start, drive: SlotCarRun, model_path: Path
) -> None:
    start('filter_node', '-r', 'imu:=driver/data', model=model_path, input_timeout_s=0.3)
    health = Health(talk)
    health.until('it has no publisher; remap imu')
    spare = talk.node.create_publisher(Imu, 'spare', 1)
    health.until('remap imu to the topic of the driver, /spare')
    talk.node.destroy_publisher(spare)
    wrong = talk.node.create_publisher(PoseStamped, 'driver/data', 1)
    health.until('published as geometry_msgs/msg/PoseStamped, not as sensor_msgs/msg/Imu')
    talk.node.destroy_publisher(wrong)
    imu = talk.publisher(Imu, 'driver/data')
    health.until('its publisher is there but silent')
    assert health.level == 2
    send(talk, imu, messages(drive, 10))
    health.until('no IMU message on /driver/data for')


def test_frames_and_receive_time(
    talk: Talk, start: Start, drive: SlotCarRun, model_path: Path
) -> None:
    start(
        'filter_node',
        model=model_path,
        track_frame='world',
        child_frame='car',
        use_receive_time='true',
    )
    odometry, imu = talk.listen(Odometry, 'odometry'), talk.publisher(Imu, 'imu')
    begin = talk.node.get_clock().now().nanoseconds
    unstamped = messages(drive, len(drive.imu))
    sent, period = 0, int(drive.stamps_ns[1] - drive.stamps_ns[0])

    def heard() -> bool:
        nonlocal sent
        due = (talk.node.get_clock().now().nanoseconds - begin) // period
        for message in unstamped[sent:due]:
            message.header.stamp.sec = message.header.stamp.nanosec = 0
            imu.publish(message)
        sent = due
        return bool(odometry)

    talk.until(heard, 'odometry')
    header = odometry[0].header
    assert header.stamp.sec * 10**9 + header.stamp.nanosec > begin
    assert (header.frame_id, odometry[0].child_frame_id) == ('world', 'car')


class EnoughError(Exception):
    """Ends listening."""


def heard_one(name: str, level: int, why: str, values: Mapping[str, str], nodes: int) -> None:
    assert (name, level, values['cause'], nodes) == ('filter_node', 2, 'no_clock', 1)
    raise EnoughError(why)


class Numbers:
    """Messages received on the topic until now."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self._messages = talk.listen(Float64MultiArray, 'status', 1000)

    @property
    def all(self) -> list[dict[str, float]]:
        return [
            dict(zip(each.layout.dim[0].label.split(','), each.data, strict=True))
            for each in self._messages
        ]

    def until(self, status: Status, **least: float) -> dict[str, float]:
        """Wait for a status, with at least these numbers."""

        def come() -> bool:
            newest = self.all[-1:]
            return bool(newest) and all(
                [newest[0]['status'] == CODES[status]]
                + [newest[0][name] >= number for name, number in least.items()]
            )

        self.talk.until(come, f'{status} with {least}')
        return self.all[-1]


def test_the_way_to_tracking_and_every_count_on_it(
    talk: Talk, start: Start, drive: SlotCarRun, model_path: Path
) -> None:
    start('filter_node', model=model_path, input_timeout_s=0.5, status_rate_hz=50.0)
    health, numbers = Health(talk), Numbers(talk)
    assert math.isnan(numbers.until(Status.WAITING)['evidence'])
    imu = connect(talk, health)
    good = messages(drive)
    faulty = messages(drive)[200:203]
    faulty[0].linear_acceleration.x = float('nan')
    faulty[1].header.stamp.sec += 10**6
    send(talk, imu, [*good[:200], *faulty, *good[203:]])
    imu.publish(b'garbage')
    tracking = numbers.until(Status.TRACKING, malformed=1)
    assert (tracking['valid'], tracking['level']) == (1.0, 0.0)
    assert (tracking['non_finite'], tracking['wild_stamp']) == (1.0, 1.0)
    assert 0.0 < tracking['ellipse_m'] < 1.0
    assert tracking['processing_max_us'] >= tracking['processing_p50_us'] > 0.0
    silent = numbers.until(Status.NO_DATA)
    assert (silent['valid'], silent['level']) == (0.0, 2.0)
    assert silent['ticks_since_good_sample'] >= 4
    assert math.isnan(silent['ellipse_m'])
    # Counts are not known while it is configured, which is over sooner or later than discovery.
    published = [each for each in numbers.all if each['status'] != OUTSIDE]
    for each in published:
        rejected = sum(each[cause] for cause in REJECTIONS)
        assert each['received'] == each['used'] + each['waiting'] + rejected
    codes = [each['status'] for each in published]
    way = [code for code, before in zip(codes, [None, *codes], strict=False) if code != before]
    wanted = (Status.WAITING, Status.FILLING, Status.TRACKING, Status.NO_DATA)
    seen = iter(way)
    assert all(CODES[status] in seen for status in wanted)


def test_numbers_and_reasons_come_without_a_clock_or_a_model(
    talk: Talk, start: Start, drive: SlotCarRun, model_path: Path
) -> None:
    node = start('filter_node', use_sim_time='true', input_timeout_s=0.3, modle=model_path)
    health, numbers = Health(talk), Numbers(talk)
    talk.until(lambda: numbers.all, 'the status')
    assert numbers.all[-1]['status'] == OUTSIDE
    assert math.isnan(numbers.all[-1]['received'])
    assert node.alive
    node.stop()
    assert node.said.count('modle (did you mean model?)') == 1
    start('filter_node', use_sim_time='true', model=model_path, input_timeout_s=0.3)
    imu, other = talk.publisher(Imu, 'imu'), talk.node.create_publisher(Imu, 'imu', 10)
    send(talk, imu, messages(drive, 10))
    health.until_value('cause', 'no_clock')
    assert 'no time came on /clock yet' in health.why
    with pytest.raises(EnoughError, match='/imu'):
        listen(heard_one, lambda: None, 20.0)
    stream = iter(messages(drive, 2000))

    def published() -> bool:
        imu.publish(next(stream))
        return 'publishers are on /imu (/test, /test)' in health.why

    talk.until(published, 'both publishers to be named')
    talk.node.destroy_publisher(other)


def test_a_short_time_counts_from_the_discovery_and_namesakes_are_counted(talk: Talk) -> None:
    context = talk.node.context
    nodes = [
        Node(name, context=context, start_parameter_services=False, enable_rosout=False)
        for name in ('twin', 'twin', 'single')
    ]
    publishers = [node.create_publisher(DiagnosticArray, '/diagnostics', 10) for node in nodes]
    heard: dict[str, tuple[int, str, Mapping[str, str], int]] = {}

    def hear(name: str, level: int, why: str, values: Mapping[str, str], count: int) -> None:
        heard[name] = level, why, values, count

    def publish() -> None:
        for node, publisher in zip(nodes, publishers, strict=True):
            values = [KeyValue(key='a', value='b')]
            status = DiagnosticStatus(name=node.get_name(), message='w', values=values)
            publisher.publish(DiagnosticArray(status=[status]))

    listen(hear, publish, 0.1)
    for node in nodes:
        node.destroy_node()
    assert heard == {'twin': (0, 'w', {'a': 'b'}, 2), 'single': (0, 'w', {'a': 'b'}, 1)}
