# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Run every method on the same train and test split, one after the other."""

from __future__ import annotations

from dataclasses import replace
import json
from pathlib import Path
import traceback
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse.linalg import ArpackError

from two_manifold_ros.comparison.method import fit_linear_track
from two_manifold_ros.comparison.outcome import Comparison, Failure, grade, Trial
from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.comparison.method import FittedMethod, Method, Predictions, TrainSplit
    from two_manifold_ros.comparison.protocol import Plan
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.typing import Floats


def try_method(method: Method, plan: Plan) -> Trial | Failure:
    """
    Fit a method and let it filter the tests.

    Positions of what it filters are hidden unless it sees them. Overflows and divisions by zero
    are left to the method: what is not finite is not scored. No exception holds up the other
    methods, but an interrupt ends all.
    """
    try:
        return _follow(method, plan)
    except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
        return Failure(_explain(error))


def _follow(method: Method, plan: Plan) -> Trial:
    fitted = method.fit(plan.train)
    predicted = [_predict(method, fitted, test.segment) for test in plan.tests]
    linear, learned_m = None, None
    if all(each.states is not None for each in predicted):
        linear, learned_m = _read_linearly(method, fitted, plan.train, predicted)
    chosen = json.loads(json.dumps(fitted.chosen, sort_keys=True, allow_nan=False))
    valid = tuple(each.valid for each in predicted if each.valid is not None)
    positions = tuple(each.positions for each in predicted)
    valid_all = valid if len(valid) == len(predicted) else None
    return Trial(positions, linear, chosen, valid_all, learned_m)


def _predict(method: Method, fitted: FittedMethod, segment: Segment) -> Predictions:
    if not method.sees_positions:
        segment = replace(segment, positions=np.full_like(segment.positions, np.nan))
    return fitted.predict(segment)


def _read_linearly(
    method: Method, fitted: FittedMethod, train: TrainSplit, predicted: Sequence[Predictions]
) -> tuple[tuple[Floats, ...] | None, float | None]:
    """
    Return the positions (T, 2) that a linear regression on the states gives, if any.

    And the RMSE of the regression on the training part itself, metres.
    """
    if method.sees_positions:
        return tuple(each.positions[:, 0] for each in predicted), None
    segments = train.dataset.segments
    states = [_states(_predict(method, fitted, segment)) for segment in segments]
    # As in the tests: before the window has filled a method may not know yet.
    window = train.dataset.window
    learned = np.concatenate([each[window:] for each in states])
    positions = np.concatenate([segment.positions[window:] for segment in segments])
    track = fit_linear_track(learned, positions)
    if track is None:
        return None, None
    squares = np.square(track.read(learned) - positions).sum(axis=1)
    readings = tuple(track.read(_states(each)) for each in predicted)
    return readings, float(np.sqrt(squares[np.isfinite(squares)].mean()))


def _states(predictions: Predictions) -> Floats:
    if predictions.states is None:
        msg = 'a method has states along some segments and none along others'
        raise ValueError(msg)
    return predictions.states


def _explain(error: Exception) -> str:
    """Return a sentence about why a method failed, with a cure where there is one."""
    said = ' '.join(str(error).split()) or type(error).__name__
    ours = (getattr(error, 'name', None) or '').startswith(__name__.split('.', maxsplit=1)[0])
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, ImportError) and not ours:
        return (
            f'a Python package that it needs cannot be loaded ({said}): install what '
            "commands need with pip install '.[train]' in the checkout"
        )
    if isinstance(error, MemoryError):
        return 'there is not enough memory; give a shorter recording or a lower --rate'
    if isinstance(error, ArithmeticError | np.linalg.LinAlgError | ArpackError):
        return f'the arithmetic failed: {said}'
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f'{type(error).__name__} in line {place.lineno} of {Path(place.filename).name}: {said}; '
        'this is a fault of the method, not of the recordings'
    )


def compare(
    plan: Plan,
    methods: Sequence[Method],
    progress: Callable[[str, float], None] = lambda *_: None,
) -> Comparison:
    """
    Run methods by a plan; the same plan and methods give the same numbers, bit by bit.

    Parameters
    ----------
    plan
        What is learned from and what is filtered.
    methods
        With different names.
    progress
        Called with the method that is run now and the share of those that ended, 0 to 1.

    """
    trials: dict[str, Trial | Failure] = {}
    for number, method in enumerate(methods):
        progress(f'running {method.name}', number / len(methods))
        trials[method.name] = try_method(method, plan)
    progress('scoring', 1.0)
    return grade(plan, methods, trials)
