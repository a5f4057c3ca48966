# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""All methods by one plan."""

import numpy as np
import pytest
from scipy.sparse.linalg import ArpackNoConvergence
from stub_methods import Failing, Fixed, Repeater

from two_manifold_ros.comparison.comparing import compare, Failure, Trial, try_method
from two_manifold_ros.comparison.method import MeanPosition
from two_manifold_ros.comparison.protocol import Plan
from two_manifold_ros.errors import InputError


def tried(method: Fixed, plan: Plan) -> Trial | Failure:
    return try_method(method, plan)


def test_positions_are_hidden_unless_the_method_is_reported(ellipse_plan):
    hidden = tried(Repeater('hidden', chosen={'b': 1, 'a': (2, 3)}), ellipse_plan)
    seeing = tried(Repeater('sees_positions', sees_positions=True), ellipse_plan)
    here = tried(Fixed('here', (3.0, 4.0), states=True, sees_positions=True), ellipse_plan)
    assert (here.linear[0] == [3.0, 4.0]).all()
    assert np.isnan(hidden.positions[0]).all()
    assert hidden.linear is None
    assert list(hidden.chosen.items()) == [('a', [2, 3]), ('b', 1)]
    truth = ellipse_plan.tests[0].segment.positions
    np.testing.assert_array_equal(seeing.positions[0][:, 2], truth)


def test_the_linear_track_is_that_of_the_states(ellipse_plan):
    """On the ellipse the accelerations are linear in the position but for the heading."""
    trial = tried(Fixed('imu', states=True), ellipse_plan)
    dataset, segment = ellipse_plan.train.dataset, ellipse_plan.tests[0].segment
    states = np.concatenate([each.values[20:] for each in dataset.segments])
    wanted = np.concatenate([each.positions[20:] for each in dataset.segments])
    rows = np.column_stack([np.ones(len(states)), states])
    known = np.isfinite(wanted).all(axis=1)
    coefficients = np.linalg.lstsq(rows[known], wanted[known], rcond=None)[0]
    exact = np.column_stack([np.ones(len(segment)), segment.values]) @ coefficients
    np.testing.assert_allclose(trial.linear[0], exact, atol=0.02)


@pytest.mark.parametrize(
    ('error', 'reason'),
    [
        (InputError('too short: record longer'), 'too short: record longer'),
        (np.linalg.LinAlgError('Singular matrix'), 'the arithmetic failed: Singular matrix'),
        (FloatingPointError('overflow'), 'the arithmetic failed: overflow'),
        (ZeroDivisionError(), 'the arithmetic failed: ZeroDivisionError'),
        (ArpackNoConvergence('lost', [], []), 'the arithmetic failed: ARPACK error -1: lost'),
        (
            ImportError('libgomp.so.1: cannot open\nshared object file', name='sklearn'),
            'a Python package that it needs cannot be loaded (libgomp.so.1: cannot open shared',
        ),
        (
            ModuleNotFoundError('', name='hmmlearn'),
            'a Python package that it needs cannot be loaded (ModuleNotFoundError): install',
        ),
        (MemoryError(), 'there is not enough memory'),
    ],
)
def test_failures_have_a_reason(error, reason, ellipse_plan):
    failure = tried(Failing('broken', error=error), ellipse_plan)
    assert failure.reason.startswith(reason)


@pytest.mark.parametrize(
    ('error', 'said'),
    [
        (ValueError('a\nbug'), ': a bug'),
        (KeyError('typo'), ": 'typo'"),
        (AssertionError(), ': AssertionError'),
        (ModuleNotFoundError('lost', name='two_manifold_ros.typo'), ': lost'),
    ],
)
def test_bugs_are_reported_as_such(error, said, ellipse_plan):
    failure = tried(Failing('broken', error=error), ellipse_plan)
    words = failure.reason.split()
    assert words[:3] == [type(error).__name__, 'in', 'line']
    assert int(words[3]) > 0
    assert failure.reason.endswith(
        f' of stub_methods.py{said}; this is a fault of the method, not of the recordings'
    )


METHODS = [
    Fixed('far', (100.0, 0.0)),
    Failing('broken', error=InputError('why')),
    MeanPosition(),
    Fixed('near', states=True, chosen={'b': 1, 'a': 0.1}),
    Repeater('sees_positions', sees_positions=True),
]


def test_the_results_are_in_order_and_right(ellipse_plan):
    reported: list[tuple[str, float]] = []
    comparison = compare(ellipse_plan, METHODS, lambda *each: reported.append(each))
    names = [each.name for each in METHODS]
    assert [result.name for result in comparison.results] == names
    running = [(f'running {name}', at / 5) for at, name in enumerate(names)]
    assert reported == [*running, ('scoring', 1.0)]
    far, broken, _, _, seeing = comparison.results
    assert broken.failure == 'why'
    (test,) = ellipse_plan.tests
    true = test.truth[test.scored, 1]
    away = np.linalg.norm(true[np.isfinite(true).all(axis=1)] - [100.0, 0.0], axis=1)
    assert far.scores[1].all.rmse_m == pytest.approx(np.sqrt(np.mean(np.square(away))))
    assert seeing.scores[0].all.rmse_m == 0.0
    assert comparison.scored[0] == int(np.isfinite(test.truth[test.scored, 0, 0]).sum())


def test_an_interrupt_ends_all(ellipse_plan):
    with pytest.raises(KeyboardInterrupt):
        tried(Failing('broken', error=KeyboardInterrupt()), ellipse_plan)
