# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The better filter runs, equal ones do not take turns, and a mistake is taken back."""

from __future__ import annotations

from itertools import pairwise
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.signal import lfilter

from two_manifold_ros.adapting.contest import (
    Contest,
    ContestSettings,
    LOST,
    Side,
    SILENCE,
    Verdict,
)

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

RATE_HZ = 20
PERIOD = 10**9 // RATE_HZ
HORIZONS = (0, 20)
TICKS_PER_BLOCK = 100
BLOCKS_PER_LAP = 1.6
LAP_TICKS = 160


def make_contest(**settings: float) -> Contest:
    horizons_ns = [horizon * PERIOD for horizon in HORIZONS]
    return Contest(horizons_ns, PERIOD, 10 * PERIOD, ContestSettings(**settings))


def errors_of(scale: float, ticks: int, rng: np.random.Generator) -> Floats:
    """Return errors (ticks, 2) that last for a second or so and differ over the lap."""
    same = math.exp(-1.0 / RATE_HZ)
    noise = rng.normal(size=(ticks, 2)) * math.sqrt(1.0 - same**2)
    lasting = lfilter([1.0], [1.0, -same], noise, axis=0)
    lap = np.arange(ticks) * 2.0 * math.pi / LAP_TICKS + rng.uniform(0.0, 6.0)
    return np.asarray(scale * lasting * (1.0 + 0.5 * np.sin(lap))[:, None])


def blocks_of(scales: tuple[float, float], ticks: int, seed: int) -> Floats:
    """Return the mean errors (n, 2) of two filters in blocks."""
    rng = np.random.default_rng(seed)
    errors = [np.hypot(*errors_of(scale, ticks, rng).T) for scale in scales]
    return np.transpose([each.reshape(-1, TICKS_PER_BLOCK).mean(axis=1) for each in errors])


def swaps(contest: Contest, blocks: Floats) -> list[tuple[int, str]]:
    """Do what the contest says; return after which block it said what."""
    said = []
    for number, block in enumerate(blocks):
        contest.count(block[::-1] if len(said) % 2 else block)
        if contest.verdict is not Verdict.KEEP:
            said.append((number + 1, contest.verdict.value))
            contest.swap()
    return said


def test_equal_filters_never_swap() -> None:
    for seed in range(20):
        assert swaps(make_contest(), blocks_of((0.2, 0.2), 10_000, seed)) == []


def test_a_filter_a_little_better_does_not_come_in() -> None:
    for seed in range(10):
        assert swaps(make_contest(), blocks_of((0.2, 0.19), 10_000, seed)) == []


@pytest.mark.parametrize(('ratio', 'laps'), [(0.7, 30), (0.5, 12), (0.25, 8)])
def test_a_better_one_comes_in_soon_and_stays(ratio: float, laps: int) -> None:
    needed = []
    for seed in range(10):
        said = swaps(make_contest(), blocks_of((0.2, 0.2 * ratio), 10_000, seed))
        assert [what for _, what in said] == ['hand over']
        needed.append(said[0][0] / BLOCKS_PER_LAP)
    assert max(needed) <= laps
    assert min(needed) >= 8 / BLOCKS_PER_LAP


def test_a_filter_that_got_worse_is_taken_back_and_then_has_to_convince_for_longer() -> None:
    contest = make_contest()
    rng = np.random.default_rng(0)
    better, worse = ([0.2, 0.1], [0.2, 0.4])
    course = np.array([better] * 8 + [worse] * 8 + [better] * 16 + [worse] * 8 + [better] * 40)
    said = swaps(contest, course * rng.uniform(0.99, 1.01, size=course.shape))
    assert said == [
        (8, 'hand over'),
        (16, 'take back'),
        (32, 'hand over'),
        (40, 'take back'),
        (72, 'hand over'),
    ]


def test_nobody_has_to_convince_for_longer_than_is_remembered() -> None:
    contest = make_contest()
    for _ in range(10):
        contest.swap()
    assert contest.needed == contest.settings.most


def test_after_the_trial_the_old_one_has_no_claim_left() -> None:
    contest = make_contest()
    contest.needed = 32
    contest.swap()
    assert contest.on_trial
    for _ in range(contest.settings.most):
        contest.count(np.array([0.2, 0.2]))
    assert not contest.on_trial
    assert contest.needed == contest.settings.fewest


def test_a_trial_ends_when_the_new_one_has_shown_it_again() -> None:
    contest = make_contest()
    contest.needed = 32
    contest.swap()
    for blocks in range(1, contest.settings.fewest + 1):
        assert contest.on_trial
        contest.count(np.array([0.1, 0.2 + 0.001 * blocks]))
    assert not contest.on_trial
    assert contest.needed == 16


def test_a_candidate_that_is_worse_pays_no_debts_of_others() -> None:
    contest = make_contest()
    contest.needed = 32
    for blocks in range(40):
        contest.count(np.array([0.1, 0.2 + 0.001 * blocks]))
    assert contest.needed == 32


@pytest.mark.parametrize(('error', 'verdict'), [(0.19, Verdict.KEEP), (0.17, Verdict.HAND_OVER)])
def test_what_is_sure_must_be_worth_it_too(error: float, verdict: Verdict) -> None:
    contest = make_contest()
    for _ in range(20):
        contest.count(np.array([0.2, error]))
    assert contest.verdict is verdict


@pytest.mark.parametrize(('error', 'verdict'), [(0.8, Verdict.KEEP), (0.3, Verdict.HAND_OVER)])
def test_who_knows_next_to_nothing_does_not_come_in(error: float, verdict: Verdict) -> None:
    """The incumbent is silent, and the mean position errs by one metre."""
    contest = make_contest()
    for tick in range(20 * TICKS_PER_BLOCK):
        x, y = math.cos(0.05 * tick), math.sin(0.05 * tick)
        told = np.array(
            [[math.cos(0.05 * (tick + h)) + error, math.sin(0.05 * (tick + h))] for h in HORIZONS]
        )
        contest.observe(Side.INCUMBENT, tick * PERIOD, None)
        contest.observe(Side.CANDIDATE, tick * PERIOD, told)
        contest.reach(tick * PERIOD, x, y)
    assert contest.blocks > 10
    assert contest.score(Side.CANDIDATE) < 0.9 * contest.score(Side.INCUMBENT)
    assert contest.verdict is verdict


def test_most_blocks_have_to_be_won() -> None:
    """One great success is worth nothing, however great."""
    contest = make_contest(sure=0.5)
    for number in range(16):
        contest.count(np.array([9.0, 0.1] if number % 4 == 0 else [0.1, 0.11]))
    assert contest.score(Side.CANDIDATE) < 0.5 * contest.score(Side.INCUMBENT)
    assert contest.verdict is Verdict.KEEP


def test_gains_that_last_are_fewer_than_they_seem() -> None:
    gains = np.repeat([0.2, 0.01, 0.19, 0.02], 8)
    alternating = gains.reshape(2, 2, 8).transpose(2, 0, 1).ravel()
    for course, verdict in ((gains, Verdict.KEEP), (alternating, Verdict.HAND_OVER)):
        contest = make_contest(fewest=32)
        for gain in course:
            contest.count(np.array([0.4, 0.4 - gain]))
        assert contest.verdict is verdict


def test_old_blocks_are_forgotten() -> None:
    contest = make_contest(most=10)
    for number in range(30):
        contest.count(np.array([1.0, 5.0 if number < 20 else 0.5 + 0.001 * number]))
    assert contest.blocks == 10
    assert contest.verdict is Verdict.HAND_OVER


def track(ticks: int) -> Floats:
    lap = np.arange(ticks) * 2.0 * math.pi / LAP_TICKS
    return np.column_stack([1e5 + 1.5 * np.cos(lap), np.sin(lap)])


def drive(
    contest: Contest, truth: Floats, said: tuple[Floats | None, Floats | None], first: int = 1
) -> None:
    """Let two filters tell the truth and an error (ticks, 2) each, or nothing."""
    ahead = np.array(HORIZONS)
    for tick in range(len(truth) - max(HORIZONS)):
        stamp = (first + tick) * PERIOD
        for side, errors in zip(Side, said, strict=True):
            positions = None if errors is None else truth[tick + ahead] + errors[tick]
            contest.observe(side, stamp, positions)
        contest.reach(stamp, *truth[tick].tolist())


def test_from_positions_to_the_verdict() -> None:
    contest = make_contest()
    truth = track(1520)
    still = [np.tile([error, 0.0], (1520, 1)) for error in (0.2, 0.1)]
    drive(contest, truth, (still[0], still[1]))
    assert contest.verdict is Verdict.HAND_OVER
    assert contest.score(Side.INCUMBENT) == pytest.approx(0.2)
    assert contest.score(Side.CANDIDATE) == pytest.approx(0.1)
    # The block in which it is learned what the mean position errs, and the last one, do not count.
    assert contest.blocks == 1500 // TICKS_PER_BLOCK - 1
    assert contest.mean_error == pytest.approx(math.sqrt((1.5**2 + 1.0) / 2), rel=0.05)


def test_predictions_that_come_after_the_truth_are_counted_as_well() -> None:
    """Even if they come so late that most of them belong to the block before."""
    contest = make_contest(block_s=2.0)
    truth, ahead, late = track(1520), np.array(HORIZONS), 24
    for tick in range(late, 1500):
        contest.reach((1 + tick) * PERIOD, *truth[tick].tolist())
        for side, error in zip(Side, (0.2, 0.1), strict=True):
            positions = truth[tick - late + ahead] + [error, 0.0]
            contest.observe(side, (1 + tick - late) * PERIOD, positions)
    assert contest.blocks > 0.9 * 1500 / (2 * RATE_HZ)
    assert contest.score(Side.INCUMBENT) == pytest.approx(0.2)


def test_what_the_mean_position_errs_is_that_of_late() -> None:
    contest = make_contest(most=4)
    errors = (np.full((1520, 2), 0.2), np.full((1520, 2), 0.1))
    drive(contest, track(1520), errors)
    large = contest.mean_error
    centre = np.array([1e5, 0.0])
    small = centre + 0.3 * (track(1520) - centre)
    for first in (1501, 3001):
        drive(contest, small, errors, first=first)
    assert contest.mean_error < 0.5 * large


def test_silence_is_worse_than_the_mean_and_nothing_worse_than_lost() -> None:
    contest = make_contest()
    truth = track(1520)
    drive(contest, truth, (None, truth.mean(axis=0) - truth))
    assert contest.score(Side.INCUMBENT) == pytest.approx(SILENCE * contest.mean_error, rel=0.05)
    # Read at a horizon, the mean position is that of a second before: about as wrong.
    assert contest.score(Side.CANDIDATE) < 1.1 * contest.mean_error
    contest.renew()
    assert math.isnan(contest.score(Side.INCUMBENT))
    drive(contest, truth, (None, np.full((1520, 2), 1e9)), first=2001)
    assert contest.score(Side.CANDIDATE) == pytest.approx(LOST * contest.mean_error, rel=0.05)


def test_both_silent_is_no_evidence() -> None:
    contest = make_contest()
    drive(contest, track(1520), (None, None))
    assert contest.blocks == 0


def test_standing_still_is_no_evidence() -> None:
    contest = make_contest()
    truth = np.vstack([track(520), np.repeat(track(520)[-1:], 2000, axis=0)])
    known = contest.blocks
    drive(contest, truth, (np.full((2520, 2), 0.2), np.full((2520, 2), 0.1)))
    assert contest.blocks - known <= 5
    assert contest.mean_error > 1.0
    assert contest.verdict is Verdict.KEEP


def test_half_of_a_block_has_to_be_seen() -> None:
    contest = make_contest()
    truth = track(1520)
    errors = np.full((1520, 2), 0.1)
    ahead = np.array(HORIZONS)
    for tick in range(1500):
        stamp = (1 + tick) * PERIOD
        for side in Side:
            if tick % TICKS_PER_BLOCK < 40:
                contest.observe(side, stamp, truth[tick + ahead] + errors[tick])
        contest.reach(stamp, *truth[tick].tolist())
    assert contest.blocks == 0


def test_a_jump_back_in_time() -> None:
    contest = make_contest()
    truth = track(1520)
    errors = (np.full((1520, 2), 0.2), np.full((1520, 2), 0.1))
    drive(contest, truth, errors, first=100_000)
    before = contest.blocks
    drive(contest, truth, errors)
    assert contest.blocks >= 2 * before - 1
    assert contest.score(Side.INCUMBENT) == pytest.approx(0.2 * math.sqrt(2.0))


def test_a_position_that_is_not_finite_is_ignored() -> None:
    contest = make_contest()
    truth = track(1520)
    errors = (np.full((1520, 2), 0.2), np.full((1520, 2), 0.1))
    drive(contest, truth[:720], errors)
    contest.reach(700 * PERIOD + 1, math.nan, 0.0)
    drive(contest, truth[700:], errors, first=701)
    assert contest.blocks == 1500 // TICKS_PER_BLOCK - 1


def test_the_same_course_gives_the_same_verdicts() -> None:
    blocks = blocks_of((0.2, 0.15), 10_000, 3)
    first, second = (swaps(make_contest(), blocks) for _ in range(2))
    assert first == second
    assert all(earlier < later for (earlier, _), (later, _) in pairwise(first))
