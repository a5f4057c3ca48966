# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What speaks against a comparison: places that nothing was learned of."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

from two_manifold_ros.inspection.position_findings import position_findings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from two_manifold_ros.comparison.exam import Exam
    from two_manifold_ros.comparison.method import Lesson
    from two_manifold_ros.inspection.position_report import PositionReport
    from two_manifold_ros.typing import Floats

FAR = 0.1
"""Share of the spread of the learned positions beyond which a place counts as unknown."""

MOST_UNKNOWN = 0.25
"""Share of the positions to follow that may be unknown; on one route next to none are."""


def place_doubts(
    lesson: Lesson, exams: Sequence[Exam], drives: Sequence[PositionReport]
) -> Iterator[str]:
    """Yield a sentence for each recording with holes, and one if another route is followed."""
    located = [each for each in lesson.recordings if each.positions is not None]
    for recording, drive in zip(located, drives, strict=True):
        for finding in position_findings(drive, math.inf):
            if finding.code == 'positions_missing':
                yield f'{recording.name}: {finding.sentence}'
    learned = _finite([segment.positions for segment in lesson.dataset.segments])
    followed = _finite([exam.truth[exam.scored] for exam in exams])
    far_m = FAR * float(np.sqrt(learned.var(axis=0).sum()))
    unknown = float(np.mean(cKDTree(learned).query(followed)[0] > far_m))
    if unknown > MOST_UNKNOWN:
        yield (
            f'{unknown:.0%} of the positions to follow are more than {far_m:.2f} m from all that '
            'are learned from, as on another route or in another map: what is learned serves '
            'little there; follow the route that is learned from'
        )


def _finite(parts: Sequence[Floats]) -> Floats:
    places: Floats = np.concatenate([part.reshape(-1, 2) for part in parts])
    return places[np.isfinite(places).all(axis=1)]
