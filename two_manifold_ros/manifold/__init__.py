# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Manifold learners: windows, or any points, to low-rank centred coordinates.

Start with the protocols in `learner`; `selection` lists the learners by name.
"""
