# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The true position at the tick, for every horizon: what standing still would come to."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.comparison.method import Course

if TYPE_CHECKING:
    from two_manifold_ros.comparison.method import Lesson
    from two_manifold_ros.ticks.segments import Segment


class FittedPreviousPosition:
    """
    The position that the segment itself tells.

    Parameters
    ----------
    horizons
        How many there are.

    """

    def __init__(self, horizons: int) -> None:
        self.chosen: dict[str, Any] = {}
        self._horizons = horizons

    def follow(self, segment: Segment) -> Course:
        """Repeat the position of each tick; NaN where the segment has none."""
        return Course(np.repeat(segment.positions[:, None], self._horizons, axis=1))


class PreviousPosition:
    """
    The position at the tick, told to no other method.

    Without error at horizon 0 and without a rival one tick later; a lap later, without error
    again. It has nothing to learn.
    """

    name = 'previous'
    title = 'previous position'
    told = True

    def fit(self, lesson: Lesson) -> FittedPreviousPosition:
        """Note how many horizons there are."""
        return FittedPreviousPosition(len(lesson.horizons))
