# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The forces along the slot and what they do to the car."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.simulation.track import Track
    from two_manifold_ros.typing import Floats

GRAVITY = 9.80665
"""Standard gravity, m/s^2."""

# All per kilogram of car, so m/s^2 unless said.
_STALL = 4.0  # pull of the motor at full voltage, standing
_FREE_SPEED = 5.0  # m/s at which the motor's own voltage equals the full supply
_ROLLING = 0.04  # drag per contact force, no unit
_SLOT_FRICTION = 0.15  # drag per lateral force on the guide and the tyres, no unit
_AIR_DRAG = 0.015  # 1/m, times the square of the speed

_CELLS_PER_METRE = 1000


class Motion:
    """
    A point mass in the slot: distance and speed along the track.

    Attributes
    ----------
    distance
        Metres driven since the start line was first crossed; never folded back at a lap.
    speed
        m/s, never negative.

    """

    def __init__(self, track: Track) -> None:
        self.distance = 0.0
        self.speed = 0.0
        cells = round(track.length * _CELLS_PER_METRE)
        self._cells = cells
        self._cells_per_metre = cells / track.length
        # A step at 1 kHz is longer than a cell, so nothing is gained between the cells.
        middles = np.arange(cells, dtype=np.float64) + 0.5
        self._loads = _loads(track, middles * (track.length / cells))

    def acceleration(self, throttle: float) -> float:
        """Return the acceleration along the tangent, m/s^2, at a throttle of 0 to 1."""
        speed = self.speed
        climb, side_bend, side_weight, normal_bend, normal_weight = self._loads[
            int(self.distance * self._cells_per_metre) % self._cells
        ]
        square = speed * speed
        contact = max(normal_bend * square + normal_weight, 0.0)
        side = abs(side_bend * square + side_weight)
        motor = _STALL * (throttle - speed / _FREE_SPEED)
        drag = _ROLLING * contact + _SLOT_FRICTION * side + _AIR_DRAG * square
        total = motor - drag - climb
        return total if speed > 0.0 else max(total, 0.0)

    def step(self, throttle: float, step_s: float) -> None:
        """Drive on for ``step_s`` seconds (1 ms or less) at one throttle."""
        acceleration = self.acceleration(throttle)
        self.distance += self.speed * step_s
        self.speed = max(self.speed + acceleration * step_s, 0.0)


def _loads(track: Track, s: Floats) -> list[tuple[float, ...]]:
    """Return, per arc length, climb and the lateral and normal forces: 1/m and m/s^2."""
    frame = track.frame(s)
    bend = np.einsum('nij,ni->nj', frame, track.curvature(s))
    weight = GRAVITY * frame[:, 2]
    columns = [weight[:, 0], bend[:, 1], weight[:, 1], bend[:, 2], weight[:, 2]]
    return [tuple(row) for row in np.stack(columns, axis=1).tolist()]
