# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bags: `reading.read_recording` makes a `Recording` of one, `bag_writer.BagWriter` writes one."""
