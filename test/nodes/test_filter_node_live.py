# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter node as a process, over DDS."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING, TypeAlias

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from lifecycle_msgs.srv import ChangeState, GetState
from nav_msgs.msg import Odometry
from nav_msgs.msg import Path as PathMessage
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message, serialize_message
from ros_talk import Health
from sensor_msgs.msg import Imu
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from visualization_msgs.msg import MarkerArray

from two_manifold_ros.acceleration import HAVE_NUMBA
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.nodes.translating import to_message
from two_manifold_ros.outputs.frames import choose_frames
from two_manifold_ros.outputs.messages import messages_of
from two_manifold_ros.simulation.slot_car_messages import imu_message

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rcl_interfaces.msg import SetParametersResult
    from rclpy.publisher import Publisher
    from ros_talk import NodeProcess, Talk

    from two_manifold_ros.simulation.slot_car_run import SlotCarRun


Start: TypeAlias = 'Callable[..., NodeProcess]'

SAMPLES = 400
ESTIMATES = 60
"""Eighty ticks of five samples, of which the first twenty fill the window."""
CONFIGURE, CLEANUP, ACTIVATE, DEACTIVATE = 1, 2, 3, 4


def messages(drive: SlotCarRun, count: int = SAMPLES) -> list[Imu]:
    """Return the last samples of a drive."""
    stamps, samples = drive.stamps_ns[-count:].tolist(), drive.imu[-count:]
    return [
        to_message('sensor_msgs/msg/Imu', imu_message(stamp, sample, np.zeros(6)))
        for stamp, sample in zip(stamps, samples, strict=True)
    ]


def send(talk: Talk, publisher: Publisher, drive: list[Imu]) -> None:
    """Publish quickly, but never more at once than fits into the queues."""
    for message in drive:
        publisher.publish(message)
        talk.spin(0.0005)


def connect(talk: Talk, health: Health) -> Publisher:
    """Return a publisher of imu from which the node has heard already.

    That our side has matched says nothing about the node's side, and a sample that is sent before
    is lost. The probes lie so far back that the filter starts anew after them.
    """
    publisher = talk.publisher(Imu, 'imu')
    probe = Imu()
    probe.header.stamp.sec = 1_000_000
    probe.linear_acceleration.z = 9.81

    def heard() -> bool:
        probe.header.stamp.nanosec += 1_000_000
        publisher.publish(probe)
        return int(health.values.get('received', 0)) > 0

    health.clear()
    talk.until(heard, 'the first IMU message to arrive')
    return publisher


def expected(drive: SlotCarRun, path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return what replaying the same samples offline would publish."""
    model = load_model(path)
    machine, frames = Filter(model), choose_frames(model)
    published: dict[str, list[dict[str, Any]]] = {}
    stamps, samples = drive.stamps_ns[-SAMPLES:].tolist(), drive.imu[-SAMPLES:]
    for stamp, sample in zip(stamps, samples, strict=True):
        for estimate in machine.push(stamp, sample):
            for topic, _, message in messages_of(estimate, model, frames):
                published.setdefault(topic, []).append(message)
    return published


def over_the_wire(kind: type, name: str, fields: dict[str, Any]) -> object:
    """Return a message as it arrives: colours have single precision."""
    return deserialize_message(serialize_message(to_message(name, fields)), kind)


def test_publishes_exactly_what_replay_computes(
    talk: Talk,
    start: Start,
    drive: SlotCarRun,
    model_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Both sides have to compute alike: compiled, where that is possible.
    monkeypatch.setenv('TWO_MANIFOLD_NUMBA', str(int(HAVE_NUMBA)))
    start('filter_node', model=model_path)
    health = Health(talk)
    kinds = {
        'position': PoseWithCovarianceStamped,
        'odometry': Odometry,
        'predicted_path': PathMessage,
        'latent_state': Float64MultiArray,
        'markers': MarkerArray,
    }
    heard = {topic: talk.listen(kind, topic) for topic, kind in kinds.items()}
    imu = connect(talk, health)
    send(talk, imu, messages(drive))
    wanted = expected(drive, model_path)
    for topic, kind in kinds.items():
        name = f'{kind.__module__.split(".")[0]}/msg/{kind.__name__}'
        all_wanted = [over_the_wire(kind, name, each) for each in wanted[topic]]
        got = heard[topic]
        talk.until(lambda got=got, last=all_wanted[-1]: got and got[-1] == last, topic)
        # The node may have found our subscription only after its first messages.
        assert got == all_wanted[-len(got) :]
        assert len(got) > ESTIMATES / 2
    assert len(wanted['position']) == ESTIMATES


def test_faulty_messages_are_counted_and_harmless(
    talk: Talk, start: Start, drive: SlotCarRun, model_path: Path
) -> None:
    node = start('filter_node', model=model_path, input_timeout_s=60.0)
    health, odometry = Health(talk), talk.listen(Odometry, 'odometry')
    imu = connect(talk, health)
    good = messages(drive)
    send(talk, imu, good[:100])
    for garbage in (b'\x00', b'\x00\x01\x00\x00' + b'\xff' * 400, b'\x07\x07' * 200):
        imu.publish(garbage)
    faulty = messages(drive)[100:104]
    faulty[0].linear_acceleration.x = float('nan')
    faulty[1].angular_velocity.z = float('inf')
    faulty[2].header.stamp.sec = faulty[2].header.stamp.nanosec = 0
    faulty[3].linear_acceleration.y = 1e30
    send(talk, imu, [*faulty, good[99], *good[100:]])
    health.until_value('published', str(ESTIMATES))
    values = health.values
    assert health.why == 'tracking'
    assert values['malformed'] == '3'
    assert values['non_finite'] == '2'
    assert values['out_of_range'] == values['zero_stamp'] == values['duplicate_stamp'] == '1'
    assert values['callback_errors'] == '0'
    # A bag that is played again: time goes back by seconds.
    send(talk, imu, good)
    health.until_value('published', str(2 * ESTIMATES))
    assert int(health.values['resets']) == int(values['resets']) + 1
    assert node.alive
    numbers = [each.pose.covariance for each in odometry]
    assert np.isfinite(numbers).all()


def test_reset_and_enable(talk: Talk, start: Start, drive: SlotCarRun, model_path: Path) -> None:
    start('filter_node', model=model_path, input_timeout_s=60.0)
    health = Health(talk)
    health.until('waiting for the first IMU message on /imu')
    imu = connect(talk, health)
    good = messages(drive)
    send(talk, imu, good[:150])
    health.until_value('published', '10')
    assert talk.call(Trigger, 'reset').success
    send(talk, imu, good[150:200])
    health.until('filling the first window')
    assert talk.call(SetBool, 'enable', data=False).success
    health.until('disabled by the service enable')
    send(talk, imu, good[200:350])
    assert talk.call(SetBool, 'enable', data=True).success
    send(talk, imu, good[350:])
    health.until('filling the first window: 9 of 20 ticks')
    assert health.values['published'] == '10'


def test_without_a_model_it_says_so_and_takes_one_later(
    talk: Talk, start: Start, model_path: Path, tmp_path: Path
) -> None:
    broken = tmp_path / 'broken.npz'
    broken.write_bytes(b'no model')
    start('filter_node', model=broken)
    health = Health(talk)
    health.until(str(broken))
    assert health.level == 2
    assert change(talk, 'model', '').successful
    assert not transition(talk, CONFIGURE)
    health.until('No model is given: set the parameter model')
    assert change(talk, 'model', str(model_path)).successful
    assert transition(talk, CONFIGURE)
    assert transition(talk, ACTIVATE)
    health.until('no IMU message on /imu')
    refusal = change(talk, 'model', 'other.npz')
    assert not refusal.successful
    assert 'takes effect only' in refusal.reason


def test_managed_node_waits_for_its_manager(
    talk: Talk, start: Start, drive: SlotCarRun, model_path: Path
) -> None:
    start('filter_node', model=model_path, managed='true')
    health = Health(talk)
    health.until('waiting for the lifecycle manager')
    assert state(talk) == 'unconfigured'
    assert transition(talk, CONFIGURE)
    odometry, imu = talk.listen(Odometry, 'odometry'), talk.publisher(Imu, 'imu')
    good = messages(drive)
    send(talk, imu, good[:200])
    health.until('not active')
    assert odometry == []
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


def test_silence_and_wrong_types_have_a_reason(
    talk: Talk, start: Start, drive: SlotCarRun, model_path: Path
) -> None:
    start('filter_node', '-r', 'imu:=driver/data', model=model_path, input_timeout_s=0.3)
    health = Health(talk)
    health.until('nobody publishes it; remap imu')
    wrong = talk.node.create_publisher(PoseStamped, 'driver/data', 1)
    health.until('published as geometry_msgs/msg/PoseStamped, not as sensor_msgs/msg/Imu')
    talk.node.destroy_publisher(wrong)
    imu = talk.publisher(Imu, 'driver/data')
    health.until('its publisher is there but silent')
    assert health.level == 2
    send(talk, imu, messages(drive, 10))
    health.until('no IMU message on /driver/data for')


def test_frames_and_receive_time(
    talk: Talk, start: Start, drive: SlotCarRun, model_path: Path
) -> None:
    start(
        'filter_node',
        model=model_path,
        track_frame='world',
        child_frame='car',
        use_receive_time='true',
    )
    odometry, imu = talk.listen(Odometry, 'odometry'), talk.publisher(Imu, 'imu')
    begin = talk.node.get_clock().now().nanoseconds
    unstamped = messages(drive, 1)[0]
    unstamped.header.stamp.sec = unstamped.header.stamp.nanosec = 0

    def heard() -> bool:
        imu.publish(unstamped)
        return bool(odometry)

    talk.until(heard, 'odometry')
    header = odometry[0].header
    assert header.stamp.sec * 10**9 + header.stamp.nanosec > begin
    assert (header.frame_id, odometry[0].child_frame_id) == ('world', 'car')


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
