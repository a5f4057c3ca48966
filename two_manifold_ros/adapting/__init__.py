# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Learning while driving: a stream learner, its memory, checkpoints and the hand-over of models.

Start with `stream_learner.StreamLearner`.
"""
