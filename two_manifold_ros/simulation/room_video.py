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


FRAMES_PER_CIRCUIT = 400
"""On average."""

FRAME_RATE_HZ = 24.0

_RADIUS, _HEIGHT, _PITCH = 2.6, 1.5, math.radians(-7.0)
_TURN_FRAMES = 36  # from full speed one way to full speed the other way
_STRETCH = (1.5, 3.5)  # circuits one way, from the shortest to the longest

# Standard deviation and time constant in seconds of what a hand does.
_WANDER = {
    'speed': (0.08, 2.5),  # share of the mean
    'radius': (0.12, 2.5),  # metres
    'height': (0.05, 1.5),
    'heading': (math.radians(3.0), 1.2),
    'pitch': (math.radians(1.3), 0.8),
    'roll': (math.radians(1.3), 0.8),
}


_SMOOTHED = math.sqrt(2.0)  # by which smoothing makes noise weaker


class Step(NamedTuple):
    """
    Where the walker is at one frame.

    Parameters
    ----------
    angle
        Radians around the table, from 0 to 2 pi.
    direction
        1 towards growing angles, -1 the other way.
    pose
        Of the camera.

    """

    angle: float
    direction: int
    pose: CameraPose


class RoomWalk:
    """
    A walk around the table that goes on for ever.

    Parameters
    ----------
    seed
        Draws the wander and the places where the walker turns round.
    frames_per_circuit
        On average; fewer make the walker quicker and the hand shake faster in proportion.

    """

    def __init__(self, seed: int, frames_per_circuit: int = FRAMES_PER_CIRCUIT) -> None:
        self._random = np.random.default_rng(np.random.SeedSequence([seed, 2]))
        self._stride = 2 * math.pi / frames_per_circuit
        quicker = FRAMES_PER_CIRCUIT / frames_per_circuit
        spreads, times = np.array(list(_WANDER.values())).T
        self._spreads = spreads
        self._memory = np.exp(-quicker / (FRAME_RATE_HZ * times))
        self._turn = 2.0 * quicker / _TURN_FRAMES
        self._rough, smooth = self._random.standard_normal((2, len(_WANDER)))
        self._smooth = smooth / _SMOOTHED
        self._angle = self._random.uniform(0.0, 2 * math.pi)
        self._pace = self._goal = 1.0
        # Long enough for the first circuit to close before the first turn.
        self._left = _STRETCH[1] * 2 * math.pi

    def step(self) -> Step:
        """Walk on to the next frame."""
        wander = dict(zip(_WANDER, self._wander().tolist(), strict=True))
        if self._left <= 0.0:
            self._goal = -self._goal
            self._left = self._random.uniform(*_STRETCH) * 2 * math.pi
        self._pace = min(max(self._goal, self._pace - self._turn), self._pace + self._turn)
        moved = self._pace * (1.0 + wander['speed']) * self._stride
        self._angle = (self._angle + moved) % (2 * math.pi)
        self._left -= abs(moved)
        direction = 1 if self._pace > 0.0 else -1
        return Step(self._angle, direction, self._pose(wander))

    def _wander(self) -> Floats:
        """Return the next values of all wanders, noise that was smoothed twice."""
        memory = self._memory
        shocks = self._random.standard_normal(len(memory))
        self._rough = memory * self._rough + np.sqrt(1 - memory**2) * shocks
        self._smooth = memory * self._smooth + (1 - memory) * self._rough
        values: Floats = self._spreads * self._smooth * _SMOOTHED
        return values

    def _pose(self, wander: dict[str, float]) -> CameraPose:
        """Return the pose, looking across the table."""
        radius = _RADIUS + wander['radius']
        return CameraPose(
            radius * math.cos(self._angle),
            radius * math.sin(self._angle),
            _HEIGHT + wander['height'],
            self._angle + math.pi + wander['heading'],
            _PITCH + wander['pitch'],
            wander['roll'],
        )


WIDTH, HEIGHT = 160, 120
"""Pixels."""


class RoomFrame(NamedTuple):
    """
    A frame with the truth beside it.

    Parameters
    ----------
    picture : (height, width) uint8
        Grey.
    angle
        Radians around the table, from 0 to 2 pi.
    direction
        1 where the camera circles towards growing angles, -1 the other way.
    pose
        Of the camera.

    """

    picture: NDArray[np.uint8]
    angle: float
    direction: int
    pose: CameraPose


def room_video(
    seed: int,
    width: int = WIDTH,
    height: int = HEIGHT,
    frames_per_circuit: int = FRAMES_PER_CIRCUIT,
) -> Iterator[RoomFrame]:
    """
    Yield frame after frame, without end.

    Parameters
    ----------
    seed
        Integer from 0 on; it draws the room, the walk and the noise, each by itself. The same seed
        gives the same frames.
    width, height
        Pixels.
    frames_per_circuit
        On average.

    """
    camera = RoomCamera(Room(seed), width, height, seed)
    walk = RoomWalk(seed, frames_per_circuit)
    while True:
        step = walk.step()
        yield RoomFrame(camera.picture(step.pose), *step)
