# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The form of learners in files: numbers for a JSON header, and arrays by name."""

from __future__ import annotations

from dataclasses import asdict, fields
import math
from typing import Any, TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.tpsr.exact import ExactLearner
from two_manifold_ros.tpsr.learner import LearnerSettings, OnlineLearner
from two_manifold_ros.tpsr.saved_checks import check_arrays, check_numbers, refuse
from two_manifold_ros.tpsr.triples import Triples

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from two_manifold_ros.tpsr.base_learner import Learner

_KINDS: dict[str, type[Learner]] = {'online': OnlineLearner, 'exact': ExactLearner}
_WAITING = tuple(field.name for field in fields(Triples))


def learner_arrays(learner: Learner) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """
    Return a learner as JSON values and arrays, from which ``learner_from`` makes it again.

    All arrays are copies, so that they can be written while the learner goes on.

    Raises
    ------
    TypeError
        If the learner is of a kind that has no form.

    """
    kinds = [kind for kind, made in _KINDS.items() if made is type(learner)]
    if not kinds:
        msg = f'{type(learner).__name__} has no form in files'
        raise TypeError(msg)
    covariance, waiting = learner.covariance, learner.room.peek()
    memory = learner.settings.memory
    numbers = {
        'kind': kinds[0],
        # JSON has no infinity.
        **asdict(learner.settings) | {'memory': memory if memory < math.inf else None},
        **{name: getattr(learner, name) for name in ('weight', 'test_square')},
        **{name: getattr(learner, name) for name in ('samples', 'refused')},
        'covariance_weight': covariance.weight,
        'covariance_ridge': covariance.ridge,
        'ridge_within': covariance.ridge_within,
        'since': covariance.since,
    }
    arrays = {
        'constant': learner.constant,
        'history_sum': learner.history_sum,
        'covariance': covariance.total,
        'inverse': covariance.inverse,
        'left': learner.svd.left,
        'values': learner.svd.values,
        'right': learner.svd.right,
        **{f'waiting_{name}': getattr(waiting, name) for name in _WAITING},
    }
    if isinstance(learner, OnlineLearner):
        arrays |= learner.tensor.arrays()
    elif isinstance(learner, ExactLearner):
        arrays |= {'total': learner.svd.total, 'moments': learner.sums}
    return numbers, {name: array.copy() for name, array in arrays.items()}


def learner_from(numbers: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Learner:
    """
    Return the learner of what ``learner_arrays`` gave: it goes on as the other one, to the bit.

    Raises
    ------
    InputError
        If anything is missing, too much, or does not fit.

    """
    check_numbers(numbers, _KINDS)
    settings = _settings(numbers)
    check_arrays(arrays, settings, exact=numbers['kind'] == 'exact')
    tests, observations = arrays['left'].shape[1], len(arrays['covariance'])
    made = _KINDS[numbers['kind']]
    learner = made(settings, arrays['constant'].copy(), tests, observations)
    for name in ('weight', 'test_square', 'samples', 'refused'):
        setattr(learner, name, numbers[name])
    learner.history_sum = arrays['history_sum'].copy()
    covariance = learner.covariance
    covariance.total, covariance.inverse = arrays['covariance'].copy(), arrays['inverse'].copy()
    covariance.weight, covariance.ridge = numbers['covariance_weight'], numbers['covariance_ridge']
    covariance.ridge_within, covariance.since = numbers['ridge_within'], numbers['since']
    if isinstance(learner, OnlineLearner):
        learner.svd.restore(arrays['left'], arrays['values'], arrays['right'])
        learner.tensor.restore(arrays)
    elif isinstance(learner, ExactLearner):
        learner.svd.restore(arrays['left'], arrays['values'], arrays['right'], arrays['total'])
        learner.sums = arrays['moments'].copy()
    for sample in zip(*(arrays[f'waiting_{name}'] for name in _WAITING), strict=True):
        if not learner.room.take(*sample):
            refuse('a sample that waits could not have been taken')
    return learner


def _settings(numbers: Mapping[str, Any]) -> LearnerSettings:
    values = {field.name: numbers[field.name] for field in fields(LearnerSettings)}
    if values['memory'] is None:
        values['memory'] = math.inf
    try:
        return LearnerSettings(**values)
    except InputError as error:
        refuse(str(error))
