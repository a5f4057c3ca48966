# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Listen to the diagnostics of all nodes there are, whatever their namespaces."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.utilities import try_shutdown

from two_manifold_ros.nodes.middleware import begin
from two_manifold_ros.nodes.quality import quality
from two_manifold_ros.outputs.topics import DIAGNOSTICS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Hear = Callable[[str, int, str, Mapping[str, str]], object]

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
