# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Paces: moves that keep them on average, chances that sum to one, hops that keep the speed."""

import numpy as np
import pytest
from scipy.optimize import brentq

from two_manifold_ros.localisation import pace as module
from two_manifold_ros.localisation.pace import (
    FINENESS,
    LONGEST_MOVE,
    make_paces,
    pace_shifts,
    Paces,
    STEP,
    UNSTEADINESS,
)

RNG = np.random.default_rng(0)
EVERY = pytest.mark.parametrize('each_way', [0, 1, 2, 3, 10, 21])


@EVERY
def test_factors(each_way: int) -> None:
    factors = make_paces(each_way).factors
    assert len(factors) == 1 + 2 * each_way
    assert factors[each_way] == 1.0
    np.testing.assert_allclose(np.diff(np.log(factors)), STEP)


@EVERY
def test_chances_sum_to_one(each_way: int) -> None:
    paces = make_paces(each_way)
    for chances in (paces.moves, paces.changes, paces.prior[None]):
        assert chances.min() >= 0.0
        np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-14)


@EVERY
def test_the_mean_of_the_moves_is_the_pace(each_way: int) -> None:
    paces = make_paces(each_way)
    means = paces.moves @ np.arange(LONGEST_MOVE + 1) / FINENESS
    np.testing.assert_allclose(means, paces.factors, rtol=1e-12)


@pytest.mark.parametrize('each_way', [0, 3, 21])
def test_moves_are_a_tilted_normal_distribution(each_way: int) -> None:
    paces = make_paces(each_way)
    steps = np.arange(LONGEST_MOVE + 1)

    def tilted(tilt: float, wanted: float) -> np.ndarray:
        spread = FINENESS * UNSTEADINESS
        chances = np.exp(-0.5 * ((steps - wanted) / spread) ** 2 + tilt * (steps - wanted))
        return chances / chances.sum()

    for factor, moves in zip(paces.factors, paces.moves, strict=True):
        wanted = FINENESS * factor
        tilt = brentq(lambda tilt, w=wanted: tilted(tilt, w) @ steps - w, -20.0, 20.0, xtol=1e-13)
        np.testing.assert_allclose(moves, tilted(tilt, wanted), atol=1e-9)


def test_moves_by_hand() -> None:
    # At pace 1 a tick is two steps of the map: one less and one more are as likely.
    moves = make_paces(3).moves[3]
    ratio = np.exp(-0.5 / (FINENESS * UNSTEADINESS) ** 2)
    np.testing.assert_allclose(moves[1:4] / moves[2], [ratio, 1.0, ratio], rtol=1e-4)
    assert FINENESS == 2


def test_changes_by_hand() -> None:
    expected = [[0.95, 0.04, 0.01], [0.05, 0.9, 0.05], [0.01, 0.04, 0.95]]
    np.testing.assert_allclose(make_paces(1).changes, expected, rtol=1e-12)
    np.testing.assert_allclose(make_paces(0).changes, [[1.0]])
    middle = make_paces(3).changes[3]
    np.testing.assert_allclose(middle, [0.0, 0.01, 0.04, 0.9, 0.04, 0.01, 0.0], atol=1e-15)


def test_paces_far_from_one_are_rare_at_the_start() -> None:
    prior = make_paces(2).prior
    expected = [np.exp(-0.5 * (STEP * n / module.SPREAD) ** 2) for n in (-2, -1, 0, 1, 2)]
    np.testing.assert_allclose(prior, np.array(expected) / sum(expected))


def naive_shift(paces: Paces, pace: int, ratio: float) -> int:
    """Find the pace whose speed there is nearest to the speed here, on a logarithmic scale."""
    logs = np.log(paces.factors) - np.log(paces.factors[pace] * ratio)
    return int(np.argmin(np.abs(logs))) - pace


@pytest.mark.parametrize('each_way', [0, 1, 3, 8])
def test_hops_keep_the_speed(each_way: int) -> None:
    speeds = RNG.uniform(1.0, 2.5, size=50)
    passes = RNG.integers(-1, 50, size=(50, 4))
    shifts = pace_shifts(speeds, passes, each_way)
    paces = make_paces(each_way)
    assert shifts.dtype == np.int64
    for tick in range(50):
        for there, shift in zip(passes[tick], shifts[tick], strict=True):
            ratio = speeds[tick] / speeds[there] if there >= 0 else 1.0
            assert shift == naive_shift(paces, each_way, ratio)
            if there >= 0 and abs(shift) < each_way:
                after = paces.factors[each_way + shift] * speeds[there]
                assert abs(np.log(after / speeds[tick])) <= 0.5 * STEP + 1e-12


@pytest.mark.filterwarnings('error')
def test_speeds_that_say_nothing_shift_nothing() -> None:
    speeds = np.array([np.nan, 0.0, 1.0, 1.05])
    passes = np.array([[1, 2], [0, 2], [0, 1], [2, -1]])
    shifts = pace_shifts(speeds, passes, 3)
    np.testing.assert_array_equal(shifts, [[0, 0], [0, 0], [0, 0], [1, 0]])
