# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Subscribers that want too much, or do not listen; files that change; a clock that jumps."""

from pathlib import Path
import signal
from time import monotonic

from geometry_msgs.msg import PoseWithCovarianceStamped
from machine import Machine
from raw_imu import raw_imu
from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy
from ros_talk import Health, Talk
from sensor_msgs.msg import Imu
from served_node import ServedNode
from std_srvs.srv import Trigger

from two_manifold_ros.filtering.status import Status
from two_manifold_ros.interface.session import Session
from two_manifold_ros.model.model_file import load_model, save_model

HANGING = """
import rclpy
from geometry_msgs.msg import PoseWithCovarianceStamped
rclpy.init()
node = rclpy.create_node('hanging')
node.create_subscription(PoseWithCovarianceStamped, 'position', lambda _: None, 10)
rclpy.spin(node)
"""

DURABLE = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
PROMPT = QoSProfile(depth=10, deadline=Duration(seconds=0.01))
OFFERS = (
    QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT, deadline=Duration(seconds=9)),
    QoSProfile(
        depth=1,
        durability=DurabilityPolicy.TRANSIENT_LOCAL,
        liveliness=LivelinessPolicy.MANUAL_BY_TOPIC,
        liveliness_lease_duration=Duration(seconds=1),
    ),
)

MOST_GROWTH_KB = 4_000


def on_the_wire(machine: Machine) -> tuple[float, ...]:
    """Drive one node through all of it."""
    given, machine.model = machine.model, machine.folder / 'model.npz'
    machine.model.write_bytes(given.read_bytes())
    served, talk = machine.served(), machine.talk()
    # It hears an IMU whatever its publisher offers.
    for quality in OFFERS:
        talk.node.destroy_publisher(talk.publisher(Imu, 'imu', quality))
    reported_s = _asks_for_more(served, talk)
    machine.follow(served, 0.0, 5.0)
    _hangs(served, talk, machine)
    _changes_file(served, talk, machine, given)
    return reported_s, 0.0, 0.0


def _asks_for_more(served: ServedNode, talk: Talk) -> float:
    """Subscribe with qualities that no publisher offers, and return when it was reported."""
    longest_s = 0.0
    for policy, quality in {'DURABILITY': DURABLE, 'DEADLINE': PROMPT}.items():
        begin_s = monotonic()
        talk.node.create_subscription(PoseWithCovarianceStamped, 'position', _fail, quality)
        words = f'No messages will be sent to it. Last incompatible policy: {policy}'
        talk.until(lambda words=words: words in served.process.said, words)
        longest_s = max(longest_s, monotonic() - begin_s)
    return longest_s


def _fail(message: PoseWithCovarianceStamped) -> None:
    msg = f'heard {message}'
    raise AssertionError(msg)


def _hangs(served: ServedNode, talk: Talk, machine: Machine) -> None:
    """Stop a subscriber as a debugger does, and drive on."""
    before = talk.node.count_subscribers('position')
    hanging = machine.python(HANGING)
    talk.until(lambda: talk.node.count_subscribers('position') > before, 'the subscriber')
    machine.follow(served, 5.0, 10.0)
    hanging.process.send_signal(signal.SIGSTOP)
    before_kb, estimates = _resident_kb(served), len(served.estimates)
    machine.follow(served, 10.0, 30.0)
    assert len(served.estimates) - estimates == 200
    assert _resident_kb(served) - before_kb < MOST_GROWTH_KB


def _resident_kb(served: ServedNode) -> int:
    status = Path(f'/proc/{served.process.process.pid}/status').read_text()
    (line,) = (line for line in status.splitlines() if line.startswith('VmRSS:'))
    return int(line.split()[1])


def _changes_file(served: ServedNode, talk: Talk, machine: Machine, given: Path) -> None:
    """Overwrite, replace and delete the file of the model that runs."""
    health = Health(talk)
    assert talk.change('filter_node', 'next_model', str(machine.model)).successful

    machine.model.write_bytes(b'overwritten')
    assert talk.call(Trigger, 'filter_node/swap_model').success
    health.until_value('swap', 'failed')
    assert str(machine.model) in health.values['swap_trouble']
    machine.follow(served, 30.0, 31.0)

    save_model(load_model(given), machine.model)
    assert talk.call(Trigger, 'filter_node/swap_model').success
    machine.follow(served, 31.0, 36.0)
    health.until_value('swaps', '1')

    machine.model.unlink()
    answer = talk.call(Trigger, 'filter_node/swap_model')
    assert not answer.success
    assert f'{machine.model}: there is no such file' in answer.message
    machine.follow(served, 36.0, 37.0)


def clock_jumps(machine: Machine) -> tuple[float, ...]:
    """Let the clock that stamps arriving messages jump."""
    drive, now_ns = machine.drive, [0]
    session = Session(load_model(machine.model), lambda: now_ns[0])
    said: list[str] = []
    for begin_s, jump_s in ((0.0, 0), (6.0, 30), (12.0, -30)):
        for sample in drive.between(begin_s, begin_s + 6.0):
            now_ns[0] = sample.stamp_ns + jump_s * 10**9
            session.take(raw_imu(sample.stamp_ns, sample.values))
            if [session.filter.cause] != said[-1:]:
                said.append(session.filter.cause)
        assert session.filter.status is Status.TRACKING, session.filter.why
    counts = session.counts()
    assert (counts['gaps'], counts['resets']) == (1, 2), counts
    assert said.count('filling') == 3, said
    return (0.0,)
