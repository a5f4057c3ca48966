# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Other methods under the same protocol; start with `comparing.compare`."""
