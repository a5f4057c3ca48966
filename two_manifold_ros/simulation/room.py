# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A conference room with a table in the middle, and what is seen along a ray."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import zoom

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from two_manifold_ros.typing import Floats


TEXELS_PER_METRE = 32
"""About as fine as a pixel of the camera sees the far wall, so that little is aliased."""

_DARK, _LIGHT = 0.15, 0.95


class Canvas:
    """
    A surface to paint on, in metres from its lower left corner.

    Parameters
    ----------
    width, height
        Metres.
    shade
        Grey before anything is painted, 0 (black) to 1 (white).
    random
        Draws the noise.

    Attributes
    ----------
    grey : (rows, columns)
        Shades, float64; the first row is the lower edge.

    """

    def __init__(
        self, width: float, height: float, shade: float, random: np.random.Generator
    ) -> None:
        rows, columns = (1 + round(side * TEXELS_PER_METRE) for side in (height, width))
        self.grey: Floats = np.full((rows, columns), shade)
        self._random = random

    def box(self, left: float, low: float, width: float, height: float) -> tuple[slice, slice]:
        """Return the texels of a rectangle."""
        edges = (
            round(edge * TEXELS_PER_METRE) for edge in (low, low + height, left, left + width)
        )
        first_row, last_row, first_column, last_column = edges
        return slice(first_row, last_row), slice(first_column, last_column)

    def paint(self, left: float, low: float, width: float, height: float, shade: float) -> None:
        """Paint a rectangle."""
        self.grey[self.box(left, low, width, height)] = shade

    def frame(
        self, left: float, low: float, width: float, height: float, shades: tuple[float, float]
    ) -> None:
        """Paint a rectangle of the second shade with a rim of the first, 6 cm wide."""
        rim = 0.06
        self.paint(left, low, width, height, shades[0])
        self.paint(left + rim, low + rim, width - 2 * rim, height - 2 * rim, shades[1])

    def poster(self, left: float, low: float, width: float, height: float) -> None:
        """Paint a framed picture of a few dark and light shapes."""
        self.frame(left, low, width, height, (0.1, 0.5))
        inside = self.box(left + 0.06, low + 0.06, width - 0.12, height - 0.12)
        picture = value_noise(self.grey[inside].shape, 0.3, self._random)
        self.grey[inside] = 0.5 + 0.45 * np.tanh(2.5 * picture)

    def books(self, left: float, low: float, width: float, height: float) -> None:
        """Paint a row of upright books on a dark board."""
        self.paint(left, low, width, height, 0.12)
        place = left
        while place < left + width - 0.1:
            thickness = self._random.uniform(0.06, 0.16)
            tall = height * self._random.uniform(0.65, 0.95)
            shade = self._random.uniform(_DARK, _LIGHT)
            self.paint(place, low + 0.04, thickness, tall - 0.04, shade)
            place += thickness

    def noise(self, strength: float, scale: float) -> None:
        """Add smooth noise of a standard deviation and of a size in metres."""
        self.grey += strength * value_noise(self.grey.shape, scale, self._random)

    def daylight(self, axis: int, dark: float) -> None:
        """Let it be brightest at the end of an axis (0 rows, 1 columns), where the windows are."""
        fall = np.linspace(dark, 1.0, self.grey.shape[axis])
        self.grey *= fall if axis else fall[:, None]

    def light(self) -> NDArray[np.float32]:
        """Return the shades, darker towards the rim, where less light comes."""
        falls = [
            1.0 - 0.3 * np.exp(-np.minimum(texels, texels[::-1]) / (0.35 * TEXELS_PER_METRE))
            for texels in map(np.arange, self.grey.shape)
        ]
        return np.clip(self.grey * np.outer(*falls), 0.0, 1.0).astype(np.float32)


def value_noise(shape: tuple[int, ...], scale: float, random: np.random.Generator) -> Floats:
    """Return noise of unit standard deviation, smooth over ``scale`` metres."""
    cell = scale * TEXELS_PER_METRE
    coarse = random.standard_normal([4 + round(size / cell) for size in shape])
    smooth = zoom(coarse, cell, order=3)[: shape[0], : shape[1]]
    result: Floats = smooth / smooth.std()
    return result


def window_wall(width: float, height: float, random: np.random.Generator) -> Canvas:
    """Return a wall with three windows, and what is to be seen outside."""
    wall = Canvas(width, height, 0.78, random)
    wall.noise(0.04, 0.8)
    wall.paint(0.0, 0.0, width, 0.1, 0.3)
    for left, shade in ((0.5, 0.98), (3.0, 0.92), (5.6, 1.0)):
        wide = 1.9
        wall.frame(left, 0.9, wide, 1.5, (0.25, shade))
        trees = wall.box(left + 0.06, 0.96, wide - 0.12, 0.5)
        wall.grey[trees] = 0.6 + 0.12 * value_noise(wall.grey[trees].shape, 0.25, random)
        wall.paint(left + wide / 2 - 0.03, 0.9, 0.06, 1.5, 0.25)
    wall.paint(2.45, 0.2, 0.5, 2.4, 0.45)  # a curtain on one side only
    return wall


def shelf_wall(width: float, height: float, random: np.random.Generator) -> Canvas:
    """Return a wall with shelves of books and two posters."""
    wall = Canvas(width, height, 0.5, random)
    wall.noise(0.05, 0.8)
    wall.paint(0.0, 0.0, width, 0.1, 0.3)
    for board in range(5):
        wall.books(0.5, 0.2 + 0.42 * board, 2.6, 0.4)
    wall.poster(3.8, 1.0, 1.1, 1.4)
    wall.poster(5.6, 0.9, 1.8, 1.2)
    wall.grey *= 0.75  # it is far from the windows
    return wall


def board_wall(width: float, height: float, random: np.random.Generator) -> Canvas:
    """Return a wall with a white board that was written on."""
    wall = Canvas(width, height, 0.6, random)
    wall.noise(0.05, 0.8)
    wall.paint(0.0, 0.0, width, 0.1, 0.2)
    wall.frame(1.2, 0.8, 3.6, 1.5, (0.2, 0.97))
    for line in range(6):
        for start in np.arange(1.45, 1.45 + random.uniform(1.0, 3.0), 0.22):
            wall.paint(start, 2.05 - 0.19 * line, random.uniform(0.06, 0.19), 0.06, 0.3)
    wall.paint(5.6, 0.1, 0.9, 1.1, 0.12)  # a cupboard
    wall.daylight(1, 0.6)
    return wall


def door_wall(width: float, height: float, random: np.random.Generator) -> Canvas:
    """Return a wall with a dark door, a poster and a clock."""
    wall = Canvas(width, height, 0.72, random)
    wall.noise(0.05, 0.8)
    wall.paint(0.0, 0.0, width, 0.1, 0.3)
    wall.frame(0.9, 0.0, 1.2, 2.2, (0.5, 0.2))
    wall.paint(1.0, 1.0, 0.1, 0.08, 0.9)
    wall.poster(3.1, 0.9, 1.2, 1.5)
    wall.frame(5.3, 1.7, 0.5, 0.5, (0.05, 0.95))
    wall.daylight(1, 0.6)
    return wall


def floor(width: float, depth: float, random: np.random.Generator) -> Canvas:
    """Return a carpet of squares."""
    carpet = Canvas(width, depth, 0.4, random)
    rows, columns = np.indices(carpet.grey.shape) // TEXELS_PER_METRE
    carpet.grey += np.where((rows + columns) % 2, 0.05, -0.03)
    carpet.noise(0.04, 0.5)
    carpet.daylight(0, 0.5)
    return carpet


def ceiling(width: float, depth: float, random: np.random.Generator) -> Canvas:
    """Return a ceiling of tiles with lamps."""
    tiles = Canvas(width, depth, 0.75, random)
    tiles.noise(0.02, 1.0)
    tiles.grey[:: TEXELS_PER_METRE // 2] -= 0.12
    tiles.grey[:, :: TEXELS_PER_METRE // 2] -= 0.12
    tiles.daylight(0, 0.6)
    for left in (1.2, 3.5, 5.8):
        for low in (1.4, 4.4):
            tiles.paint(left, low, 1.0, 1.0, 1.0)
    return tiles


def table_top(width: float, depth: float, random: np.random.Generator) -> Canvas:
    """Return wood with sheets of paper and a computer left on it."""
    wood = Canvas(width, depth, 0.45, random)
    wood.noise(0.05, 0.6)
    for _ in range(7):
        left, low = random.uniform(0.15, 0.7, 2) * (width, depth)
        wood.paint(left, low, 0.3, 0.21, random.uniform(0.8, 1.0))
    wood.paint(0.25 * width, 0.4 * depth, 0.45, 0.32, 0.08)
    return wood


def table_side(around: float, height: float, random: np.random.Generator) -> Canvas:
    """Return the side of the table, unrolled, darker towards the floor."""
    side = Canvas(around, height, 0.3, random)
    side.noise(0.06, 0.4)
    side.grey *= np.linspace(0.4, 1.1, len(side.grey))[:, None]
    return side


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
            door_wall(depth, height, random),
            board_wall(depth, height, random),
            shelf_wall(width, height, random),
            window_wall(width, height, random),
            floor(width, depth, random),
            ceiling(width, depth, random),
            table_top(along_x, along_y, random),
            table_side(2 * math.pi, tall, random),
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
        across = across * np.float32(TEXELS_PER_METRE)
        up = up * np.float32(TEXELS_PER_METRE)
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
