# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The default filter: a map of the route, and a belief about the place on it.

`merging` finds the places of the route, `passes` what every pass of them saw, `learning` what is
usual at each, `motion` how a belief moves along them, and `fitting` calibrates; `route` is the map
that results. `belief` filters on it, by the compiled `steps` and `reading`. Begin with `belief`.
"""
