# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Read and write bags of any kind.

`reading.read_recording` turns a bag into a `Recording`, `bag_writer.BagWriter` writes one.
"""
