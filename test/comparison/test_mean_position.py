# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The mean of the training positions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_lessons import check_causal, check_repeatable, lesson_of, wander, without_positions

from two_manifold_ros.comparison.baselines import MeanPosition
from two_manifold_ros.errors import InputError


def test_the_mean_of_the_known_ticks_at_every_horizon() -> None:
    first, second = wander(0, 20), wander(1, 30)
    first.positions[3:9] = np.nan
    told = MeanPosition().fit(lesson_of(first, second)).follow(wander(2, 4)).positions
    known = [*first.positions[:3], *first.positions[9:], *second.positions]
    mean = sum(known) / len(known)
    assert told.shape == (4, 3, 2)
    np.testing.assert_allclose(told, np.broadcast_to(mean, (4, 3, 2)))


def test_it_is_causal_and_repeatable() -> None:
    lesson, segment = lesson_of(wander(0, 20)), wander(1, 10)
    check_causal(MeanPosition().fit(lesson), segment, 4)
    check_repeatable(MeanPosition(), lesson, segment)


def test_no_training_position_at_all() -> None:
    segment = without_positions(wander(0, 20))
    half = replace(segment, positions=segment.positions.copy())
    half.positions[:, 0] = 1.0
    with pytest.raises(InputError, match='no training position is known'):
        MeanPosition().fit(lesson_of(segment, half))
