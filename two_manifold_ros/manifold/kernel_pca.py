# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernel principal components, linear and Gaussian, mathematics (2.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.learner import (
    affinity,
    Embedding,
    Extension,
    leading_modes,
    require_scale,
    Samples,
    spread_landmarks,
)
from two_manifold_ros.rules import BOUNDS, check_fields, Rules
from two_manifold_ros.typing import Floats, Ints

LANDMARKS = 2_000
"""Most points whose kernel matrix is decomposed, in seconds; of more, as many spread evenly."""


@dataclass(frozen=True)
class MemberAffinity:
    """Affinities of a ``bandwidth`` to some ``members`` (l,) of the training points."""

    bandwidth: float
    members: Ints

    def kernel(self, squared: Floats) -> Floats:
        """Return the (..., l) affinities for (..., l) squared distances to the members."""
        return affinity(squared, self.bandwidth)

    def weights(self, squared: Floats) -> Floats:
        """Return the (l,) affinities of a point with (n,) squared distances."""
        return self.kernel(squared[self.members])

    def check(self, count: int) -> int:
        """Return l; refuse what does not fit ``count`` training points."""
        rules: Rules = {'bandwidth': ('', BOUNDS.least), 'members': ('L', 0, 'n')}
        check_fields(self, rules, {'n': count})
        return len(self.members)


@dataclass(frozen=True)
class InnerProduct:
    r"""
    Inner products with the members, centred at their mean.

    .. math:: a_j(x) = -\tfrac12\Big(d_j^2 - \frac1l\sum_i d_i^2 - h_j\Big)

    with the squared distances d of the new point to the members.
    """

    members: Ints  # (l,) int64, training points that count
    # (l,), h: mean squared distance of each member to all of them, less the mean over all.
    spreads: Floats

    def kernel(self, squared: Floats) -> Floats:
        """Return the (..., l) products for (..., l) squared distances to the members."""
        inner: Floats = -0.5 * (squared - squared.mean(axis=-1, keepdims=True) - self.spreads)
        return inner

    def weights(self, squared: Floats) -> Floats:
        """Return the (l,) products of a point with (n,) squared distances."""
        return self.kernel(squared[self.members])

    def check(self, count: int) -> int:
        """Return l; refuse what does not fit ``count`` training points."""
        check_fields(self, {'members': ('L', 0, 'n'), 'spreads': ('l',)}, {'n': count})
        return len(self.members)


def kernel_pca(
    squared: Floats,
    response: MemberAffinity | InnerProduct,
    dimension: int,
    bandwidth: float = 0.0,
) -> Embedding:
    r"""
    Return the leading kernel principal components, mathematics (2.1) and Boots & Gordon 2012, 2.1.

    They are :math:`K V \Lambda^{-1/2}` less their mean, with :math:`H G H = V \Lambda V^\top`, of
    squared distances (n, l) to the members of the response, which is the kernel.
    """
    kernel = response.kernel(squared)
    inner = kernel[response.members]
    inner = 0.5 * (inner + inner.T)
    inner = inner - inner.mean(axis=0)
    inner -= inner.mean(axis=1)[:, None]
    values, vectors = leading_modes(inner, dimension)
    # Rounding mixes those of small eigenvalues with the constant, of which the kernel has much.
    vectors -= vectors.mean(axis=0)
    table = vectors / np.sqrt(values)
    features = kernel @ table
    mean = features.mean(axis=0)
    return Embedding(features - mean, Extension(response, table, -mean), values, bandwidth)


@dataclass(frozen=True)
class LinearKernel:
    """Principal components of the points, fewer than asked for if these span fewer dimensions."""

    dimension: int  # coordinates kept, m

    def fit(self, samples: Samples) -> Embedding:
        """Embed the points, see ``ManifoldLearner``."""
        squared, members, _ = _distances(samples, self.dimension)
        between = squared[members]
        spreads = between.mean(axis=1) - between.mean()
        return kernel_pca(squared, InnerProduct(members, spreads), self.dimension)


@dataclass(frozen=True)
class GaussianKernel:
    """Principal components of a Gaussian kernel, with the median distance for its bandwidth."""

    dimension: int

    def fit(self, samples: Samples) -> Embedding:
        """Embed the points, see ``ManifoldLearner``."""
        squared, members, bandwidth = _distances(samples, self.dimension)
        response = MemberAffinity(bandwidth, members)
        return kernel_pca(squared, response, self.dimension, bandwidth)


def _distances(samples: Samples, dimension: int) -> tuple[Floats, Ints, float]:
    """Return (n, l) squared distances to landmarks, their (l,) indices, the median distance."""
    typical = require_scale(samples, dimension)
    members = spread_landmarks(len(samples), LANDMARKS)
    squared = samples.distances_to(members)
    if not squared[members].max() > (1e-6 * typical) ** 2:
        msg = f'the {len(members)} points that stand for all are identical; leave out copies'
        raise InputError(msg)
    return squared, members, typical
