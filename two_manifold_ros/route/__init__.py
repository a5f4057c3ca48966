# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The default filter: a map of the route, and a belief about the place on it.

`merging` finds the places of the route, `learning` what is usual at each, `fitting` what has to be
tried out; `route` is the map that results, and `belief` filters on it. Begin with `belief`.
"""
