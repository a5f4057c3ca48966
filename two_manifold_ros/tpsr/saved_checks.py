# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a learner that comes from a file can be one."""

from __future__ import annotations

import math
from typing import Any, NoReturn, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.tpsr.operator_tensor import TOGETHER

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from two_manifold_ros.tpsr.learner import LearnerSettings

_WHOLE = {'states': 1, 'rank': 1, 'fold_every': 1, 'samples': 0, 'refused': 0, 'since': 0}
"""Whole numbers and the least that they can be."""

_REAL = ('ridge', 'weight', 'test_square', 'covariance_weight', 'covariance_ridge', 'ridge_within')

ORTHONORMAL = 1e-8
"""By which entries of the products of directions may miss those of the identity."""


def refuse(cause: str) -> NoReturn:
    """Raise the ``InputError`` that says why a learner cannot be resumed."""
    msg = f'the learner is refused: {cause}; resume from another checkpoint, or learn anew'
    raise InputError(msg)


def check_numbers(numbers: Mapping[str, Any], kinds: Collection[str]) -> None:
    """
    Refuse numbers of which one is missing, too much, of another kind, or impossible.

    Raises
    ------
    InputError
        Naming the number.

    """
    _check_names('numbers', numbers, {'kind', 'memory', *_WHOLE, *_REAL})
    if numbers['kind'] not in list(kinds):
        refuse(f'{numbers["kind"]!r} is no kind of learner')
    for name, least in _WHOLE.items():
        value = numbers[name]
        if type(value) is not int or value < least:
            refuse(f'{name} is {value!r}, not a whole number of at least {least}')
    for name in (*_REAL, 'memory'):
        value = numbers[name]
        if name == 'memory' and value is None:
            continue
        if type(value) not in {int, float} or not 0.0 <= value < math.inf:
            refuse(f'{name} is {value!r}, not a number of at least 0')


def check_arrays(
    arrays: Mapping[str, NDArray[Any]], settings: LearnerSettings, *, exact: bool
) -> None:
    """
    Refuse arrays of which one is missing, too much, or does not fit the others.

    Raises
    ------
    InputError
        Naming the array.

    """
    own = _exact_shapes if exact else _online_shapes
    _check_forms(arrays, _shapes(1, 1, 1, 1, 1) | own(1, 1, 1, 1, 1))
    rank, tests = arrays['left'].shape
    histories, observations = len(arrays['constant']), len(arrays['covariance'])
    waiting = len(arrays['waiting_importance'])
    apart = 0 if exact else len(arrays['apart_next_tests'])
    sizes = (tests, histories, observations, rank)
    shapes = _shapes(*sizes, waiting) | own(*sizes, apart)
    if not exact:
        # The sum that is settled is in the bases of some time ago.
        earlier = arrays['moments'].shape[1]
        shapes['moments'] = (observations + 1, earlier, earlier)
        shapes['moved_left'] = shapes['moved_right'] = (rank, earlier)
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            refuse(f'{name} has the shape {arrays[name].shape} instead of {shape}')
    if rank > settings.rank:
        refuse(f'it has {rank} directions, more than the {settings.rank} that are kept')
    if waiting >= settings.fold_every:
        refuse(f'{waiting} samples wait, but {settings.fold_every} are learned together')
    if apart >= TOGETHER:
        refuse(f'{apart} samples are apart, but {TOGETHER} are added together')
    _check_values(arrays)


def _check_forms(
    arrays: Mapping[str, NDArray[Any]], examples: Mapping[str, tuple[int, ...]]
) -> None:
    _check_names('arrays', arrays, set(examples))
    for name, array in arrays.items():
        if array.dtype != np.float64 or array.ndim != len(examples[name]):
            refuse(f'{name} holds {array.ndim}-dimensional {array.dtype}')
        if not np.isfinite(array).all():
            refuse(f'{name} holds numbers that are not finite')


def _shapes(
    tests: int, histories: int, observations: int, rank: int, waiting: int
) -> dict[str, tuple[int, ...]]:
    return {
        'constant': (histories,),
        'history_sum': (histories,),
        'covariance': (observations, observations),
        'inverse': (observations, observations),
        'left': (rank, tests),
        'values': (rank,),
        'right': (rank, histories),
        'waiting_tests': (waiting, tests),
        'waiting_next_tests': (waiting, tests),
        'waiting_histories': (waiting, histories),
        'waiting_observations': (waiting, observations),
        'waiting_importance': (waiting,),
    }


def _online_shapes(
    _: int, __: int, observations: int, rank: int, apart: int
) -> dict[str, tuple[int, ...]]:
    return {
        'moments': (observations + 1, rank, rank),
        'moved_left': (rank, rank),
        'moved_right': (rank, rank),
        'apart_next_tests': (apart, rank),
        'apart_histories': (apart, rank),
        'apart_observations': (apart, observations + 1),
    }


def _exact_shapes(
    tests: int, histories: int, observations: int, _: int, __: int
) -> dict[str, tuple[int, ...]]:
    return {
        'total': (tests, histories),
        'moments': (observations + 1, tests * histories),
    }


def _check_values(arrays: Mapping[str, NDArray[Any]]) -> None:
    for name in ('left', 'right'):
        products = arrays[name] @ arrays[name].T
        if not np.allclose(products, np.eye(len(products)), rtol=0.0, atol=ORTHONORMAL):
            refuse(f'directions in {name} are not orthonormal')
    values = arrays['values']
    if not ((values > 0.0).all() and (np.diff(values) <= 0.0).all()):
        refuse('values are not singular values')
    for name in ('covariance', 'inverse'):
        if not np.array_equal(arrays[name], arrays[name].T):
            refuse(f'{name} is not symmetric')


def _check_names(what: str, found: Mapping[str, Any], wanted: set[str]) -> None:
    different = sorted(wanted ^ set(found))
    if different:
        refuse(f'of its {what}, {", ".join(different)} are missing or too many')
