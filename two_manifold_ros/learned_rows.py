# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rows that are checked and embedded, and the base class of the estimators that do it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING
import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.learner import PointSet
from two_manifold_ros.manifold.selection import FitTransform

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from two_manifold_ros.manifold.learner import ManifoldLearner
    from two_manifold_ros.typing import Bools, Floats


def checked_rows(name: str, rows: ArrayLike, columns: int | None = None) -> Floats:
    """
    Return a copy of a matrix (n, D) of finite numbers, one sample a row, with D columns if known.

    Raise ``InputError`` with its name and the sentence of ``check_array`` if it is none.
    """
    try:
        matrix: Floats = check_array(rows, dtype=np.float64, copy=True, input_name=name)
    except (TypeError, ValueError) as error:
        msg = f'{name} is no matrix of finite real numbers, one sample a row: {error}'
        raise InputError(msg) from error
    if columns is not None and matrix.shape[1] != columns:
        msg = f'{name} has {matrix.shape[1]} columns, but {columns} were fitted'
        raise InputError(msg)
    return matrix


def checked_responses(y: ArrayLike, count: int) -> tuple[Floats, Bools]:
    """
    Return a copy of responses (n, q) of n rows, and which rows of them are known (n,).

    Raise ``InputError`` if they are no real numbers, not as many, or fewer than two are known.
    """
    responses: Floats | None = None
    with suppress(TypeError, ValueError):
        responses = np.array(y, dtype=np.float64)
    if responses is None or np.iscomplexobj(y):
        msg = 'y is no array of real numbers; give numbers, as many in each row, or NaN'
        raise InputError(msg)
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


class CentredRows:
    """Rows (n, D) as they are, less their mean (D,)."""

    def __init__(self, rows: Floats) -> None:
        self.mean: Floats = rows.mean(axis=0)
        self.coordinates = rows - self.mean

    def transform(self, rows: Floats) -> Floats:
        """Return (k, D) rows less the mean."""
        return rows - self.mean


class LearnedRows:
    """Rows (n, D) as a manifold learner embedded them; its notes become warnings."""

    def __init__(self, name: str, rows: Floats, learner: ManifoldLearner) -> None:
        known = not isinstance(learner, type)
        if known and hasattr(learner, 'fit_transform'):
            learner = FitTransform(learner)
        elif not (known and hasattr(learner, 'fit')):
            msg = (
                f'learner is {learner!r}, which cannot be fitted; give one of '
                'two_manifold_ros.manifold such as LaplacianEigenmap(dimension=2, neighbours=20), '
                'or an embedding of scikit-learn'
            )
            raise InputError(msg)
        self.name = name
        self.points = PointSet(rows)
        self.embedding = learner.fit(self.points)
        self.coordinates = self.embedding.coordinates
        for note in self.embedding.notes:
            warnings.warn(f'{name}: {note}', stacklevel=3)

    def transform(self, rows: Floats) -> Floats:
        """Return the coordinates (k, m) of (k, D) rows, each of which resembles a training row."""
        embedded = np.empty((len(rows), self.coordinates.shape[1]))
        for index in range(len(rows)):
            squared = self.points.distances_from(rows[index : index + 1])[:, 0]
            coordinates = self.embedding.extension.transform(squared)
            if coordinates is None:
                msg = f'row {index} of {self.name} resembles no training row; leave it out'
                raise InputError(msg)
            embedded[index] = coordinates
        return embedded


class Estimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the estimators: they embed rows X, and new rows out of sample."""

    embedding_: Floats
    n_features_in_: int
    _rows: CentredRows | LearnedRows

    def transform(self, X: ArrayLike) -> Floats:
        """
        Return the coordinates (k, m) of the rows X (k, D) out of sample.

        ``InputError`` names a row that resembles none that was fitted.
        """
        check_is_fitted(self)
        return self._project(self._rows.transform(checked_rows('X', X, self.n_features_in_)))

    def _project(self, coordinates: Floats) -> Floats:
        return coordinates

    def _finish(self, rows: Floats, embedding: Floats) -> Self:
        """Set the attributes that scikit-learn expects after a fit."""
        self.n_features_in_ = rows.shape[1]
        self.embedding_ = embedding
        self._n_features_out = embedding.shape[1]
        return self


class OneView(Estimator):
    """Base of the estimators that embed one view, with or without something known of it."""

    def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None) -> Floats:
        """Embed the rows X (n, D), as `fit` does, and return ``embedding_`` (n, m)."""
        embedding: Floats = self.fit(X, y).embedding_
        return embedding
