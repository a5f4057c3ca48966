# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The film of a camera that is carried around a room, one frame after the other."""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

from two_manifold_ros.simulation.room import Room
from two_manifold_ros.simulation.room_camera import RoomCamera
from two_manifold_ros.simulation.room_walk import FRAMES_PER_CIRCUIT, RoomWalk

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from two_manifold_ros.simulation.room_camera import CameraPose

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
