# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bags of any kind in, `Recording`s out; and bags written."""
