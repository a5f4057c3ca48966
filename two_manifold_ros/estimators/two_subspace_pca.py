# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two-subspace PCA (Boots & Gordon 2012, section 3.1.1) as an estimator of scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.estimators.embedded import CentredRows
from two_manifold_ros.estimators.two_views import TwoViews

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


class TwoSubspacePCA(TwoViews):
    r"""
    The linear subspaces of two views whose noise is independent.

    The noise of X does not vary with Y, so it averages out of

    .. math:: \hat\Sigma_{XY} = \tfrac1n X H Y^\top H \approx U D V^\top,

    and the leading singular vectors U and V become those of the signal as n grows, where the
    principal components of either view stay biased by its noise.

    Parameters
    ----------
    n_components
        Directions, k: the dimension of the hidden signal.
    coupling
        ``cross-covariance`` as above, ``canonical`` (correlation) or ``reduced-rank`` (regression
        of X on Y), see footnote 2 of the paper, or ``gram-product``.

    Attributes
    ----------
    components_ : (k, D_X), second_components_ : (k, D_Y)
        What centred rows are multiplied with; orthonormal rows for ``cross-covariance``.
    mean_ : (D_X,), second_mean_ : (D_Y,)
    embedding_ : (n, k), second_embedding_ : (n, k)
        Of the rows of X and of Y that were fitted; columns are centred.
    singular_values_ : (k,)
        Of the coupling, largest first.
    n_features_in_ : int
        Columns of X, D_X.

    """

    def __init__(self, n_components: int = 2, *, coupling: str = 'cross-covariance') -> None:
        self.n_components = n_components
        self.coupling = coupling

    @property
    def components_(self) -> Floats:
        """What centred rows of X are multiplied with, shape (k, D_X)."""
        components: Floats = self._first_map.T
        return components

    @property
    def second_components_(self) -> Floats:
        """What centred rows of Y are multiplied with, shape (k, D_Y)."""
        components: Floats = self._second_map.T
        return components

    def _embed(self, first: Floats, second: Floats) -> tuple[CentredRows, CentredRows]:
        views = CentredRows.of(first), CentredRows.of(second)
        self.mean_, self.second_mean_ = views[0].mean, views[1].mean
        return views
