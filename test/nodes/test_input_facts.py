# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a node knows about its input from one session to the next."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from two_manifold_ros.nodes.health import InputFacts


@pytest.fixture
def known() -> InputFacts:
    clock = SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=5 * 10**9))
    node: Any = SimpleNamespace(get_clock=lambda: clock)
    topic: Any = SimpleNamespace(
        sensor='IMU',
        msgtype='sensor_msgs/msg/Imu',
        name='/imu',
        silence_s=0.0,
        waited_s=9.0,
        received=True,
        incompatible='',
        publishers=tuple,
        elsewhere=tuple,
    )
    return InputFacts(node, topic)


def test_what_was_rejected_since_the_last_that_was_used(known: InputFacts) -> None:
    known.gather(Counter(received=5, used=3, malformed=2), None)
    facts = known.gather(Counter(received=9, used=3, malformed=5, zero_stamp=1), None)
    assert facts['rejected'] == {'malformed': 3, 'zero_stamp': 1}


def test_another_session_begins_anew(known: InputFacts) -> None:
    known.gather(Counter(received=90, used=3, malformed=87), None)
    assert known.gather(Counter(received=30, malformed=30), None)['rejected'] == {}
    assert known.gather(Counter(received=31, malformed=31), None)['rejected'] == {'malformed': 1}
