# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laps: the loop that a vehicle drives, and where on it every tick is, without positions."""
