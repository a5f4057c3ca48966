# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learning takes its share of a core and not more, and what is dropped is dropped evenly."""

from __future__ import annotations

from itertools import groupby

import pytest

from two_manifold_ros.adapting.learning_budget import INSTALMENTS, LearningBudget, TOLD_S


class Robot:
    """Samples at a rate; those that are learned cost something, every so many a fold."""

    def __init__(self, share: float, rate_hz: float, cost_s: float, fold_s: float = 0.0) -> None:
        self.now = 100.0
        self.budget = LearningBudget(share, lambda: self.now)
        self._rate_hz = rate_hz
        self.cost_s = cost_s
        self._fold_s = fold_s
        self.spent_s = 0.0

    def drive(self, samples: int) -> list[bool]:
        """Return for each sample whether it was learned."""
        learned = []
        for _ in range(samples):
            self.now += 1.0 / self._rate_hz
            learned.append(self.budget.may_learn())
            if learned[-1]:
                fold = self.budget.learned % 32 == 0
                cost = self.cost_s + fold * self._fold_s
                self.budget.spent(cost)
                self.spent_s += cost
        return learned


def longest_drop(learned: list[bool]) -> int:
    return max((len(list(run)) for kept, run in groupby(learned) if not kept), default=0)


def test_everything_is_learned_when_there_is_time() -> None:
    robot = Robot(share=0.25, rate_hz=1000.0, cost_s=1e-4, fold_s=4e-3)
    assert all(robot.drive(20_000))
    assert robot.budget.dropped == 0
    assert not robot.budget.trouble
    assert robot.budget.cost_s == pytest.approx(2.25e-4, rel=0.5)


@pytest.mark.parametrize('share', [0.1, 0.25, 0.5])
@pytest.mark.parametrize(('cost_s', 'fold_s'), [(1e-3, 0.0), (2e-4, 0.0256)])
def test_the_share_is_kept_and_used_up(share: float, cost_s: float, fold_s: float) -> None:
    robot = Robot(share, 1000.0, cost_s, fold_s)
    learned = robot.drive(50_000)
    assert robot.spent_s / 50.0 == pytest.approx(share, rel=0.02)
    assert learned.count(True) == robot.budget.learned == 50_000 - robot.budget.dropped


@pytest.mark.parametrize(('cost_s', 'fold_s'), [(1e-3, 0.0), (2e-4, 0.0256)])
def test_every_nth_is_learned(cost_s: float, fold_s: float) -> None:
    """On average one of four; never many are dropped in a row, not even after a fold."""
    robot = Robot(0.25, 1000.0, cost_s, fold_s)
    robot.drive(4 * INSTALMENTS)
    assert longest_drop(robot.drive(20_000)) <= 8


def test_it_says_when_it_starts_and_stops_dropping() -> None:
    robot = Robot(0.1, 100.0, cost_s=0.005)
    robot.drive(100)
    robot.cost_s = 5e-4
    assert robot.budget.trouble == (
        'learning takes 5 ms a sample, more than its share of 10% of a core allows at this rate: '
        'some samples are not learned'
    )
    robot.drive(20 * INSTALMENTS)
    dropped = robot.budget.dropped
    robot.drive(round(100 * TOLD_S))
    assert robot.budget.dropped == dropped
    assert not robot.budget.trouble


def test_a_pause_saves_a_second_and_not_more() -> None:
    robot = Robot(0.5, 100.0, cost_s=0.05)
    robot.drive(200)
    robot.now += 3600.0
    spent_s = robot.spent_s
    robot.drive(100)
    assert robot.spent_s - spent_s == pytest.approx(1.0, abs=0.06)


def test_one_update_longer_than_what_can_be_saved() -> None:
    """It is paid for before the next one, and learning goes on."""
    robot = Robot(0.1, 10.0, cost_s=0.3)
    robot.drive(600)
    assert robot.spent_s / 60.0 == pytest.approx(0.1, rel=0.05)


def test_costs_of_samples_and_of_what_was_dropped_may_be_told_together() -> None:
    """Four samples a tick, and a little in each tick whether it was learned or not."""
    now = 0.0
    budget = LearningBudget(0.25, lambda: now)
    spent_s = 0.0
    for _ in range(20_000):
        now += 0.01
        cost = 1e-4 + 2e-3 * sum(budget.may_learn() for _ in range(4))
        budget.spent(cost)
        spent_s += cost
    assert spent_s / now == pytest.approx(0.25, rel=0.02)


def test_the_same_clock_gives_the_same_choice() -> None:
    first, second = (Robot(0.3, 200.0, 0.01, 0.1).drive(2000) for _ in range(2))
    assert first == second
