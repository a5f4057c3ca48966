# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Recordings and settings to a model, validated on drives left out.

Start with `train.train_model`.
"""
