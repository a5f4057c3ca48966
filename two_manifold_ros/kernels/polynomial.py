# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Polynomial kernel of the centred points, as explicit low-rank features."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.kernels.bandwidth import require_scale
from two_manifold_ros.kernels.inner_product import InnerProduct, spreads_of
from two_manifold_ros.kernels.kernel_pca import kernel_pca, LANDMARKS
from two_manifold_ros.kernels.landmarks import require_spread, spread_landmarks

if TYPE_CHECKING:
    from two_manifold_ros.kernels.learner import Embedding
    from two_manifold_ros.kernels.samples import Samples


@dataclass(frozen=True)
class PolynomialKernel:
    r"""
    Principal components of all products of up to p numbers of a point.

    .. math:: k(x, y) = \Big(\frac{(x - \bar x)^\top (y - \bar x)}{s} + 1\Big)^p

    with the mean squared length s of the centred points, so that neither where the points lie nor
    in what unit they are matters. The eigenvalues of the embedding are those of the kernel matrix
    centred in feature space.

    Parameters
    ----------
    dimension
        Coordinates kept, m; fewer where there are fewer such products.
    degree
        p.
    landmarks
        Most points whose kernel matrix is decomposed; of more, as many evenly spread ones.

    Raises
    ------
    InputError
        If the degree is no whole number or not at least 1.

    """

    dimension: int
    degree: int = 3
    landmarks: int = LANDMARKS

    def __post_init__(self) -> None:
        """Check the degree."""
        if not isinstance(self.degree, Integral) or self.degree < 1:
            msg = f'degree is {self.degree!r}, but must be a whole number and at least 1'
            raise InputError(msg)

    def fit(self, samples: Samples) -> Embedding:
        """
        Embed the points; memory is n times the number of landmarks.

        Raises
        ------
        InputError
            If there are no more points than dimensions, or most are identical.

        """
        typical = require_scale(samples, self.dimension)
        members = spread_landmarks(len(samples), self.landmarks)
        squared = samples.distances_to(members)
        between = squared[members]
        require_spread(between, typical)
        # The squared distance of two points is on average twice their squared length.
        scale = 0.5 * float(between.mean())
        response = InnerProduct(members, spreads_of(between), scale, 1.0, self.degree)
        return kernel_pca(squared, response, self.dimension)
