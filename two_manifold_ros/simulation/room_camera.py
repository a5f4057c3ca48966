# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A grey camera held in the room."""

from __future__ import annotations

import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from two_manifold_ros.simulation.room import Room

_VIEW = math.radians(70.0)  # across the picture

_NOISE = 4.0  # standard deviation of the sensor, of 255 greys


class CameraPose(NamedTuple):
    """
    Where the camera is and looks.

    Parameters
    ----------
    x, y, z
        Metres.
    heading
        Radians in the plane, from x towards y.
    pitch
        Radians upwards.
    roll
        Radians to the right.

    """

    x: float
    y: float
    z: float
    heading: float
    pitch: float
    roll: float


class RoomCamera:
    """
    A pinhole camera with a noisy sensor.

    Parameters
    ----------
    room
        What it sees.
    width, height
        Pixels.
    seed
        Draws the noise.

    """

    def __init__(self, room: Room, width: int, height: int, seed: int) -> None:
        self._room = room
        self._random = np.random.default_rng(np.random.SeedSequence([seed, 1]))
        self._shape = (height, width)
        scale = 2 * math.tan(_VIEW / 2) / width
        rows, columns = np.indices(self._shape)
        right = (columns.ravel() - (width - 1) / 2) * scale
        down = (rows.ravel() - (height - 1) / 2) * scale
        # Forward, left and up. The tiny number keeps rays off the axes, where they have no slope.
        self._rays = np.stack([np.ones(right.size), -right, -down]) + 1e-7

    def picture(self, pose: CameraPose) -> NDArray[np.uint8]:
        """Return one (height, width) picture; each call draws new noise."""
        rays = (_axes(pose) @ self._rays).astype(np.float32)
        shades = 255 * self._room.shades(pose[:3], rays)
        shades += _NOISE * self._random.standard_normal(shades.shape, dtype=np.float32)
        picture: NDArray[np.uint8] = np.clip(shades + 0.5, 0, 255).astype(np.uint8)
        return picture.reshape(self._shape)


def _axes(pose: CameraPose) -> NDArray[np.float64]:
    """Return the matrix whose columns are the camera's forward, left and up axes."""
    cos, sin = (list(map(function, pose[3:])) for function in (math.cos, math.sin))
    turn = np.array([[cos[0], -sin[0], 0], [sin[0], cos[0], 0], [0, 0, 1]])
    raise_ = np.array([[cos[1], 0, -sin[1]], [0, 1, 0], [sin[1], 0, cos[1]]])
    lean = np.array([[1, 0, 0], [0, cos[2], -sin[2]], [0, sin[2], cos[2]]])
    axes: NDArray[np.float64] = turn @ raise_ @ lean
    return axes
