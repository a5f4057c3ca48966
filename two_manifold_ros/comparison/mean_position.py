# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Always the mean training position: what is known before the first IMU sample."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.comparison.method import Course
from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from two_manifold_ros.comparison.method import Lesson
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.typing import Bools, Floats


class FittedMeanPosition:
    """
    One position for every tick and horizon.

    Parameters
    ----------
    mean : (2,)
        Metres.
    horizons
        How many there are.

    """

    def __init__(self, mean: Floats, horizons: int) -> None:
        self.chosen: dict[str, Any] = {}
        self._mean = mean
        self._horizons = horizons

    def follow(self, segment: Segment) -> Course:
        """Tell the mean from the first tick on."""
        return Course(np.tile(self._mean, (len(segment), self._horizons, 1)))


class MeanPosition:
    """The mean of the known training positions, which a method must beat to be of any use."""

    name = 'mean'
    title = 'mean position'
    told = False

    def fit(self, lesson: Lesson) -> FittedMeanPosition:
        """
        Take the mean over the ticks of the lesson.

        Raises
        ------
        InputError
            If no position is known.

        """
        return FittedMeanPosition(mean_of(lesson), len(lesson.horizons))


def mean_of(lesson: Lesson) -> Floats:
    """
    Return the mean of the known positions of the lesson: (2,), metres.

    Raises
    ------
    InputError
        If no position is known.

    """
    positions = np.concatenate([segment.positions for segment in lesson.dataset.segments])
    known: Bools = np.all(np.isfinite(positions), axis=1)
    if not known.any():
        msg = 'no training position is known, so there is no mean; record positions as well'
        raise InputError(msg)
    mean: Floats = positions[known].mean(axis=0)
    return mean
