# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The unit of an accelerometer, by gravity in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

WITHIN = (0.8, 1.3)
"""Mean acceleration over gravity: that of a vehicle on its wheels is 1, calibration and bends that
are driven one way move it by some tenths, and without gravity in m/s^2 it rarely is there."""

STEADY = 0.5
"""Deviation of the axis of gravity, over gravity, below which it is steady: potholes have .3."""


def likely_acceleration_unit(mean: Floats, std: Floats) -> str | None:
    """
    Return ``'g'`` or ``'m/s^2'``, whichever gravity shows, or ``None`` if it shows neither.

    Parameters
    ----------
    mean, std : (3,)
        Mean and standard deviation of the acceleration over a drive, in its unit.

    """
    axis = int(np.argmax(np.abs(mean)))
    size = float(np.linalg.norm(mean))
    for unit, gravity in (('g', 1.0), ('m/s^2', 9.80665)):
        is_gravity = WITHIN[0] <= size / gravity <= WITHIN[1]
        if is_gravity and std[axis] < STEADY * gravity:
            return unit
    return None
