# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the trainer says about a recording."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from raw_imu import raw_imu

from two_manifold_ros.interface.snapshot import Publisher
from two_manifold_ros.interface.status import Level
from two_manifold_ros.nodes import trainer_node
from two_manifold_ros.nodes.trainer_node import LiveTopics

SILENT = trainer_node.SILENCE_S + 1.0


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> Any:  # noqa: ANN401 - with stand-ins for its topics
    imu = SimpleNamespace(
        name='/imu',
        silence_s=0.0,
        received=False,
        incompatible='',
        publishers=lambda: (Publisher('sensor_msgs/msg/Imu'),),
        listen=lambda: None,
    )
    reference = SimpleNamespace(topic='/reference', problem='', look=lambda: None)
    monkeypatch.setattr(trainer_node, 'SensorTopic', lambda *_: imu)
    monkeypatch.setattr(trainer_node, 'LiveReference', lambda *_: reference)
    clock = SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=1))
    logger = SimpleNamespace(warning=lambda _: None, info=lambda _: None)
    node: Any = SimpleNamespace(
        resolve_topic_name=lambda name: f'/{name}',
        get_logger=lambda: logger,
        get_clock=lambda: clock,
    )
    return LiveTopics(node, lambda call: call, '', 'until finish')


def reach(live: LiveTopics) -> None:
    """Have it hear both topics."""
    live._imu.received = True
    live._on_imu(raw_imu(10**9, [1.0] * 6))
    live._recording.reference_count = 1


def test_what_is_awaited_is_named_and_why_it_does_not_come(live: LiveTopics) -> None:
    assert live.judgement.cause == 'waiting'
    live._imu.silence_s = SILENT
    assert live.judgement[::2] == (Level.ERROR, 'no_publisher')
    live.look(0.0)
    assert live.judgement[::2] == (Level.ERROR, 'silent')
    live._imu.silence_s, live._imu.received = 0.0, True
    live._on_imu(b'garbage')
    assert live.judgement[::2] == (Level.ERROR, 'malformed')
    live._on_imu(raw_imu(10**9, [1.0] * 6))
    assert live.judgement[::2] == (Level.WARN, 'no_reference')
    live._reference.problem = 'which type'
    assert live.judgement[::2] == (Level.WARN, 'reference_type')


def test_what_comes_no_more_is_named(live: LiveTopics) -> None:
    reach(live)
    assert live.judgement == (Level.OK, None, '', 'recording until finish')
    live._reference_s -= SILENT
    judgement = live.judgement
    assert judgement[::2] == (Level.WARN, 'reference_gone')
    assert judgement.why == 'recording until finish, but no position came on /reference for 3 s'
    live._imu.silence_s = SILENT
    live.look(0.0)
    judgement = live.judgement
    assert judgement[::2] == (Level.WARN, 'silent')
    assert 'recording until finish, but no data: no IMU message on /imu for 3.0 s' in judgement.why
    assert live.summary.startswith('Recording until finish, but no data')
