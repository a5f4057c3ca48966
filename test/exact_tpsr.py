# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A TPSR from all third moments of few features, online and at once: what ours must equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.tpsr.learner import LearnerSettings, OnlineLearner, Triples
from two_manifold_ros.tpsr.parameters import make_parameters, Tpsr
from two_manifold_ros.tpsr.thin_svd import count_directions, Move, senses

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


class WholeSvd:
    r"""
    The sum :math:`\sum_t w_tx_ty_t^\top` itself, decomposed again at each fold.

    Attributes
    ----------
    total : (rows, columns)
        The sum.
    left : (r, rows), values : (r,), right : (r, columns)
        Its ``rank`` leading singular vectors, as rows, and values.

    """

    def __init__(self, rows: int, columns: int, rank: int) -> None:
        self.rank = rank
        self.total = np.zeros((rows, columns))
        self.left = np.zeros((0, rows))
        self.values = np.zeros(0)
        self.right = np.zeros((0, columns))

    def fold(self, x: Floats, y: Floats, weights: Floats, decay: float = 1.0) -> Move:
        """Add outer products as `ThinSvd.fold` does."""
        self.total *= decay
        self.total += (x * weights[:, None]).T @ y
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


class ExactLearner(OnlineLearner):
    r"""
    The exact form of the online learner, for few features (mathematics, section 10).

    It keeps :math:`\hat\Sigma_{TH}` and all third moments in the features themselves, so that no
    direction is ever lost.

    Parameters are those of `OnlineLearner`; ``sums`` (p + 1, d h) are the third moments by
    observation feature, in the last row that of the constant.
    """

    def __init__(
        self, settings: LearnerSettings, constant: Floats, tests: int, observations: int
    ) -> None:
        super().__init__(settings, constant, tests, observations)
        self.svd = WholeSvd(  # type: ignore[assignment]
            tests, len(constant), settings.rank
        )
        self.sums = np.zeros((observations + 1, tests * len(constant)))

    def moments(self, states: int) -> Floats:
        """Return the (p + 1, k, k) third moments in its leading k directions."""
        total, left = self.svd.total, self.svd.left[:states]
        rows = self.sums.reshape(-1, total.shape[1]) @ self.svd.right[:states].T
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


def learn_by_tensor(triples: Triples, constant: Floats, states: int, ridge: float) -> Tpsr:
    """
    Learn with the third moments of all features, Boots & Gordon 2011, eq. 5: for few features.

    Parameters and result are those of `learn`, and so are the numbers, to rounding.
    """
    weighted = triples.tests * triples.importance[:, None]
    covariance = weighted.T @ triples.histories
    left = np.linalg.svd(covariance)[0][:, :states].T
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
    weight = triples.importance.sum()
    present = triples.observations.T @ np.diag(triples.importance) @ triples.observations
    inverse = np.linalg.inv(present + ridge * weight * np.eye(len(present)))
    squares = triples.importance @ np.square(triples.tests).sum(axis=1)
    return make_parameters(start, normaliser, operators, inverse, weight, squares)
