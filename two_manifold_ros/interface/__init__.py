# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What nodes offer to others, without ROS: topics, parameters, messages and health.

Begin with `topics` and `parameters`; `estimates` and `status` build the messages.
"""
