# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""All methods by one plan: hidden positions, scores on the same ticks, and failures."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse.linalg import ArpackNoConvergence

from two_manifold_ros.comparison.comparing import compare, Comparison, linear_reading, Result
from two_manifold_ros.comparison.protocol import Fitted, Method, Plan, Predictions, TrainSplit
from two_manifold_ros.comparison.rivals import METHODS
from two_manifold_ros.errors import InputError
from two_manifold_ros.ticks.segments import Segment


def predicting(
    name: str,
    positions: np.ndarray,
    valid: np.ndarray | None = None,
    chosen: dict | None = None,
    *,
    states: bool = False,
    sees: bool = False,
) -> Method:
    """Return a method with these predictions everywhere, and the IMU as its state if asked."""

    def predict(segment: Segment) -> Predictions:
        shape = (len(segment), 3, 2)
        own = np.broadcast_to(positions, shape) if positions.ndim == 1 else positions
        return Predictions(own, segment.values.copy() if states else None, valid)

    return Method(name, f'the {name}', lambda _: Fitted(predict, chosen or {}), sees)


def repeating(name: str, *, sees: bool) -> Method:
    """Return the positions that a method sees of the segment: none unless it is given them."""

    def predict(segment: Segment) -> Predictions:
        return Predictions(np.repeat(segment.positions[:, None], 3, axis=1))

    return Method(name, name, lambda _: Fitted(predict, {'b': 1, 'a': (2, 3)}), sees)


def failing(error: BaseException) -> Method:
    def fit(_: TrainSplit) -> Fitted:
        raise error

    return Method('broken', 'the broken', fit)


def alone(plan: Plan, method: Method) -> Result:
    (result,) = compare(plan, [method]).results
    return result


def graded(plan: Plan, valid: np.ndarray | None = None, **positions: np.ndarray) -> Comparison:
    """Score methods by their predictions along the only test; all withhold alike."""
    return compare(plan, [predicting(name, each, valid) for name, each in positions.items()])


def noise(plan: Plan, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=plan.tests[0].truth.shape)


def test_positions_are_hidden_unless_the_method_is_reported(ellipse_plan):
    hidden = alone(ellipse_plan, repeating('hidden', sees=False))
    assert hidden.failure.startswith('it has no usable position in ')
    seeing = alone(ellipse_plan, repeating('seeing', sees=True))
    assert seeing.scores[0].all.rmse_m == 0.0
    assert list(seeing.chosen.items()) == [('a', [2, 3]), ('b', 1)]
    assert seeing.linear is None
    here = alone(ellipse_plan, predicting('here', np.array([3.0, 4.0]), states=True, sees=True))
    assert (here.linear[0] == [3.0, 4.0]).all()


def test_the_linear_track_is_that_of_the_states(ellipse_plan):
    """On the ellipse the accelerations are linear in the position but for the heading."""
    found = alone(ellipse_plan, predicting('imu', np.zeros(2), states=True))
    dataset, segment = ellipse_plan.train.dataset, ellipse_plan.tests[0].segment
    states = np.concatenate([each.values[20:] for each in dataset.segments])
    wanted = np.concatenate([each.positions[20:] for each in dataset.segments])
    rows = np.column_stack([np.ones(len(states)), states])
    known = np.isfinite(wanted).all(axis=1)
    coefficients = np.linalg.lstsq(rows[known], wanted[known], rcond=None)[0]
    exact = np.column_stack([np.ones(len(segment)), segment.values]) @ coefficients
    np.testing.assert_allclose(found.linear[0], exact, atol=0.02)


RNG = np.random.default_rng(1)
STATES = RNG.normal(size=(400, 4)) * [1.0, 1e-6, 1e5, 1.0] + [0.0, 1.0, 0.0, 3.0]
MAP = np.array([[1.0, 2.0], [1e6, 0.0], [1e-5, -1e-5], [0.5, 0.0]])
POSITIONS = STATES @ MAP + [10.0, -20.0]


def test_a_linear_map_is_found_whatever_the_units_of_the_states():
    """A constant coordinate and unknown numbers do no harm."""
    states, positions = np.column_stack([np.ones(400), STATES]), POSITIONS.copy()
    states[5] = positions[9] = np.nan
    read = linear_reading(states, positions)(states)
    assert np.isnan(read[5]).all()
    np.testing.assert_allclose(np.delete(read, 5, 0), np.delete(POSITIONS, 5, 0), atol=0.02)
    # Nothing known is no track.
    assert linear_reading(STATES, np.full_like(POSITIONS, np.nan)) is None
    assert linear_reading(np.full_like(STATES, np.nan), POSITIONS) is None


@pytest.mark.parametrize(
    ('error', 'reason'),
    [
        (InputError('too short: record longer'), 'too short: record longer'),
        (ZeroDivisionError(), 'the arithmetic failed: ZeroDivisionError'),
        (ArpackNoConvergence('lost', [], []), 'the arithmetic failed: ARPACK error -1: lost'),
        (
            ImportError('libgomp.so.1: cannot open\nshared object file', name='sklearn'),
            'a Python package that it needs cannot be loaded (libgomp.so.1: cannot open shared',
        ),
        (MemoryError(), 'there is not enough memory'),
        (ValueError('a\nbug'), 'ValueError in line '),
        (
            ModuleNotFoundError('lost', name='two_manifold_ros.typo'),
            'ModuleNotFoundError in line ',
        ),
    ],
)
def test_failures_have_a_reason_and_cost_the_others_nothing(error, reason, ellipse_plan):
    full = noise(ellipse_plan, 2)
    mine = predicting('full', full)
    failed, fine = compare(ellipse_plan, [failing(error), mine]).results
    assert failed.failure.startswith(reason)
    assert '\n' not in failed.failure
    assert (' of test_comparing.py: ' in failed.failure) == (' in line ' in reason)
    assert failed.scores is None
    assert fine.scores == alone(ellipse_plan, mine).scores


def test_an_interrupt_ends_all(ellipse_plan):
    with pytest.raises(KeyboardInterrupt):
        compare(ellipse_plan, [failing(KeyboardInterrupt())])


def test_the_results_are_in_order_and_the_progress_tells(ellipse_plan):
    methods = [
        predicting('far', np.array([100.0, 0.0])),
        failing(InputError('why')),
        METHODS['mean'],
    ]
    reported: list[tuple[str, float]] = []
    comparison = compare(ellipse_plan, methods, lambda *each: reported.append(each))
    names = [each.name for each in methods]
    assert [result.name for result in comparison.results] == names
    running = [(f'running {name}', at / 3) for at, name in enumerate(names)]
    assert reported == [*running, ('scoring', 1.0)]
    assert [each.name for each in comparison.succeeded] == ['far', 'mean']


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


def test_what_was_learned_from_and_followed(ellipse_plan):
    (test,) = ellipse_plan.tests
    truth = test.truth.copy()
    truth[:, 2] = np.nan
    test = replace(test, truth=truth)
    plan = replace(ellipse_plan, tests=(test, test))
    comparison = graded(plan, one=noise(plan, 1))
    assert comparison.scored[0] == 2 * graded(ellipse_plan, one=noise(plan, 1)).scored[0]
    content = comparison.to_json()
    assert content['learned'] == [{'recording': 'ellipse', 'seconds': pytest.approx(105.59)}]
    assert content['followed'] == [{'recording': 'ellipse', 'seconds': pytest.approx(28.6)}]
    for track in comparison.tracks:
        assert np.isnan(track[:19]).all()
        np.testing.assert_array_equal(track[19:], test.truth[19:, 0])
    # A horizon without truth has no scores.
    first, _, last = content['methods'][0]['scores']
    assert last == dict.fromkeys(first)
