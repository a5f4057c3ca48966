# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The HMM as a method: filtered states against loops, positions against means by hand."""

from __future__ import annotations

from dataclasses import replace
import sys
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

pytest.importorskip('hmmlearn')

from two_manifold_ros.comparison.baselines import MeanPosition
from two_manifold_ros.comparison.hidden_markov import (
    FittedHiddenMarkov,
    HiddenMarkov,
    Learning,
    MarkovSettings,
    WIDTH,
)
from two_manifold_ros.comparison.protocol import held_out_error
from two_manifold_ros.errors import InputError
from two_manifold_ros.training.dataset import build_dataset

if TYPE_CHECKING:
    from two_manifold_ros.recordings.recording import Recording

FEW = MarkovSettings(states=6, passes=2, sharpness=0.5, readout='mean')


def test_states_are_filtered_with_shared_and_softened_emissions() -> None:
    learning = Learning(lesson_of(circle(0, 300)))
    segment = circle(1, 30)
    states = FittedHiddenMarkov(learning, FEW).follow(segment).states
    tables = learning.tables(6, 2)
    emission = tables.shared(learning.codebook.nearness(WIDTH)).emission
    assert states is not None
    for tick, symbol in enumerate(
        learning.codebook.symbols(learning.channels.standardise(segment.values))
    ):
        if tick:
            believed = states[tick - 1] @ tables.transition * emission[:, symbol] ** 0.5
            np.testing.assert_allclose(states[tick], believed / believed.sum(), rtol=1e-9)


def test_a_drive_may_begin_anywhere() -> None:
    """EM learns where the recording began, which says nothing of the next one."""
    learning = Learning(lesson_of(circle(0, 300)))
    assert learning.tables(6, 20).start.max() > 0.99
    fitted = FittedHiddenMarkov(learning, replace(FEW, passes=20))
    assert 0.05 < fitted._tables.start.min() < fitted._tables.start.max() < 0.5


def test_positions_mix_the_mean_of_what_followed_each_state() -> None:
    first, second = wander(0, 60), circle(1, 90)
    first.positions[20:30] = np.nan
    lesson = lesson_of(first, second, horizons=(0, 3, 85))
    fitted = FittedHiddenMarkov(Learning(lesson), FEW)
    told = [fitted.follow(segment) for segment in (first, second)]
    for place, horizon in enumerate(lesson.horizons):
        sums, weights = np.zeros((6, 2)), np.zeros(6)
        for segment, course in zip((first, second), told, strict=True):
            for tick in range(len(segment) - horizon):
                ahead = segment.positions[tick + horizon]
                if np.isfinite(ahead).all():
                    sums += course.states[tick][:, None] * ahead
                    weights += course.states[tick]
        means = sums / weights[:, None]
        for course in told:
            np.testing.assert_allclose(
                course.positions[:, place], course.states @ means, atol=1e-9
            )


def test_a_regression_fits_the_training_better_than_means() -> None:
    segment = circle(0, 300)
    lesson = lesson_of(segment)
    errors = {}
    for readout in ('ridge', 'mean'):
        fitted = FittedHiddenMarkov(Learning(lesson), replace(FEW, sharpness=0.1, readout=readout))
        missed = fitted.follow(segment).positions[:, 0] - segment.positions
        errors[readout] = np.sqrt(np.square(missed).mean())
    assert errors['ridge'] < 0.9 * errors['mean']


@pytest.mark.parametrize('readout', ['ridge', 'mean'])
def test_a_horizon_beyond_every_segment_is_not_told(readout: str) -> None:
    lesson = lesson_of(circle(0, 80), horizons=(0, 80))
    fitted = FittedHiddenMarkov(Learning(lesson), replace(FEW, readout=readout))
    positions = fitted.follow(circle(1, 20)).positions
    assert np.isfinite(positions[:, 0]).all()
    assert np.isnan(positions[:, 1]).all()


def test_input_unlike_any_in_training_still_gives_positions() -> None:
    lesson = lesson_of(circle(0, 400), window=10)
    strange = replace(wander(1, 50), values=1e6 * wander(1, 50).values)
    course = HiddenMarkov(states=(6,)).fit(lesson).follow(strange)
    assert np.isfinite(course.positions).all()
    assert np.isfinite(course.states).all()


def test_laps_of_a_circle_are_followed() -> None:
    fitted = HiddenMarkov().fit(lesson_of(circle(0, 400), window=10))
    truth = circle(1, 120).positions
    told = fitted.follow(without_positions(circle(1, 120))).positions
    assert np.abs(told[10:, 0] - truth[10:]).max() < 0.3
    assert np.abs(told[10:-7, 2] - truth[17:]).max() < 0.3


def test_only_the_states_asked_for_are_tried() -> None:
    fitted = HiddenMarkov(states=(5,)).fit(lesson_of(circle(0, 400), window=10))
    assert fitted.chosen['states'] == 5
    assert fitted.chosen['symbols'] <= 200


def test_without_a_block_to_choose_on_the_first_is_taken() -> None:
    chosen = HiddenMarkov(states=(7, 3)).fit(lesson_of(circle(0, 60), window=25)).chosen
    assert {name: chosen[name] for name in ('states', 'passes', 'sharpness', 'readout')} == {
        'states': 7, 'passes': 5, 'sharpness': 0.25, 'readout': 'ridge'
    }  # fmt: skip


def test_the_library_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Candidates without a pass of EM are not chosen instead, without a word."""
    monkeypatch.setitem(sys.modules, 'hmmlearn.hmm', None)
    with pytest.raises(InputError, match='hmmlearn'):
        HiddenMarkov(states=(5,)).fit(lesson_of(circle(0, 400), window=10))


def test_it_is_causal_and_repeatable() -> None:
    lesson, segment = lesson_of(circle(0, 300), window=10), wander(2, 30)
    check_causal(HiddenMarkov(states=(6,)).fit(lesson), segment, 17)
    check_repeatable(HiddenMarkov(states=(6,)), lesson, segment)


def test_a_slot_car_is_followed(slot_car_laps: tuple[Recording, Recording]) -> None:
    lesson = recorded_lesson(slot_car_laps[0], window=40, horizons=(0, 10))
    rest = build_dataset([slot_car_laps[1]], lesson.settings).segments
    error = held_out_error(HiddenMarkov(states=(20,)).fit(lesson), rest, lesson)
    assert error < 0.7 * held_out_error(MeanPosition().fit(lesson), rest, lesson)
