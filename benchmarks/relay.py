# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A bare node that answers each IMU message with an odometry message; no benchmark."""

from __future__ import annotations

from contextlib import suppress

from nav_msgs.msg import Odometry
import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu

try:
    # The executor of the filter node; missing in Humble and in Jazzy before 2025.
    from rclpy.experimental.events_executor import EventsExecutor
except ImportError:
    EventsExecutor = SingleThreadedExecutor


class Relay(Node):
    """Imports nothing of the package: its memory is the memory of any node."""

    def __init__(self) -> None:
        super().__init__('relay')
        self.answers = self.create_publisher(Odometry, 'odometry', 10)
        self.answer = serialize_message(Odometry())
        self.create_subscription(Imu, 'imu', self.take, 1000, raw=True)

    def take(self, raw: bytes) -> None:
        # Both messages begin with a stamp: the stamp of the IMU shows to what this is the answer.
        self.answers.publish(self.answer[:4] + raw[4:12] + self.answer[12:])


if __name__ == '__main__':
    rclpy.init()
    # An executor does not keep its nodes alive.
    node, executor = Relay(), EventsExecutor()
    executor.add_node(node)
    with suppress(ExternalShutdownException):
        # Without a timeout this executor delivers nothing.
        while rclpy.ok():
            executor.spin_once(timeout_sec=0.1)
