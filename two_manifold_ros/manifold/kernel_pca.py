# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernel PCA: linear, polynomial and Gaussian kernels as explicit low-rank features."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Protocol, TYPE_CHECKING

import numpy as np
from scipy.linalg import eigh

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.affinity import (
    fix_signs,
    InnerProduct,
    MemberAffinity,
    require_scale,
    require_spread,
    spread_landmarks,
    spreads_of,
)
from two_manifold_ros.manifold.learner import Embedding, Extension, Response

if TYPE_CHECKING:
    from two_manifold_ros.manifold.learner import Samples
    from two_manifold_ros.typing import Floats, Ints


LANDMARKS = 2_000
"""Beyond this many points the eigenvectors come from as many evenly spread ones (Nystrom)."""

SMALLEST_SHARE = 1e-10
"""Of the first eigenvalue, below which one is rounding and its coordinate is left out."""


class KernelResponse(Response, Protocol):
    """A response by the values of a kernel at some members of the training points."""

    @property
    def members(self) -> Ints:
        """Return the training points that count: (l,)."""
        ...

    def kernel(self, squared: Floats) -> Floats:
        """Return the (..., l) values of the kernel of (..., l) squared distances to them."""
        ...


def kernel_pca(
    squared: Floats,
    response: KernelResponse,
    dimension: int,
    *,
    centred: bool = True,
    bandwidth: float = 0.0,
) -> Embedding:
    r"""
    Return the leading kernel features :math:`K V \Lambda^{-1/2}` (2.1), centred.

    Parameters
    ----------
    squared : (n, l)
        Squared distances of the points to the members of the response.
    response
        The kernel.
    dimension
        Features wanted; fewer are returned where the kernel has a lower rank.
    centred
        Whether :math:`V \Lambda V^\top` is the kernel matrix of the members centred in feature
        space, as principal components are; else the matrix itself.
    bandwidth
        To be told by the embedding.

    """
    kernel = response.kernel(squared)
    inner = kernel[response.members]
    inner = 0.5 * (inner + inner.T)
    if centred:
        inner = inner - inner.mean(axis=0)
        inner -= inner.mean(axis=1)[:, None]
    values, vectors = _leading(inner, dimension)
    table = vectors / np.sqrt(values)
    features = kernel @ table
    mean = features.mean(axis=0)
    return Embedding(features - mean, Extension(response, table, -mean), values, bandwidth)


def _leading(matrix: Floats, count: int) -> tuple[Floats, Floats]:
    """Return the leading eigenpairs of a symmetric matrix, but for those that are rounding."""
    # Dense, since the space that Lanczos searches ends early where the rank is low.
    last = len(matrix) - 1
    values, vectors = eigh(matrix, subset_by_index=[max(0, last + 1 - count), last])
    values, vectors = values[::-1], fix_signs(vectors[:, ::-1])
    keep = values > SMALLEST_SHARE * values[0]
    return values[keep], vectors[:, keep]


@dataclass(frozen=True)
class LinearKernel:
    """
    Principal components of the points.

    The eigenvalues of the embedding are those of the inner products of the centred points. There
    are fewer coordinates than asked for where the points span fewer dimensions.

    Parameters
    ----------
    dimension
        Coordinates kept, m.
    landmarks
        Most points whose kernel matrix is decomposed; of more, as many evenly spread ones.

    """

    dimension: int
    landmarks: int = LANDMARKS

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
        response = InnerProduct(members, spreads_of(between), 1.0, 0.0, 1)
        return kernel_pca(squared, response, self.dimension)


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


@dataclass(frozen=True)
class GaussianKernel:
    r"""
    Features of ``exp(-||x - y||^2 / (2 sigma^2))`` with the median distance :math:`\sigma`.

    The eigenvalues of the embedding are those of the kernel matrix, before it is centred.

    Parameters
    ----------
    dimension
        Coordinates kept, m.
    landmarks
        Most points whose kernel matrix is decomposed; of more, as many evenly spread ones.

    """

    dimension: int
    landmarks: int = LANDMARKS

    def fit(self, samples: Samples) -> Embedding:
        """
        Embed the points; memory is n times the number of landmarks.

        Raises
        ------
        InputError
            If there are no more points than dimensions, or most are identical.

        """
        bandwidth = require_scale(samples, self.dimension)
        response = MemberAffinity(bandwidth, spread_landmarks(len(samples), self.landmarks))
        squared = samples.distances_to(response.members)
        require_spread(squared[response.members], bandwidth)
        return kernel_pca(squared, response, self.dimension, centred=False, bandwidth=bandwidth)
