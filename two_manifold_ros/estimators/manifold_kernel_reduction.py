# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Manifold kernel dimension reduction (Nilsson, Sha & Jordan 2007) as an estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from two_manifold_ros.errors import InputError
from two_manifold_ros.estimators.embedded import LearnedRows
from two_manifold_ros.estimators.rows import checked_rows, real_numbers
from two_manifold_ros.kernels.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.mkdr.directions import find_predictive_directions

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from two_manifold_ros.kernels.learner import ManifoldLearner
    from two_manifold_ros.typing import Bools, Floats


class ManifoldKernelReduction(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""
    What predicts responses, of all that a manifold learner finds.

    A learner embeds all rows, and the directions of its coordinates are found onto which those
    rows project whose responses are known (eq. 9 of the paper, with a linear response kernel):

    .. math:: \min_{\Theta \succeq 0,\ \operatorname{tr} \Theta = 1}
              \operatorname{tr}[Y Y^\top (M \Theta M^\top + \epsilon I)^{-1}]

    for centred coordinates M, scaled alike to columns that have unit norm on average.

    Parameters
    ----------
    learner
        Any learner of ``two_manifold_ros.kernels``; ``None`` is
        ``LaplacianEigenmap(dimension=50, neighbours=10, scaled=False)``.
    penalty
        :math:`\epsilon`, the paper's :math:`N \epsilon`: the fewer responses, the larger.

    Attributes
    ----------
    embedding_ : (n, r)
        Projections of the rows that were fitted; there are at most as many as responses a row.
    directions_ : (m, r)
        Orthonormal, leading first, in the coordinates of the learner.
    strengths_ : (m,)
        Eigenvalues of Theta, largest first; they sum to one.
    predictive_eigenvectors_ : (m,)
        Coordinates of the learner, the one with the largest coefficients first.
    n_features_in_ : int
        Columns of X, D.

    """

    def __init__(self, learner: ManifoldLearner | None = None, *, penalty: float = 1e-3) -> None:
        self.learner = learner
        self.penalty = penalty

    def fit(self, X: ArrayLike, y: ArrayLike) -> ManifoldKernelReduction:
        """
        Embed the rows X (n, D) and find what predicts y, shape (n,) or (n, q).

        Rows of y with a NaN are not known; their rows of X help to learn the manifold.

        Raises
        ------
        InputError
            If X is no matrix of finite numbers, y does not go with it, or either does not vary.

        """
        rows = checked_rows('X', X)
        responses, known = _checked_responses(y, len(rows))
        self._rows = LearnedRows.of(
            'X', rows, self.learner or LaplacianEigenmap(50, 10, scaled=False)
        )
        self.n_features_in_ = rows.shape[1]
        coordinates = self._rows.coordinates
        found = find_predictive_directions(
            coordinates[known], responses[known], penalty=self.penalty
        )
        self.directions_ = found.directions
        self.strengths_ = found.strengths
        self.predictive_eigenvectors_ = found.predictive_eigenvectors(len(found.theta))
        self.embedding_ = coordinates @ found.directions
        self._n_features_out = found.rank
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """
        Return the projections (k, r) of the rows X (k, D) out of sample.

        Raises
        ------
        InputError
            If X is no matrix of D columns, or a row of it resembles no row that was fitted.

        """
        check_is_fitted(self)
        rows = checked_rows('X', X, self.n_features_in_)
        return self._rows.transform(rows) @ self.directions_

    def fit_transform(self, X: ArrayLike, y: ArrayLike) -> Floats:
        """Embed and find, as `fit` does, and return ``embedding_`` (n, r)."""
        return self.fit(X, y).embedding_


def _checked_responses(y: ArrayLike, count: int) -> tuple[Floats, Bools]:
    """Return responses (n, q) and which rows of them are known (n,)."""
    responses = real_numbers('y', y)
    if responses.ndim == 1:
        responses = responses[:, None]
    if responses.ndim != 2 or len(responses) != count:
        msg = f'y has the shape {np.shape(y)}; give a response for each of the {count} rows of X'
        raise InputError(msg)
    known = ~np.isnan(responses.sum(axis=1))
    if np.count_nonzero(known) < 2:
        msg = f'y is known for {np.count_nonzero(known)} rows; give at least 2 that are not NaN'
        raise InputError(msg)
    return responses, known
