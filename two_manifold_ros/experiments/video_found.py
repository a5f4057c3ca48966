# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What was found out about a film, and what its camera really did."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from two_manifold_ros.experiments.video_scores import Reading
    from two_manifold_ros.simulation.room_video import RoomFrame
    from two_manifold_ros.typing import Floats, Ints

_SAME_PLACE = math.radians(1.0)


class Diary:
    """
    Where the camera was at each frame, and two of the pictures.

    Parameters
    ----------
    window
        Frames of a window.

    Attributes
    ----------
    angles, directions, places
        Of every frame: radians, +1 or -1, and x and y in metres.
    pictures
        The frame at the end of the first window, and the first one from the same place while the
        camera goes the other way.

    """

    def __init__(self, window: int) -> None:
        self.window = window
        self.angles: list[float] = []
        self.directions: list[int] = []
        self.places: list[tuple[float, float]] = []
        self.pictures: list[NDArray[np.uint8]] = []

    def note(self, frame: RoomFrame) -> None:
        """Write down the next frame."""
        self.angles.append(frame.angle)
        self.directions.append(frame.direction)
        self.places.append((frame.pose.x, frame.pose.y))
        if len(self.angles) == self.window:
            self.pictures = [frame.picture]
        elif len(self.pictures) == 1 and frame.direction != self.directions[self.window - 1]:
            away = math.remainder(frame.angle - self.angles[self.window - 1], 2 * math.pi)
            if abs(away) < _SAME_PLACE:
                self.pictures.append(frame.picture)


@dataclass(frozen=True)
class Found:
    """
    What was found.

    Parameters
    ----------
    diary
        The truth.
    maps
        Views, shape (steps, states), by the steps after which they were looked at; the first one
        ends with the last frame of the first window, and each one a frame later.
    gaps : (n,)
        In the map after 1, 2, ... steps.
    states : (m, states)
        Of a filter over the last m frames with the last model.
    reading, live
        What is read from the last of them, and from the states that the filter had at the time.

    """

    diary: Diary
    maps: dict[int, Floats]
    gaps: Floats
    states: Floats
    reading: Reading
    live: Reading

    @property
    def view_angles(self) -> Floats:
        """True angle, radians, at the end of each view."""
        return np.array(self.diary.angles[self.diary.window - 1 :])

    @property
    def returned(self) -> int:
        """Steps after which the newest view is a whole circuit away from the first; 0 if none."""
        angles = np.unwrap(self.view_angles)
        return int((np.abs(angles - angles[0]) >= 2 * np.pi).argmax()) + 1

    @property
    def state_directions(self) -> Ints:
        """True direction at each state."""
        return np.array(self.diary.directions[-len(self.states) :])
