# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two-subspace kernel PCA (Boots & Gordon 2012, section 3.2.2) as an estimator of scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.estimators.embedded import LearnedRows
from two_manifold_ros.estimators.two_views import TwoViews
from two_manifold_ros.kernels.gaussian import GaussianKernel
from two_manifold_ros.kernels.linear import LinearKernel
from two_manifold_ros.kernels.polynomial import PolynomialKernel

if TYPE_CHECKING:
    from two_manifold_ros.kernels.learner import ManifoldLearner
    from two_manifold_ros.typing import Floats

KERNELS = ('gaussian', 'polynomial', 'linear')


class TwoSubspaceKernelPCA(TwoViews):
    r"""
    Two-subspace PCA in the feature spaces of kernels: the kernel SVD.

    The singular vectors of the cross-covariance operator
    :math:`\hat\Sigma_{XY} = \tfrac1n \Phi H \Upsilon^\top` are :math:`\lambda_i^{-1/2} \Phi H v_i`
    with :math:`C_Y C_X v_i = \lambda_i v_i`. They are found from explicit features of the kernels,
    which is exact if ``rank`` is n - 1 or more and n is no more than 2,000, the landmarks that
    features are made of; of a Gaussian kernel, but for the smallest eigenvalue of its matrix.

    Parameters
    ----------
    n_components
        Directions, k.
    kernel
        ``gaussian``, with the median distance of either view for its bandwidth, ``polynomial``
        or ``linear``, as in ``two_manifold_ros.kernels``.
    degree
        Of the polynomial kernel.
    rank
        Features of either kernel, the leading ones; at most n - 1 are taken.
    coupling
        ``cross-covariance`` as above, ``canonical``, ``reduced-rank`` or ``gram-product``.

    Attributes
    ----------
    embedding_ : (n, k), second_embedding_ : (n, k)
        Projections of the centred rows of X and of Y on the singular vectors.
    singular_values_ : (k,)
        Of the coupling, largest first.
    n_features_in_ : int
        Columns of X, D_X.

    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: str = 'gaussian',
        degree: int = 3,
        rank: int = 100,
        coupling: str = 'cross-covariance',
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.degree = degree
        self.rank = rank
        self.coupling = coupling

    def _embed(self, first: Floats, second: Floats) -> tuple[LearnedRows, LearnedRows]:
        learner = self._learner(min(self.rank, max(len(first) - 1, 1)))
        return LearnedRows.of('X', first, learner), LearnedRows.of('Y', second, learner)

    def _learner(self, rank: int) -> ManifoldLearner:
        if self.kernel == 'gaussian':
            return GaussianKernel(rank)
        if self.kernel == 'polynomial':
            return PolynomialKernel(rank, self.degree)
        if self.kernel == 'linear':
            return LinearKernel(rank)
        msg = f'there is no kernel named {self.kernel!r}; choose one of {", ".join(KERNELS)}'
        raise InputError(msg)
