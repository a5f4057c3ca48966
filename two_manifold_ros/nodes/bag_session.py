# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Play a bag onto live topics, listen to all nodes, record their answers."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.utilities import ok, try_shutdown

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.topics import DIAGNOSTICS, IMU, POSITION, STATUS, TOPICS
from two_manifold_ros.nodes.publishing import message_class, quality
from two_manifold_ros.nodes.running import begin

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Hear = Callable[[str, int, str, Mapping[str, str]], object]
    from collections.abc import Callable, Sequence

    from two_manifold_ros.recordings.bag_writer import BagWriter


LOOK_S = 0.5


def listen(hear: Hear, look: Callable[[], object], seconds: float) -> None:
    """
    Listen for some time, or until a signal ends the process.

    Parameters
    ----------
    hear
        Called with name, level, message and values of every word of diagnostics.
    look
        Called twice a second.
    seconds
        How long; 0 for ever.

    """
    begin([])
    executor = SingleThreadedExecutor()
    try:
        ears = _Ears(hear)
        executor.add_node(ears)
        begun_s = monotonic()
        looked_s = begun_s - LOOK_S
        while not seconds or monotonic() - begun_s < seconds:
            if monotonic() - looked_s >= LOOK_S:
                looked_s = monotonic()
                ears.find()
                look()
            executor.spin_once(timeout_sec=0.1)
    finally:
        executor.shutdown()
        try_shutdown()


class _Ears(Node):
    def __init__(self, hear: Hear) -> None:
        super().__init__('two_manifold_status', start_parameter_services=False)
        self._hear = hear
        self._topics: set[str] = set()

    def find(self) -> None:
        """Subscribe the topics that are new."""
        for topic, kinds in self.get_topic_names_and_types():
            if DIAGNOSTICS.msgtype in kinds and topic not in self._topics:
                self._topics.add(topic)
                self.create_subscription(
                    DiagnosticArray, topic, self._on_message, quality(DIAGNOSTICS)
                )

    def _on_message(self, message: DiagnosticArray) -> None:
        for status in message.status:
            values = {each.key: each.value for each in status.values}
            self._hear(status.name, ord(status.level), status.message, values)


MATCHING_TIMEOUT_S = 60.0
DRAINING_S = 0.5
ANSWERS_WAITING = 1000
"""Messages of a topic that may wait to be recorded while the machine is busy."""

AHEAD = 200
"""IMU messages played that the filter may not have taken yet: no more answers than it keeps."""

STALL_S = 10.0
"""How long a filter that takes nothing is waited for."""


@dataclass(frozen=True)
class Timed:
    """A serialised message and when it was recorded, ns."""

    stamp_ns: int
    raw: bytes


def play_and_record(
    bag: BagWriter,
    messages: Sequence[Timed],
    speed: float,
    alive: Callable[[], bool],
    progress: Callable[[float], None],
) -> dict[str, int]:
    """
    Play IMU messages to a running filter node and record its topics.

    Parameters
    ----------
    bag
        Open bag that everything received is written to.
    messages
        At least one, in order.
    speed
        Times real time.
    alive
        Whether the node still runs.
    progress
        Called with the share played.

    Returns
    -------
    dict
        How many messages of each topic were received.

    Raises
    ------
    InputError
        If the node ended or did not appear in time.

    """
    begin([])
    try:
        session = BagSession(bag)
        session.wait_for_filter(messages[0].raw, alive)
        session.play(messages, speed, progress)
        session.end()
    finally:
        try_shutdown()
    return session.received


class BagSession(Node):
    """
    A node that plays and records at once.

    Parameters
    ----------
    bag
        Open bag that everything received is written to.

    """

    def __init__(self, bag: BagWriter) -> None:
        super().__init__('bag_session')
        self.received: dict[str, int] = {}
        self._bag = bag
        self._now_ns = 0
        self._heard = False
        self._taken = 0.0
        reliable = QoSProfile(depth=IMU.depth, reliability=ReliabilityPolicy.RELIABLE)
        self._imu = self.create_publisher(message_class(IMU.msgtype), IMU.name, reliable)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self)
        for topic in TOPICS.values():
            self.create_subscription(
                message_class(topic.msgtype),
                topic.name,
                self._recorder(topic.name, topic.msgtype),
                _patient(quality(topic)),
                raw=True,
            )

    def wait_for_filter(self, first: bytes, alive: Callable[[], bool]) -> None:
        """
        Wait until the filter node says that it hears the IMU, and all of its topics are heard.

        That our publisher has found a reader does not mean that the reader has found us, and a
        best-effort reader loses what is sent before. So the first message is sent until the node
        counts it in its diagnostics; it drops the copies as duplicates.

        Raises
        ------
        InputError
            If the node ended or did not appear in time.

        """
        deadline = monotonic() + MATCHING_TIMEOUT_S
        while not (self._heard and all(self.count_publishers(name) for name in TOPICS)):
            if not alive():
                msg = 'the filter node ended before it was ready; its log is above'
                raise InputError(msg)
            if monotonic() > deadline:
                msg = (
                    f'the filter node was not found on the network within '
                    f'{MATCHING_TIMEOUT_S:.0f} s; is the loopback interface up?'
                )
                raise InputError(msg)
            if self._imu.get_subscription_count():
                self._imu.publish(first)
            self._spin_until(monotonic() + 0.1)

    def play(
        self, messages: Sequence[Timed], speed: float, progress: Callable[[float], None]
    ) -> None:
        """
        Publish the messages at the pace of their stamps times ``speed``, recording answers.

        On a busy machine it takes longer: what is late is not made up for, because messages in a
        rush are lost, and a filter that has fallen behind is waited for.
        """
        self._now_ns, due = messages[0].stamp_ns, monotonic()
        before = self._taken
        for index, message in enumerate(messages):
            due = max(due + (message.stamp_ns - self._now_ns) * 1e-9 / speed, monotonic())
            self._spin_until(due)
            self._wait_until_taken(before + index - AHEAD + 1)
            self._now_ns = message.stamp_ns
            self._imu.publish(message.raw)
            if index % 100 == 0:
                progress(index / len(messages))
        self._wait_until_taken(before + len(messages))
        answered = -1
        while answered != self.received.get(POSITION.name, 0):
            answered = self.received.get(POSITION.name, 0)
            self._spin_until(monotonic() + DRAINING_S)

    def end(self) -> None:
        """Stop listening."""
        self._executor.shutdown()
        self.destroy_node()

    def _wait_until_taken(self, count: float) -> None:
        """Wait until the filter has taken so many messages, or takes none for ``STALL_S``."""
        taken, given_up = self._taken, monotonic() + STALL_S
        while self._taken < count and monotonic() < given_up:
            self._spin_until(monotonic() + 0.01)
            if self._taken > taken:
                taken, given_up = self._taken, monotonic() + STALL_S

    def _spin_until(self, due: float) -> None:
        while ok():
            left = due - monotonic()
            self._executor.spin_once(timeout_sec=max(left, 0.0))
            if left <= 0.0:
                return

    def _recorder(self, name: str, msgtype: str) -> Callable[[bytes], None]:
        def record(raw: bytes) -> None:
            self._bag.write_raw(f'/{name}', msgtype, self._now_ns, raw)
            self.received[name] = self.received.get(name, 0) + 1
            if name == DIAGNOSTICS.name and not self._heard:
                report = deserialize_message(raw, message_class(msgtype))
                values = {each.key: each.value for each in report.status[0].values}
                self._heard = values.get('received', '0') != '0'
            if name == STATUS.name:
                report = deserialize_message(raw, message_class(msgtype))
                names = report.layout.dim[0].label.split(',')
                self._taken = report.data[names.index('received')]

        return record


def _patient(quality: QoSProfile) -> QoSProfile:
    quality.depth = ANSWERS_WAITING
    return quality
