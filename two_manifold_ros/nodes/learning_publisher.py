# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Publishes how the learning goes, once for each time that something was learned."""

from __future__ import annotations

import math
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
        self._told: object = None

    def look(self, session: UpdaterSession) -> None:
        """Publish if something was learned since the last look."""
        learner, latest = session.learner, session.latest
        news = learner.news
        if self._told is None:
            # What was learned before the start is no news.
            self._told = news
        if news == self._told or latest is None:
            return
        self._told = news
        if not self._publisher.get_subscription_count():
            return
        numbers = learner.progress()
        for name in ('evidence', 'familiarity'):
            if math.isfinite(number := getattr(latest, name)):
                numbers[name] = number
        message = adaptation_message(latest.stamp_ns, numbers)
        if message is not None:
            self._publisher.publish(to_message(LEARNING.msgtype, message))
