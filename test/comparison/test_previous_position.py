# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The true position at the tick, told to no other method."""

from __future__ import annotations

import numpy as np
from small_lessons import check_causal, check_repeatable, lesson_of, wander

from two_manifold_ros.comparison.baselines import PreviousPosition


def test_the_position_at_the_tick_for_every_horizon() -> None:
    segment = wander(1, 10)
    segment.positions[4] = np.nan
    told = PreviousPosition().fit(lesson_of(wander(0, 20))).follow(segment).positions
    assert told.shape == (10, 3, 2)
    for horizon in range(3):
        np.testing.assert_array_equal(told[:, horizon], segment.positions)


def test_it_has_to_be_told() -> None:
    assert PreviousPosition().told


def test_it_is_causal_and_repeatable() -> None:
    lesson, segment = lesson_of(wander(0, 20)), wander(1, 10)
    check_causal(PreviousPosition().fit(lesson), segment, 4)
    check_repeatable(PreviousPosition(), lesson, segment)
