# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The belief filter against a forward algorithm written out with loops."""

from __future__ import annotations

import os
from pathlib import Path
import subprocess
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

from two_manifold_ros.comparison.baselines import MeanPosition
from two_manifold_ros.comparison.belief_filter import BeliefFilter, BeliefSettings, FittedBelief
from two_manifold_ros.comparison.protocol import held_out_error
from two_manifold_ros.errors import InputError
from two_manifold_ros.training.dataset import build_dataset

if TYPE_CHECKING:
    from two_manifold_ros.comparison.method import Lesson
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.ticks.segments import Segment

SETTINGS = BeliefSettings(window=3, temperature=0.8, stay=0.2, skip=0.1, jump=0.05, power=1)


def naive(lesson: Lesson, segment: Segment, settings: BeliefSettings) -> np.ndarray:
    """Filter with a dictionary of (segment, tick) -> weight."""
    standardise, width = lesson.dataset.channels.standardise, settings.window
    trained = [standardise(each.values) for each in lesson.dataset.segments]
    live = standardise(segment.values)
    places = [(s, i) for s, each in enumerate(trained) for i in range(width - 1, len(each))]
    weights = dict.fromkeys(places, 1.0 / len(places))
    told = np.full((len(live), len(lesson.horizons), 2), np.nan)
    moves = (settings.stay, 1.0 - settings.stay - settings.skip, settings.skip)
    for t in range(width - 1, len(live)):
        moved = dict.fromkeys(places, settings.jump / len(places))
        for (s, i), weight in weights.items():
            for ticks, probability in enumerate(moves):
                share = (1.0 - settings.jump) * probability * weight
                if (s, i + ticks) in moved:
                    moved[s, i + ticks] += share
                else:
                    for place in places:
                        moved[place] += share / len(places)
        for s, i in places:
            difference = trained[s][i - width + 1 : i + 1] - live[t - width + 1 : t + 1]
            moved[s, i] *= np.exp(-np.mean(difference**2) / (2.0 * settings.temperature))
        total = sum(moved.values())
        weights = {place: weight / total for place, weight in moved.items()}
        for column, horizon in enumerate(lesson.horizons):
            told[t, column] = weighted_mean(lesson, weights, horizon, settings.power)
    return told


def weighted_mean(
    lesson: Lesson, weights: dict[tuple[int, int], float], horizon: int, power: int
) -> np.ndarray:
    shares, positions = [], []
    for (s, i), weight in weights.items():
        track = lesson.dataset.segments[s].positions
        if i + horizon < len(track) and np.isfinite(track[i + horizon]).all():
            shares.append(weight**power)
            positions.append(track[i + horizon])
    if not shares:
        return np.full(2, np.nan)
    return np.average(positions, axis=0, weights=shares)


@pytest.mark.parametrize('window', [1, 3, 5])
@pytest.mark.parametrize('power', [1, 2])
def test_as_by_the_forward_algorithm(window: int, power: int) -> None:
    training = [wander(0, 30), wander(1, 12), wander(2, 4)]
    training[0].positions[8:20] = np.nan
    lesson, segment = lesson_of(*training, horizons=(0, 2, 11, 20, 30)), wander(3, 25)
    settings = BeliefSettings(window, 0.8, 0.2, 0.1, 0.05, power)
    told = BeliefFilter(settings).fit(lesson).follow(segment).positions
    np.testing.assert_allclose(told, naive(lesson, segment, settings), rtol=1e-9, atol=1e-12)
    assert np.isnan(told[: window - 1]).all()
    assert np.isfinite(told[window - 1 :, :4]).all()
    assert np.isnan(told[:, 4]).all()


def test_the_estimate_at_a_tick_is_of_that_tick() -> None:
    """Shown the lesson itself, the filter tells the very position of each tick and of h later."""
    lesson = lesson_of(circle(0, 120), horizons=(0, 2, 7))
    settings = BeliefSettings(window=3, temperature=1e-3, jump=1e-4)
    told = FittedBelief(lesson, settings).follow(lesson.dataset.segments[0]).positions
    track = lesson.dataset.segments[0].positions
    for column, horizon in enumerate(lesson.horizons):
        wanted = track[10 + horizon : 100 + horizon]
        np.testing.assert_allclose(told[10:100, column], wanted, atol=1e-3)


@pytest.mark.parametrize('scale', [1e3, 1e9, 1e30])
def test_nothing_like_the_training_is_still_followed(scale: float) -> None:
    """Every likelihood would underflow; no position may be NaN, nor outside the hull."""
    lesson = lesson_of(circle(0, 60), circle(1, 80))
    wild = wander(5, 40)
    wild.values[10:20] *= scale
    for power in (1, 4):
        settings = BeliefSettings(window=4, temperature=1e-2, jump=1e-6, power=power)
        told = FittedBelief(lesson, settings).follow(wild).positions[3:]
        assert np.isfinite(told).all()
        assert np.linalg.norm(told, axis=2).max() <= 1.0 + 1e-9


def test_a_jump_finds_the_way_back() -> None:
    """Half a lap is cut out of the live segment: the weights follow within a few ticks."""
    lesson, live = lesson_of(circle(0, 200)), circle(1, 100)
    values = np.concatenate([live.values[:40], live.values[60:]])
    wanted = np.concatenate([live.positions[:40], live.positions[60:]])
    cut = type(live)(live.stamps[:80], values, wanted)
    fitted = FittedBelief(lesson, BeliefSettings(window=1, temperature=0.05))
    errors = np.linalg.norm(fitted.follow(cut).positions[:, 0] - wanted, axis=1)
    assert errors[10:40].max() < 0.3
    assert errors[48:].max() < 0.3


def test_settings_are_chosen_and_told() -> None:
    lesson = lesson_of(circle(0, 400), window=8)
    fitted = BeliefFilter().fit(lesson)
    assert set(fitted.chosen) == {
        'window',
        'temperature',
        'stay',
        'skip',
        'jump',
        'power',
        'score_m',
    }
    told = fitted.follow(without_positions(circle(1, 60))).positions
    assert np.abs(told[8:, 0] - circle(1, 60).positions[8:]).max() < 0.2
    given = BeliefFilter(SETTINGS).fit(lesson).chosen
    assert given['window'] == SETTINGS.window
    assert given['score_m'] is None


def test_no_segment_as_long_as_a_window() -> None:
    with pytest.raises(InputError, match='holds a window of 12 ticks'):
        BeliefFilter(BeliefSettings(window=12)).fit(lesson_of(wander(0, 11), wander(1, 5)))


def test_it_is_causal_and_repeatable() -> None:
    lesson, segment = lesson_of(wander(0, 100), wander(1, 100)), wander(2, 30)
    fitted = BeliefFilter().fit(lesson)
    for now in (4, 17, 28):
        check_causal(fitted, segment, now)
    check_repeatable(BeliefFilter(), lesson, segment)


def test_positions_of_the_segment_are_not_looked_at() -> None:
    fitted = FittedBelief(lesson_of(wander(0, 60)), SETTINGS)
    segment = wander(1, 20)
    hidden = fitted.follow(without_positions(segment)).positions
    np.testing.assert_array_equal(hidden, fitted.follow(segment).positions)


def test_without_numba_the_positions_are_the_same(tmp_path: Path) -> None:
    script = (
        'import numpy as np\n'
        'from small_lessons import lesson_of, wander\n'
        'from two_manifold_ros.comparison.belief_filter import BeliefFilter, BeliefSettings\n'
        'fitted = BeliefFilter(BeliefSettings(window=3)).fit(lesson_of(wander(0, 60)))\n'
        f'np.save({str(tmp_path / "told.npy")!r}, fitted.follow(wander(1, 30)).positions)\n'
    )
    here = Path(__file__).resolve()
    places = [str(here.parent), str(here.parents[2]), os.environ.get('PYTHONPATH', '')]
    environment = os.environ | {'TWO_MANIFOLD_NUMBA': '0', 'PYTHONPATH': os.pathsep.join(places)}
    subprocess.run([sys.executable, '-c', script], env=environment, check=True)
    fitted = BeliefFilter(BeliefSettings(window=3)).fit(lesson_of(wander(0, 60)))
    expected = fitted.follow(wander(1, 30)).positions
    np.testing.assert_allclose(np.load(tmp_path / 'told.npy'), expected, rtol=1e-9)


def test_a_slot_car_is_followed(slot_car_laps: tuple[Recording, Recording]) -> None:
    lesson = recorded_lesson(slot_car_laps[0], window=40, horizons=(0, 10))
    rest = build_dataset([slot_car_laps[1]], lesson.settings).segments
    error = held_out_error(BeliefFilter().fit(lesson), rest, lesson)
    assert error < 0.3 * held_out_error(MeanPosition().fit(lesson), rest, lesson)


def test_the_laps_of_a_real_recording_are_followed(recordings_folder: Path) -> None:
    pytest.importorskip('rosbags')
    from two_manifold_ros.recordings.reading import read_recording  # noqa: PLC0415 - an extra

    whole = read_recording(recordings_folder / 'f1tenth_ipz10')
    lesson = recorded_lesson(whole.between(0.0, 31.0), window=60, horizons=(0, 50))
    held = build_dataset([whole.between(31.0, 44.0)], lesson.settings).segments
    fitted = BeliefFilter().fit(lesson)
    for column, (horizon, most) in enumerate(((0, 0.25), (50, 0.35))):
        (track,) = (each.positions for each in held)
        told = fitted.follow(held[0]).positions[60 : len(track) - horizon, column]
        errors = np.linalg.norm(told - track[60 + horizon :], axis=1)
        assert np.sqrt(np.mean(errors**2)) < most
