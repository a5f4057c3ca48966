# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""An updater node makes a filter node run what it has learned, over DDS, while both are fed."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

import numpy as np
from other_models import small_tpsr, tolerant
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from ros_talk import PATIENCE_S
from sensor_msgs.msg import Imu
from std_msgs.msg import Float64MultiArray

from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.nodes.publishing import to_message
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import (
    imu_message,
    reference_message,
    run_to_recording,
    simulate,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ros_talk import NodeProcess, Talk

TICK_NS = 100_000_000
SAMPLE_S = 0.1
SPEED = 15.0
"""Stamps run so many times faster than the clock: every block of the contest is 5 s of them."""

HORIZONS = (0, 5, 10)
LEARNING = {
    'learner': 'tpsr',
    'horizons': list(HORIZONS),
    'reference_type': 'geometry_msgs/msg/PoseStamped',
}


class Words:
    """What each node told about itself last."""

    def __init__(self, talk: Talk) -> None:
        self._messages = talk.listen(DiagnosticArray, 'diagnostics')

    def of(self, name: str, key: str) -> str:
        for message in reversed(self._messages):
            if message.status[0].name == name:
                return {each.key: each.value for each in message.status[0].values}.get(key, '')
        return ''


class Lap:
    """The slot car goes on whatever happens, and its camera may be moved."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._run = simulate(SlotCarSettings(seed=6, rate_hz=1.0 / SAMPLE_S), laps=200)
        self._sent = 0
        self._due = monotonic()
        self._imu = talk.publisher(Imu, 'imu')
        self._reference = talk.publisher(PoseStamped, 'reference')
        self.moved = np.zeros(3)

    def until(self, condition: Callable[[], object], what: str) -> None:
        end = monotonic() + PATIENCE_S
        while not condition():
            assert monotonic() < end, f'drove in vain until {what}'
            self._step()
            self._due = max(self._due + SAMPLE_S / SPEED, monotonic())
            self._talk.spin()
            while monotonic() < self._due:
                self._talk.spin(self._due - monotonic())

    def _step(self) -> None:
        index = self._sent
        run, stamp = self._run, int(self._run.stamps_ns[index])
        imu = imu_message(stamp, run.imu[index], np.zeros(6))
        self._imu.publish(to_message('sensor_msgs/msg/Imu', imu))
        if index % 2 == 0:
            seen = reference_message(stamp, run.positions[index] + self.moved, run.quaternions[0])
            self._reference.publish(to_message('geometry_msgs/msg/PoseStamped', seen))
        self._sent += 1


def stamps_of(poses: list[PoseWithCovarianceStamped]) -> np.ndarray:
    stamps = [pose.header.stamp for pose in poses]
    return np.array([stamp.sec * 10**9 + stamp.nanosec for stamp in stamps])


def gaps_at_swaps(states: list[Float64MultiArray]) -> list[float]:
    """Return nanoseconds between the last estimate of a model and the first one of the next."""
    seconds, nanoseconds = np.array([state.data[:2] for state in states]).T
    sizes = np.array([len(state.data) for state in states])
    gaps = 1e9 * np.diff(seconds) + np.diff(nanoseconds)
    return [float(gap) for gap in gaps[np.diff(sizes) != 0]]


@pytest.fixture
def old_model(tmp_path: Path) -> Path:
    """Return a model of the track that finds nothing strange, so that it is never silent."""
    recording = run_to_recording(simulate(SlotCarSettings(seed=5, rate_hz=20.0), laps=4))
    path = tmp_path / 'old.npz'
    save_model(tolerant(small_tpsr(recording, HORIZONS)), path)
    return path


def test_a_better_model_is_handed_over_and_taken_back_when_it_is_worse(
    talk: Talk, start: Callable[..., NodeProcess], old_model: Path, tmp_path: Path
) -> None:
    """
    The camera is moved twice, and each time one of the two models is wrong by as much.

    First the one that was trained before: the updater learns where things are now. When the
    camera is put back, what it has handed over is wrong.
    """
    filter_node = start('filter_node', model=old_model)
    updater = start(
        'updater_node', filter_node='filter_node', checkpoint_folder=tmp_path, **LEARNING
    )
    words = Words(talk)
    positions = talk.listen(PoseWithCovarianceStamped, 'position', 1000)
    states = talk.listen(Float64MultiArray, 'latent_state', 1000)
    lap = Lap(talk)
    lap.moved = np.array([3.0, 0.0, 0.0])
    lap.until(lambda: words.of('filter_node', 'swaps') == '1', 'a better model was handed over')
    assert words.of('filter_node', 'model') == str(tmp_path / 'updater.model.000001.npz')
    lap.moved = np.zeros(3)
    lap.until(lambda: words.of('filter_node', 'swaps') == '2', 'it was taken back')
    assert words.of('filter_node', 'model') == str(old_model)
    # Diagnostics tell of it at once, before its first estimate.
    lap.until(lambda: len(gaps_at_swaps(states)) == 2, 'it was heard again')

    assert np.diff(stamps_of(positions)).min() > 0
    # The old model is never silent. The other one, when it is taken back, may just find something
    # unfamiliar; the old one then takes over at once, and fills its window in view.
    assert gaps_at_swaps(states)[0] <= 2 * TICK_NS
    for name in ('filter_node', 'updater_node'):
        assert words.of(name, 'callback_errors') == '0'
    assert updater.stop() == 0
    assert 'Verdict: take back' in updater.log()
    assert filter_node.stop() == 0
    assert 'runs again in place of' in filter_node.log()
