# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Nearest windows and the belief filter against loops over all training windows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from small_trains import (
    circle,
    train_of,
    wander,
    without_positions,
)

from two_manifold_ros.comparison.method import Predictions, TrainSplit
from two_manifold_ros.comparison.windows import (
    BeliefFilter,
    BeliefSettings,
    choose_settings,
    FittedBelief,
    FittedNearestWindows,
    measurement_update,
    NearestSettings,
    NearestWindows,
    predict,
)
from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.ticks.segments import Segment


def naive_nearest(
    train: TrainSplit, segment: Segment, tick: int, settings: NearestSettings
) -> np.ndarray:
    """Compare the window that ends at a tick with every training window, one at a time."""
    width, standardise = settings.window, train.dataset.channels.standardise
    live = standardise(segment.values)[tick - width + 1 : tick + 1]
    predicted = np.full((len(train.horizons), 2), np.nan)
    for place, horizon in enumerate(train.horizons):
        found = []
        for training in train.dataset.segments:
            observations = standardise(training.values)
            for end in range(width - 1, len(training) - horizon):
                position = training.positions[end + horizon]
                if np.isfinite(position).all():
                    window = observations[end - width + 1 : end + 1]
                    found.append((np.sum((window - live) ** 2), position))
        found.sort(key=lambda pair: pair[0])
        if found:
            predicted[place] = np.mean([pair[1] for pair in found[: settings.neighbours]], axis=0)
    return predicted


@pytest.mark.parametrize('neighbours', [1, 30, 500])
@pytest.mark.parametrize('width', [1, 5])
def test_as_by_comparing_every_window(neighbours: int, width: int) -> None:
    training = [wander(0, 40), wander(1, 9), wander(2, 25), wander(3, 4)]
    training[0].positions[10:30] = np.nan
    train = train_of(*training, horizons=(0, 2, 7, 38))
    settings = NearestSettings(neighbours, width)
    segment = wander(4, 20)
    predicted = FittedNearestWindows(train, settings).predict(segment).positions
    assert np.isnan(predicted[: width - 1]).all()
    for tick in range(width - 1, len(segment)):
        np.testing.assert_allclose(
            predicted[tick], naive_nearest(train, segment, tick, settings), atol=1e-12
        )


def test_the_choice_suits_the_data() -> None:
    """Without noise in the positions, few neighbours are best: more blur the circle."""
    fitted = NearestWindows().fit(train_of(circle(0, 400), window=8))
    assert fitted.chosen['neighbours'] in {1, 5}
    predicted = fitted.predict(without_positions(circle(1, 60))).positions
    wanted = circle(1, 60).positions
    assert np.abs(predicted[8:, 0] - wanted[8:]).max() < 0.2
    assert np.abs(predicted[8:-7, 2] - wanted[15:]).max() < 0.2


SETTINGS = BeliefSettings(window=3, temperature=0.8, stay=0.2, skip=0.1, jump=0.05, power=1)


def naive_belief(train: TrainSplit, segment: Segment, settings: BeliefSettings) -> np.ndarray:
    """Filter with a dictionary of (segment, tick) -> weight."""
    standardise, width = train.dataset.channels.standardise, settings.window
    trained = [standardise(each.values) for each in train.dataset.segments]
    live = standardise(segment.values)
    places = [(s, i) for s, each in enumerate(trained) for i in range(width - 1, len(each))]
    weights = dict.fromkeys(places, 1.0 / len(places))
    predicted = np.full((len(live), len(train.horizons), 2), np.nan)
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
        for column, horizon in enumerate(train.horizons):
            predicted[t, column] = weighted_mean(train, weights, horizon, settings.power)
    return predicted


def weighted_mean(
    train: TrainSplit, weights: dict[tuple[int, int], float], horizon: int, power: int
) -> np.ndarray:
    shares, positions = [], []
    for (s, i), weight in weights.items():
        track = train.dataset.segments[s].positions
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
    train, segment = train_of(*training, horizons=(0, 2, 11, 20, 30)), wander(3, 25)
    settings = BeliefSettings(window, 0.8, 0.2, 0.1, 0.05, power)
    predicted = BeliefFilter(settings).fit(train).predict(segment).positions
    np.testing.assert_allclose(
        predicted, naive_belief(train, segment, settings), rtol=1e-9, atol=1e-12
    )
    assert np.isnan(predicted[: window - 1]).all()
    assert np.isfinite(predicted[window - 1 :, :4]).all()
    assert np.isnan(predicted[:, 4]).all()


def test_the_estimate_at_a_tick_is_of_that_tick() -> None:
    """On the training data itself, the filter predicts the exact position now and h later."""
    train = train_of(circle(0, 120), horizons=(0, 2, 7))
    settings = BeliefSettings(window=3, temperature=1e-3, jump=1e-4)
    predicted = FittedBelief(train, settings).predict(train.dataset.segments[0]).positions
    track = train.dataset.segments[0].positions
    for column, horizon in enumerate(train.horizons):
        wanted = track[10 + horizon : 100 + horizon]
        np.testing.assert_allclose(predicted[10:100, column], wanted, atol=1e-3)


@pytest.mark.parametrize('scale', [1e3, 1e30])
def test_nothing_like_the_training_is_still_followed(scale: float) -> None:
    """Every likelihood would underflow; no position may be NaN, nor outside the hull."""
    train = train_of(circle(0, 60), circle(1, 80))
    wild = wander(5, 40)
    wild.values[10:20] *= scale
    for power in (1, 4):
        settings = BeliefSettings(window=4, temperature=1e-2, jump=1e-6, power=power)
        predicted = FittedBelief(train, settings).predict(wild).positions[3:]
        assert np.isfinite(predicted).all()
        assert np.linalg.norm(predicted, axis=2).max() <= 1.0 + 1e-9


def test_settings_are_chosen_and_reported() -> None:
    train = train_of(circle(0, 400), window=8)
    fitted = BeliefFilter().fit(train)
    assert set(fitted.chosen) == {
        'window',
        'temperature',
        'stay',
        'skip',
        'jump',
        'power',
        'score_m',
    }
    predicted = fitted.predict(without_positions(circle(1, 60))).positions
    assert np.abs(predicted[8:, 0] - circle(1, 60).positions[8:]).max() < 0.2
    given = BeliefFilter(SETTINGS).fit(train).chosen
    assert given['window'] == SETTINGS.window
    assert given['score_m'] is None


def test_no_segment_as_long_as_a_window() -> None:
    with pytest.raises(InputError, match='holds a window of 12 ticks'):
        BeliefFilter(BeliefSettings(window=12)).fit(train_of(wander(0, 11), wander(1, 5)))


USUAL = {'window': 20, 'temperature': 1.0, 'stay': 0.1, 'skip': 0.1, 'jump': 0.01, 'power': 2}


@dataclass
class Wrong:
    """Is wrong by a length at every tick of the unit circle."""

    length: float

    def __post_init__(self) -> None:
        self.chosen: dict[str, Any] = {}

    def predict(self, segment: Segment) -> Predictions:
        ahead = [np.roll(segment.positions, -horizon, axis=0) for horizon in (0, 2, 7)]
        return Predictions(np.stack(ahead, axis=1) + np.array([self.length, 0.0]))


def make_fit(
    tried: list[BeliefSettings], length: Callable[[BeliefSettings], float]
) -> Callable[[TrainSplit, BeliefSettings], Wrong]:
    def fit(_: TrainSplit, settings: BeliefSettings) -> Wrong:
        tried.append(settings)
        return Wrong(length(settings))

    return fit


def test_the_usual_ones_where_nothing_can_be_held_out() -> None:
    tried: list[BeliefSettings] = []
    train = train_of(circle(0, 60), window=25)
    settings, score = choose_settings(train, make_fit(tried, lambda _: 0.1))
    assert asdict(settings) == USUAL
    assert score is None
    assert not tried


def test_a_window_no_longer_than_that_of_training() -> None:
    tried: list[BeliefSettings] = []
    settings, _ = choose_settings(
        train_of(circle(0, 400), window=12), make_fit(tried, lambda _: 0.1)
    )
    assert settings.window == 12
    assert {each.window for each in tried} == {1, 5, 6, 10, 12}


@pytest.mark.parametrize(('better', 'taken'), [(0.095, False), (0.085, True)])
@pytest.mark.parametrize(
    ('field', 'value'),
    [('window', 40), ('temperature', 0.3), ('skip', 0.3), ('jump', 1e-4), ('power', 4)],
)
def test_only_what_is_clearly_better_is_taken(
    field: str, value: float, better: float, *, taken: bool
) -> None:
    tried: list[BeliefSettings] = []
    fit = make_fit(tried, lambda each: better if getattr(each, field) == value else 0.1)
    settings, score = choose_settings(train_of(circle(0, 800), window=40), fit)
    assert (getattr(settings, field) == value) is taken
    assert score == pytest.approx(better if taken else 0.1)


@pytest.mark.parametrize(
    'wrong',
    [
        {'window': 0},
        {'temperature': 0.0},
        {'stay': -0.1},
        {'skip': -0.1},
        {'stay': 0.6, 'skip': 0.5},
        {'jump': 0.0},
        {'jump': 1.1},
        {'power': 0},
        {'power': 5},
    ],
)
def test_values_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match='must be'):
        BeliefSettings(**wrong)


AGES = np.array([0, 1, 2, 3, 4, 0, 1, 0, 0, 1, 2, 3])
N = len(AGES)
RNG = np.random.default_rng(0)


def chain(stay: float, skip: float, jump: float) -> np.ndarray:
    """Return the probabilities of going from a row's tick to a column's, each row a sum of one."""
    matrix = np.zeros((N, N))
    for i in range(N):
        for ticks, probability in enumerate((stay, 1.0 - stay - skip, skip)):
            if i + ticks < N and AGES[i + ticks] == AGES[i] + ticks:
                matrix[i, i + ticks] += probability
            else:
                matrix[i] += probability / N
    return (1.0 - jump) * matrix + jump / N


@pytest.mark.parametrize(
    ('stay', 'skip', 'jump'),
    [(0.1, 0.2, 0.01), (0.0, 0.0, 1e-4), (0.0, 1.0, 0.1), (1.0, 0.0, 1.0)],
)
def test_moving_is_the_markov_chain(stay: float, skip: float, jump: float) -> None:
    weights = RNG.dirichlet(np.full(N, 0.3))
    moved = np.empty(N)
    predict(weights, AGES, stay, skip, jump, moved)
    np.testing.assert_allclose(moved, weights @ chain(stay, skip, jump), atol=1e-15)
    assert moved.sum() == pytest.approx(1.0)
    assert moved.min() >= jump / N * (1.0 - 1e-9)


def test_weighing_is_the_formula() -> None:
    weights, distances = RNG.dirichlet(np.ones(N)), RNG.uniform(3.0, 9.0, N)
    expected = weights * np.exp(-distances / (2.0 * 0.7))
    measurement_update(weights, distances, 0.7)
    np.testing.assert_allclose(weights, expected / expected.sum(), rtol=1e-12)


@given(st.lists(st.floats(0.0, 1e12), min_size=N, max_size=N), st.floats(1e-6, 1e6))
def test_no_weight_is_ever_lost(distances: list[float], temperature: float) -> None:
    weights = np.full(N, 1e-8)
    weights[-1] = 1.0
    measurement_update(weights, np.array(distances), temperature)
    assert weights.sum() == pytest.approx(1.0)
    assert (weights**4 > 0.0).all()
