# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The topic of a sensor: its subscription, its silence and who publishes it."""

from __future__ import annotations

from time import monotonic
from typing import Any, TYPE_CHECKING

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.qos import qos_policy_name_from_kind

from two_manifold_ros.nodes.quality import quality
from two_manifold_ros.nodes.translating import message_class
from two_manifold_ros.outputs.facts import Publisher

if TYPE_CHECKING:
    from collections.abc import Callable

    from rclpy.node import Node
    from rclpy.subscription import Subscription

    from two_manifold_ros.outputs.topics import Topic

ASKED_S = 1.0
"""
After which the publishers are asked for anew if they are as many as before.

The middleware goes through all that it knows of the network for their names and types.
"""


class SensorTopic:
    """
    Brings messages as bytes, and knows why none come.

    Parameters
    ----------
    node
        That subscribes.
    topic
        Which.
    sensor
        What publishes it, in a word.
    take
        Called with every message; guarded.

    Attributes
    ----------
    name
        Full name of the topic.
    incompatible
        Name of the quality-of-service policy over which a publisher and the node disagree; empty
        once a message came.

    """

    def __init__(
        self, node: Node, topic: Topic, sensor: str, take: Callable[[bytes], object]
    ) -> None:
        self._node = node
        self._topic = topic
        self._take = take
        self._subscription: Subscription | None = None
        self.sensor = sensor
        self.msgtype = topic.msgtype
        self.name = node.resolve_topic_name(topic.name)
        self.incompatible = ''
        self._publishers: tuple[Publisher, ...] = ()
        self._asked_s = 0.0
        self._begun_s = self.received_s = monotonic()

    @property
    def silence_s(self) -> float:
        """Seconds since the last message, or since it is waited for."""
        return monotonic() - self.received_s

    @property
    def received(self) -> bool:
        """Whether any message came since they are waited for."""
        return self.received_s > self._begun_s

    @property
    def waited_s(self) -> float:
        """Seconds since messages are waited for."""
        return monotonic() - self._begun_s

    def wait(self) -> None:
        """Wait from now on for the first message."""
        self._begun_s = self.received_s = monotonic()

    def listen(self) -> None:
        """Subscribe; last of all, for messages pile up as long as nobody takes them."""
        self._subscription = self._node.create_subscription(
            message_class(self.msgtype),
            self._topic.name,
            self._on_message,
            quality(self._topic),
            raw=True,
            event_callbacks=SubscriptionEventCallbacks(incompatible_qos=self._on_incompatible),
        )

    def close(self) -> None:
        """Stop listening."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None

    def publishers(self) -> tuple[Publisher, ...]:
        """Return who publishes the topic."""
        known, now_s = self._publishers, monotonic()
        asked = now_s - self._asked_s < ASKED_S and all(each.node for each in known)
        if not asked or self._node.count_publishers(self.name) != len(known):
            found = self._node.get_publishers_info_by_topic(self.name)
            self._publishers = tuple(Publisher(i.topic_type, _node_name(i)) for i in found)
            self._asked_s = now_s
        return self._publishers

    def elsewhere(self) -> tuple[str, ...]:
        """Return the full names of other topics that are published as this type, in order."""
        node = self._node
        return tuple(
            name
            for name, kinds in node.get_topic_names_and_types()
            if self.msgtype in kinds and name != self.name and node.count_publishers(name)
        )

    def _on_message(self, raw: bytes) -> None:
        self.received_s = monotonic()
        self.incompatible = ''
        self._take(raw)

    def _on_incompatible(self, event: Any) -> None:  # noqa: ANN401 - rclpy's event is untyped
        self.incompatible = qos_policy_name_from_kind(event.last_policy_kind).lower()


def _node_name(info: Any) -> str:  # noqa: ANN401 - rclpy's class moves between its versions
    # The middleware knows a publisher before it knows whose it is.
    if 'UNKNOWN' in info.node_name:
        return ''
    return f'{info.node_namespace.rstrip("/")}/{info.node_name}'
