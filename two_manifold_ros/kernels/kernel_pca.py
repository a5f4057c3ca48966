# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernel PCA over landmarks: explicit low-rank features of any kernel of the distances."""

from __future__ import annotations

from typing import Protocol, TYPE_CHECKING

import numpy as np
from scipy.linalg import eigh

from two_manifold_ros.kernels.extension import Extension, Response
from two_manifold_ros.kernels.learner import Embedding
from two_manifold_ros.kernels.signs import fix_signs

if TYPE_CHECKING:
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
