# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
ROS 2 nodes: subscriptions, publishers, services, parameters, lifecycle.

Start with `filter_node`; nothing outside this folder imports rclpy.
"""
