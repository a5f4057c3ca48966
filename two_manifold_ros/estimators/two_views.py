# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the estimators have in common that embed two views of the same samples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from two_manifold_ros.errors import InputError
from two_manifold_ros.estimators.rows import checked_pairs, checked_rows
from two_manifold_ros.two_manifold.couplings import couple

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from two_manifold_ros.estimators.embedded import Embedded
    from two_manifold_ros.two_manifold.couplings import Coupled
    from two_manifold_ros.typing import Floats

SMALLEST_RATIO = 1e-9
"""Singular values below this share of the first are rounding."""


class TwoViews(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """
    Embeds two views, X and Y, of the same samples, each by what it shares with the other.

    A subclass has the parameters ``n_components`` (k) and ``coupling``, and says how a view is
    embedded before the two are coupled.

    Attributes
    ----------
    embedding_ : (n, k), second_embedding_ : (n, k)
        Of the rows of X and of Y that were fitted; columns are centred.
    singular_values_ : (k,)
        Of the coupling, largest first.
    n_features_in_ : int
        Columns of X, D_X.

    """

    n_components: int
    coupling: str
    _first_map: Floats
    _second_map: Floats

    @abstractmethod
    def _embed(self, first: Floats, second: Floats) -> tuple[Embedded, Embedded]:
        """Embed the two views, each on its own."""

    def fit(self, X: ArrayLike, Y: ArrayLike) -> Self:
        """
        Find what the views X (n, D_X) and Y (n, D_Y) share; row i of both is one sample.

        Raises
        ------
        InputError
            If X and Y are no matrices of finite numbers with as many rows, too small for what is
            asked, or share fewer than k directions.

        """
        first, second = checked_pairs(X, Y)
        self.n_features_in_, self._second_features = first.shape[1], second.shape[1]
        self._first, self._second = self._embed(first, second)
        rows = self._first.coordinates, self._second.coordinates
        coupled = couple(*rows, self.coupling)
        self._check_components(coupled)
        self.singular_values_ = coupled.singular_values[: self.n_components]
        scale = self._scale(len(first))
        self._first_map = coupled.first_map[:, : self.n_components] * scale
        self._second_map = coupled.second_map[:, : self.n_components] * scale
        self.embedding_ = rows[0] @ self._first_map
        self.second_embedding_ = rows[1] @ self._second_map
        self._n_features_out = self.n_components
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """
        Return the coordinates (m, k) of the rows X (m, D_X) of the first view.

        Raises
        ------
        InputError
            If X is no matrix of D_X columns, or a row of it resembles no row that was fitted.

        """
        check_is_fitted(self)
        rows = checked_rows('X', X, self.n_features_in_)
        return self._first.transform(rows) @ self._first_map

    def transform_second(self, Y: ArrayLike) -> Floats:
        """
        Return the coordinates (m, k) of the rows Y (m, D_Y) of the second view.

        Raises
        ------
        InputError
            If Y is no matrix of D_Y columns, or a row of it resembles no row that was fitted.

        """
        check_is_fitted(self)
        rows = checked_rows('Y', Y, self._second_features)
        return self._second.transform(rows) @ self._second_map

    def fit_transform(self, X: ArrayLike, Y: ArrayLike) -> Floats:
        """Find what X (n, D_X) and Y (n, D_Y) share and return ``embedding_`` (n, k)."""
        return self.fit(X, Y).embedding_

    def _check_components(self, coupled: Coupled) -> None:
        values = coupled.singular_values
        shared = int(np.count_nonzero(values > SMALLEST_RATIO * values[0]))
        if not shared:
            msg = (
                'X and Y share no direction, as if one of them were the same in all rows; give '
                'views that vary together'
            )
            raise InputError(msg)
        if not isinstance(self.n_components, Integral):
            msg = f'n_components is {self.n_components!r}, but must be a whole number'
            raise InputError(msg)
        if not 1 <= self.n_components <= shared:
            msg = (
                f'n_components is {self.n_components!r}, but X and Y share {shared} directions; '
                'ask for at least one and no more than that'
            )
            raise InputError(msg)

    def _scale(self, rows: int) -> Floats:
        """Return by what coordinates are scaled: line 4 of Algorithm 1, where it is done."""
        if self.coupling == 'gram-product':
            return np.sqrt(self.singular_values_ / rows)
        return np.ones(self.n_components)
