# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Manifold learners: points, such as windows, to a low-rank centred embedding."""
