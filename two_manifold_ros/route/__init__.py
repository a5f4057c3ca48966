# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The default filter: a map of the route, and a belief about the place on it.

Start with mathematics, section 13, `learning.learn_route` and `belief.RouteBelief`.
"""
