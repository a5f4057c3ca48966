# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules that every method keeps, and the two that learn next to nothing."""

import numpy as np
import pytest
from small_trains import (
    check_causal,
    check_repeatable,
    circle,
    recorded_train,
    train_of,
    varied,
    wander,
    without_positions,
)

from two_manifold_ros.comparison.dead_reckoning import DeadReckoning
from two_manifold_ros.comparison.hidden_markov import HiddenMarkov
from two_manifold_ros.comparison.linear_system import KalmanFilter
from two_manifold_ros.comparison.method import fit_linear_track, MeanPosition, PreviousPosition
from two_manifold_ros.comparison.protocol import held_out_error
from two_manifold_ros.comparison.windows import NearestWindows
from two_manifold_ros.errors import InputError
from two_manifold_ros.training.dataset import build_dataset

CHANGING = {
    'mean': (MeanPosition(), 8),
    'previous': (PreviousPosition(), 8),
    'imu-only': (DeadReckoning(), 8),
    'nearest': (NearestWindows(), 8),
    'kalman': (KalmanFilter(), 8),
    'hmm': (HiddenMarkov(states=(6,)), 10),
}
"""Methods with the window of what they learn from."""


@pytest.mark.parametrize('name', CHANGING)
def test_every_method_is_causal_and_repeatable(name):
    method, window = CHANGING[name]
    if name == 'hmm':
        pytest.importorskip('hmmlearn')
    parts = [varied(300)] if name == 'imu-only' else [circle(0, 300)]
    live = varied(80) if name == 'imu-only' else circle(1, 80)
    train = train_of(*parts, window=window)
    fitted = method.fit(train)
    for now in (0, 7, 15, 40):
        check_causal(fitted, live, now)
    check_repeatable(method, train, live)
    if not method.sees_positions:
        hidden = fitted.predict(without_positions(live)).positions
        np.testing.assert_array_equal(hidden, fitted.predict(live).positions)


@pytest.mark.parametrize(
    ('method', 'share'),
    [
        (NearestWindows(), 0.5),
        (KalmanFilter(states=40), 0.6),
        (HiddenMarkov(states=(20,)), 0.7),
    ],
    ids=lambda each: getattr(each, 'name', None),
)
def test_a_slot_car_is_followed_better_than_by_its_mean(method, share, slot_car_laps):
    if method.name == 'hmm':
        pytest.importorskip('hmmlearn')
    train = recorded_train(slot_car_laps[0], window=20, horizons=(0, 10))
    rest = build_dataset([slot_car_laps[1]], train.settings).segments
    error = held_out_error(method.fit(train), rest, train)
    assert error < share * held_out_error(MeanPosition().fit(train), rest, train)


def test_the_mean_of_the_known_ticks_at_every_horizon():
    first, second = wander(0, 20), wander(1, 30)
    first.positions[3:9] = np.nan
    predicted = MeanPosition().fit(train_of(first, second)).predict(wander(2, 4)).positions
    known = [*first.positions[:3], *first.positions[9:], *second.positions]
    mean = sum(known) / len(known)
    assert predicted.shape == (4, 3, 2)
    np.testing.assert_allclose(predicted, np.broadcast_to(mean, (4, 3, 2)))
    second.positions[:, 1] = np.nan
    with pytest.raises(InputError, match='no training position is known'):
        MeanPosition().fit(train_of(without_positions(first), second))


def test_the_position_at_the_tick_for_every_horizon():
    segment = wander(1, 10)
    segment.positions[4] = np.nan
    predicted = PreviousPosition().fit(train_of(wander(0, 20))).predict(segment).positions
    assert predicted.shape == (10, 3, 2)
    for horizon in range(3):
        np.testing.assert_array_equal(predicted[:, horizon], segment.positions)


RNG = np.random.default_rng(1)
STATES = RNG.normal(size=(400, 4)) * [1.0, 1e-6, 1e5, 1.0] + [0.0, 1.0, 0.0, 3.0]
MAP = np.array([[1.0, 2.0], [1e6, 0.0], [1e-5, -1e-5], [0.5, 0.0]])
POSITIONS = STATES @ MAP + [10.0, -20.0]


def test_a_linear_map_is_found_whatever_the_units_of_the_states():
    """A constant coordinate and unknown numbers do no harm."""
    np.testing.assert_allclose(
        fit_linear_track(STATES, POSITIONS).read(STATES), POSITIONS, atol=0.02
    )
    states, positions = np.column_stack([np.ones(400), STATES]), POSITIONS.copy()
    states[5] = positions[9] = np.nan
    read = fit_linear_track(states, positions).read(states)
    assert np.isnan(read[5]).all()
    np.testing.assert_allclose(np.delete(read, 5, 0), np.delete(POSITIONS, 5, 0), atol=0.02)
    # Nothing known is no track.
    assert fit_linear_track(STATES, np.full_like(POSITIONS, np.nan)) is None
    assert fit_linear_track(np.full_like(STATES, np.nan), POSITIONS) is None
