# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What speaks against a comparison: too few laps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.training.drive_summary import count_all_laps, FEWEST_LAPS
from two_manifold_ros.training.holdout import hold_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from two_manifold_ros.comparison.exam import Exam
    from two_manifold_ros.comparison.method import Lesson
    from two_manifold_ros.inspection.position_report import PositionReport


def lap_doubts(
    lesson: Lesson, exams: Sequence[Exam], drives: Sequence[PositionReport]
) -> Iterator[str]:
    """Yield a sentence for each part that holds too few laps to tell much."""
    times = [drive.laps.time_s for drive in drives if drive.laps is not None]
    if not times:
        yield (
            'what is learned from never closes a lap, so no place is known under more than one '
            'drive; record several laps of one route'
        )
        return
    lap_s, laps = float(np.median(times)), count_all_laps(drives)
    held = _held_s(lesson) / lap_s
    if laps < FEWEST_LAPS or held < 1.0:
        yield (
            f'what is learned from holds {laps:.1f} laps, {held:.1f} of them to choose settings '
            'on: the methods may have better settings than those chosen; record 10 laps or more'
        )
    followed = sum(int(exam.scored.sum()) for exam in exams) * lesson.period_s / lap_s
    if followed < 1.0:
        yield (
            f'what is followed holds {followed:.1f} laps: the errors are those on a part of the '
            'route; follow a longer part'
        )


def _held_s(lesson: Lesson) -> float:
    """Return the seconds of the held-out blocks that can be scored."""
    window = lesson.dataset.window
    _, held = hold_out(lesson.dataset.segments, window)
    return sum(len(segment) - window for segment in held) * lesson.period_s
