# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Run the filter over recordings and score it; start with `evaluate.evaluate`."""
