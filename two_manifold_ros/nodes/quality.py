# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The quality of service of a topic, as rclpy wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

if TYPE_CHECKING:
    from two_manifold_ros.outputs.topics import Topic


def quality(topic: Topic) -> QoSProfile:
    """Return the profile of a topic of the table."""
    reliability = ReliabilityPolicy.RELIABLE if topic.reliable else ReliabilityPolicy.BEST_EFFORT
    durability = DurabilityPolicy.TRANSIENT_LOCAL if topic.latched else DurabilityPolicy.VOLATILE
    return QoSProfile(depth=topic.depth, reliability=reliability, durability=durability)
