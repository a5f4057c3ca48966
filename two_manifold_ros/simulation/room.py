# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A conference room with a table in the middle, and what is seen along a ray."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.simulation import room_textures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from two_manifold_ros.simulation.room_textures import Canvas

SIZE = (8.0, 7.0, 2.8)
"""Of the room in x, y and z (up), metres; the origin is on the floor, in the middle."""

TABLE = (1.5, 1.1, 0.75)
"""Half axes of the elliptic table in x and y, and its height, metres."""

_TOP, _SIDE = 6, 7  # after the six faces of the room: both of x, both of y, both of z


class Room:
    """
    The surfaces of a room, in greys.

    Parameters
    ----------
    seed
        Draws the textures.

    """

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(np.random.SeedSequence([seed, 0]))
        width, depth, height = SIZE
        along_x, along_y, tall = (2 * TABLE[0], 2 * TABLE[1], TABLE[2])
        surfaces = [
            room_textures.door_wall(depth, height, random),
            room_textures.board_wall(depth, height, random),
            room_textures.shelf_wall(width, height, random),
            room_textures.window_wall(width, height, random),
            room_textures.floor(width, depth, random),
            room_textures.ceiling(width, depth, random),
            room_textures.table_top(along_x, along_y, random),
            room_textures.table_side(2 * math.pi, tall, random),
        ]
        self._texels, self._first, self._columns = _joined(surfaces)

    def shades(self, eye: Sequence[float], rays: NDArray[np.float32]) -> NDArray[np.float32]:
        """
        Return the grey that is met first along each ray.

        Parameters
        ----------
        eye : (3,)
            Metres; inside the room and above the table's height.
        rays : (3, n)
            Directions, of any length but without zeros.

        Returns
        -------
        (n,)
            0 (black) to 1 (white).

        """
        origin = np.array(eye, dtype=np.float32)
        surface, across, up = _walls(origin, rays)
        _put_table(origin, rays, surface, across, up)
        return self._look_up(surface, across, up)

    def _look_up(
        self, surface: NDArray[np.intp], across: NDArray[np.float32], up: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Interpolate between the four texels around a place (metres) of a surface."""
        across = across * np.float32(room_textures.TEXELS_PER_METRE)
        up = up * np.float32(room_textures.TEXELS_PER_METRE)
        column, row = across.astype(np.int32), up.astype(np.int32)
        right, above = across - column, up - row
        columns = self._columns[surface]
        index = self._first[surface] + row * columns + column
        texels = self._texels
        low = texels[index] * (1 - right) + texels[index + 1] * right
        index += columns
        high = texels[index] * (1 - right) + texels[index + 1] * right
        shades: NDArray[np.float32] = low * (1 - above) + high * above
        return shades


def _joined(
    surfaces: Sequence[Canvas],
) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.int32]]:
    """Return all texels in a row, where each surface begins in it and its columns."""
    # The last texel is repeated on two sides so that a place on the very edge has neighbours.
    grids = [np.pad(surface.light(), ((0, 2), (0, 2)), mode='edge') for surface in surfaces]
    begins = np.cumsum([0] + [grid.size for grid in grids[:-1]])
    texels = np.concatenate([grid.ravel() for grid in grids])
    columns = np.array([grid.shape[1] for grid in grids], dtype=np.int32)
    return texels, begins.astype(np.int32), columns


def _walls(
    origin: NDArray[np.float32], rays: NDArray[np.float32]
) -> tuple[NDArray[np.intp], NDArray[np.float32], NDArray[np.float32]]:
    """Return the face of the room that each ray meets, and the place on it in metres."""
    high = np.array([SIZE[0] / 2, SIZE[1] / 2, SIZE[2]], dtype=np.float32)
    low = np.array([-SIZE[0] / 2, -SIZE[1] / 2, 0.0], dtype=np.float32)
    forward = rays > 0
    lengths = np.where(forward, (high - origin)[:, None], (low - origin)[:, None]) / rays
    axis = lengths.argmin(axis=0)
    each = np.arange(rays.shape[1])
    place = origin[:, None] + lengths[axis, each] * rays
    # Rounding may put a place a hair outside.
    place = np.clip(place, low[:, None], high[:, None]) - low[:, None]
    surface = 2 * axis + forward[axis, each]
    return (
        surface,
        np.where(axis == 0, place[1], place[0]),
        np.where(axis == 2, place[1], place[2]),
    )


def _put_table(
    origin: NDArray[np.float32],
    rays: NDArray[np.float32],
    surface: NDArray[np.intp],
    across: NDArray[np.float32],
    up: NDArray[np.float32],
) -> None:
    """Overwrite what the table hides, in place: its side where a ray meets that, then its top."""
    axes = np.array(TABLE[:2], dtype=np.float32)
    tall = np.float32(TABLE[2])
    down = np.flatnonzero(rays[2] < 0)  # the eye is above the table
    ray = rays[:, down]
    # The table is a unit circle where x and y are counted in its half axes.
    start, course = origin[:2] / axes, ray[:2] / axes[:, None]
    square, middle = (course**2).sum(axis=0), start @ course
    root = middle**2 - square * (start @ start - 1)
    meets = root > 0
    length = (-middle - np.sqrt(np.where(meets, root, 0))) / square
    height = origin[2] + length * ray[2]
    side = np.flatnonzero(meets & (height > 0) & (height < tall))
    place = start[:, None] + length[side] * course[:, side]
    hidden = down[side]
    surface[hidden], up[hidden] = _SIDE, height[side]
    across[hidden] = np.arctan2(place[1], place[0]) + np.float32(math.pi)
    place = start[:, None] + (tall - origin[2]) / ray[2] * course
    top = np.flatnonzero((place**2).sum(axis=0) < 1)
    hidden = down[top]
    surface[hidden] = _TOP
    across[hidden], up[hidden] = (place[:, top] + 1) * axes[:, None]
