# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A camera above the track."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from two_manifold_ros.simulation.slot_car_settings import SlotCarSettings
    from two_manifold_ros.typing import Floats

_SPREAD = 0.005  # metres, standard deviation per axis at noise 1


class Camera:
    """
    Sees the position of the car with a little noise.

    Parameters
    ----------
    settings
        Seed and ``noise``.

    """

    def __init__(self, settings: SlotCarSettings) -> None:
        self._random = settings.generator('camera')
        self._spread = settings.noise * _SPREAD

    def see(self, positions: Floats) -> Floats:
        """Return the (..., 3) positions, metres, as seen; one call or many give the same."""
        return positions + self._spread * self._random.standard_normal(positions.shape)
