# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The spread of positions is the root mean square distance from their mean."""

from __future__ import annotations

import numpy as np
import pytest

from two_manifold_ros.adapting.contest import Spread

PLACES = np.random.default_rng(0).normal(size=(60, 2)) * [3.0, 0.1] + [5e6, -4e5]


def spread_of(places: np.ndarray) -> Spread:
    spread = Spread()
    for x, y in places.tolist():
        spread.add(x, y)
    return spread


def naive(places: np.ndarray, weights: np.ndarray) -> float:
    mean = np.average(places, axis=0, weights=weights)
    return float(np.sqrt(np.average(((places - mean) ** 2).sum(axis=1), weights=weights)))


def test_of_positions_with_large_coordinates() -> None:
    found = spread_of(PLACES).root_mean_square
    assert found == pytest.approx(naive(PLACES, np.ones(60)), rel=1e-9)


def test_old_ones_fade_when_others_are_taken() -> None:
    spread = Spread()
    for part in np.split(PLACES, 3):
        spread.take(spread_of(part), 0.5)
    weights = np.repeat([0.25, 0.5, 1.0], 20)
    assert spread.root_mean_square == pytest.approx(naive(PLACES, weights), rel=1e-9)


def test_of_none_and_of_one() -> None:
    spread = Spread()
    spread.take(Spread(), 0.5)
    assert spread.root_mean_square == 0.0
    spread.add(7.0, 8.0)
    assert spread.root_mean_square == 0.0
