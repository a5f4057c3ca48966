# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Nearest training windows against loops over all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from small_lessons import (
    check_causal,
    check_repeatable,
    circle,
    lesson_of,
    recorded_lesson,
    wander,
    without_positions,
)

from two_manifold_ros.comparison.baselines import (
    FittedNearestWindows,
    MeanPosition,
    NearestSettings,
    NearestWindows,
)
from two_manifold_ros.comparison.protocol import held_out_error
from two_manifold_ros.errors import InputError
from two_manifold_ros.training.dataset import build_dataset

if TYPE_CHECKING:
    from two_manifold_ros.comparison.method import Lesson
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.ticks.segments import Segment


def naive(lesson: Lesson, segment: Segment, tick: int, settings: NearestSettings) -> np.ndarray:
    """Compare the window that ends at a tick with every training window, one at a time."""
    width, standardise = settings.window, lesson.dataset.channels.standardise
    live = standardise(segment.values)[tick - width + 1 : tick + 1]
    told = np.full((len(lesson.horizons), 2), np.nan)
    for place, horizon in enumerate(lesson.horizons):
        found = []
        for training in lesson.dataset.segments:
            observations = standardise(training.values)
            for end in range(width - 1, len(training) - horizon):
                position = training.positions[end + horizon]
                if np.isfinite(position).all():
                    window = observations[end - width + 1 : end + 1]
                    found.append((np.sum((window - live) ** 2), position))
        found.sort(key=lambda pair: pair[0])
        if found:
            told[place] = np.mean([pair[1] for pair in found[: settings.neighbours]], axis=0)
    return told


@pytest.mark.parametrize('neighbours', [1, 4, 30, 500])
@pytest.mark.parametrize('width', [1, 5, 9])
def test_as_by_comparing_every_window(neighbours: int, width: int) -> None:
    training = [wander(0, 40), wander(1, 9), wander(2, 25), wander(3, 4)]
    training[0].positions[10:30] = np.nan
    lesson = lesson_of(*training, horizons=(0, 2, 7, 38))
    settings = NearestSettings(neighbours, width)
    segment = wander(4, 20)
    told = FittedNearestWindows(lesson, settings).follow(segment).positions
    assert np.isnan(told[: width - 1]).all()
    for tick in range(width - 1, len(segment)):
        np.testing.assert_allclose(told[tick], naive(lesson, segment, tick, settings), atol=1e-12)


def test_a_horizon_beyond_every_segment_is_not_told() -> None:
    lesson = lesson_of(wander(0, 20), wander(1, 30), horizons=(0, 29, 30))
    told = FittedNearestWindows(lesson, NearestSettings(1, 1)).follow(wander(2, 6)).positions
    np.testing.assert_array_equal(np.isfinite(told).all(axis=(0, 2)), [True, True, False])


def test_the_choice_suits_the_data() -> None:
    """Without noise in the positions, few neighbours are best: more blur the circle."""
    fitted = NearestWindows().fit(lesson_of(circle(0, 400), window=8))
    assert fitted.chosen['neighbours'] in {1, 5}
    told = fitted.follow(without_positions(circle(1, 60))).positions
    wanted = circle(1, 60).positions
    assert np.abs(told[8:, 0] - wanted[8:]).max() < 0.2
    assert np.abs(told[8:-7, 2] - wanted[15:]).max() < 0.2


def test_nothing_to_choose_on_takes_the_first() -> None:
    fitted = NearestWindows().fit(lesson_of(wander(0, 40), window=10))
    assert fitted.chosen == {'neighbours': 5, 'window': 10}


def test_no_segment_as_long_as_a_window() -> None:
    with pytest.raises(InputError, match='holds a window of 12 ticks'):
        FittedNearestWindows(lesson_of(wander(0, 11)), NearestSettings(1, 12))


def test_it_is_causal_and_repeatable() -> None:
    lesson, segment = lesson_of(wander(0, 100), wander(1, 100)), wander(2, 30)
    check_causal(NearestWindows().fit(lesson), segment, 17)
    check_repeatable(NearestWindows(), lesson, segment)


def test_a_slot_car_is_followed(slot_car_laps: tuple[Recording, Recording]) -> None:
    lesson = recorded_lesson(slot_car_laps[0], window=40, horizons=(0, 10))
    rest = build_dataset([slot_car_laps[1]], lesson.settings).segments
    error = held_out_error(NearestWindows().fit(lesson), rest, lesson)
    assert error < 0.5 * held_out_error(MeanPosition().fit(lesson), rest, lesson)
