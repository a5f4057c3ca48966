# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Listen to the diagnostics of nodes that are yet to be discovered, over DDS."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from two_manifold_ros.nodes.bag_session import listen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ros_talk import Talk


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
