# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Models are swapped in the running filter node, over DDS, while the IMU goes on at 100 Hz."""

from __future__ import annotations

from time import monotonic
from typing import Any, TYPE_CHECKING

import numpy as np
from other_models import small_tpsr, tolerant
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from geometry_msgs.msg import PoseWithCovarianceStamped
from imu_feed import connect, messages
from nav_msgs.msg import Path as PathMessage
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from ros_talk import Health, PATIENCE_S
from std_srvs.srv import Trigger

from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.simulation.slot_car_run import run_to_recording

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rclpy.publisher import Publisher
    from ros_talk import NodeProcess, Talk

    from two_manifold_ros.simulation.slot_car_run import SlotCarRun

TICK_NS = 100_000_000
MESSAGE_S = 0.01


class Driving:
    """The IMU goes on whatever is asked of the node, at 100 messages a second."""

    def __init__(self, talk: Talk, imu: Publisher, drive: SlotCarRun) -> None:
        self._talk = talk
        self._imu = imu
        self._messages = iter(messages(drive, 3000))
        self._due = monotonic()

    def until(self, condition: Callable[[], object], what: str) -> None:
        end = monotonic() + PATIENCE_S
        while not condition():
            assert monotonic() < end, f'drove in vain until {what}'
            self._imu.publish(next(self._messages))
            self._due = max(self._due + MESSAGE_S, monotonic())
            while monotonic() < self._due:
                self._talk.spin(self._due - monotonic())

    def call(self, kind: Any, service: str, **fields: object) -> Any:  # noqa: ANN401 - generated
        """Call a service while driving on, and return its response."""
        client = self._talk.node.create_client(kind, service)
        self.until(client.service_is_ready, f'the service {service} was there')
        future = client.call_async(kind.Request(**fields))
        self.until(future.done, f'the answer of {service} came')
        return future.result()

    def name_next(self, path: Path) -> None:
        parameters = [Parameter('next_model', value=str(path)).to_parameter_msg()]
        answer = self.call(SetParameters, 'filter_node/set_parameters', parameters=parameters)
        assert answer.results[0].successful


def stamps_of(poses: list[PoseWithCovarianceStamped]) -> np.ndarray:
    stamps = [pose.header.stamp for pose in poses]
    return np.array([stamp.sec * 10**9 + stamp.nanosec for stamp in stamps])


def test_models_are_swapped_under_load(
    talk: Talk,
    start: Callable[..., NodeProcess],
    drive: SlotCarRun,
    model_path: Path,
    tmp_path: Path,
) -> None:
    other = tolerant(small_tpsr(run_to_recording(drive), (0, 5, 10, 20)))
    save_model(other, tmp_path / 'other.npz')
    (tmp_path / 'broken.npz').write_bytes(b'no model')
    node = start('filter_node', model=model_path)
    health = Health(talk)
    positions = talk.listen(PoseWithCovarianceStamped, 'position')
    paths = talk.listen(PathMessage, 'predicted_path')
    driving = Driving(talk, connect(talk, health), drive)
    assert not talk.call(Trigger, 'swap_model').success
    assert 'no earlier model' in talk.call(Trigger, 'take_back_model').message
    driving.until(lambda: len(positions) > 10, 'it tracked')

    driving.name_next(tmp_path / 'broken.npz')
    assert driving.call(Trigger, 'swap_model').success
    driving.until(lambda: health.values['swap'] == 'failed', 'the broken file was refused')
    assert health.values['swap_trouble'].startswith(f'{tmp_path / "broken.npz"}: ')
    assert (health.values['model'], health.values['swaps']) == (str(model_path), '0')

    driving.name_next(tmp_path / 'other.npz')
    assert driving.call(Trigger, 'swap_model').success
    driving.until(lambda: len(paths[-1].poses) == 4, 'the other model ran')
    driving.until(lambda: health.values['swaps'] == '1', 'diagnostics told it')
    assert health.values['model'] == str(tmp_path / 'other.npz')
    assert 'swap_trouble' not in health.values

    assert driving.call(Trigger, 'take_back_model').success
    driving.until(lambda: len(paths[-1].poses) == 3, 'the first model ran again')
    driving.until(lambda: health.values['swaps'] == '2', 'diagnostics told it')
    assert health.values['model'] == str(model_path)

    kinds = [len(path.poses) for path in paths]
    assert np.flatnonzero(np.diff(kinds)).size == 2
    gaps = np.diff(stamps_of(positions))
    assert gaps.min() > 0
    assert gaps.max() <= 2 * TICK_NS
    assert health.values['callback_errors'] == '0'
    assert node.stop() == 0
    log = node.log()
    assert f'Model {tmp_path / "other.npz"} runs in place of {model_path}' in log
    assert f'Model {model_path} runs again in place of' in log
    assert 'horizons 0, 0.5, 1, 2 s' in log
    assert 'broken.npz: the model is refused' in log
