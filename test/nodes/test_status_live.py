# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The topic status of a filter node as a process, over DDS."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from imu_feed import connect, messages, send
from ros_talk import Health
from sensor_msgs.msg import Imu
from std_msgs.msg import Float64MultiArray

from two_manifold_ros.filtering.status import Status
from two_manifold_ros.interface.snapshot import REJECTIONS
from two_manifold_ros.interface.status import CODES, OUTSIDE
from two_manifold_ros.nodes.bag_session import listen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ros_talk import NodeProcess, Talk

    from two_manifold_ros.simulation.slot_car_run import SlotCarRun

Start: TypeAlias = 'Callable[..., NodeProcess]'


class EnoughError(Exception):
    """Ends listening."""


def heard_one(name: str, level: int, why: str, values: Mapping[str, str]) -> None:
    assert (name, level, values['cause']) == ('filter_node', 2, 'no_clock')
    raise EnoughError(why)


class Numbers:
    """What came on the topic until now."""

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
    told = numbers.all
    for each in told:
        rejected = sum(each[cause] for cause in REJECTIONS)
        assert each['received'] == each['used'] + each['waiting'] + rejected
    codes = [each['status'] for each in told]
    way = [code for code, before in zip(codes, [None, *codes], strict=False) if code != before]
    wanted = (Status.WAITING, Status.FILLING, Status.TRACKING, Status.NO_DATA)
    seen = iter(way)
    assert all(CODES[status] in seen for status in wanted)


def test_numbers_and_reasons_come_without_a_clock_or_a_model(
    talk: Talk, start: Start, drive: SlotCarRun, model_path: Path
) -> None:
    node = start('filter_node', use_sim_time='true', input_timeout_s=0.3)
    health, numbers = Health(talk), Numbers(talk)
    talk.until(lambda: numbers.all, 'the status')
    assert numbers.all[-1]['status'] == OUTSIDE
    assert math.isnan(numbers.all[-1]['received'])
    assert node.alive
    node.stop()
    start('filter_node', use_sim_time='true', model=model_path, input_timeout_s=0.3)
    imu, other = talk.publisher(Imu, 'imu'), talk.node.create_publisher(Imu, 'imu', 10)
    send(talk, imu, messages(drive, 10))
    health.until_value('cause', 'no_clock')
    assert 'nothing came on /clock yet' in health.why
    with pytest.raises(EnoughError, match='/imu'):
        listen(heard_one, lambda: None, 20.0)
    stream = iter(messages(drive, 2000))

    def told() -> bool:
        imu.publish(next(stream))
        return 'publishers are on /imu (/test, /test)' in health.why

    talk.until(told, 'both publishers to be named')
    talk.node.destroy_publisher(other)
