# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where the track of the simulator lies."""

import numpy as np

# x, y, z in metres and the bank in degrees (positive lifts the left side), in driving order and
# a third of a metre apart. The car passes the origin twice: on the table, then over the bridge.
# Bends and straights repeat, as they do on a track made of standard pieces, so that a second of
# IMU does not give the place away.
_POINTS = (
    (0.000, 0.000, 0.000, 0),
    (0.337, 0.000, 0.000, 0),
    (0.675, 0.000, 0.000, 0),
    (1.012, 0.000, 0.000, 0),
    (1.349, 0.000, 0.000, 0),
    (1.686, 0.000, 0.000, 0),
    (2.024, 0.001, 0.000, -2),
    (2.359, 0.030, 0.002, -15),
    (2.539, 0.287, 0.008, -10),
    (2.549, 0.624, 0.016, -3),
    (2.520, 0.959, 0.026, -15),
    (2.263, 1.138, 0.037, -11),
    (1.927, 1.127, 0.046, -7),
    (1.631, 0.976, 0.055, -1),
    (1.348, 0.797, 0.067, 12),
    (1.025, 0.854, 0.082, 8),
    (0.757, 1.058, 0.098, -7),
    (0.435, 1.142, 0.113, -8),
    (0.109, 1.081, 0.129, -17),
    (0.004, 0.772, 0.145, -6),
    (0.000, 0.434, 0.156, 0),
    (0.000, 0.097, 0.162, 0),
    (0.000, -0.240, 0.160, 0),
    (0.000, -0.577, 0.152, 1),
    (-0.019, -0.914, 0.139, 13),
    (-0.241, -1.132, 0.124, 12),
    (-0.577, -1.150, 0.113, 1),
    (-0.915, -1.150, 0.103, 0),
    (-1.252, -1.150, 0.094, 0),
    (-1.589, -1.150, 0.085, 0),
    (-1.926, -1.150, 0.076, 1),
    (-2.263, -1.139, 0.067, 10),
    (-2.520, -0.959, 0.056, 15),
    (-2.549, -0.624, 0.046, 3),
    (-2.539, -0.287, 0.037, 10),
    (-2.359, -0.030, 0.025, 15),
    (-2.024, -0.001, 0.014, 2),
    (-1.686, 0.000, 0.006, 0),
    (-1.349, 0.000, 0.002, 0),
    (-1.012, 0.000, 0.000, 0),
    (-0.675, 0.000, 0.000, 0),
    (-0.337, 0.000, 0.000, 0),
)

CONTROL_POINTS = np.array([(x, y, z, np.radians(bank)) for x, y, z, bank in _POINTS])
"""(42, 4) float64: x, y, z in metres and the bank in radians, without the closing repetition."""
