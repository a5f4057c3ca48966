# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The film of a camera that is carried around a room."""

from __future__ import annotations

import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.simulation.room import Room

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from two_manifold_ros.typing import Floats


class CameraPose(NamedTuple):
    """Place in metres; heading from x towards y, pitch upwards, roll to the right, in radians."""

    x: float
    y: float
    z: float
    heading: float
    pitch: float
    roll: float


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
    """
    An endless walk around the table, with a camera in a hand that shakes.

    Fewer frames per circuit make the walker quicker and the hand shake faster in proportion.
    """

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
        self._pace = self._goal = 1.0
        # Long enough for the first circuit to close before the first turn.
        self._left = self.circuits_one_way[1] * 2 * math.pi

    def step(self) -> Step:
        """Walk on to the next frame."""
        wander = dict(zip(self.wander, self._wandered().tolist(), strict=True))
        if self._left <= 0.0:
            self._goal = -self._goal
            self._left = self._random.uniform(*self.circuits_one_way) * 2 * math.pi
        self._pace = min(max(self._goal, self._pace - self._turn), self._pace + self._turn)
        moved = self._pace * (1.0 + wander['speed']) * self._stride
        self._angle = (self._angle + moved) % (2 * math.pi)
        self._left -= abs(moved)
        radius = self.radius_m + wander['radius']
        pose = CameraPose(
            radius * math.cos(self._angle),
            radius * math.sin(self._angle),
            self.height_m + wander['height'],
            self._angle + math.pi + wander['heading'],  # across the table
            self.pitch + wander['pitch'],
            wander['roll'],
        )
        return Step(self._angle, 1 if self._pace > 0.0 else -1, pose)

    def _wandered(self) -> Floats:
        """Return the next values of all wanders: noise that is smoothed twice."""
        memory = self._memory
        shocks = self._random.standard_normal(len(memory))
        self._rough = memory * self._rough + np.sqrt(1 - memory**2) * shocks
        self._smooth = memory * self._smooth + (1 - memory) * self._rough
        # Smoothing makes noise weaker by the square root of two.
        values: Floats = self._spreads * self._smooth * math.sqrt(2.0)
        return values


class RoomFrame(NamedTuple):
    """A (height, width) uint8 picture in grey with the truth beside it, see `Step`."""

    picture: NDArray[np.uint8]
    angle: float
    direction: int
    pose: CameraPose


def room_video(
    seed: int,
    width: int = 160,
    height: int = 120,
    frames_per_circuit: int = RoomWalk.frames_per_circuit,
) -> Iterator[RoomFrame]:
    """Yield frame after frame without end; the same seed, from 0 on, gives the same frames."""
    camera = RoomCamera(Room(seed), width, height, seed)
    walk = RoomWalk(seed, frames_per_circuit)
    while True:
        step = walk.step()
        yield RoomFrame(camera.picture(step.pose), *step)
