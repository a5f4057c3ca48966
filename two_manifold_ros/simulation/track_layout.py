# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where the track of the simulator lies."""

import numpy as np

# x, y, z in metres and the bank in degrees (positive lifts the left side), in driving order and
# a third of a metre apart. The car passes the origin twice: on the table, then over the bridge.
# Bends and straights repeat, as they do on a track made of standard pieces, so that a moment of
# IMU does not give the place away.
_POINTS = (
    (0.000, 0.000, 0.000, 0),
    (0.334, 0.000, 0.000, 0),
    (0.669, 0.000, 0.000, 0),
    (1.003, 0.000, 0.000, 0),
    (1.337, 0.000, 0.000, 0),
    (1.671, 0.000, 0.000, 0),
    (2.005, 0.002, 0.000, -4),
    (2.330, 0.062, 0.003, -17),
    (2.445, 0.362, 0.010, -7),
    (2.448, 0.696, 0.018, -4),
    (2.393, 1.022, 0.028, -17),
    (2.097, 1.141, 0.040, -11),
    (1.773, 1.074, 0.050, -7),
    (1.506, 0.874, 0.060, 6),
    (1.191, 0.789, 0.074, 13),
    (0.903, 0.948, 0.089, 1),
    (0.618, 1.117, 0.105, -8),
    (0.286, 1.138, 0.119, -12),
    (0.030, 0.961, 0.136, -15),
    (0.001, 0.629, 0.150, -2),
    (0.000, 0.295, 0.159, 0),
    (0.000, -0.039, 0.162, 0),
    (0.000, -0.373, 0.157, 0),
    (-0.002, -0.708, 0.147, 4),
    (-0.063, -1.032, 0.133, 17),
    (-0.364, -1.145, 0.120, 6),
    (-0.698, -1.150, 0.109, 0),
    (-1.033, -1.150, 0.099, 0),
    (-1.367, -1.150, 0.090, 0),
    (-1.701, -1.150, 0.081, 0),
    (-2.035, -1.147, 0.071, 4),
    (-2.354, -1.070, 0.061, 17),
    (-2.447, -0.758, 0.051, 5),
    (-2.449, -0.424, 0.043, 2),
    (-2.421, -0.092, 0.034, 15),
    (-2.167, 0.087, 0.022, 13),
    (-1.836, 0.056, 0.013, 8),
    (-1.555, -0.120, 0.006, 0),
    (-1.272, -0.292, 0.002, -9),
    (-0.942, -0.288, 0.000, -7),
    (-0.641, -0.146, 0.000, 1),
    (-0.333, -0.021, 0.000, 5),
)

CONTROL_POINTS = np.array([(x, y, z, np.radians(bank)) for x, y, z, bank in _POINTS])
"""(42, 4) float64: x, y, z in metres and the bank in radians, without the closing repetition."""
