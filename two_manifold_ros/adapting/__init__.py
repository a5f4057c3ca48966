# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learning while driving: start with `stream_learner.StreamLearner`."""
