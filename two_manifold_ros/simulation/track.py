# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Closed tracks in space, and the frame that moves along them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import CubicSpline

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


CONTROL_POINTS = np.array([
    (0.000, 0.000, 0.000, 0), (0.334, 0.000, 0.000, 0), (0.669, 0.000, 0.000, 0),
    (1.003, 0.000, 0.000, 0), (1.337, 0.000, 0.000, 0), (1.671, 0.000, 0.000, 0),
    (2.005, 0.002, 0.000, -4), (2.330, 0.062, 0.003, -17), (2.445, 0.362, 0.010, -7),
    (2.448, 0.696, 0.018, -4), (2.393, 1.022, 0.028, -17), (2.097, 1.141, 0.040, -11),
    (1.773, 1.074, 0.050, -7), (1.506, 0.874, 0.060, 6), (1.191, 0.789, 0.074, 13),
    (0.903, 0.948, 0.089, 1), (0.618, 1.117, 0.105, -8), (0.286, 1.138, 0.119, -12),
    (0.030, 0.961, 0.136, -15), (0.001, 0.629, 0.150, -2), (0.000, 0.295, 0.159, 0),
    (0.000, -0.039, 0.162, 0), (0.000, -0.373, 0.157, 0), (-0.002, -0.708, 0.147, 4),
    (-0.063, -1.032, 0.133, 17), (-0.364, -1.145, 0.120, 6), (-0.698, -1.150, 0.109, 0),
    (-1.033, -1.150, 0.099, 0), (-1.367, -1.150, 0.090, 0), (-1.701, -1.150, 0.081, 0),
    (-2.035, -1.147, 0.071, 4), (-2.354, -1.070, 0.061, 17), (-2.447, -0.758, 0.051, 5),
    (-2.449, -0.424, 0.043, 2), (-2.421, -0.092, 0.034, 15), (-2.167, 0.087, 0.022, 13),
    (-1.836, 0.056, 0.013, 8), (-1.555, -0.120, 0.006, 0), (-1.272, -0.292, 0.002, -9),
    (-0.942, -0.288, 0.000, -7), (-0.641, -0.146, 0.000, 1), (-0.333, -0.021, 0.000, 5),
])  # fmt: skip
CONTROL_POINTS[:, 3] = np.radians(CONTROL_POINTS[:, 3])
"""
(42, 4) float64: x, y, z in metres and the bank in radians, positive where the left side is up.

The points of the slot car's track in driving order, a third of a metre apart; the last is followed
by the first. The car passes the origin twice: on the table, then over the bridge. Bends and
straights repeat, as on a track of standard pieces, so that a moment of IMU does not give the place
away.
"""


class SpaceCurve:
    """
    A line to drive along, twice continuously differentiable, with a bank angle along it.

    Every method takes arc lengths `s` in metres of any shape and returns that shape followed by
    the shape that it names. The ``curve`` is x, y, z in metres and the bank in radians (positive
    where the left side is up) over arc length; the tangent must never be vertical.
    """

    def __init__(self, curve: CubicSpline, length: float) -> None:
        self.length = length
        self._curve = curve
        self._slopes = curve.derivative()
        self._bends = self._slopes.derivative()

    def position(self, s: Floats | float) -> Floats:
        """Return the (3,) position of the centre line, metres."""
        return np.asarray(self._curve(s)[..., :3])

    def bank(self, s: Floats | float) -> Floats:
        """Return the bank angle, radians; positive where the left side is up."""
        return np.asarray(self._curve(s)[..., 3])

    def curvature(self, s: Floats | float) -> Floats:
        """Return the (3,) derivative of the tangent, 1/m, pointing to the centre of the bend."""
        return np.asarray(self._bends(s)[..., :3])

    def frame(self, s: Floats | float) -> Floats:
        """Return the (3, 3) rotation whose columns are the tangent, left and up of the car."""
        tangent, left, up = self._level_frame(s)
        cosine, sine = np.cos(self.bank(s))[..., None], np.sin(self.bank(s))[..., None]
        return np.stack([tangent, cosine * left + sine * up, cosine * up - sine * left], axis=-1)

    def turning(self, s: Floats | float) -> Floats:
        """
        Return the (3,) rotation of the frame per metre driven, rad/m, in its own axes.

        Heading turns about the vertical, pitch about the level left axis and bank about the
        tangent; the axes of the frame split their sum.
        """
        tangent, left, _ = self._level_frame(s)
        bend = self.curvature(s)
        level = np.hypot(tangent[..., 0], tangent[..., 1])
        heading = (tangent[..., 0] * bend[..., 1] - tangent[..., 1] * bend[..., 0]) / level**2
        pitch = -bend[..., 2] / level
        total = self._slopes(s)[..., 3, None] * tangent + pitch[..., None] * left
        total[..., 2] += heading
        return np.asarray(np.einsum('...ij,...i->...j', self.frame(s), total))

    def _level_frame(self, s: Floats | float) -> tuple[Floats, Floats, Floats]:
        """Return tangent, left and up of a frame without bank, each (3,)."""
        slopes = self._slopes(s)[..., :3]
        tangent = slopes / np.linalg.norm(slopes, axis=-1, keepdims=True)
        level = np.stack(
            [-tangent[..., 1], tangent[..., 0], np.zeros(tangent.shape[:-1])], axis=-1
        )
        left = level / np.linalg.norm(level, axis=-1, keepdims=True)
        return tangent, left, np.cross(tangent, left)


class Track(SpaceCurve):
    """A closed centre line, periodic in its length, through points (P, 4) as `CONTROL_POINTS`."""

    def __init__(self, control_points: Floats = CONTROL_POINTS) -> None:
        closed = np.vstack([control_points, control_points[:1]])
        chords = np.linalg.norm(np.diff(closed[:, :3], axis=0), axis=1)
        knots = np.concatenate([[0.0], np.cumsum(chords)])
        spline = CubicSpline(knots, closed, bc_type='periodic')
        # Measured at 40,000 points and laid through 2,000: the speed is one but for millionths.
        parameter = np.linspace(0.0, knots[-1], 40_001)
        rate = np.linalg.norm(spline(parameter, 1)[:, :3], axis=1)
        pieces = 0.5 * (rate[1:] + rate[:-1]) * np.diff(parameter)
        arc_length = np.concatenate([[0.0], np.cumsum(pieces)])
        even = np.linspace(0.0, arc_length[-1], 2_001)
        points = spline(np.interp(even, arc_length, parameter))
        points[-1] = points[0]
        super().__init__(CubicSpline(even, points, bc_type='periodic'), float(arc_length[-1]))
