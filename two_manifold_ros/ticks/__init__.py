# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stamped samples to ticks and windows, alike live and offline: start with `segments`."""
