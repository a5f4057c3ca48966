# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From the spectrum of a diffusion to the independent variables behind it."""
