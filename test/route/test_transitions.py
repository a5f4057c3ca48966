# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Successors of places, moves in a tick, and changes of speed ratios."""

import numpy as np
import pytest

from two_manifold_ros.route.learning import (
    chances_to_move,
    Durations,
    exchanges_for,
    reach,
    usual_speeds,
)
from two_manifold_ros.route.merging import Places
from two_manifold_ros.route.route import HYPOTHESES, JUMPED, LIMITS, MEMORIES, SETTLED
from two_manifold_ros.route.visits import main_ways, ways_of


def drives(*visits: list[int]) -> Places:
    """Return places that drives visited in this order, each in a stretch of its own."""
    visited = np.concatenate([np.array(each, dtype=np.int64) for each in visits])
    runs = np.repeat(np.arange(len(visits)), [len(each) for each in visits])
    return made_up(np.zeros(int(visited.max()) + 1), visited, runs)


def made_up(along: np.ndarray, visited: np.ndarray, runs: np.ndarray) -> Places:
    """Return places on a line, so many metres along it, of a usual speed of 10 m/s."""
    return Places(
        positions=np.column_stack([along, np.zeros(len(along))]),
        headings=np.tile([1.0, 0.0], (len(along), 1)),
        radius_m=1.0,
        usual_mps=10.0,
        visited=visited,
        segments=runs,
        runs=runs,
        times=np.arange(len(visited), dtype=np.float64),
        standing=(np.zeros(len(visited), dtype=np.bool_),),
    )


def ways(*visits: list[int]) -> dict[int, list[tuple[int, float]]]:
    places = drives(*visits)
    return ways_of(places, np.ones(len(places.visited), dtype=np.bool_))


WAY = list(range(20))
LEFT, RIGHT = [0, 1, 2, 3, 4, 5], [0, 1, 10, 11, 12, 13]


@pytest.mark.parametrize(
    ('visits', 'wanted'),
    [
        # Who stays at a place for a while goes on all the same.
        ([[0, 1, 1, 1, 2, 0, 1, 2]], {0: {1: 1.0}, 1: {2: 1.0}, 2: {0: 1.0}}),
        # From one drive to the next no way leads.
        ([[0, 1], [2, 3]], {0: {1: 1.0}, 1: {}, 2: {3: 1.0}}),
        ([LEFT, LEFT, LEFT, RIGHT], {1: {2: 0.75, 10: 0.25}, 10: {11: 1.0}}),
        # Who skips a place or slips back is on the same way; a short cut is a way of its own.
        (
            [WAY, WAY, [3, 4, 6, 7], [8, 9, 8, 9, 10], [11, 14, 15]],
            {place: {place + 1: 1.0} for place in range(19)},
        ),
        ([WAY, WAY, [3, 15, 16]], {3: {4: 2.0 / 3.0, 15: 1.0 / 3.0}}),
        # Of two equal ways the next place is the main one.
        ([[0, 1, 2, 3, 4, 5, 6], [5, 4]], {4: {5: 1.0}, 5: {6: 1.0}}),
    ],
    ids=['round', 'drives', 'fork', 'noise', 'short cut', 'equal'],
)
def test_ways_and_their_shares(visits, wanted):
    found = ways(*visits)
    for place, to in wanted.items():
        assert dict(found.get(place, [])) == pytest.approx(to)


def test_only_kept_visits_show_ways():
    places = drives([0, 1, 2, 3], [0, 1, 20, 21])
    kept = np.arange(8) < 4
    assert ways_of(places, kept) == {0: [(1, 1.0)], 1: [(2, 1.0)], 2: [(3, 1.0)]}
    kept[2] = False
    assert ways_of(places, kept) == {0: [(1, 1.0)]}


def test_main_ways_are_those_of_most():
    found = main_ways({0: [(1, 0.3), (4, 0.7)], 1: [(2, 1.0)]}, 5)
    np.testing.assert_array_equal(found, [4, 2, 2, 3, 4])


def test_reach_against_powers_of_a_matrix():
    """A fork that comes together again, and a dead end where all stay."""
    found = {0: [(1, 0.6), (2, 0.4)], 1: [(3, 1.0)], 2: [(3, 0.5), (4, 0.5)], 3: [(0, 1.0)]}
    matrix = np.zeros((5, 5))
    matrix[4, 4] = 1.0
    for a, to in found.items():
        for b, share in to:
            matrix[a, b] = share
    geometry = reach(found, 5, 6)
    begins, targets = geometry.begins, geometry.targets_of
    steps, shares = geometry.steps_of, geometry.shares_of
    assert begins[0] == 0
    assert begins[-1] == len(targets) == len(steps) == len(shares)
    for array in (begins, targets, steps):
        assert array.dtype == np.int64
    table = np.zeros((7, 5, 5))
    for place in range(5):
        for way in range(begins[place], begins[place + 1]):
            assert table[steps[way], place, targets[way]] == 0.0
            table[steps[way], place, targets[way]] = shares[way]
    for step in range(7):
        wanted = np.linalg.matrix_power(matrix, step)
        np.testing.assert_allclose(table[step], wanted, atol=1e-12)


def test_a_speed_ratio_moves_as_far_as_it_says():
    moves = chances_to_move(3.3)
    steps = np.arange(moves.shape[1])
    assert (moves >= 0.0).all()
    np.testing.assert_allclose(moves.sum(axis=1), 1.0, atol=1e-12)
    means = moves @ steps
    np.testing.assert_allclose(means, np.arange(len(moves)) / LIMITS.rows_a_place, atol=1e-6)
    assert means[-1] >= 3.3
    variances = moves @ steps**2 - means**2
    np.testing.assert_allclose(variances[means >= 1.0], 0.36, rtol=0.15)
    # Who stands stays, and who hardly moves is not unsteadier than that.
    np.testing.assert_array_equal(moves[0], np.eye(len(steps))[0])
    assert (variances <= 1.15 * 0.36).all()
    assert (variances >= means % 1.0 * (1.0 - means % 1.0) - 1e-9).all()
    assert moves[:, -1].max() < 0.1


def table_of(period_s: float, memory_s: float) -> dict[tuple[str, str], float]:
    """Return the chances by the hypotheses before and after, wherever that is."""
    exchanges, jumps = exchanges_for(period_s, memory_s)
    places = [*HYPOTHESES, *(f'anywhere {mode}' for mode in JUMPED)]
    table = np.concatenate([exchanges, jumps], axis=1)
    return {
        (before, after): float(table[i, j])
        for i, before in enumerate(HYPOTHESES)
        for j, after in enumerate(places)
        if before != after
    }


@pytest.mark.parametrize(('period_s', 'memory_s'), [(0.1, 1.0), (0.05, 0.4)])
def test_each_thing_happens_once_in_its_time(period_s, memory_s):
    table, mean = table_of(period_s, memory_s), Durations()
    for before, after, memories, share in (
        ('on', 'off', mean.leave, 0.5),
        ('on', 'anywhere on new', mean.enter, 1.0),
        ('off', 'on', mean.enter, 1.0),
        ('elsewhere', 'anywhere off', mean.elsewhere_lasts, 0.25),
        ('off', 'anywhere off', mean.piece, 0.5),
        ('free motion', 'anywhere on new', mean.enter, 1.0),
        ('free motion', 'slow', mean.slow, 1.0),
        ('free motion', 'stands', mean.pull_away, 1.0),
        ('off', 'elsewhere', mean.elsewhere_lasts, 1.0),
        ('on new', 'on', SETTLED * max(MEMORIES), 1.0),
        ('on', 'free motion', mean.own, 1.0),
        ('free motion', 'elsewhere', mean.own_lasts, 1.0),
        ('free motion', 'on new', mean.gather, 1.0),
    ):
        # In so many ticks all but 1 / e have gone over.
        left = (1.0 - table[before, after] / share) ** (memories * memory_s / period_s)
        assert left == pytest.approx(np.exp(-1.0)), (before, after)


@pytest.mark.parametrize('period_s', [0.01, 0.1, 1.0])
@pytest.mark.parametrize('memory', [4.0, 20.0])
def test_no_hypothesis_is_left_more_often_than_always(period_s, memory):
    exchanges, jumps = exchanges_for(period_s, memory * period_s)
    # From elsewhere no vehicle gets to the same place: there was none.
    assert not exchanges[-1, :-1].any()
    assert min(exchanges.min(), jumps.min()) >= 0.0
    np.testing.assert_allclose(exchanges.sum(axis=1) + jumps.sum(axis=1), 1.0, atol=1e-12)
    assert np.diag(exchanges).min() > 0.25
    assert np.diag(exchanges).max() < 1.0


def test_usual_speeds_are_those_of_the_ways():
    """A metre at every half tick of a tenth of a second is 20 m/s."""
    index = np.arange(31)
    places, after = made_up(1.0 * index, index, 0 * index), np.minimum(index + 1, 30)
    stays = np.full(31, 0.5)
    rates, tick_lengths = usual_speeds(places, stays, after, 0.1)
    np.testing.assert_allclose(rates, 2.0)
    np.testing.assert_allclose(0.1 / tick_lengths, 20.0, rtol=0.01)
    # Where all stop, nobody is slower than a tenth of the usual speed of 10 m/s.
    stays[10:20] = 1e6
    rates, tick_lengths = usual_speeds(places, stays, after, 0.1)
    assert rates.min() > 0.0
    assert np.isfinite(tick_lengths).all()
    assert (0.1 / tick_lengths).min() == pytest.approx(1.0, rel=0.3)
