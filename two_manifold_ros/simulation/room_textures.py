# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the surfaces of the conference room look like, painted from a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import zoom

if TYPE_CHECKING:
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
