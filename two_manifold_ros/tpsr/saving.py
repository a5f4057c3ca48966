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
_PLAIN = ('weight', 'test_square', 'samples', 'refused')
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
    arrays = _common_arrays(learner)
    if isinstance(learner, OnlineLearner):
        arrays |= learner.tensor.arrays()
    elif isinstance(learner, ExactLearner):
        arrays |= {'total': learner.svd.total, 'moments': learner.sums}
    numbers = {'kind': kinds[0]} | _numbers(learner)
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
    _restore_sums(learner, numbers, arrays)
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


def _numbers(learner: Learner) -> dict[str, Any]:
    memory, covariance = learner.settings.memory, learner.covariance
    return {
        **asdict(learner.settings),
        # JSON has no infinity.
        'memory': memory if memory < math.inf else None,
        **{name: getattr(learner, name) for name in _PLAIN},
        'covariance_weight': covariance.weight,
        'covariance_ridge': covariance.ridge,
        'ridge_within': covariance.ridge_within,
        'since': covariance.since,
    }


def _common_arrays(learner: Learner) -> dict[str, NDArray[Any]]:
    waiting = learner.room.peek()
    return {
        'constant': learner.constant,
        'history_sum': learner.history_sum,
        'covariance': learner.covariance.total,
        'inverse': learner.covariance.inverse,
        'left': learner.svd.left,
        'values': learner.svd.values,
        'right': learner.svd.right,
        **{f'waiting_{name}': getattr(waiting, name) for name in _WAITING},
    }


def _restore_sums(
    learner: Learner, numbers: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    for name in _PLAIN:
        setattr(learner, name, numbers[name])
    learner.history_sum = arrays['history_sum'].copy()
    covariance = learner.covariance
    covariance.total, covariance.inverse = arrays['covariance'].copy(), arrays['inverse'].copy()
    covariance.weight, covariance.ridge = numbers['covariance_weight'], numbers['covariance_ridge']
    covariance.ridge_within, covariance.since = numbers['ridge_within'], numbers['since']


def _settings(numbers: Mapping[str, Any]) -> LearnerSettings:
    values = {field.name: numbers[field.name] for field in fields(LearnerSettings)}
    if values['memory'] is None:
        values['memory'] = math.inf
    try:
        return LearnerSettings(**values)
    except InputError as error:
        refuse(str(error))
