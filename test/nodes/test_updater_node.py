# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The updater as a process: it learns over DDS, and what it learned outlives it."""

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

from two_manifold_ros.nodes.publishing import to_message
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import imu_message, reference_message, simulate

if TYPE_CHECKING:
    from collections.abc import Callable

    from ros_talk import NodeProcess, Talk

RATE_HZ = 20
FIRST = 40 * RATE_HZ
"""Samples of the first four laps; a training lasts for as long as the machine takes."""


USUAL_M = {'map': 0.1, 'tpsr': 0.3}
"""Median error of a position with models of a few laps; that of the mean position is 1.5 m."""


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

    def send_until(self, condition: Callable[[], bool], most: int, *, positions: bool) -> None:
        """Send samples until the condition holds, so many at most."""
        began = self.sent
        while not condition():
            assert self.sent - began < most, 'sent in vain'
            self.send(2, positions=positions)
            self._talk.spin(0.02)

    def errors(self, told: list[PoseWithCovarianceStamped]) -> np.ndarray:
        stamps = [each.header.stamp.sec * 10**9 + each.header.stamp.nanosec for each in told]
        places = [[each.pose.pose.position.x, each.pose.pose.position.y] for each in told]
        where = np.searchsorted(self._run.stamps_ns, stamps)
        return np.linalg.norm(np.array(places) - self._run.positions[where, :2], axis=1)


def children(process: NodeProcess) -> set[int]:
    """Return the processes that a process has started and that still are there."""
    listed = Path(f'/proc/{process.process.pid}/task').glob('*/children')
    return {int(pid) for each in listed for pid in each.read_text().split()}


@pytest.mark.parametrize('learner', ['map', 'tpsr'])
def test_it_learns_and_goes_on_from_what_it_has_learned_after_a_kill(
    talk: Talk, start: Callable[..., NodeProcess], tmp_path: Path, learner: str
) -> None:
    chosen = {
        'learner': learner,
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
    def erred() -> float:
        return float(health.values.get('error_m', 'nan')) / float(
            health.values.get('mean_error_m', 'nan')
        )

    while not erred() < 0.2:
        assert drive.sent < 500 * RATE_HZ, health.values
        drive.send(2)
        talk.spin(0.2)
    assert int(health.values['samples_models']) > 0
    assert health.values['learner'] == learner
    positions.clear()
    drive.send(400, positions=False)
    talk.until(lambda: len(positions) > 120, 'positions')
    assert np.median(drive.errors(positions)) < USUAL_M[learner]
    assert positions[-1].header.frame_id == 'map'
    names = learning[-1].layout.dim[0].label.split(',')
    told = dict(zip(names, learning[-1].data, strict=True))
    assert told['models'] >= 1
    assert told['learned_s'] > 10.0
    written = int(health.values['checkpoints_written'])
    talk.call(Trigger, 'adapting/save')
    talk.until(lambda: int(health.values['checkpoints_written']) > written, 'a checkpoint')
    assert health.values['callback_errors'] == '0'
    beside = children(node)
    assert beside
    assert 'no model yet' not in node.said
    assert node.stop(signal.SIGKILL) == -signal.SIGKILL
    what = {'map': 'the map of the route', 'tpsr': 'a TPSR'}[learner]
    assert f'with positions from /reference: {what}' in node.log()
    assert 'A newer model runs: model of' in node.log()
    talk.until(
        lambda: not any(Path(f'/proc/{pid}').exists() for pid in beside), 'its training to end'
    )

    again = start('updater_node', **chosen)
    health.until_value('received', '0')
    positions.clear()
    talk.until(lambda: health.values.get('learned_laps'), 'what it goes on from')
    # Without positions, so that it can have learned nothing since.
    drive.send_until(lambda: len(positions) > 100, 60 * RATE_HZ, positions=False)
    assert np.median(drive.errors(positions)) < USUAL_M[learner]
    forgot = [talk.call(Trigger, 'adapting/forget').success]
    talk.until(lambda: health.values['samples_models'] == '0', 'what was learned to be forgotten')
    assert forgot == [True]
    assert again.stop(signal.SIGTERM) == 0
    assert 'resumed at ' in again.log()
    # Nothing half-written is left.
    assert all(each.name.count('.') == 2 for each in tmp_path.glob('*.npz*'))
