# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters, lifecycle and models of the filter node, as a process over DDS."""

from __future__ import annotations

from time import monotonic
from typing import Any, TYPE_CHECKING, TypeAlias

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from geometry_msgs.msg import PoseWithCovarianceStamped
from imu_feed import connect, messages, send
from lifecycle_msgs.srv import ChangeState, GetState
from nav_msgs.msg import Odometry
from nav_msgs.msg import Path as PathMessage
import numpy as np
from other_models import small_tpsr, tolerant
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from ros_talk import Health, PATIENCE_S
from sensor_msgs.msg import Imu
from std_srvs.srv import Trigger

from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.simulation.slot_car_run import run_to_recording

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rcl_interfaces.msg import SetParametersResult
    from rclpy.publisher import Publisher
    from ros_talk import NodeProcess, Talk

    from two_manifold_ros.simulation.slot_car_run import SlotCarRun


Start: TypeAlias = 'Callable[..., NodeProcess]'

CONFIGURE, CLEANUP, ACTIVATE, DEACTIVATE = 1, 2, 3, 4


def test_without_a_model_it_says_so_and_takes_one_later(
    talk: Talk, start: Start, model_path: Path, tmp_path: Path
) -> None:
    broken = tmp_path / 'broken.npz'
    broken.write_bytes(b'no model')
    node = start('filter_node', model=broken)
    health = Health(talk)
    health.until(str(broken))
    assert health.level == 2
    assert change(talk, 'model', '').successful
    assert not transition(talk, CONFIGURE)
    health.until('No model is given: start with -p model:=FILE')
    assert '(ros2 lifecycle set /filter_node configure) or restarted' in health.why
    assert change(talk, 'model', str(model_path)).successful
    assert transition(talk, CONFIGURE)
    assert transition(talk, ACTIVATE)
    health.until('no IMU message on /imu')
    refusal = change(talk, 'model', 'other.npz')
    assert not refusal.successful
    assert 'takes effect only' in refusal.reason
    # Each of the two is logged once by who met it, and not warned of as well.
    published = [line for line in node.said.splitlines() if 'ros2 lifecycle set' in line]
    assert len([line for line in published if 'Over after' not in line]) == 2


def test_managed_node_waits_for_its_manager(
    talk: Talk, start: Start, drive: SlotCarRun, model_path: Path
) -> None:
    start('filter_node', model=model_path, managed='true')
    health = Health(talk)
    health.until('waiting for the lifecycle manager')
    assert state(talk) == 'unconfigured'
    # What is not possible is refused, and harms nothing.
    assert not transition(talk, ACTIVATE)
    assert not transition(talk, 99)
    assert transition(talk, CONFIGURE)
    assert not transition(talk, CONFIGURE)
    odometry, imu = talk.listen(Odometry, 'odometry'), talk.publisher(Imu, 'imu')
    good = messages(drive)
    send(talk, imu, good[:200])
    health.until('not active')
    assert odometry == []
    assert 'received' not in health.values or health.values['received'] == '0'
    assert transition(talk, ACTIVATE)
    send(talk, imu, good[200:])
    talk.until(lambda: len(odometry) >= 5, 'odometry')
    assert transition(talk, DEACTIVATE)
    before = len(odometry)
    send(talk, imu, good)
    assert transition(talk, CLEANUP)
    health.until('cleaned up')
    assert len(odometry) == before
    assert state(talk) == 'unconfigured'


def test_transform_on_request(talk: Talk, start: Start, model_path: Path) -> None:
    start('filter_node', model=model_path, publish_tf='true')
    health = Health(talk)
    try:
        import tf2_msgs.msg  # noqa: F401, PLC0415 - only whether it is there
    except ImportError:
        health.until('tf2_msgs is not installed')
    else:
        talk.until(lambda: talk.node.count_publishers('/tf'), 'a publisher of /tf')


def test_a_bad_parameter_ends_the_start_with_one_line(start: Start) -> None:
    node = start('filter_node', input_timeout_s=-1.0)
    log = node.log()
    assert node.process.returncode == 2
    assert 'Parameter input_timeout_s cannot be used' in log
    assert 'give a double, 0.05 to 60' in log
    assert 'Traceback' not in log


def change(talk: Talk, name: str, value: str) -> SetParametersResult:
    parameters = [Parameter(name, value=value).to_parameter_msg()]
    answer = talk.call(SetParameters, 'filter_node/set_parameters', parameters=parameters)
    return answer.results[0]


def transition(talk: Talk, number: int) -> bool:
    request = ChangeState.Request()
    request.transition.id = number
    answer = talk.call(ChangeState, 'filter_node/change_state', transition=request.transition)
    return bool(answer.success)


def state(talk: Talk) -> str:
    return str(talk.call(GetState, 'filter_node/get_state').current_state.label)


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
    assert not talk.call(Trigger, 'filter_node/swap_model').success
    assert 'no earlier model' in talk.call(Trigger, 'filter_node/take_back_model').message
    driving.until(lambda: len(positions) > 10, 'it tracked')

    driving.name_next(tmp_path / 'broken.npz')
    assert driving.call(Trigger, 'filter_node/swap_model').success
    driving.until(lambda: health.values['swap'] == 'failed', 'the broken file was refused')
    assert health.values['swap_trouble'].startswith(f'{tmp_path / "broken.npz"}: ')
    assert (health.values['model'], health.values['swaps']) == (str(model_path), '0')

    driving.name_next(tmp_path / 'other.npz')
    assert driving.call(Trigger, 'filter_node/swap_model').success
    driving.until(lambda: len(paths[-1].poses) == 4, 'the other model ran')
    driving.until(lambda: health.values['swaps'] == '1', 'diagnostics reported it')
    assert health.values['model'] == str(tmp_path / 'other.npz')
    assert 'swap_trouble' not in health.values

    assert driving.call(Trigger, 'filter_node/take_back_model').success
    driving.until(lambda: len(paths[-1].poses) == 3, 'the first model ran again')
    driving.until(lambda: health.values['swaps'] == '2', 'diagnostics reported it')
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
