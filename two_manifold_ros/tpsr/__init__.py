# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Transformed predictive state representations (Boots & Gordon 2011): start with `learner`."""
