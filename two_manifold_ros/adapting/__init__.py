# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A filter that keeps learning from the live stream, in constant memory."""
