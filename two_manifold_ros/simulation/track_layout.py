# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where the track of the simulator lies."""

import numpy as np

# x, y, z in metres and the bank in degrees (positive lifts the left side), in driving order and
# about half a metre apart. The car passes the origin twice: on the table, then over the bridge.
_POINTS = (
    (0.006, -0.004, 0.000, 4),
    (0.371, 0.306, 0.000, 2),
    (0.787, 0.556, 0.000, 0),
    (1.200, 0.814, 0.000, 4),
    (1.660, 0.941, 0.001, 8),
    (2.111, 0.806, 0.001, 9),
    (2.385, 0.432, 0.002, 16),
    (2.147, 0.079, 0.011, 10),
    (1.695, -0.089, 0.022, -14),
    (1.642, -0.335, 0.035, -7),
    (1.908, -0.693, 0.043, 17),
    (1.694, -1.084, 0.050, 13),
    (1.237, -1.095, 0.062, 7),
    (0.834, -0.836, 0.091, 2),
    (0.494, -0.493, 0.134, 0),
    (0.150, -0.148, 0.164, 0),
    (-0.193, 0.194, 0.166, 0),
    (-0.538, 0.534, 0.147, -2),
    (-0.919, 0.836, 0.126, -5),
    (-1.371, 0.991, 0.110, -7),
    (-1.840, 0.916, 0.097, -8),
    (-2.195, 0.601, 0.081, -8),
    (-2.310, 0.139, 0.067, -4),
    (-2.311, -0.345, 0.052, -5),
    (-2.162, -0.799, 0.037, -9),
    (-1.795, -1.089, 0.025, -15),
    (-1.411, -0.912, 0.016, -4),
    (-1.075, -0.601, 0.009, 9),
    (-0.614, -0.672, 0.003, -9),
    (-0.252, -0.418, 0.000, -6),
)

CONTROL_POINTS = np.array([(x, y, z, np.radians(bank)) for x, y, z, bank in _POINTS])
"""(30, 4) float64: x, y, z in metres and the bank in radians, without the closing repetition."""
