# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""All methods by one plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from stub_methods import Failing, Fixed, Killed, Repeater

from two_manifold_ros.comparison import comparing
from two_manifold_ros.comparison.baselines import MeanPosition
from two_manifold_ros.comparison.comparing import Cache, compare
from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.comparison.protocol import Plan

METHODS = [
    Fixed('far', (100.0, 0.0)),
    Failing('broken', error=InputError('why')),
    MeanPosition(),
    Fixed('near', states=True, chosen={'b': 1, 'a': 0.1}),
    Repeater('told', told=True),
]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows by the name of every method that is run."""
    names: list[str] = []
    right = comparing.try_method

    def listed(method: Fixed, *arguments: object) -> object:
        names.append(method.name)
        return right(method, *arguments)

    monkeypatch.setattr(comparing, 'try_method', listed)
    return names


def test_the_results_are_in_order_and_right(ellipse_plan: Plan) -> None:
    comparison = compare(ellipse_plan, METHODS)
    assert [result.name for result in comparison.results] == [each.name for each in METHODS]
    far, broken, _, _, told = comparison.results
    assert broken.failure == 'why'
    (exam,) = ellipse_plan.exams
    assert far.scores is not None
    true = exam.truth[exam.scored, 1]
    away = np.linalg.norm(true[np.isfinite(true).all(axis=1)] - [100.0, 0.0], axis=1)
    assert far.scores[1].rmse_m == pytest.approx(np.sqrt(np.mean(np.square(away))))
    assert told.scores is not None
    assert told.scores[0].rmse_m == 0.0
    assert comparison.scored[0] == int(np.isfinite(exam.truth[exam.scored, 0, 0]).sum())


def test_two_processes_give_the_same_bits(ellipse_plan: Plan) -> None:
    alone, together = compare(ellipse_plan, METHODS), compare(ellipse_plan, METHODS, processes=2)
    assert alone.to_json() == together.to_json()
    for mine, its in zip(alone.results, together.results, strict=True):
        for one, other in zip(mine.linear or (), its.linear or (), strict=True):
            assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize('processes', [1, 2])
def test_a_fault_of_one_holds_up_no_other(ellipse_plan: Plan, processes: int) -> None:
    faults = [Failing('broken'), Failing('unloaded', error=ImportError('libgomp.so.1'))]
    comparison = compare(ellipse_plan, [*faults, METHODS[0]], processes=processes)
    broken, unloaded, far = comparison.results
    assert (broken.failure or '').startswith('ValueError in line ')
    assert (unloaded.failure or '').endswith('cannot be loaded: libgomp.so.1')
    assert far.scores == compare(ellipse_plan, METHODS[:1]).results[0].scores


def test_a_process_that_is_killed_holds_up_no_other(ellipse_plan: Plan) -> None:
    comparison = compare(ellipse_plan, [Killed('greedy'), *METHODS[:1], METHODS[2]], processes=2)
    greedy, far, mean = comparison.results
    assert 'killed' in (greedy.failure or '')
    alone = compare(ellipse_plan, [METHODS[0], METHODS[2]])
    assert [far.scores, mean.scores] == [result.scores for result in alone.results]


def test_what_was_kept_is_not_computed_again(
    ellipse_plan: Plan, tmp_path: Path, runs: list[str]
) -> None:
    cache = Cache(tmp_path)
    first = compare(ellipse_plan, METHODS, cache)
    assert runs == [each.name for each in METHODS]
    runs.clear()
    second = compare(ellipse_plan, METHODS, cache)
    # What failed for want of a package or of memory may succeed another time.
    assert runs == ['broken']
    assert second.to_json() == first.to_json() == compare(ellipse_plan, METHODS).to_json()
    assert str(second.to_json()) == str(first.to_json())
    runs.clear()
    compare(ellipse_plan, [Fixed('far', (99.0, 0.0)), *METHODS[2:]], cache)
    assert runs == ['far']


def test_progress_is_told(ellipse_plan: Plan, tmp_path: Path) -> None:
    told: list[tuple[str, float]] = []
    compare(ellipse_plan, METHODS[2:4], None, 1, lambda *each: told.append(each))
    assert told == [('compared mean', 0.5), ('compared near', 1.0)]
    cache = Cache(tmp_path)
    compare(ellipse_plan, METHODS[2:3], cache)
    told.clear()
    compare(ellipse_plan, METHODS[2:4], cache, 1, lambda *each: told.append(each))
    assert told == [('compared near', 1.0)]
