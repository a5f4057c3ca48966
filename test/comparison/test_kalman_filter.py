# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The Kalman filter where the best possible one is known, and on a recording."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from small_lessons import (
    check_causal,
    check_repeatable,
    circle,
    lesson_of,
    recorded_lesson,
    segment_of,
    wander,
    without_positions,
)

from two_manifold_ros.comparison import linear_system as module
from two_manifold_ros.comparison.baselines import MeanPosition
from two_manifold_ros.comparison.linear_system import (
    fit_readout,
    innovation_form,
    InnovationForm,
    KalmanFilter,
    WEIGHTINGS,
)
from two_manifold_ros.comparison.protocol import held_out_error
from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.readout import segment_targets

if TYPE_CHECKING:
    from two_manifold_ros.comparison.method import FittedMethod, Lesson
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.ticks.segments import Segment

TURN = 0.98 * np.array([[np.cos(0.2), -np.sin(0.2)], [np.sin(0.2), np.cos(0.2)]])
SEEN = np.random.default_rng(5).normal(size=(6, 2))


def swinging(seed: int, ticks: int) -> Segment:
    """Return a noisy oscillator: its state is the position, the channels are mixtures of it."""
    rng = np.random.default_rng(seed)
    state = np.zeros((ticks, 2))
    for tick in range(1, ticks):
        state[tick] = TURN @ state[tick - 1] + rng.normal(scale=0.3, size=2)
    return segment_of(state @ SEEN.T + rng.normal(scale=2.0, size=(ticks, 6)), state)


def root_mean_square(fitted: FittedMethod, segment: Segment, lesson: Lesson) -> np.ndarray:
    truth = segment_targets(segment.positions, lesson.horizons, lesson.period_s)[:, :-1]
    errors = fitted.follow(without_positions(segment)).positions - truth
    return np.sqrt(np.nanmean(np.square(errors[20:]).sum(axis=2), axis=0))


def test_nearly_as_good_as_the_best_possible_filter() -> None:
    lesson = lesson_of(swinging(0, 3000), swinging(1, 2000), window=10)
    fitted = KalmanFilter(states=2, block_rows=10).fit(lesson)
    segment = swinging(2, 3000)
    noise = np.diag([0.09] * 2 + [4.0] * 6)
    states = innovation_form(TURN, SEEN, noise).filter(segment.values)
    for column, horizon in enumerate(lesson.horizons):
        # The state after a tick is that of the next one.
        best = states @ (np.linalg.matrix_power(TURN, horizon) @ np.linalg.inv(TURN)).T
        errors = best[20 : len(best) - horizon] - segment.positions[20 + horizon :]
        reached = root_mean_square(fitted, segment, lesson)[column]
        assert reached < 1.05 * np.sqrt(np.square(errors).sum(axis=1).mean())


def test_readout_is_a_regression_on_states_of_full_windows_with_known_positions() -> None:
    first, second = swinging(0, 80), swinging(1, 60)
    first.positions[30:40] = np.nan
    lesson = lesson_of(first, second, window=6, horizons=(0, 3))
    system = InnovationForm(TURN, SEEN, 0.1 * SEEN.T, np.eye(6))
    coefficients = fit_readout(system, lesson)
    for column, horizon in enumerate(lesson.horizons):
        rows, wanted = [], []
        for segment in (first, second):
            states = system.filter(lesson.dataset.channels.standardise(segment.values))
            for tick in range(6, len(segment) - horizon):
                if np.isfinite(segment.positions[tick + horizon]).all():
                    rows.append([1.0, *states[tick]])
                    wanted.append(segment.positions[tick + horizon])
        plain = np.linalg.lstsq(np.array(rows), np.array(wanted), rcond=None)[0].T
        np.testing.assert_allclose(coefficients[column], plain, rtol=0.01, atol=0.005)


def test_follow_reads_the_state_of_the_same_tick() -> None:
    lesson = lesson_of(swinging(0, 200))
    fitted = KalmanFilter(states=2, block_rows=5).fit(lesson)
    course = fitted.follow(swinging(1, 30))
    assert course.states is not None
    for tick in range(30):
        for column in range(3):
            wanted = fitted.coefficients[column] @ np.array([1.0, *course.states[tick]])
            np.testing.assert_allclose(course.positions[tick, column], wanted, atol=1e-12)


def test_laps_are_followed() -> None:
    lesson = lesson_of(circle(0, 400), window=20)
    fitted = KalmanFilter(states=20).fit(lesson)
    assert held_out_error(fitted, [circle(1, 200)], lesson) < 0.05


def test_what_was_asked_for_is_taken_and_the_rest_chosen() -> None:
    lesson = lesson_of(circle(0, 400), window=8)
    chosen = KalmanFilter(states=3, block_rows=9).fit(lesson).chosen
    assert (chosen['states'], chosen['block_rows']) == (3, 9)
    fitted = KalmanFilter(block_rows=9).fit(lesson)
    assert fitted.chosen['states'] in module.STATES
    assert len(fitted.system.transition) == fitted.chosen['states']
    assert KalmanFilter(states=3).fit(lesson).chosen['block_rows'] in {4, 6, 8, 12, 16}


def test_states_that_are_not_there_are_not_reported() -> None:
    lesson = lesson_of(circle(0, 400), window=5)
    assert KalmanFilter(states=20, block_rows=3).fit(lesson).chosen['states'] == 12


def test_every_setting_is_tried_and_the_paper_comes_first() -> None:
    tried = KalmanFilter(block_rows=20)._candidates(lesson_of(circle(0, 400), window=20))
    assert tried[0] == module.Settings(20, 20, 'unweighted')
    assert {(each.states, each.weighting) for each in tried} == {
        (states, weighting) for states in (20, 40, 80, 160) for weighting in WEIGHTINGS
    }


def test_the_better_number_of_states_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, 'STATES', (1, 6))
    fitted = KalmanFilter(block_rows=8).fit(lesson_of(circle(0, 400), window=8))
    assert fitted.chosen['states'] == 6


def test_longer_block_rows_than_the_lesson_has_windows_for_are_not_tried() -> None:
    lesson = lesson_of(wander(0, 100), window=16)
    assert KalmanFilter(states=5).fit(lesson).chosen['block_rows'] == 8


def test_hankel_matrices_stay_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, 'MOST_ROWS', 60)
    candidates = KalmanFilter()._candidates(lesson_of(circle(0, 400), window=10))
    assert {each.block_rows for each in candidates} == {5, 8, 10}


def test_long_enough_only_as_a_whole() -> None:
    lesson = lesson_of(wander(0, 130), window=12)
    chosen = KalmanFilter(block_rows=12).fit(lesson).chosen
    assert chosen == {'states': 20, 'block_rows': 12, 'weighting': 'unweighted'}


def test_too_short_is_refused() -> None:
    lesson = lesson_of(wander(0, 60), window=20)
    with pytest.raises(InputError, match=r'20 block rows of 6 channels .* record longer'):
        KalmanFilter(block_rows=20).fit(lesson)
    lesson = lesson_of(*(wander(seed, 11) for seed in range(3)), window=20)
    with pytest.raises(InputError, match='20 block rows'):
        KalmanFilter().fit(lesson)


def test_the_future_changes_nothing() -> None:
    fitted = KalmanFilter(block_rows=8).fit(lesson_of(circle(0, 300), window=8))
    for now in (0, 7, 60):
        check_causal(fitted, circle(1, 100), now)


def test_positions_are_not_looked_at() -> None:
    fitted = KalmanFilter(block_rows=8).fit(lesson_of(circle(0, 300), window=8))
    segment = circle(1, 50)
    moved = replace(segment, positions=segment.positions + 5.0)
    np.testing.assert_array_equal(fitted.follow(segment).positions, fitted.follow(moved).positions)


def test_same_bits_twice() -> None:
    check_repeatable(KalmanFilter(), lesson_of(circle(0, 200), window=8), circle(1, 60))


def test_slot_car_is_followed_better_than_by_its_mean(
    slot_car_laps: tuple[Recording, Recording],
) -> None:
    lesson = recorded_lesson(slot_car_laps[0], window=20, horizons=(0, 10))
    test = recorded_lesson(slot_car_laps[1], window=20, horizons=(0, 10)).dataset.segments[0]
    own = root_mean_square(KalmanFilter(states=40).fit(lesson), test, lesson)
    mean = root_mean_square(MeanPosition().fit(lesson), test, lesson)
    assert (own < 0.6 * mean).all()
