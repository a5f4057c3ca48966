# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter node's parameters and lifecycle, as a process over DDS."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from imu_feed import messages, send
from lifecycle_msgs.srv import ChangeState, GetState
from nav_msgs.msg import Odometry
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from ros_talk import Health
from sensor_msgs.msg import Imu

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rcl_interfaces.msg import SetParametersResult
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
    assert '(ros2 lifecycle set /filter_node configure) or started anew' in health.why
    assert change(talk, 'model', str(model_path)).successful
    assert transition(talk, CONFIGURE)
    assert transition(talk, ACTIVATE)
    health.until('no IMU message on /imu')
    refusal = change(talk, 'model', 'other.npz')
    assert not refusal.successful
    assert 'takes effect only' in refusal.reason
    # Each of the two is logged once by who met it, and not warned of as well.
    told = [line for line in node.said.splitlines() if 'ros2 lifecycle set' in line]
    assert len([line for line in told if 'Over after' not in line]) == 2


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
