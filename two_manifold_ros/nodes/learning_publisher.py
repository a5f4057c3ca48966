# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Publishes how the learning goes, once for each time that the bases have moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from std_msgs.msg import Float64MultiArray

from two_manifold_ros.nodes.quality import quality
from two_manifold_ros.nodes.translating import to_message
from two_manifold_ros.outputs.adaptation import adaptation_message
from two_manifold_ros.outputs.topics import ADAPTING, LEARNING

if TYPE_CHECKING:
    from rclpy.node import Node

    from two_manifold_ros.nodes.updater_session import UpdaterSession


class LearningPublisher:
    """
    The topic ``adapting/learning``.

    Parameters
    ----------
    node
        On which to advertise.

    """

    def __init__(self, node: Node) -> None:
        self._publisher = node.create_publisher(
            Float64MultiArray, f'{ADAPTING}{LEARNING.name}', quality(LEARNING)
        )
        self._told = (0.0, 0.0)

    def look(self, session: UpdaterSession) -> None:
        """Publish if the bases have moved since the last look."""
        tracker, latest = session.adaptive.tracker, session.latest
        now = (tracker.angle, tracker.update_s)
        if now == self._told or latest is None:
            return
        self._told = now
        if not self._publisher.get_subscription_count():
            return
        counters = tracker.counters
        numbers = {
            'basis_angle': tracker.angle,
            'evidence': latest.evidence,
            'familiarity': latest.familiarity,
            'update_s': tracker.update_s,
            'learned': counters['learned'],
            'dropped': session.budget.dropped if session.budget else 0,
            'refused': counters['refused'],
            'quarantined': counters['quarantined'],
        }
        message = adaptation_message(latest.stamp_ns, numbers, tracker.values)
        if message is not None:
            self._publisher.publish(to_message(LEARNING.msgtype, message))
