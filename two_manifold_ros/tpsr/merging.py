# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Make one learner of two that have seen different recordings."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.tpsr.base_learner import Learner

if TYPE_CHECKING:
    from typing import Any

AnyLearner = TypeVar('AnyLearner', bound=Learner)


def merge(first: AnyLearner, second: AnyLearner) -> AnyLearner:
    """
    Return a learner that knows what both know, as if it had seen the samples of both.

    Sums add up, the decompositions merge in one update, and the third moments are turned into
    the merged bases. What each has cut off stays lost. Samples that wait are learned first. Both
    learners stay as they are and may go on.

    Raises
    ------
    InputError
        If their kinds, settings or features differ.

    """
    _check(first, second)
    merged, other = deepcopy(first), deepcopy(second)
    merged.fold()
    other.fold()
    merged.absorb(other)
    merged.covariance.absorb(other.covariance)
    merged.history_sum += other.history_sum
    merged.weight += other.weight
    merged.test_square += other.test_square
    merged.samples += other.samples
    merged.refused += other.refused
    return merged


def _check(first: Learner, second: Learner) -> None:
    for what, of in (('settings', _settings), ('features', _features)):
        mine, theirs = of(first), of(second)
        if mine != theirs:
            msg = (
                f'learners with different {what} cannot be merged ({mine} and {theirs}); '
                'let both learn with the same'
            )
            raise InputError(msg)
    if not np.array_equal(first.constant, second.constant):
        msg = (
            'learners whose histories hold the constant in different features cannot be merged; '
            'let both learn with the same feature maps'
        )
        raise InputError(msg)


def _settings(learner: Learner) -> tuple[Any, ...]:
    return type(learner).__name__, learner.settings


def _features(learner: Learner) -> dict[str, int]:
    return {
        'tests': learner.svd.left.shape[1],
        'histories': learner.svd.right.shape[1],
        'observations': len(learner.covariance.total),
    }
