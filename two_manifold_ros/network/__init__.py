# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Networks of roads that look alike, which are followed by turns and distances driven."""
