# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Nearest windows against loops over all training windows."""

import numpy as np
import pytest
from small_trains import circle, train_of, wander, without_positions

from two_manifold_ros.comparison.method import TrainSplit
from two_manifold_ros.comparison.windows import (
    FittedNearestWindows,
    NearestSettings,
    NearestWindows,
)
from two_manifold_ros.errors import InputError
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
def test_as_by_comparing_every_window(neighbours, width):
    training = [wander(0, 40), wander(1, 9), wander(2, 25), wander(3, 4)]
    training[0].positions[10:30] = np.nan
    train = train_of(*training, horizons=(0, 2, 7, 38))
    with pytest.raises(InputError, match='record longer'):
        FittedNearestWindows(train, NearestSettings(neighbours, 41))
    settings = NearestSettings(neighbours, width)
    segment = wander(4, 20)
    predicted = FittedNearestWindows(train, settings).predict(segment).positions
    assert np.isnan(predicted[: width - 1]).all()
    for tick in range(width - 1, len(segment)):
        np.testing.assert_allclose(
            predicted[tick], naive_nearest(train, segment, tick, settings), atol=1e-12
        )


def test_the_choice_suits_the_data():
    """Without noise in the positions, few neighbours are best: more blur the circle."""
    fitted = NearestWindows().fit(train_of(circle(0, 400), window=8))
    assert fitted.chosen['neighbours'] in {1, 5}
    predicted = fitted.predict(without_positions(circle(1, 60))).positions
    wanted = circle(1, 60).positions
    assert np.abs(predicted[8:, 0] - wanted[8:]).max() < 0.2
    assert np.abs(predicted[8:-7, 2] - wanted[15:]).max() < 0.2
