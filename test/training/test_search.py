# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The search finds what is best along the axes, within its budget, and passes over failures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.training.tuning import ORDER, Search, Steps
from two_manifold_ros.training.tuning_trials import Failure, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.training.tuning_trials import Trial

FREE = ('bandwidth_factor', 'states')


@pytest.fixture
def usual(usual: TrainingSettings) -> TrainingSettings:
    """Return settings of the spectral filter, of which more is tuned."""
    return replace(usual, method='spectral', bandwidth_factor=1.0, ridge=1.0)


def steps(usual: TrainingSettings) -> Steps:
    return Steps(usual, frozenset(ORDER['spectral']) - set(FREE), 100.0)


def error_m(settings: TrainingSettings) -> float:
    """Return an error that is lowest at bandwidth 2 with 60 states, and else at 1 with 20."""
    states, bandwidth = settings.states or 0, settings.bandwidth_factor or 0.0
    return 1.0 + 0.1 * abs(states - 60) / 20 + abs(bandwidth - (2.0 if states >= 40 else 1.0))


def test_it_climbs_and_goes_round_again(
    usual: TrainingSettings, alike: Callable[[float], Trial]
) -> None:
    start = replace(usual, states=40)
    search = Search(steps(start), lambda settings: alike(error_m(settings)), 99)
    assert search.best == replace(start, bandwidth_factor=2.0, states=60)
    order = [
        (each.settings.bandwidth_factor, each.settings.states) for each in search.table.values()
    ]
    assert order == [
        (1.0, 40), (0.7, 40), (1.4, 40), (2.0, 40), (2.8, 40),  # along the bandwidth
        (2.0, 20), (2.0, 60), (2.0, 80),
        (1.4, 60), (2.8, 60),  # the second round
    ]  # fmt: skip
    rivals = [each.rival and each.rival.bandwidth_factor for each in search.table.values()]
    assert rivals == [None, 1.0, 1.0, 1.4, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]


def test_the_budget_holds_and_what_was_tried_counts(
    usual: TrainingSettings, alike: Callable[[float], Trial]
) -> None:
    start = replace(usual, states=40)
    for trials, bandwidth in ((1, 1.0), (2, 1.0), (3, 1.4), (4, 2.0)):
        search = Search(steps(start), lambda settings: alike(error_m(settings)), trials)
        assert len(search.table) == trials
        assert search.best.bandwidth_factor == bandwidth


def test_a_failure_is_passed_over(
    usual: TrainingSettings, alike: Callable[[float], Trial]
) -> None:
    def attempt(settings: TrainingSettings) -> Outcome:
        if settings.bandwidth_factor == 1.4:
            return Failure('too wide')
        return alike(1.0 - 0.1 * (settings.states == 10))

    search = Search(steps(usual), attempt, 99)
    assert search.best == replace(usual, states=10)
    assert search.table[replace(usual, bandwidth_factor=1.4)].outcome == Failure('too wide')


def test_without_a_clear_gain_nothing_changes(
    usual: TrainingSettings, alike: Callable[[float], Trial]
) -> None:
    search = Search(steps(usual), lambda settings: alike(1.0 - 0.01 * (settings != usual)), 99)
    assert search.best == usual
    assert len(search.table) == 5


def test_the_first_settings_have_to_work(usual: TrainingSettings) -> None:
    with pytest.raises(InputError, match='nothing can be tuned: too short'):
        Search(steps(usual), lambda _: Failure('too short'), 99)
