# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One manifold learner as an estimator of scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from two_manifold_ros.estimators.embedded import LearnedRows
from two_manifold_ros.estimators.rows import checked_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from two_manifold_ros.kernels.learner import ManifoldLearner
    from two_manifold_ros.typing import Floats


class ManifoldEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """
    Coordinates on the manifold that rows lie on, for new rows too.

    Parameters
    ----------
    learner
        Any learner of ``two_manifold_ros.kernels``, such as
        ``LaplacianEigenmap(dimension=2, neighbours=10)``.

    Attributes
    ----------
    embedding_ : (n, m)
        Centred coordinates of the rows that were fitted.
    eigenvalues_ : (m,)
        Of the learner's operator, leading first.
    n_features_in_ : int
        Columns of the rows, D.

    """

    def __init__(self, learner: ManifoldLearner) -> None:
        self.learner = learner

    def fit(self, X: ArrayLike, y: object = None) -> ManifoldEmbedding:  # noqa: ARG002 - for pipelines
        """
        Embed the rows X (n, D); y is ignored.

        Raises
        ------
        InputError
            If X is no matrix of finite numbers, or too small or too uniform for the learner.

        """
        rows = checked_rows('X', X)
        self._rows = LearnedRows.of('X', rows, self.learner)
        self.n_features_in_ = rows.shape[1]
        self.embedding_ = self._rows.coordinates
        self.eigenvalues_ = self._rows.embedding.eigenvalues
        self._n_features_out = self.embedding_.shape[1]
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """
        Return the coordinates (k, m) of the rows X (k, D) out of sample.

        Raises
        ------
        InputError
            If X is no matrix of D columns, or a row of it resembles no row that was fitted.

        """
        check_is_fitted(self)
        return self._rows.transform(checked_rows('X', X, self.n_features_in_))

    def fit_transform(self, X: ArrayLike, y: object = None) -> Floats:
        """Embed the rows X (n, D), as `fit` does, and return ``embedding_`` (n, m)."""
        return self.fit(X, y).embedding_
