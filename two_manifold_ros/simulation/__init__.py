# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Vehicles on their routes, as IMU samples and positions with the truth.

Start with `worlds` and `slot_car`.
"""
