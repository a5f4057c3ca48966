# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn a TPSR from a stream of few features, without cutting anything off."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.tpsr.learner import Learner
from two_manifold_ros.tpsr.thin_svd import count_directions, Move, senses

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

    from two_manifold_ros.tpsr.learner import LearnerSettings, Triples
    from two_manifold_ros.typing import Floats


class WholeSvd:
    r"""
    The sum :math:`\sum_t w_tx_ty_t^\top` itself, decomposed anew at each fold.

    Parameters
    ----------
    rows, columns
        Lengths of x and y.
    rank
        Directions to tell; all are kept.

    Attributes
    ----------
    total : (rows, columns)
        The sum.
    left : (r, rows), values : (r,), right : (r, columns)
        Its leading singular vectors, as rows, and values.

    """

    def __init__(self, rows: int, columns: int, rank: int) -> None:
        self.rank = rank
        self.total = np.zeros((rows, columns))
        self.left = np.zeros((0, rows))
        self.values = np.zeros(0)
        self.right = np.zeros((0, columns))

    def fold(self, x: Floats, y: Floats, weights: Floats, decay: float = 1.0) -> Move:
        """Do what `ThinSvd.fold` does."""
        self.total *= decay
        self.total += (x * weights[:, None]).T @ y
        return self._decompose()

    def absorb(self, other: WholeSvd) -> Move:
        """Add the sum of another one."""
        self.total += other.total
        return self._decompose()

    def right_coordinates(self, y: Floats) -> Floats:
        """Return the (c, r) coordinates of (c, columns) vectors in the right basis."""
        coordinates: Floats = y @ self.right.T
        return coordinates

    def _decompose(self) -> Move:
        left, values, right = np.linalg.svd(self.total, full_matrices=False)
        kept = min(self.rank, count_directions(values))
        left, right = left[:, :kept].T, right[:kept]
        sense = senses(left @ self.left.T)[:, None]
        left, right = sense * left, sense * right
        move = Move(left @ self.left.T, right @ self.right.T)
        self.left, self.values, self.right = left, values[:kept], right
        return move


class ExactLearner(Learner):
    r"""
    The exact alternative for fixed features, such as those of an eigenmap (section 10).

    It keeps :math:`\hat\Sigma_{TH}` and all third moments in the features themselves, which is
    memory of (p + 1) d h numbers and, at each fold, an SVD of d x h; for that no direction is
    ever lost, so that a rank beyond the states gains nothing. Measured with 40 observation
    features (`benchmarks/bench_online.py`): with 30 features it is cheaper than any
    `OnlineLearner`, with 60 than one of rank 30, and with 120 dearer than one of rank 60.

    Parameters
    ----------
    settings, constant, tests, observations
        See `Learner`.

    Attributes
    ----------
    sums : (p + 1, d h)
        Third moments by observation feature; the last row is that of the constant.

    """

    def __init__(
        self, settings: LearnerSettings, constant: Floats, tests: int, observations: int
    ) -> None:
        super().__init__(settings, constant, tests, observations)
        self._svd = WholeSvd(tests, len(constant), settings.rank)
        self.sums = np.zeros((observations + 1, tests * len(constant)))

    @property
    def svd(self) -> WholeSvd:
        """The decomposition."""
        return self._svd

    @property
    def moments(self) -> Floats:
        """The (p + 1, r, r) third moments in its bases, which later folds may overwrite."""
        total, left = self.svd.total, self.svd.left
        rows = self.sums.reshape(-1, total.shape[1]) @ self.svd.right.T
        moments: Floats = np.matmul(left, rows.reshape(-1, len(total), len(left)))
        return moments

    def learn(self, batch: Triples, weights: Floats, decay: float) -> Move:
        """Add samples with (c,) weights to the decayed second and third moments."""
        move = self.svd.fold(batch.tests, batch.histories, weights, decay)
        weighted = batch.next_tests * weights[:, None]
        pairs = (weighted[:, :, None] * batch.histories[:, None, :]).reshape(len(weights), -1)
        self.sums *= decay
        self.sums[:-1] += batch.observations.T @ pairs
        self.sums[-1] += pairs.sum(axis=0)
        return move

    def fade_moments(self, share: float) -> None:
        """Scale the second and third moments."""
        self.svd.total *= share
        self.svd.values = share * self.svd.values
        self.sums *= share

    def absorb(self, other: Self) -> None:
        """Add the second and third moments of another learner, of which nothing waits."""
        self.svd.absorb(other.svd)
        self.sums += other.sums


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
