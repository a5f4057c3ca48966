# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn a TPSR all at once (Boots & Gordon 2011, eq. 5, 6 and 7) or exactly online; merge two."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, TYPE_CHECKING, TypeVar

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.tpsr.learner import Learner
from two_manifold_ros.tpsr.moments import OperatorTensor
from two_manifold_ros.tpsr.parameters import count_states, make_parameters, Tpsr
from two_manifold_ros.tpsr.thin_svd import Move, WholeSvd

if TYPE_CHECKING:
    from typing_extensions import Self

    from two_manifold_ros.tpsr.learner import LearnerSettings, Triples
    from two_manifold_ros.typing import Floats


class ExactLearner(Learner[WholeSvd]):
    r"""
    The exact alternative for few, fixed features (mathematics, section 10).

    It keeps :math:`\hat\Sigma_{TH}` and all third moments in the features themselves, which is
    memory of (p + 1) d h numbers and, at each fold, an SVD of d x h; for that no direction is
    ever lost, so that a rank beyond the states gains nothing. Measured with 40 observation
    features (`benchmarks/bench_online.py`): with 30 features it is cheaper than any
    `OnlineLearner`, with 60 than one of rank 30, and with 120 more expensive than one of rank 60.

    Parameters are those of `OnlineLearner`; ``sums`` (p + 1, d h) are the third moments by
    observation feature, in the last row that of the constant.
    """

    def __init__(
        self, settings: LearnerSettings, constant: Floats, tests: int, observations: int
    ) -> None:
        svd = WholeSvd(tests, len(constant), settings.rank)
        super().__init__(settings, constant, tests, observations, svd)
        self.sums = np.zeros((observations + 1, tests * len(constant)))

    @property
    def moments(self) -> Floats:
        """The (p + 1, r, r) third moments in its bases."""
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

    def absorb(self, other: Self) -> None:
        """Add the second and third moments of another learner without unfolded samples."""
        self.svd.absorb(other.svd)
        self.sums += other.sums


AnyLearner = TypeVar('AnyLearner', bound=Learner[Any])


def merge(first: AnyLearner, second: AnyLearner) -> AnyLearner:
    """
    Return the merged learner, as if it had taken the samples of both.

    Sums add up, the decompositions merge in one update, and the third moments are turned into
    the merged bases. What each has cut off stays lost. Samples that wait are learned first. Both
    learners stay as they are and may go on.

    Raises
    ------
    InputError
        If their kinds, settings or features differ.

    """
    for what, mine, theirs in (
        ('kinds', type(first).__name__, type(second).__name__),
        ('settings', first.settings, second.settings),
        ('features', first.sizes, second.sizes),
    ):
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


def learn(triples: Triples, constant: Floats, states: int, ridge: float) -> Tpsr:
    """
    Learn by Boots & Gordon 2011, eq. 7a-c, without the third moments of all features.

    Parameters
    ----------
    triples
        The samples.
    constant : (h,)
        The constant written in history features: its product with each history is one.
    states
        Dimension of the state, k; fewer if the samples do not have so many.
    ridge
        Ridge on the observation covariance, per sample.

    """
    values, left, right = _leading(triples, states)
    tensor = OperatorTensor(triples.observations.shape[1])
    none = np.zeros((len(values), 0))
    tensor.move(Move(none, none))
    tensor.add(
        (triples.next_tests @ left.T) * triples.importance[:, None],
        triples.observations,
        triples.histories @ right.T,
    )
    start, sums = np.stack([constant, triples.importance @ triples.histories]) @ right.T
    operators = tensor.moments / values
    return make_parameters(values * start, sums / values, operators, *_sums(triples, ridge))


def learn_by_tensor(triples: Triples, constant: Floats, states: int, ridge: float) -> Tpsr:
    """
    Learn with the third moments of all features, Boots & Gordon 2011, eq. 5: for few features.

    Parameters and result are those of `learn`, and so are the numbers, to rounding.
    """
    weighted = triples.tests * triples.importance[:, None]
    covariance = weighted.T @ triples.histories
    _, left, _ = _leading(triples, states)
    slices = np.hstack([triples.observations, np.ones((len(triples), 1))])
    moments = np.einsum(
        'n,nt,no,nh->oth',
        triples.importance,
        triples.next_tests,
        slices,
        triples.histories,
        optimize=True,
    )
    pseudo_inverse = np.linalg.pinv(left @ covariance)
    operators = left @ moments @ pseudo_inverse
    start = left @ covariance @ constant
    normaliser = triples.importance @ triples.histories @ pseudo_inverse
    return make_parameters(start, normaliser, operators, *_sums(triples, ridge))


def _sums(triples: Triples, ridge: float) -> tuple[Floats, float, float]:
    """Return the last three arguments of ``make_parameters``."""
    observations, importance = triples.observations, triples.importance
    weight = float(importance.sum())
    total = (observations * importance[:, None]).T @ observations
    inverse = np.linalg.inv(total + ridge * weight * np.eye(len(total)))
    return inverse, weight, float(importance @ np.square(triples.tests).sum(axis=1))


def _leading(triples: Triples, states: int) -> tuple[Floats, Floats, Floats]:
    """Return the leading singular values and vectors (Boots & Gordon 2011, eq. 6c)."""
    weighted = triples.tests * triples.importance[:, None]
    tests, across = np.linalg.qr(weighted.T)
    histories, down = np.linalg.qr(triples.histories.T)
    left, values, right = np.linalg.svd(across @ down.T, full_matrices=False)
    kept = count_states(values, states)
    return values[:kept], (tests @ left[:, :kept]).T, right[:kept] @ histories.T
