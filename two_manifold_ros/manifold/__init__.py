# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Manifold learners, of windows or any points: start with the protocols in `learner`."""
