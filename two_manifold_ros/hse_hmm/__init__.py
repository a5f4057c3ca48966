# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The Hilbert-space-embedded HMM on two-manifold states: start with `hmm`, then `readout`."""
