# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laps: where a lap begins, its times, and the loop in a drive without positions."""
