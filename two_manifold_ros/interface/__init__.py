# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Interface of the nodes, without ROS: topics, parameters, messages and health.

Start with `messages` and `parameters`; `assessment` judges the health of a node.
"""
