# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A belief over the ticks of the training drives: Markov localisation on the manifold state."""
