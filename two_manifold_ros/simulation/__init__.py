# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A slot car on its track, and a film of a room, with the truth; start with `slot_car`."""
