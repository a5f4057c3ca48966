# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Settings chosen by closed-loop filtering over blocks of laps that the fit did not see."""
