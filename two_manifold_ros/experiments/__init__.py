# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiments of the papers behind `two-manifold reproduce`; start with `experiment`."""
