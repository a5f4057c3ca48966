# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Listen to the diagnostics of all nodes."""

from __future__ import annotations

from collections import Counter
import math
from time import monotonic
from typing import TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.utilities import try_shutdown

from two_manifold_ros.interface.messages import Topics
from two_manifold_ros.nodes.callbacks import find_publishers, qos
from two_manifold_ros.nodes.running import start_middleware

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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
