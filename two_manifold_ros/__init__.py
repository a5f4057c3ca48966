# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where a lapping vehicle is, and where it will be, from its IMU alone."""

__version__ = '0.1.0'
