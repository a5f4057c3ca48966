# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Curves in space, closed tracks among them, and the frame that moves along them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import CubicSpline

from two_manifold_ros.simulation.track_layout import CONTROL_POINTS

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

# The first spline is measured at this many points, the arc-length spline has this many pieces:
# the speed along the latter then differs from one by a few parts in a million.
_MEASURED_POINTS = 40_000
_PIECES = 2_000


class SpaceCurve:
    """
    A line to drive along, twice continuously differentiable, with a bank angle along it.

    Every method takes arc lengths `s` in metres of any shape and returns that shape followed by
    the shape that it names.

    Parameters
    ----------
    curve
        x, y, z in metres and the bank in radians, positive where the left side is lifted, over
        arc length. The tangent must never be vertical.
    length
        Metres.

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
        """Return the bank angle, radians; positive where the left side is lifted."""
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
        tangent; their sum is read off in the axes of the frame.
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
    """
    A closed centre line, periodic in its length.

    Parameters
    ----------
    control_points : (P, 4)
        x, y, z in metres and the bank in radians, positive where the left side is lifted; the
        last point is followed by the first.

    """

    def __init__(self, control_points: Floats = CONTROL_POINTS) -> None:
        length, curve = _by_arc_length(control_points)
        super().__init__(curve, length)

    def outline(self, points: int = 500) -> Floats:
        """Return a (points, 3) drawing of the centre line, metres; the last is the first."""
        return self.position(np.linspace(0.0, self.length, points))


def _by_arc_length(control_points: Floats) -> tuple[float, CubicSpline]:
    """Return the length and the periodic spline of position and bank over arc length."""
    closed = np.vstack([control_points, control_points[:1]])
    chords = np.linalg.norm(np.diff(closed[:, :3], axis=0), axis=1)
    knots = np.concatenate([[0.0], np.cumsum(chords)])
    spline = CubicSpline(knots, closed, bc_type='periodic')
    parameter = np.linspace(0.0, knots[-1], _MEASURED_POINTS + 1)
    rate = np.linalg.norm(spline(parameter, 1)[:, :3], axis=1)
    pieces = 0.5 * (rate[1:] + rate[:-1]) * np.diff(parameter)
    arc_length = np.concatenate([[0.0], np.cumsum(pieces)])
    even = np.linspace(0.0, arc_length[-1], _PIECES + 1)
    points = spline(np.interp(even, arc_length, parameter))
    points[-1] = points[0]
    return float(arc_length[-1]), CubicSpline(even, points, bc_type='periodic')
