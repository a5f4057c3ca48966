# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The updater as a process learns the map of a route, and what it learned outlives it."""

from __future__ import annotations

from pathlib import Path
import signal
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from imu_feed import connect
from ros_talk import Health
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from two_manifold_ros.nodes.translating import to_message
from two_manifold_ros.simulation.slot_car_messages import imu_message, reference_message
from two_manifold_ros.simulation.slot_car_run import simulate
from two_manifold_ros.simulation.slot_car_settings import SlotCarSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from ros_talk import NodeProcess, Talk

RATE_HZ = 20
FIRST = 40 * RATE_HZ
"""Samples of the first four laps; a training lasts for as long as the machine takes."""


class Drive:
    """A slot car whose samples and positions are published quickly, one part after the other."""

    def __init__(self, talk: Talk, health: Health) -> None:
        self._talk = talk
        self._run = simulate(SlotCarSettings(seed=6, rate_hz=RATE_HZ), laps=60)
        self._imu = connect(talk, health)
        self._reference = talk.publisher(PoseStamped, 'reference')
        self.sent = 0

    def send(self, count: int, *, positions: bool = True) -> None:
        run = self._run
        for index in range(self.sent, self.sent + count):
            stamp = int(run.stamps_ns[index])
            fields = imu_message(stamp, run.imu[index], np.zeros(6))
            self._imu.publish(to_message('sensor_msgs/msg/Imu', fields))
            if positions and index % 2 == 0:
                seen = reference_message(stamp, run.positions[index], run.quaternions[index])
                self._reference.publish(to_message('geometry_msgs/msg/PoseStamped', seen))
            self._talk.spin(0.002)
        self.sent += count

    def errors(self, told: list[PoseWithCovarianceStamped]) -> np.ndarray:
        stamps = [each.header.stamp.sec * 10**9 + each.header.stamp.nanosec for each in told]
        places = [[each.pose.pose.position.x, each.pose.pose.position.y] for each in told]
        where = np.searchsorted(self._run.stamps_ns, stamps)
        return np.linalg.norm(np.array(places) - self._run.positions[where, :2], axis=1)


def children(process: NodeProcess) -> set[int]:
    """Return the processes that a process has started and that still are there."""
    listed = Path(f'/proc/{process.process.pid}/task').glob('*/children')
    return {int(pid) for each in listed for pid in each.read_text().split()}


def test_it_learns_a_map_and_goes_on_from_it_after_a_kill(
    talk: Talk, start: Callable[..., NodeProcess], tmp_path: Path
) -> None:
    chosen = {
        'horizons': [0, 5, 10],
        'checkpoint_folder': tmp_path,
        'checkpoint_s': 1.0,
        'input_timeout_s': 20.0,
    }
    node = start('updater_node', **chosen)
    health = Health(talk)
    drive = Drive(talk, health)
    positions = talk.listen(PoseWithCovarianceStamped, 'adapting/position', 1000)
    learning = talk.listen(Float64MultiArray, 'adapting/learning')
    drive.send(FIRST)
    # While the drive goes on it learns beside what it filters; a training takes its time.
    while health.values.get('samples_maps', '0') == '0':
        assert drive.sent < 500 * RATE_HZ, health.values
        drive.send(2)
        talk.spin(0.2)
    assert int(health.values['samples_maps']) > 0
    assert health.values['learner'] == 'map'
    positions.clear()
    drive.send(200, positions=False)
    talk.until(lambda: len(positions) > 150, 'positions')
    assert np.median(drive.errors(positions)) < 0.1
    assert positions[-1].header.frame_id == 'map'
    names = learning[-1].layout.dim[0].label.split(',')
    told = dict(zip(names, learning[-1].data, strict=True))
    assert told['maps'] >= 1
    assert told['learned_s'] > 10.0
    written = int(health.values['checkpoints_written'])
    talk.call(Trigger, 'adapting/save')
    talk.until(lambda: int(health.values['checkpoints_written']) > written, 'a checkpoint')
    assert health.values['callback_errors'] == '0'
    beside = children(node)
    assert beside
    assert 'no map yet' not in node.said
    assert node.stop(signal.SIGKILL) == -signal.SIGKILL
    assert 'with positions from /reference: the map of the route, from nothing' in node.log()
    assert 'A newer map of the route runs: map of' in node.log()
    talk.until(
        lambda: not any(Path(f'/proc/{pid}').exists() for pid in beside), 'its training to end'
    )

    again = start('updater_node', **chosen)
    health.until_value('received', '0')
    positions.clear()
    talk.until(lambda: health.values.get('learned_laps'), 'what it goes on from')
    drive.send(400, positions=False)
    talk.until(lambda: len(positions) > 100, 'positions of the map of before')
    assert np.median(drive.errors(positions)) < 0.1
    assert again.stop(signal.SIGTERM) == 0
    assert 'resumed at ' in again.log()
