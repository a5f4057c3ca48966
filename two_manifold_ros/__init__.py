# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Estimate and predict the position of a vehicle on a known route from its IMU."""

__version__ = '0.1.0'
