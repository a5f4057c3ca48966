# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Errors of estimates against reference positions, and the contest of two filters by them."""

from collections.abc import Callable
import math
from types import SimpleNamespace
from typing import Any, TypeAlias

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from scipy.signal import lfilter

from two_manifold_ros.adapting.prequential import (
    better_by_more_than_chance,
    BLOCKS_PER_LAP,
    Contest,
    MOST_BLOCKS,
    Prequential,
)
from two_manifold_ros.filtering.status import Status

SECOND_NS = 10**9


def estimate(stamp_ns: int, x: float, y: float = 0.0, **said: Any) -> Any:  # noqa: ANN401
    said = {'valid': True, 'cause': '', 'status': Status.TRACKING} | said
    places, spreads = np.array([[x, y]]), 0.25 * np.eye(2)[None]
    return SimpleNamespace(stamp_ns=stamp_ns, positions=places, covariances=spreads, **said)


def known(until_ns: int, position_at: Callable[[int], Any]) -> Any:  # noqa: ANN401 - a stand-in
    """Return a reference that is known until a stamp."""
    return SimpleNamespace(known_until_ns=until_ns, position_at=position_at)


def naive_errors(rows: list[tuple[float, float, bool]], span: int) -> tuple[float, float, float]:
    """Return errors of the last ``span`` seconds, of the mean, and the published share."""
    squares, usual, shares = [], [], []
    for index, (place, guess, valid) in enumerate(rows):
        before = [each[0] for each in rows[:index]]
        mean = (place - np.mean(before)) ** 2 if before else 0.0
        usual.append(mean)
        squares.append((guess - place) ** 2 if valid else mean)
        shares.append(valid)
    newest = slice(max(0, len(rows) - span - 1), None)
    square, mean, share = (float(np.mean(each[newest])) for each in (squares, usual, shares))
    return math.sqrt(square), math.sqrt(mean), share


@given(
    st.lists(st.tuples(st.floats(-50.0, 50.0), st.floats(-50.0, 50.0), st.booleans()), min_size=1),
    st.integers(0, 12),
)
def test_it_sums_what_the_last_seconds_were_worth(rows, span):
    score = Prequential(float(span))
    for second, (_, guess, valid) in enumerate(rows):
        score.add(estimate(second * SECOND_NS, guess, valid=valid))
    places = {second * SECOND_NS: (row[0], 0.0) for second, row in enumerate(rows)}
    score.settle(known((len(rows) - 1) * SECOND_NS, places.get))
    assert score.errors()[:3] == pytest.approx(naive_errors(rows, span), abs=1e-5)
    assert len(score) == min(span + 1, len(rows))


def test_what_was_withheld_for_being_no_better_is_judged_as_reported_and_the_unknown_not():
    score = Prequential(100.0)
    for stamp_ns, cause in enumerate(('not_useful', 'diverged')):
        score.add(estimate(stamp_ns, 3.0, 4.0, valid=False, cause=cause))
    score.settle(known(2, lambda _: (0.0, 0.0)))
    # Of half of them it says itself that it is lost.
    assert score.errors() == pytest.approx((np.sqrt(12.5), 0.0, 0.5, 0.5, 0.0))
    # Only what is known counts, and only once.
    score.forget()
    assert np.isnan(score.errors()).all()
    for second in range(10):
        score.add(estimate(second * SECOND_NS, 3.0, 4.0))
    places = {second * SECOND_NS: (0.0, 0.0) for second in (1, 2, 7)}
    for until, count in ((5, 2), (5, 2), (9, 3)):
        score.settle(known(until * SECOND_NS, places.get))
        assert (len(score), *score.errors()[::2]) == (count, 5.0, 1.0, 0.0)
    # What lies apart is no time of which anything is known.
    assert score.seconds == 1.0
    # Estimates of before a clock was set back do not hold up those after it.
    score.forget()
    for second in (1000, 1001, 5, 6):
        score.add(estimate(second * SECOND_NS, 1.0))
    score.settle(known(6 * SECOND_NS, lambda _: (0.0, 0.0)))
    assert len(score) == 2


@given(st.integers(1, 30), st.integers(1, 30), st.floats(2.0, 50.0))
def test_it_finds_where_errors_rise(before, after, factor):
    score = Prequential(1000.0)
    assert score.rise_ns() == 0
    for second, error in enumerate([1.0] * before + [factor] * after):
        score.add(estimate(second * SECOND_NS, error))
    score.settle(known((before + after) * SECOND_NS, lambda _: (0.0, 0.0)))
    assert score.rise_ns() == before * SECOND_NS


RATE_HZ, LAP_S, BLOCK_TICKS = 20, 8.0, 40


def blocks_of(scales: tuple[float, float], blocks: int, seed: int) -> np.ndarray:
    """Return errors (n, 2) of two filters that last for a second or so and differ over the lap."""
    rng = np.random.default_rng(seed)
    same, ticks = math.exp(-1.0 / RATE_HZ), blocks * BLOCK_TICKS
    lap = np.arange(ticks) * 2.0 * math.pi / (LAP_S * RATE_HZ)
    found = []
    for scale in scales:
        noise = rng.normal(size=(ticks, 2)) * math.sqrt(1.0 - same**2)
        lasting = lfilter([1.0], [1.0, -same], noise, axis=0)
        away = scale * np.hypot(*lasting.T) * (1.0 + 0.5 * np.sin(lap + rng.uniform(0.0, 6.0)))
        found.append(np.sqrt(np.mean(away.reshape(blocks, -1) ** 2, axis=1)))
    return np.transpose(found)


def decided(blocks: np.ndarray, mean_m: float = 1.0) -> tuple[str, int]:
    """Return how a contest ends, and after how many blocks."""
    contest = Contest(LAP_S)
    for count, (first_m, second_m) in enumerate(blocks.tolist()):
        contest.count(first_m, second_m, mean_m)
        assert not (contest.is_won and contest.is_lost)
        if contest.is_won or contest.is_lost:
            return 'won' if contest.is_won else 'lost', count + 1
    return 'open', len(blocks)


@pytest.mark.parametrize(
    ('error', 'outcome', 'laps'),
    [(0.2, 'lost', 99), (0.19, 'lost', 99), (0.08, 'won', 9), (0.05, 'won', 5)],
)
def test_equal_filters_do_not_take_turns_and_a_better_one_wins_soon(error, outcome, laps):
    found = [decided(blocks_of((0.2, error), MOST_BLOCKS, seed)) for seed in range(40)]
    assert {how for how, _ in found} == {outcome}
    assert max(count for _, count in found) <= laps * BLOCKS_PER_LAP


STEADY = np.tile([0.2, 0.1], (8, 1))
GREAT = [[9.0, 0.1], [0.1, 0.11], [0.1, 0.11], [0.1, 0.11]]


@pytest.mark.parametrize(
    ('blocks', 'mean_m', 'outcome'),
    [
        (STEADY, 1.0, ('won', BLOCKS_PER_LAP)),
        # Sure, but not worth it.
        (STEADY * [1.0, 1.9], 1.0, ('lost', BLOCKS_PER_LAP)),
        # Better than one that is silent, but near the mean position.
        (STEADY * [5.0, 8.0], 1.0, ('lost', BLOCKS_PER_LAP)),
        # One great success is worth nothing, however great.
        (np.tile(GREAT, (12, 1)), 9.0, ('lost', MOST_BLOCKS)),
        # It looks better, but is not surely better in all its time.
        (np.tile([[2.0, 0.8], [2.0, 2.36]], (24, 1)), 9.0, ('lost', MOST_BLOCKS)),
    ],
)
def test_outcomes(blocks, mean_m, outcome):
    assert decided(blocks, mean_m) == outcome


def test_gains_that_last_are_fewer_than_they_seem():
    lasting = np.repeat([0.2, 0.01, 0.19, 0.02], 8)
    alternating = lasting.reshape(2, 2, 8).transpose(2, 0, 1).ravel()
    old = np.full(32, 0.4)
    assert better_by_more_than_chance(old - alternating, old)
    assert not better_by_more_than_chance(old - lasting, old)


Says: TypeAlias = 'Callable[[int], dict[str, Any]] | float | None'
"""What a filter says at a tick, or by how much it errs at all of them; None if it has no ticks."""

LAP = round(LAP_S * RATE_HZ)


def follow(
    contest: Contest, first: Says, second: Says, ticks: range, *, stands: bool = False
) -> None:
    """Drive laps of a circle."""
    for tick in ticks:
        stamp = tick * SECOND_NS // RATE_HZ
        angle = 0.0 if stands else 2.0 * math.pi * tick / LAP
        x, y = 1e5 + math.cos(angle), math.sin(angle)
        estimates = []
        for says in (first, second):
            said = says(tick) if callable(says) else {'error': says}
            off = said.pop('error')
            estimates.append([] if off is None else [estimate(stamp, x + off, y, **said)])
        contest.take(*estimates, known(stamp, lambda _, x=x, y=y: (x, y)))


def test_from_estimates_to_the_outcome():
    """The first lap does not count, nor do blocks in which the vehicle stood."""
    contest = Contest(LAP_S)
    follow(contest, 0.2, 0.1, range(LAP))
    assert contest.blocks == 0
    follow(contest, 0.2, 0.1, range(LAP, 2 * LAP + 10))
    blocks = contest.blocks
    assert blocks == pytest.approx(BLOCKS_PER_LAP, abs=1)
    follow(contest, 0.1, 0.2, range(2 * LAP + 10, 10 * LAP), stands=True)
    assert contest.blocks <= blocks + 1
    follow(contest, 0.2, 0.1, range(10 * LAP, 11 * LAP))
    assert contest.is_won
    assert contest.errors_m == pytest.approx((0.2, 0.1), abs=0.02)
    # A filter without ticks knows no more than the mean position.
    contest = Contest(LAP_S)
    follow(contest, None, 0.1, range(3 * LAP))
    assert contest.is_won
    assert contest.errors_m == pytest.approx((1.0, 0.1), abs=0.1)


@pytest.mark.parametrize('doubt', [{'status': Status.UNSURE}, {'valid': False}], ids=str)
@pytest.mark.parametrize('side', [0, 1])
@pytest.mark.parametrize('every', [1, 4])
def test_a_tick_in_doubt_counts_as_the_mean_position(doubt, side, every):
    """Whichever filter it is of, and however small its error is."""
    contest = Contest(LAP_S)

    def doubted(tick: int) -> dict[str, Any]:
        return {'error': 0.01, **({} if tick % every else doubt)}

    sides: list[Says] = [0.2, 0.2]
    sides[side] = doubted
    follow(contest, *sides, range(3 * LAP))
    assert contest.errors_m[side] == pytest.approx(every**-0.5, abs=0.15)
    assert contest.is_won == (side == 0)
