# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Other methods for the same task, each in a file, and all of them run side by side."""
