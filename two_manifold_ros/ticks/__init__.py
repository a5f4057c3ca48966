# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Turn stamped samples into ticks and windows of ticks, by the same rules live and offline.

Start with `segments.cut_segments` (offline) and `stamps.TickAverager` (live).
"""
