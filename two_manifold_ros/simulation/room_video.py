# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A conference room, and the film of a camera that is carried around the table in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import zoom

from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    Singles = NDArray[np.float32]
    Indices = NDArray[np.intp]


class Canvas:
    """A surface of ``grey``, 0 black to 1 white, to paint on in metres from the lower left."""

    texels_per_metre = 32  # as fine as a pixel of the camera sees the far wall: little is aliased

    def __init__(
        self, width: float, height: float, shade: float, random: np.random.Generator
    ) -> None:
        rows, columns = (1 + round(side * self.texels_per_metre) for side in (height, width))
        self.grey: Floats = np.full((rows, columns), shade)
        self._random = random

    def box(self, left: float, low: float, width: float, height: float) -> tuple[slice, slice]:
        """Return the texels of a rectangle."""
        first_row, last_row, first_column, last_column = (
            round(edge * self.texels_per_metre) for edge in (low, low + height, left, left + width)
        )
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
        picture = self.smooth_noise(self.grey[inside].shape, 0.3)
        self.grey[inside] = 0.5 + 0.45 * np.tanh(2.5 * picture)

    def noise(self, strength: float, scale: float) -> None:
        """Add smooth noise of a standard deviation and of a size in metres."""
        self.grey += strength * self.smooth_noise(self.grey.shape, scale)

    def daylight(self, axis: int, dark: float) -> None:
        """Darken it away from the windows, which are at the end of an axis (0 rows, 1 columns)."""
        fall = np.linspace(dark, 1.0, self.grey.shape[axis])
        self.grey *= fall if axis else fall[:, None]

    def light(self) -> Singles:
        """Return the shades, darker towards the rim, where less light comes."""
        falls = [
            1.0 - 0.3 * np.exp(-np.minimum(texels, texels[::-1]) / (0.35 * self.texels_per_metre))
            for texels in map(np.arange, self.grey.shape)
        ]
        return np.clip(self.grey * np.outer(*falls), 0.0, 1.0).astype(np.float32)

    def smooth_noise(self, shape: tuple[int, ...], scale: float) -> Floats:
        """Return noise of unit standard deviation, smooth over ``scale`` metres."""
        cell = scale * self.texels_per_metre
        coarse = self._random.standard_normal([4 + round(size / cell) for size in shape])
        smooth = zoom(coarse, cell, order=3)[: shape[0], : shape[1]]
        result: Floats = smooth / smooth.std()
        return result


def _wall(
    width: float, height: float, greys: tuple[float, float, float], random: np.random.Generator
) -> Canvas:
    """Return a wall by the shade of the paint, the strength of its noise, and the skirting."""
    wall = Canvas(width, height, greys[0], random)
    wall.noise(greys[1], 0.8)
    wall.paint(0.0, 0.0, width, 0.1, greys[2])
    return wall


def _surfaces(
    size: tuple[float, float, float],
    table: tuple[float, float, float],
    random: np.random.Generator,
) -> list[Canvas]:
    """Paint the walls at both ends of x and of y, floor, ceiling, table top and table side."""
    width, depth, height = size
    doors = _wall(depth, height, (0.72, 0.05, 0.3), random)
    doors.frame(0.9, 0.0, 1.2, 2.2, (0.5, 0.2))
    doors.paint(1.0, 1.0, 0.1, 0.08, 0.9)
    doors.poster(3.1, 0.9, 1.2, 1.5)
    doors.frame(5.3, 1.7, 0.5, 0.5, (0.05, 0.95))  # a clock
    doors.daylight(1, 0.6)

    board = _wall(depth, height, (0.6, 0.05, 0.2), random)
    board.frame(1.2, 0.8, 3.6, 1.5, (0.2, 0.97))  # white, with writing on it
    for line in range(6):
        for start in np.arange(1.45, 1.45 + random.uniform(1.0, 3.0), 0.22):
            board.paint(start, 2.05 - 0.19 * line, random.uniform(0.06, 0.19), 0.06, 0.3)
    board.paint(5.6, 0.1, 0.9, 1.1, 0.12)  # a cupboard
    board.daylight(1, 0.6)

    shelves = _wall(width, height, (0.5, 0.05, 0.3), random)
    for row in range(5):
        place, low = 0.5, 0.2 + 0.42 * row
        shelves.paint(place, low, 2.6, 0.4, 0.12)
        while place < 0.5 + 2.6 - 0.1:  # books
            thickness = random.uniform(0.06, 0.16)
            tall, shade = 0.4 * random.uniform(0.65, 0.95), random.uniform(0.15, 0.95)
            shelves.paint(place, low + 0.04, thickness, tall - 0.04, shade)
            place += thickness
    shelves.poster(3.8, 1.0, 1.1, 1.4)
    shelves.poster(5.6, 0.9, 1.8, 1.2)
    shelves.grey *= 0.75  # far from the windows

    windows = _wall(width, height, (0.78, 0.04, 0.3), random)
    for left, shade in ((0.5, 0.98), (3.0, 0.92), (5.6, 1.0)):
        wide = 1.9
        windows.frame(left, 0.9, wide, 1.5, (0.25, shade))
        seen = windows.box(left + 0.06, 0.96, wide - 0.12, 0.5)  # trees
        windows.grey[seen] = 0.6 + 0.12 * windows.smooth_noise(windows.grey[seen].shape, 0.25)
        windows.paint(left + wide / 2 - 0.03, 0.9, 0.06, 1.5, 0.25)
    windows.paint(2.45, 0.2, 0.5, 2.4, 0.45)  # a curtain on one side only

    carpet = Canvas(width, depth, 0.4, random)
    rows, columns = np.indices(carpet.grey.shape) // Canvas.texels_per_metre
    carpet.grey += np.where((rows + columns) % 2, 0.05, -0.03)
    carpet.noise(0.04, 0.5)
    carpet.daylight(0, 0.5)

    tiles = Canvas(width, depth, 0.75, random)
    tiles.noise(0.02, 1.0)
    tiles.grey[:: Canvas.texels_per_metre // 2] -= 0.12
    tiles.grey[:, :: Canvas.texels_per_metre // 2] -= 0.12
    tiles.daylight(0, 0.6)
    for left in (1.2, 3.5, 5.8):
        for low in (1.4, 4.4):
            tiles.paint(left, low, 1.0, 1.0, 1.0)  # a lamp

    wood = Canvas(2 * table[0], 2 * table[1], 0.45, random)
    wood.noise(0.05, 0.6)
    for _ in range(7):
        left, low = random.uniform(0.15, 0.7, 2) * (2 * table[0], 2 * table[1])
        wood.paint(left, low, 0.3, 0.21, random.uniform(0.8, 1.0))  # a sheet of paper
    wood.paint(0.25 * (2 * table[0]), 0.4 * (2 * table[1]), 0.45, 0.32, 0.08)  # a computer

    side = Canvas(2 * math.pi, table[2], 0.3, random)  # unrolled
    side.noise(0.06, 0.4)
    side.grey *= np.linspace(0.4, 1.1, len(side.grey))[:, None]
    return [doors, board, shelves, windows, carpet, tiles, wood, side]


class Room:
    """The surfaces of a room, in greys; the seed draws their textures."""

    size = 8.0, 7.0, 2.8  # x, y and z (up), metres; the origin is on the floor, in the middle
    table = 1.5, 1.1, 0.75  # half axes of the elliptic table in x and y, and its height, metres

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(np.random.SeedSequence([seed, 0]))
        surfaces = _surfaces(self.size, self.table, random)
        # The last texel is repeated on two sides: a place on the very edge has neighbours.
        grids = [np.pad(surface.light(), ((0, 2), (0, 2)), mode='edge') for surface in surfaces]
        self._texels = np.concatenate([grid.ravel() for grid in grids])
        self._first = np.cumsum([0] + [grid.size for grid in grids[:-1]]).astype(np.int32)
        self._columns = np.array([grid.shape[1] for grid in grids], dtype=np.int32)

    def shades(self, eye: Sequence[float], rays: Singles) -> Singles:
        """Return the (n,) greys, 0 to 1, that (3, n) rays from an eye, (3,) metres, meet first."""
        surface, across, up = self.meet(eye, rays)
        # Interpolated between the four texels around the place.
        across = across * np.float32(Canvas.texels_per_metre)
        up = up * np.float32(Canvas.texels_per_metre)
        column, row = across.astype(np.int32), up.astype(np.int32)
        right, above = across - column, up - row
        columns = self._columns[surface]
        index = self._first[surface] + row * columns + column
        texels = self._texels
        low = texels[index] * (1 - right) + texels[index + 1] * right
        index += columns
        high = texels[index] * (1 - right) + texels[index + 1] * right
        shades: Singles = low * (1 - above) + high * above
        return shades

    @classmethod
    def meet(cls, eye: Sequence[float], rays: Singles) -> tuple[Indices, Singles, Singles]:
        """
        Return the surface that each of (3, n) rays meets first, and the place across and up on it.

        Surfaces are both faces of x, both of y, both of z, the top of the table and its side.
        Places are in metres, but in radians around the side of the table.
        """
        origin = np.array(eye, dtype=np.float32)
        width, depth, height = cls.size
        high = np.array([width / 2, depth / 2, height], dtype=np.float32)
        low = np.array([-width / 2, -depth / 2, 0.0], dtype=np.float32)
        forward = rays > 0
        lengths = np.where(forward, (high - origin)[:, None], (low - origin)[:, None]) / rays
        axis = lengths.argmin(axis=0)
        each = np.arange(rays.shape[1])
        place = origin[:, None] + lengths[axis, each] * rays
        # Rounding may put a place a hair outside.
        place = np.clip(place, low[:, None], high[:, None]) - low[:, None]
        surface = 2 * axis + forward[axis, each]
        across = np.where(axis == 0, place[1], place[0])
        up = np.where(axis == 2, place[1], place[2])
        # The table hides some: by its side, then by its top.
        axes, tall = np.array(cls.table[:2], dtype=np.float32), np.float32(cls.table[2])
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
        surface[hidden], up[hidden] = 7, height[side]
        across[hidden] = np.arctan2(place[1], place[0]) + np.float32(math.pi)
        place = start[:, None] + (tall - origin[2]) / ray[2] * course
        top = np.flatnonzero((place**2).sum(axis=0) < 1)
        hidden = down[top]
        surface[hidden] = 6
        across[hidden], up[hidden] = (place[:, top] + 1) * axes[:, None]
        return surface, across, up


CameraPose = tuple[float, ...]
"""x, y, z in metres; heading from x towards y, pitch upwards, roll to the right, in radians."""


class RoomCamera:
    """A pinhole camera with a view of 70 degrees across and noise of 4 of 255 greys."""

    def __init__(self, room: Room, width: int, height: int, seed: int) -> None:
        self._room = room
        self._random = np.random.default_rng(np.random.SeedSequence([seed, 1]))
        self._shape = (height, width)
        scale = 2 * math.tan(math.radians(70.0) / 2) / width
        rows, columns = np.indices(self._shape)
        right = (columns.ravel() - (width - 1) / 2) * scale
        down = (rows.ravel() - (height - 1) / 2) * scale
        # Forward, left and up. The tiny number keeps rays off the axes, where they have no slope.
        self._rays = np.stack([np.ones(right.size), -right, -down]) + 1e-7

    def picture(self, pose: CameraPose) -> NDArray[np.uint8]:
        """Return one (height, width) picture; each call draws new noise."""
        cos, sin = (list(map(function, pose[3:])) for function in (math.cos, math.sin))
        turn = np.array([[cos[0], -sin[0], 0], [sin[0], cos[0], 0], [0, 0, 1]])
        raise_ = np.array([[cos[1], 0, -sin[1]], [0, 1, 0], [sin[1], 0, cos[1]]])
        lean = np.array([[1, 0, 0], [0, cos[2], -sin[2]], [0, sin[2], cos[2]]])
        rays = (turn @ raise_ @ lean @ self._rays).astype(np.float32)
        shades = 255 * self._room.shades(pose[:3], rays)
        shades += 4.0 * self._random.standard_normal(shades.shape, dtype=np.float32)
        picture: NDArray[np.uint8] = np.clip(shades + 0.5, 0, 255).astype(np.uint8)
        return picture.reshape(self._shape)


class Step(NamedTuple):
    """State of the walk at one frame."""

    angle: float  # radians around the table, from 0 to 2 pi
    direction: int  # 1 towards growing angles, -1 the other way
    pose: CameraPose


class RoomWalk:
    """An endless walk around the table, with a camera in a hand that shakes."""

    frame_rate_hz = 24.0
    frames_per_circuit = 400  # unless another number is asked for
    radius_m, height_m, pitch = 2.6, 1.5, math.radians(-7.0)
    turn_frames = 36  # from full speed one way to full speed the other way
    circuits_one_way = 1.5, 3.5  # shortest and longest
    wander = {  # noqa: RUF012 - standard deviation and time constant in seconds
        'speed': (0.08, 2.5),  # share of the mean
        'radius': (0.12, 2.5),  # metres
        'height': (0.05, 1.5),
        'heading': (math.radians(3.0), 1.2),
        'pitch': (math.radians(1.3), 0.8),
        'roll': (math.radians(1.3), 0.8),
    }

    def __init__(self, seed: int, frames_per_circuit: int = frames_per_circuit) -> None:
        self._random = np.random.default_rng(np.random.SeedSequence([seed, 2]))
        self._stride = 2 * math.pi / frames_per_circuit
        quicker = self.frames_per_circuit / frames_per_circuit
        self._spreads, times = np.array(list(self.wander.values())).T
        self._memory = np.exp(-quicker / (self.frame_rate_hz * times))
        self._turn = 2.0 * quicker / self.turn_frames
        self._rough, smooth = self._random.standard_normal((2, len(self.wander)))
        self._smooth = smooth / math.sqrt(2.0)
        self._angle = self._random.uniform(0.0, 2 * math.pi)
        self._ratio = self._goal = 1.0
        # Long enough for the first circuit to close before the first turn.
        self._left = self.circuits_one_way[1] * 2 * math.pi

    def step(self) -> Step:
        """Walk on to the next frame."""
        # Noise that is smoothed twice, which makes it weaker by the square root of two.
        memory = self._memory
        shocks = self._random.standard_normal(len(memory))
        self._rough = memory * self._rough + np.sqrt(1 - memory**2) * shocks
        self._smooth = memory * self._smooth + (1 - memory) * self._rough
        values = self._spreads * self._smooth * math.sqrt(2.0)
        wander = dict(zip(self.wander, values.tolist(), strict=True))
        if self._left <= 0.0:
            self._goal = -self._goal
            self._left = self._random.uniform(*self.circuits_one_way) * 2 * math.pi
        self._ratio = min(max(self._goal, self._ratio - self._turn), self._ratio + self._turn)
        moved = self._ratio * (1.0 + wander['speed']) * self._stride
        self._angle = (self._angle + moved) % (2 * math.pi)
        self._left -= abs(moved)
        radius = self.radius_m + wander['radius']
        pose = (
            radius * math.cos(self._angle),
            radius * math.sin(self._angle),
            self.height_m + wander['height'],
            self._angle + math.pi + wander['heading'],  # across the table
            self.pitch + wander['pitch'],
            wander['roll'],
        )
        return Step(self._angle, 1 if self._ratio > 0.0 else -1, pose)


def room_video(
    seed: int, width: int, height: int, frames_per_circuit: int
) -> Iterator[tuple[NDArray[np.uint8], Step]]:
    """Yield grey pictures (height, width) with the truth, without end, by the seed, from 0 on."""
    camera = RoomCamera(Room(seed), width, height, seed)
    walk = RoomWalk(seed, frames_per_circuit)
    while True:
        step = walk.step()
        yield camera.picture(step.pose), step
