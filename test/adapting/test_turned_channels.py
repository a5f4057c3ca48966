# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which reversed signs explain an unfamiliar stream."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from two_manifold_ros.adapting.turned_channels import HALF_TURNS, TurnedChannels
from two_manifold_ros.features.fourier import fourier_features
from two_manifold_ros.ticks.channels import Channels, NO_LIMIT

WIDTH = 10
MEANS = np.array([1.0, 0.0, 9.8, 0.0, -2.0, 0.5])
SCALES = np.array([1.0, 2.0, 0.5, 0.1, 1.0, 3.0])
CHANNELS = Channels(MEANS, SCALES, np.full(6, NO_LIMIT), np.ones(6, dtype=bool))
MAP = fourier_features(6 * WIDTH, 400, bandwidth=6.0, seed=0)


def series(seed: int) -> np.ndarray:
    """Return what a sensor says along a lap, with some noise: (200, 6)."""
    phase = np.linspace(0.0, 4.0 * np.pi, 200)[:, None] + np.arange(6) ** 2
    lap = np.sin(phase) + 0.6 * np.cos(2.0 * phase + 1.0)
    return MEANS + SCALES * (lap + 0.1 * np.random.default_rng(seed).normal(size=lap.shape))


def windows(values: np.ndarray, channels: Channels) -> np.ndarray:
    seen = channels.standardise(values)
    return np.stack([seen[begin : begin + WIDTH].ravel() for begin in range(190)])


DIRECTIONS = np.linalg.svd(MAP.transform(windows(series(0), CHANNELS)), full_matrices=False)[2][
    :40
]


def shown(points: np.ndarray) -> float:
    features = MAP.transform(points)
    return float(np.mean(((features @ DIRECTIONS.T) ** 2).sum(1) / (features**2).sum(1)))


USUAL = shown(windows(series(1), CHANNELS))


def answers(values: np.ndarray, channels: Channels = CHANNELS) -> list[tuple[int, ...]]:
    judge = TurnedChannels(channels, WIDTH)
    return [judge.push(each, MAP, DIRECTIONS, USUAL) for each in windows(values, channels)]


@pytest.mark.parametrize('turn', [*((index,) for index in range(6)), *HALF_TURNS])
def test_the_signs_that_explain_it_are_found(turn: tuple[int, ...]) -> None:
    values = series(2)
    values[:, turn] *= -1.0
    found = answers(values)
    assert found[: WIDTH - 1] == [()] * (WIDTH - 1)  # one window of ticks is waited for
    assert found[WIDTH - 1] == turn
    # Read with these signs it is as usual.
    right = CHANNELS.turned(turn)
    np.testing.assert_allclose(
        right.standardise(values), CHANNELS.standardise(series(2)), atol=1e-12
    )
    assert shown(windows(values, right)) == pytest.approx(USUAL, abs=0.01)


def test_what_is_as_usual_or_strange_in_another_way_is_left_alone() -> None:
    strange = MEANS + SCALES * np.random.default_rng(3).normal(size=(200, 6))
    assert set(answers(series(2))) == {()}
    assert set(answers(strange)) == {()}


def test_signs_put_right_once_can_turn_back() -> None:
    assert answers(series(2), CHANNELS.turned((4,)))[WIDTH - 1] == (4,)


def test_dead_channels_take_part_in_half_turns_only() -> None:
    live = np.array([True, True, True, True, True, False])
    feature_map = fourier_features(5 * WIDTH, 400, bandwidth=5.0, seed=0)
    dead = replace(CHANNELS, live=live)
    learned = feature_map.transform(windows(series(0), dead))
    directions = np.linalg.svd(learned, full_matrices=False)[2][:40]
    values = series(2)
    values[:, [0, 2, 3]] *= -1.0
    judge = TurnedChannels(dead, WIDTH)
    points = windows(values, dead)[:WIDTH]
    found = [judge.push(each, feature_map, directions, 0.95) for each in points]
    assert found[-1] == HALF_TURNS[1]


def test_pixels_have_no_signs() -> None:
    names = tuple(f'pixel_{index}' for index in range(6))
    assert set(answers(-series(2), replace(CHANNELS, names=names))) == {()}


def test_what_was_seen_before_a_break_does_not_count() -> None:
    values = series(2)
    values[:, 1] *= -1.0
    judge = TurnedChannels(CHANNELS, WIDTH)
    points = windows(values, CHANNELS)
    for each in points[: WIDTH - 1]:
        judge.push(each, MAP, DIRECTIONS, USUAL)
    judge.clear()
    assert judge.push(points[WIDTH], MAP, DIRECTIONS, USUAL) == ()
