# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Following real filter nodes, in two namespaces and with other names of topics."""

from collections.abc import Callable
from itertools import count, cycle
from pathlib import Path
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from geometry_msgs.msg import PoseStamped
from ros_talk import NodeProcess, Process, Talk
from sensor_msgs.msg import Imu

from two_manifold_ros.nodes.watching import Watcher
from two_manifold_ros.recordings.ros_messages import to_message
from two_manifold_ros.simulation.slot_car_run import imu_message, SlotCarRun

NAMES = {'car1/filter_node', 'car2/filter_node'}


@pytest.fixture
def robots(
    start: Callable[..., NodeProcess], talk: Talk, model_path: Path, drive: SlotCarRun
) -> Callable[[], object]:
    """Start filters of two robots, one with other names; return what drives both a step."""
    renamed = ('-r', 'position:=/there/where', '-r', 'status:=st', '-r', 'imu:=chip')
    for robot, more in (('car1', ()), ('car2', renamed)):
        start('filter_node', '-r', f'__ns:=/{robot}', *more, model=model_path)
    imus = [talk.publisher(Imu, topic) for topic in ('/car1/imu', '/car2/chip')]
    samples = cycle(zip(drive.stamps_ns.tolist(), drive.imu, strict=True))

    def step() -> None:
        stamp, sample = next(samples)
        message = to_message('sensor_msgs/msg/Imu', imu_message(stamp, sample, np.zeros(6)))
        for imu in imus:
            imu.publish(message)
        talk.rest(0.002)

    return step


def follow(
    talk: Talk, drive_on: Callable[[], object], names: tuple[str, ...] = ()
) -> tuple[Watcher, dict[tuple[str, str], list[Any]]]:
    """Drive, and search, while the test waits; return a watcher, and what it hears of each."""
    heard: dict[tuple[str, str], list[Any]] = {}
    watcher = Watcher(
        lambda name, kind, message: heard.setdefault((name, kind), []).append(message), names
    )
    steps = count()

    def step() -> None:
        if next(steps) % 50 == 0:
            watcher.search(talk.node)
        drive_on()

    talk.meanwhile = step
    return watcher, heard


def test_every_topic_is_found_by_type_and_node(robots, talk):
    watcher, heard = follow(talk, robots)
    kinds = ('position', 'predicted_path', 'status', 'diagnostics', 'markers')
    wanted = {(name, kind) for name in NAMES for kind in kinds}
    talk.until(lambda: heard.keys() >= wanted, f'{wanted}')
    assert heard.keys() == wanted
    assert heard['car2/filter_node', 'diagnostics'][-1].name == 'car2/filter_node'
    assert 'track' in {each.ns for each in heard['car1/filter_node', 'markers'][0].markers}
    watcher.search(talk.node)
    # The route is known: nobody builds markers any more.
    assert talk.node.count_subscribers('/car1/markers') == 0
    assert talk.node.count_subscribers('/there/where') == 1
    # Nodes that were not asked for are left alone, and others are no filters.
    talk.node.create_publisher(PoseStamped, 'status', 10)
    _, heard = follow(talk, robots, ('/car1/filter_node',))
    talk.until(lambda: ('car1/filter_node', 'position') in heard, 'a position')
    assert {name for name, _ in heard} == {'car1/filter_node'}
    assert talk.node.count_subscribers('/status') == 0


def test_a_page_shows_the_robots_of_a_domain_while_it_is_open(robots, talk, browse):
    command = [sys.executable, '-m', 'two_manifold_ros', 'view', '--live', '--port', '0']
    process = Process([*command, '--no-browser'], None)
    try:
        talk.meanwhile = robots
        talk.until(lambda: 'http://' in process.said, 'the address')
        assert talk.node.count_subscribers('/car1/position') == 0
        tab = browse(process.said.split()[0])

        def shown() -> bool:
            return bool(tab.columns('ellipse')['x']) and len(tab.value('robot', 'options')) == 2

        talk.until(shown, 'both robots')
        # Along the route: more points than horizons.
        talk.until(lambda: len(tab.columns('path')['x']) > 3, 'the path ahead')
        talk.until(lambda: tab.columns('route')['xs'], 'the route')
        assert tab.value('robot', 'value') in NAMES
        assert tab.text('.banner b') in {'tracking', 'unsure', 'lost'}
        assert talk.node.count_subscribers('/car1/position') == 1
        assert 'gone' not in tab.text('.banner')
        tab.page.close()
        talk.until(
            lambda: talk.node.count_subscribers('/car1/position') == 0, 'nothing to be subscribed'
        )
    finally:
        assert process.stop() == 0, process.said
    assert 'Traceback' not in process.said
