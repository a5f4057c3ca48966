# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Passes: near in place, apart in time, one of each, never of a vehicle that stands."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from two_manifold_ros.localisation import passes as module
from two_manifold_ros.localisation.passes import APART_S, find_passes, Ground, MOST_PASSES
from two_manifold_ros.readout.targets import velocities

PERIOD_S = 0.1
APART = 20
RADIUS_M = 2.0


def make_ground(positions: np.ndarray, period_s: float = PERIOD_S) -> Ground:
    begins = np.array([0, len(positions)])
    return Ground(begins, positions, velocities(positions, period_s), period_s)


def circle(turns: np.ndarray) -> np.ndarray:
    return RADIUS_M * np.stack([np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)], axis=1)


def drive_laps(lap_ticks: list[int], seed: int = 0) -> tuple[Ground, np.ndarray]:
    """Drive laps of given lengths, a little beside the line; the states are noisy places."""
    rng = np.random.default_rng(seed)
    turns = np.concatenate([lap + np.arange(n) / n for lap, n in enumerate(lap_ticks)])
    positions = circle(turns) + 0.02 * rng.normal(size=(len(turns), 2))
    return make_ground(positions), positions + 0.1 * rng.normal(size=positions.shape)


def naive_standing(positions: np.ndarray, reach_m: float, apart: int) -> list[bool]:
    def stays(ticks: range) -> bool:
        inside = ticks.start >= 0 and ticks.stop <= len(positions)
        return inside and all(
            math.dist(positions[tick], positions[ticks.start]) <= reach_m for tick in ticks
        )

    starts = [stays(range(tick, tick + apart + 1)) for tick in range(len(positions))]
    ends = [tick >= apart and starts[tick - apart] for tick in range(len(positions))]
    return [a or b for a, b in zip(starts, ends, strict=True)]


def naive_passes(ground: Ground, states: np.ndarray) -> np.ndarray:
    positions, apart = ground.positions, round(APART_S / ground.period_s)
    near_m = ground.near_m
    stands = naive_standing(positions, 2.0 * near_m, apart)
    usable = [
        tick
        for tick in range(len(states))
        if np.isfinite(states[tick]).all() and np.isfinite(positions[tick]).all()
        if not stands[tick]
    ]
    found = np.full((len(states), MOST_PASSES), -1)
    for tick in usable:
        away = {other: math.dist(positions[other], positions[tick]) for other in usable}
        near = [other for other in usable if away[other] < near_m]
        near = sorted(near, key=lambda other: away[other])[: module.LOOKED_AT]
        near.sort(key=lambda other: np.sum((states[other] - states[tick]) ** 2))
        chosen = [tick]
        for other in near:
            if all(abs(other - one) > apart for one in chosen) and len(chosen) <= MOST_PASSES:
                chosen.append(other)
        found[tick, : len(chosen) - 1] = chosen[1:]
    return found


@pytest.mark.parametrize('lap_ticks', [[60] * 4, [40, 50, 45, 60, 41, 52, 48, 47], [30, 90, 25]])
def test_against_a_double_loop(lap_ticks: list[int]) -> None:
    ground, states = drive_laps(lap_ticks)
    found = find_passes(ground, states)
    np.testing.assert_array_equal(found, naive_passes(ground, states))
    assert found.dtype == np.int64
    assert np.count_nonzero(found >= 0) > len(states)


def test_the_nearest_are_looked_at_where_many_laps_are_near(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ground, states = drive_laps([40, 50, 45, 60, 41, 52])
    every = find_passes(ground, states)
    monkeypatch.setattr(module, 'LOOKED_AT', 6)
    found = find_passes(ground, states)
    np.testing.assert_array_equal(found, naive_passes(ground, states))
    assert np.count_nonzero(found >= 0) < np.count_nonzero(every >= 0)


@given(st.integers(0, 1000), st.lists(st.integers(0, 119), max_size=30), st.floats(0.01, 3.0))
@settings(max_examples=25)
def test_whatever_was_driven(seed: int, unknown: list[int], spread_m: float) -> None:
    rng = np.random.default_rng(seed)
    positions = np.cumsum(rng.normal(size=(120, 2)), axis=0) % spread_m
    positions[unknown] = np.nan
    states = rng.normal(size=(120, 3))
    states[unknown[:2]] = np.nan
    ground = make_ground(positions)
    found = find_passes(ground, states)
    np.testing.assert_array_equal(found, naive_passes(ground, states))
    np.testing.assert_array_equal(found[unknown], -1)
    for tick, row in enumerate(found):
        there = row[row >= 0]
        np.testing.assert_array_equal(row[: len(there)], there)
        assert not np.isin(there, unknown).any()
        assert (np.linalg.norm(positions[there] - positions[tick], axis=1) < ground.near_m).all()
        times = np.sort(np.append(there, tick))
        assert (np.diff(times) > APART).all()


def test_at_most_so_many() -> None:
    ground, states = drive_laps([40] * (MOST_PASSES + 3))
    assert (find_passes(ground, states) >= 0).sum(axis=1).max() == MOST_PASSES


def parked_ground() -> tuple[Ground, np.ndarray, np.ndarray]:
    """Drive laps with a long halt; also return which ticks stand."""
    pieces = [np.arange(90) / 50, np.full(400, 1.8), 1.8 + np.arange(90) / 50]
    turns = np.concatenate(pieces)
    rng = np.random.default_rng(0)
    positions = circle(turns) + 0.005 * rng.normal(size=(len(turns), 2))
    stands = (np.arange(len(turns)) >= 90) & (np.arange(len(turns)) < 490)
    return make_ground(positions, 0.05), rng.normal(size=(len(turns), 3)), stands


def test_a_parked_vehicle_passes_nothing() -> None:
    ground, states, stands = parked_ground()
    found = find_passes(ground, states)
    np.testing.assert_array_equal(found, naive_passes(ground, states))
    np.testing.assert_array_equal(found[stands], -1)
    assert not np.isin(found, np.flatnonzero(stands)).any()


def test_arriving_and_leaving_are_one_pass() -> None:
    ground, states, _ = parked_ground()
    found = find_passes(ground, states)
    # The last tick before the halt and the first after it are at one place, and 20 s apart.
    assert np.linalg.norm(ground.positions[89] - ground.positions[490]) < ground.near_m
    assert not np.isin(found[80:90], np.arange(490, 500)).any()


def test_the_rest_of_a_drive_with_a_long_halt_has_passes() -> None:
    ground, states, stands = parked_ground()
    assert ground.near_m == pytest.approx(2.0 * 2.0 * np.pi * RADIUS_M / 50, rel=0.1)
    moving = ~stands & (np.linalg.norm(ground.positions - circle(np.array([1.8])), axis=1) > 1.0)
    assert (find_passes(ground, states)[moving] >= 0).any(axis=1).mean() > 0.9


@pytest.mark.parametrize('count', [0, 1, 2, 100])
def test_a_vehicle_that_never_moves(count: int) -> None:
    found = find_passes(make_ground(np.ones((count, 2))), np.zeros((count, 2)))
    np.testing.assert_array_equal(found, np.full((count, MOST_PASSES), -1))


def test_positions_that_are_never_known() -> None:
    found = find_passes(make_ground(np.full((50, 2), np.nan)), np.zeros((50, 2)))
    np.testing.assert_array_equal(found, -1)


def test_ticks_longer_than_a_pass() -> None:
    ground = make_ground(circle(np.arange(48) / 12.0), period_s=10.0)
    found = find_passes(ground, np.arange(48.0)[:, None] % 12)
    np.testing.assert_array_equal(found[0, :4], [12, 24, 36, -1])


def test_near_is_a_tenth_of_a_second_of_travel_or_a_tick() -> None:
    velocity = np.array([[3.0, 4.0], [0.0, 1.0], [6.0, 8.0], [np.nan, 1.0], [0.0, 0.0]])
    begins = np.array([0, 5])
    # Speeds 5, 1, 10 and 0: the one that stands does not count, and the median is 5.
    assert Ground(begins, velocity, velocity, 0.05).near_m == pytest.approx(0.5)
    assert Ground(begins, velocity, velocity, 0.2).near_m == pytest.approx(1.0)
    nothing = np.full((5, 2), np.nan)
    assert Ground(begins, nothing, nothing, 0.05).near_m == 0.0
    np.testing.assert_allclose(
        Ground(begins, velocity, velocity, 0.05).speeds, [5.0, 1.0, 10.0, np.nan, 0.0]
    )


def test_ticks_since_the_beginning() -> None:
    nothing = np.empty((7, 2))
    ground = Ground(np.array([0, 3, 4, 7]), nothing, nothing, 0.1)
    np.testing.assert_array_equal(ground.since_begin, [0, 1, 2, 0, 0, 1, 2])
    assert ground.since_begin.dtype == np.int64
