# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One method fitted and sent along."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.sparse.linalg import ArpackNoConvergence
from stub_methods import Failing, Fixed, Repeater

from two_manifold_ros.comparison.comparing import Failure, Trial, try_method
from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from two_manifold_ros.comparison.protocol import Plan


def tried(method: Fixed, plan: Plan) -> Trial | Failure:
    return try_method(method, plan.lesson, [exam.segment for exam in plan.exams])


def test_positions_are_hidden_unless_the_method_is_told(ellipse_plan: Plan) -> None:
    hidden = tried(Repeater('hidden'), ellipse_plan)
    told = tried(Repeater('told', told=True), ellipse_plan)
    assert isinstance(hidden, Trial)
    assert isinstance(told, Trial)
    assert np.isnan(hidden.positions[0]).all()
    truth = ellipse_plan.exams[0].segment.positions
    np.testing.assert_array_equal(told.positions[0][:, 2], truth)


def test_the_linear_track_is_that_of_the_states(ellipse_plan: Plan) -> None:
    """On the ellipse the accelerations are linear in the position but for the heading."""
    trial = tried(Fixed('imu', states=True), ellipse_plan)
    assert isinstance(trial, Trial)
    assert trial.linear is not None
    dataset, segment = ellipse_plan.lesson.dataset, ellipse_plan.exams[0].segment
    states = np.concatenate([each.values[20:] for each in dataset.segments])
    wanted = np.concatenate([each.positions[20:] for each in dataset.segments])
    rows = np.column_stack([np.ones(len(states)), states])
    known = np.isfinite(wanted).all(axis=1)
    coefficients = np.linalg.lstsq(rows[known], wanted[known], rcond=None)[0]
    exact = np.column_stack([np.ones(len(segment)), segment.values]) @ coefficients
    np.testing.assert_allclose(trial.linear[0], exact, atol=0.02)


def test_who_is_told_positions_is_shown_by_what_it_says(ellipse_plan: Plan) -> None:
    trial = tried(Fixed('told', (3.0, 4.0), states=True, told=True), ellipse_plan)
    assert isinstance(trial, Trial)
    assert trial.linear is not None
    assert (trial.linear[0] == [3.0, 4.0]).all()


def test_without_states_there_is_no_linear_track(ellipse_plan: Plan) -> None:
    trial = tried(Fixed('still'), ellipse_plan)
    assert isinstance(trial, Trial)
    assert trial.linear is None


def test_what_was_chosen_comes_in_one_order(ellipse_plan: Plan) -> None:
    trial = tried(Fixed('still', chosen={'b': 1, 'a': (2, 3)}), ellipse_plan)
    assert isinstance(trial, Trial)
    assert list(trial.chosen.items()) == [('a', [2, 3]), ('b', 1)]


@pytest.mark.parametrize(
    ('error', 'reason'),
    [
        (InputError('too short: record longer'), 'too short: record longer'),
        (np.linalg.LinAlgError('Singular matrix'), 'the arithmetic failed: Singular matrix'),
        (FloatingPointError('overflow'), 'the arithmetic failed: overflow'),
        (ZeroDivisionError(), 'the arithmetic failed: ZeroDivisionError'),
        (ArpackNoConvergence('lost', [], []), 'the arithmetic failed: ARPACK error -1: lost'),
        (ModuleNotFoundError('', name='hmmlearn'), "the Python package 'hmmlearn' is missing"),
        (
            ImportError('libgomp.so.1: cannot open\nshared object file', name='sklearn'),
            'a Python package that it needs is there but cannot be loaded: libgomp.so.1: cannot o',
        ),
        (ImportError(), 'a Python package that it needs is there but cannot be loaded: ImportE'),
        (MemoryError(), 'there is not enough memory'),
    ],
)
def test_failures_have_a_reason(error: Exception, reason: str, ellipse_plan: Plan) -> None:
    failure = tried(Failing('broken', error=error), ellipse_plan)
    assert isinstance(failure, Failure)
    assert failure.reason.startswith(reason)


@pytest.mark.parametrize(
    ('error', 'said'),
    [
        (ValueError('a\nbug'), ': a bug'),
        (KeyError('typo'), ": 'typo'"),
        (AssertionError(), ''),
        (ModuleNotFoundError('lost', name='two_manifold_ros.typo'), ': lost'),
    ],
)
def test_bugs_are_told_as_such(error: Exception, said: str, ellipse_plan: Plan) -> None:
    failure = tried(Failing('broken', error=error), ellipse_plan)
    assert isinstance(failure, Failure)
    words = failure.reason.split()
    assert words[:3] == [type(error).__name__, 'in', 'line']
    assert int(words[3]) > 0
    assert failure.reason.endswith(
        f' of stub_methods.py{said}; this is a fault of the method, not of the recordings'
    )


def test_an_interrupt_ends_all(ellipse_plan: Plan) -> None:
    with pytest.raises(KeyboardInterrupt):
        tried(Failing('broken', error=KeyboardInterrupt()), ellipse_plan)
