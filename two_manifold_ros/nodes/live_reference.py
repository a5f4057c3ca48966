# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The topic of reference positions, whose type is found out where it is not given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rclpy.qos import QoSProfile, ReliabilityPolicy

from two_manifold_ros.nodes.translating import message_class
from two_manifold_ros.recordings.topic_choice import POSITION

if TYPE_CHECKING:
    from collections.abc import Callable

    from rclpy.node import Node
    from rclpy.subscription import Subscription

    from two_manifold_ros.nodes.guarding import Guard

REFERENCE = 'reference'
# Best effort matches both kinds of publisher.
_QUALITY = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)


class LiveReference:
    """
    Subscribes ``reference`` as soon as its type is known.

    Parameters
    ----------
    node
        That subscribes.
    guard
        Guards the callback.
    msgtype
        Type of the topic; empty means the one it is published with.
    begin
        Called once with the type, before the first message.
    take
        Called with every message as bytes.

    Attributes
    ----------
    topic
        Its full name.
    msgtype
        Its type; empty while it is not known.
    problem
        Why it cannot be subscribed; empty if it is, or if nobody publishes it.

    """

    def __init__(
        self,
        node: Node,
        guard: Guard,
        msgtype: str,
        begin: Callable[[str], object],
        take: Callable[[bytes], object],
    ) -> None:
        self._node = node
        self._begin = begin
        self._take = guard(take)
        self._subscription: Subscription | None = None
        self.topic = node.resolve_topic_name(REFERENCE)
        self.msgtype = ''
        self.problem = ''
        if msgtype:
            self._subscribe(msgtype)

    def look(self) -> None:
        """Subscribe it if its type can be told by now, or say why it cannot."""
        if self.msgtype:
            return
        found = self._node.get_publishers_info_by_topic(self.topic)
        types = sorted({info.topic_type for info in found})
        usable = [kind for kind in types if kind in POSITION.msgtypes]
        self.problem = ''
        if len(usable) == 1:
            self._subscribe(usable[0])
        elif types:
            self.problem = (
                f'{self.topic} is published as {", ".join(types)}: set reference_type '
                f'to one of {", ".join(POSITION.msgtypes)} or remap reference'
            )

    def close(self) -> None:
        """Stop listening."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None

    def _subscribe(self, msgtype: str) -> None:
        self.msgtype = msgtype
        self._begin(msgtype)
        self._subscription = self._node.create_subscription(
            message_class(msgtype), REFERENCE, self._take, _QUALITY, raw=True
        )
        self._node.get_logger().info(f'References: {self.topic} ({msgtype})')
