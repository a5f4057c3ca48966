# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Play a bag onto live topics, record the answers, and listen to all nodes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
import math
from time import monotonic
from typing import TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.utilities import ok, try_shutdown

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.messages import PUBLISHED, ROUTED, Topics
from two_manifold_ros.nodes.callbacks import find_publishers, qos
from two_manifold_ros.nodes.running import start_middleware
from two_manifold_ros.recordings.ros_messages import message_class

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from two_manifold_ros.recordings.bag_writer import BagWriter


DISCOVERY_S = 3.0
"""Time to wait for publishers; on a network that needs longer, no node is heard."""
SETTLED_S = 1.0
"""All publishers are taken to be discovered if no other one was for so long."""


def listen(
    hear: Callable[[str, int, str, Mapping[str, str], int], object],
    refresh: Callable[[], object],
    seconds: float | None,
    done: Callable[[], bool],
) -> None:
    """
    Listen to all diagnostics for some time, or until a signal ends the process.

    Parameters
    ----------
    hear
        Called with name, level, message and values of every status of diagnostics, and with the
        number of nodes of this name that publish diagnostics.
    refresh
        Called twice a second.
    seconds
        Seconds to listen after all publishers were discovered; ``None`` for ever.
    done
        Whether enough was heard.

    """
    nodes: Counter[str] = Counter()

    def on_message(message: DiagnosticArray) -> None:
        for status in message.status:
            values = {each.key: each.value for each in status.values}
            count = max(nodes[status.name], 1)
            hear(status.name, ord(status.level), status.message, values, count)

    start_middleware([])
    executor = SingleThreadedExecutor()
    topics: set[str] = set()
    known = 0
    try:
        node = Node('two_manifold_status', start_parameter_services=False)
        executor.add_node(node)
        refreshed_s = -math.inf
        # When all publishers are discovered, as far as is known by now.
        from_s = monotonic() + DISCOVERY_S
        # Before all are discovered it may be the others that are awaited.
        while not (monotonic() >= from_s and done()) and (
            seconds is None or monotonic() - from_s < seconds
        ):
            if monotonic() - refreshed_s >= 0.5:
                refreshed_s = monotonic()
                for topic, kinds in node.get_topic_names_and_types():
                    if Topics.DIAGNOSTICS.msgtype in kinds and topic not in topics:
                        topics.add(topic)
                        node.create_subscription(
                            DiagnosticArray, topic, on_message, qos(Topics.DIAGNOSTICS)
                        )
                publishers = [each for topic in topics for each in find_publishers(node, topic)]
                nodes = Counter(each.node.lstrip('/') for each in publishers)
                if len(publishers) > known:
                    known, from_s = len(publishers), monotonic() + SETTLED_S
                refresh()
            executor.spin_once(timeout_sec=0.1)
    finally:
        executor.shutdown()
        try_shutdown()


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
    messages, speed
        At least two messages, in order, and the speed times real time.
    alive, progress
        Returns whether the filter node still runs; called with the share played.

    Returns
    -------
    dict
        How many messages of each topic were received.

    Raises
    ------
    InputError
        If the node ended or did not appear in time.

    """
    start_middleware([])
    try:
        session = BagSession(bag)
        session.wait_for_filter(messages[0].raw, alive)
        # The first one is there.
        session.play(messages[1:], speed, progress)
        session.end()
    finally:
        try_shutdown()
    return session.received


class BagSession(Node):
    """A node that plays, and records what it receives into an open bag."""

    def __init__(self, bag: BagWriter) -> None:
        super().__init__('bag_session')
        self.received: dict[str, int] = {}
        self._bag = bag
        self._now_ns = 0
        self._heard = False
        self._taken = 0.0
        imu = Topics.IMU
        reliable = QoSProfile(depth=imu.depth, reliability=ReliabilityPolicy.RELIABLE)
        self._imu = self.create_publisher(message_class(imu.msgtype), imu.name, reliable)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self)
        for topic in PUBLISHED.values():
            patient = qos(topic)
            # Messages may wait to be recorded while the machine is busy.
            patient.depth = imu.depth
            self.create_subscription(
                message_class(topic.msgtype),
                topic.address,
                self._recorder(topic.name, topic.msgtype),
                patient,
                raw=True,
            )

    def wait_for_filter(
        self, first: bytes, alive: Callable[[], bool], timeout_s: float = 60.0
    ) -> None:
        """
        Wait until the filter node hears the IMU, and all of its topics are heard.

        That our publisher has found a reader does not mean that the reader has found us, and a
        best-effort reader loses what is sent before. So the first message is sent again where the
        diagnostics of the node, which come once a second, do not count it; a copy too many is
        dropped as a duplicate.

        Raises
        ------
        InputError
            If the node ended or did not appear in time.

        """
        deadline = monotonic() + timeout_s
        due_s = 0.0
        # A model of one route has none of those of several.
        outputs = [topic.address for topic in PUBLISHED.values() if topic not in ROUTED]
        while not (self._heard and all(map(self.count_publishers, outputs))):
            if not alive():
                msg = 'the filter node ended before it was ready; its log is above'
                raise InputError(msg)
            if monotonic() > deadline:
                msg = (
                    f'the filter node was not found on the network within {timeout_s:.0f} s; is '
                    'the loopback interface up?'
                )
                raise InputError(msg)
            if not self._heard and self._imu.get_subscription_count() and monotonic() > due_s:
                self._imu.publish(first)
                due_s = monotonic() + 2.0
            self._spin_until(monotonic() + 0.1)

    def play(
        self,
        messages: Sequence[Timed],
        speed: float,
        progress: Callable[[float], None],
    ) -> None:
        """
        Publish the messages by their stamps, sped up by ``speed``, recording answers.

        On a busy machine it takes longer: lost time is not made up for, because messages in a
        rush are lost, and the filter may be behind by no more messages than it keeps answers.
        """
        most_ahead = Topics.POSITION.depth
        self._now_ns, due = messages[0].stamp_ns, monotonic()
        before = self._taken
        for index, message in enumerate(messages):
            due = max(due + (message.stamp_ns - self._now_ns) * 1e-9 / speed, monotonic())
            self._spin_until(due)
            self._wait_until_taken(before + index - most_ahead + 1)
            self._now_ns = message.stamp_ns
            self._imu.publish(message.raw)
            if index % 100 == 0:
                progress(index / len(messages))
        self._wait_until_taken(before + len(messages))
        answered = -1
        while answered != self.received.get(Topics.POSITION.name, 0):
            answered = self.received.get(Topics.POSITION.name, 0)
            self._spin_until(monotonic() + 0.5)

    def end(self) -> None:
        """Stop listening."""
        self._executor.shutdown()
        self.destroy_node()

    def _wait_until_taken(self, count: float, stall_s: float = 10.0) -> None:
        """Wait until the filter has taken so many messages, or takes none for so long."""
        taken, given_up = self._taken, monotonic() + stall_s
        while self._taken < count and monotonic() < given_up:
            self._spin_until(monotonic() + 0.01)
            if self._taken > taken:
                taken, given_up = self._taken, monotonic() + stall_s

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
            if name == Topics.DIAGNOSTICS.name and not self._heard:
                report = deserialize_message(raw, message_class(msgtype))
                values = {each.key: each.value for each in report.status[0].values}
                self._heard = values.get('received', '0') != '0'
            if name == Topics.STATUS.name:
                report = deserialize_message(raw, message_class(msgtype))
                names = report.layout.dim[0].label.split(',')
                self._taken = report.data[names.index('received')]

        return record
