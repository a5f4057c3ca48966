# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Instrumental eigenmaps (Boots & Gordon 2012, Algorithm 1) as an estimator of scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.estimators.embedded import LearnedRows
from two_manifold_ros.estimators.two_views import TwoViews
from two_manifold_ros.kernels.laplacian_eigenmap import LaplacianEigenmap

if TYPE_CHECKING:
    from two_manifold_ros.kernels.learner import ManifoldLearner
    from two_manifold_ros.typing import Floats


class InstrumentalEigenmaps(TwoViews):
    r"""
    The manifolds of two views whose noise is independent, each learned with the help of the other.

    A manifold learner embeds either view in many dimensions, whose inner products are its
    centred Gram matrix. What the two share is then found by a singular value decomposition:

    .. math:: C_X C_Y = U \Lambda V^\top, \qquad
              E_X = U_{1:k} \Lambda_{1:k}^{1/2}, \quad E_Y = V_{1:k} \Lambda_{1:k}^{1/2}

    (lines 3 and 4 of Algorithm 1, from low-rank factors: no n x n matrix is formed).

    Parameters
    ----------
    n_components
        Dimension of the hidden manifold, k.
    learner
        Embeds X: any learner of ``two_manifold_ros.kernels``; ``None`` is
        ``LaplacianEigenmap(dimension=60, neighbours=20)``. Its dimension is to be much larger than
        k: what noise adds to either manifold has to find room in it.
    second_learner
        Embeds Y; ``None`` is the same as for X.
    coupling
        ``gram-product`` as above; ``cross-covariance``, the kernel SVD of section 3.2.2;
        ``canonical`` (correlation), which withstands the most noise; or ``reduced-rank``
        (regression of X on Y).

    Attributes
    ----------
    embedding_ : (n, k), second_embedding_ : (n, k)
        E_X and E_Y; columns are centred.
    singular_values_ : (k,)
        Of the coupling, largest first.
    n_features_in_ : int
        Columns of X, D_X.

    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        learner: ManifoldLearner | None = None,
        second_learner: ManifoldLearner | None = None,
        coupling: str = 'gram-product',
    ) -> None:
        self.n_components = n_components
        self.learner = learner
        self.second_learner = second_learner
        self.coupling = coupling

    def _embed(self, first: Floats, second: Floats) -> tuple[LearnedRows, LearnedRows]:
        learner = self.learner or LaplacianEigenmap(60, 20)
        other = self.second_learner or learner
        return LearnedRows.of('X', first, learner), LearnedRows.of('Y', second, other)
