# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Simulated worlds for benchmarks and tests: vehicles on routes, as recordings with the truth.

Start with `table`, the worlds by name. `drive` laps a route in one of them, `shuttle` a line.
"""
