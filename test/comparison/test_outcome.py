# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Errors of all methods on the same ticks."""

from dataclasses import replace

import numpy as np
import pytest
from stub_methods import Fixed

from two_manifold_ros.comparison.outcome import Comparison, Failure, grade, Trial
from two_manifold_ros.comparison.protocol import Plan


def graded(
    plan: Plan, valid: np.ndarray | None = None, **positions: np.ndarray | Failure
) -> Comparison:
    """Grade methods by their predictions along the only test; all withhold alike."""
    kept = None if valid is None else (valid,)
    trials: dict[str, Trial | Failure] = {
        name: published if isinstance(published, Failure) else Trial((published,), None, {}, kept)
        for name, published in positions.items()
    }
    return grade(plan, [Fixed(name) for name in positions], trials)


def noise(plan: Plan, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=plan.tests[0].truth.shape)


def test_against_a_naive_computation(ellipse_plan):
    """Every tick counts for all; where one has no position the mean training position does."""
    one, other = noise(ellipse_plan, 1), noise(ellipse_plan, 2)
    one[30:33] = np.nan
    one[40, 1] = np.inf
    one[41, 2] = 1e200
    comparison = graded(ellipse_plan, one=one, other=other)
    (test,) = ellipse_plan.tests
    learned = np.concatenate([each.positions for each in ellipse_plan.train.dataset.segments])
    mean = np.nanmean(learned, axis=0)
    for column in range(3):
        for published, result in zip((one, other), comparison.results, strict=True):
            kept, ahead = [], []
            for tick in range(19, len(test.segment)):
                true, place = test.truth[tick, column], published[tick, column]
                if not np.isfinite(true).all():
                    continue
                if not (np.abs(place) < 1e9).all():
                    place = mean
                kept.append(float(np.hypot(*(place - true))))
                ahead.append(float(np.dot(place - true, test.directions[tick, column])))
            assert comparison.scored[column] == len(kept) > 80
            square, along_square = np.mean(np.square(kept)), np.mean(np.square(ahead))
            assert result.to_json()['scores'][column] == {
                'rmse_m': pytest.approx(np.sqrt(square)),
                'median_m': pytest.approx(np.median(kept)),
                'p95_m': pytest.approx(np.percentile(kept, 95)),
                'p99_m': pytest.approx(np.percentile(kept, 99)),
                'along_rmse_m': pytest.approx(np.sqrt(along_square)),
                'cross_rmse_m': pytest.approx(np.sqrt(square - along_square)),
                'published_share': None,
                'published_rmse_m': None,
            }
    (note,) = comparison.notes
    assert note == (
        f'the one has no usable position at 5 of {len(test.segment) - 19} ticks, for which the '
        'mean training position counts'
    )


@pytest.mark.parametrize('share', [0.0, 0.3, 0.9, 1.0])
def test_withholding_changes_no_number_over_all_ticks(share, ellipse_plan):
    one, other = noise(ellipse_plan, 1), noise(ellipse_plan, 2)
    (test,) = ellipse_plan.tests
    valid = np.random.default_rng(3).random(len(test.segment)) < share
    wanted = graded(ellipse_plan, one=one, other=other)
    comparison = graded(ellipse_plan, valid, one=one, other=other)
    assert comparison.scored == wanted.scored
    for mine, its, published in zip(comparison.results, wanted.results, (one, other), strict=True):
        for column in range(3):
            found, plain = ((each.scores or ())[column] for each in (mine, its))
            assert found.all == plain.all
            assert (found.along_rmse_m, found.cross_rmse_m) == (
                plain.along_rmse_m, plain.cross_rmse_m
            )  # fmt: skip
            known = np.isfinite(test.truth[:, column, 0]) & test.scored
            assert found.published_share == pytest.approx(valid[known].mean())
            squares = np.square(published[:, column] - test.truth[:, column]).sum(axis=1)
            left = squares[known & valid]
            rmse_m = np.sqrt(left.mean()) if len(left) else None
            assert found.rmse_m == (None if rmse_m is None else pytest.approx(rmse_m))


def test_a_method_with_too_few_predictions_fails_and_costs_the_others_nothing(ellipse_plan):
    half, full = noise(ellipse_plan, 1), noise(ellipse_plan, 2)
    half[50:] = np.nan
    alone = graded(ellipse_plan, full=full)
    comparison = graded(ellipse_plan, half=half, broken=Failure('why'), full=full)
    assert comparison.scored == alone.scored
    failed, broken, fine = comparison.results
    assert (broken.failure, fine.failure) == ('why', None)
    assert comparison.succeeded == (fine,)
    assert failed.failure.startswith('it has no usable position in ')
    assert failed.scores is None
    assert fine.scores == alone.results[0].scores
    assert not comparison.notes


def test_a_horizon_without_truth_has_no_scores(ellipse_plan):
    (test,) = ellipse_plan.tests
    truth = test.truth.copy()
    truth[:, 2] = np.nan
    plan = replace(ellipse_plan, tests=(replace(test, truth=truth),))
    comparison = graded(plan, one=noise(plan, 1))
    assert comparison.scored[2] == 0
    first, _, last = comparison.to_json()['methods'][0]['scores']
    assert last == dict.fromkeys(first)


def test_what_was_learned_from_and_followed(ellipse_plan):
    (test,) = ellipse_plan.tests
    plan = replace(ellipse_plan, tests=(test, test), notes=('a note to know',))
    predicted = noise(plan, 1)
    trials: dict[str, Trial | Failure] = {'one': Trial((predicted, predicted), None, {})}
    comparison = grade(plan, [Fixed('one')], trials)
    assert comparison.notes == plan.notes
    assert comparison.scored[0] == 2 * graded(ellipse_plan, one=predicted).scored[0]
    content = comparison.to_json()
    assert content['learned'] == [{'recording': 'ellipse', 'seconds': pytest.approx(105.59)}]
    assert content['followed'] == [{'recording': 'ellipse', 'seconds': pytest.approx(28.6)}]
    for track in comparison.tracks:
        assert np.isnan(track[:19]).all()
        np.testing.assert_array_equal(track[19:], test.truth[19:, 0])
