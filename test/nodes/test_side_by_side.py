# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two filter nodes on one network, over DDS: in one namespace, and each in its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from diagnostic_msgs.msg import DiagnosticStatus
from imu_feed import messages, send
from nav_msgs.msg import Odometry
from ros_talk import Board
from sensor_msgs.msg import Imu
from std_srvs.srv import SetBool

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ros_talk import NodeProcess, Talk

    from two_manifold_ros.simulation.slot_car_run import SlotCarRun


Start: TypeAlias = 'Callable[..., NodeProcess]'


def test_two_nodes_in_one_namespace_are_reported_apart_and_warn(
    talk: Talk, start: Start, drive: SlotCarRun, model_path: Path
) -> None:
    names = 'filter_a', 'filter_b'
    nodes = {
        name: start('filter_node', '-r', f'__node:={name}', model=model_path, input_timeout_s=60.0)
        for name in names
    }
    board, imu = Board(talk), talk.publisher(Imu, 'imu')
    talk.until(lambda: imu.get_subscription_count() == 2, 'both nodes')
    samples = messages(drive)

    def both(key: str, *values: str) -> bool:
        return tuple(board.value(name, key) for name in names) == values

    talk.until(lambda: both('status', *['waiting for data'] * 2), 'both to be configured')
    talk.until(
        lambda: all('also published by' in node.said for node in nodes.values()), 'warnings'
    )
    for name, other in (names, names[::-1]):
        (line,) = (each for each in nodes[name].said.splitlines() if 'also published by' in each)
        assert f'/{other}' in line
        assert f'/{name},' not in line
        assert '__ns:=' in line
    send(talk, imu, samples)
    talk.until(lambda: both('cause', *['shared_output'] * 2), 'the cause in the diagnostics')
    assert {board.status(name).level for name in names} == {DiagnosticStatus.WARN}
    assert all('State: tracking' in node.said for node in nodes.values())
    # A service belongs to one node, and not to whoever hears the call first, or to both.
    assert talk.call(SetBool, 'filter_a/enable', data=False).success
    talk.until(lambda: board.value('filter_a', 'cause') == 'disabled', 'one to be disabled')
    assert 'disabled' not in nodes['filter_b'].said
    assert nodes['filter_b'].stop() == 0
    talk.until(lambda: 'Over after' in nodes['filter_a'].said, 'the warning to be over')


def test_robots_in_namespaces_share_diagnostics_alone(
    talk: Talk, start: Start, model_path: Path
) -> None:
    board = Board(talk)
    nodes = [start('filter_node', '-r', f'__ns:=/car{car}', model=model_path) for car in (1, 2)]
    names = 'car1/filter_node', 'car2/filter_node'
    for name in names:
        talk.until(
            lambda name=name: board.value(name, 'cause') == 'no_publisher', f'words of {name}'
        )
        talk.listen(Odometry, f'/{name.partition("/")[0]}/odometry')
    hardware = [board.status(name).hardware_id for name in names]
    assert all(hardware)
    assert hardware[0] != hardware[1]
    assert {board.value(name, 'imu_frame') for name in names} == {'imu_link'}
    assert not any('also published by' in node.said for node in nodes)
