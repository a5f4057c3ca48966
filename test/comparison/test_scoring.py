# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Errors of all methods on the same ticks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from stub_methods import Fixed

from two_manifold_ros.comparison.scoring import grade
from two_manifold_ros.comparison.trial import Failure, Trial

if TYPE_CHECKING:
    from two_manifold_ros.comparison.outcome import Comparison
    from two_manifold_ros.comparison.protocol import Plan


def graded(plan: Plan, **positions: np.ndarray | Failure) -> Comparison:
    """Grade methods by what they tell along the only exam."""
    trials: dict[str, Trial | Failure] = {
        name: told if isinstance(told, Failure) else Trial((told,), None, {})
        for name, told in positions.items()
    }
    return grade(plan, [Fixed(name) for name in positions], trials)


def noise(plan: Plan, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=plan.exams[0].truth.shape)


def test_against_a_naive_computation(ellipse_plan: Plan) -> None:
    one, other = noise(ellipse_plan, 1), noise(ellipse_plan, 2)
    one[30:33] = np.nan
    one[40, 1] = np.inf
    comparison = graded(ellipse_plan, one=one, other=other)
    (exam,) = ellipse_plan.exams
    for column in range(3):
        distances: list[list[float]] = [[], []]
        for tick in range(19, len(exam.segment)):
            true = exam.truth[tick, column]
            if np.isfinite([true, one[tick, column], other[tick, column]]).all():
                for kept, told in zip(distances, (one, other), strict=True):
                    kept.append(float(np.hypot(*(told[tick, column] - true))))
        assert comparison.scored[column] == len(distances[0]) > 80
        for kept, result in zip(distances, comparison.results, strict=True):
            assert result.scores is not None
            scores = result.scores[column]
            assert scores.rmse_m == pytest.approx(np.sqrt(np.mean(np.square(kept))))
            assert scores.median_m == pytest.approx(np.median(kept))
            assert scores.p95_m == pytest.approx(np.percentile(kept, 95))
    (note,) = comparison.notes
    assert note.startswith(f'the one tells no position at 4 of {len(exam.segment) - 19} ticks')


def test_a_method_that_tells_too_little_fails_and_costs_the_others_nothing(
    ellipse_plan: Plan,
) -> None:
    half, full = noise(ellipse_plan, 1), noise(ellipse_plan, 2)
    half[50:] = np.nan
    alone = graded(ellipse_plan, full=full)
    comparison = graded(ellipse_plan, half=half, full=full)
    assert comparison.scored == alone.scored
    failed, fine = comparison.results
    assert failed.failure is not None
    assert failed.failure.startswith('it tells nothing finite in ')
    assert failed.scores is None
    assert fine.scores == alone.results[0].scores
    assert not comparison.notes


def test_a_failed_method_keeps_its_reason(ellipse_plan: Plan) -> None:
    comparison = graded(ellipse_plan, broken=Failure('why'), full=noise(ellipse_plan, 2))
    assert [result.failure for result in comparison.results] == ['why', None]
    assert [result.name for result in comparison.succeeded] == ['full']


def test_a_horizon_without_truth_has_no_scores(ellipse_plan: Plan) -> None:
    (exam,) = ellipse_plan.exams
    truth = exam.truth.copy()
    truth[:, 2] = np.nan
    plan = replace(ellipse_plan, exams=(replace(exam, truth=truth),))
    comparison = graded(plan, one=noise(plan, 1))
    (result,) = comparison.results
    assert result.scores is not None
    assert result.scores[2].rmse_m is None
    assert comparison.scored[2] == 0
    assert comparison.to_json()['methods'][0]['scores'][2] == {
        'rmse_m': None, 'median_m': None, 'p95_m': None
    }  # fmt: skip


def test_what_was_learned_from_and_followed(ellipse_plan: Plan) -> None:
    (exam,) = ellipse_plan.exams
    plan = replace(ellipse_plan, exams=(exam, exam), notes=('a note to know',))
    told = noise(plan, 1)
    trials: dict[str, Trial | Failure] = {'one': Trial((told, told), None, {})}
    comparison = grade(plan, [Fixed('one')], trials)
    assert comparison.notes == plan.notes
    assert comparison.scored[0] == 2 * graded(ellipse_plan, one=told).scored[0]
    content = comparison.to_json()
    assert content['learned'] == [{'recording': 'ellipse', 'seconds': pytest.approx(105.59)}]
    assert content['followed'] == [{'recording': 'ellipse', 'seconds': pytest.approx(28.6)}]
    for track in comparison.tracks:
        assert np.isnan(track[:19]).all()
        np.testing.assert_array_equal(track[19:], exam.truth[19:, 0])
