# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A slot car on its track, and a film of a room, as samples and positions with the truth.

Start with `slot_car`. Other vehicles are in `benchmarks/worlds`: no command needs them.
"""
