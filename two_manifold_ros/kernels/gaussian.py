# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gaussian kernel with the median trick, as explicit low-rank features (eq. 2.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse.linalg import eigsh

from two_manifold_ros.kernels.affinity import affinity, MemberAffinity
from two_manifold_ros.kernels.bandwidth import median_distance
from two_manifold_ros.kernels.extension import Extension
from two_manifold_ros.kernels.learner import Embedding
from two_manifold_ros.kernels.samples import require_more_than
from two_manifold_ros.kernels.signs import fix_signs
from two_manifold_ros.kernels.start_vector import start_vector

if TYPE_CHECKING:
    from two_manifold_ros.kernels.samples import Samples
    from two_manifold_ros.typing import Floats, Ints

LANDMARKS = 2_000
"""Beyond this many points the eigenvectors come from evenly spread ones (Nystrom)."""


@dataclass(frozen=True)
class GaussianKernel:
    r"""
    Kernel PCA features of ``exp(-||x - y||^2 / (2 sigma^2))``.

    Parameters
    ----------
    dimension
        Coordinates kept, m.

    """

    dimension: int

    def fit(self, samples: Samples) -> Embedding:
        """
        Embed the points; memory is n times the number of landmarks.

        Raises
        ------
        InputError
            If there are no more points than dimensions.

        """
        require_more_than(samples, self.dimension)
        bandwidth = median_distance(samples)
        members = _spread(len(samples), LANDMARKS)
        kernel = affinity(samples.distances_to(members), bandwidth)
        table, eigenvalues = _projection(kernel[members], self.dimension)
        features = kernel @ table
        mean = features.mean(axis=0)
        extension = Extension(MemberAffinity(bandwidth, members), table, -mean)
        return Embedding(features - mean, extension, eigenvalues, bandwidth)


def _spread(count: int, most: int) -> Ints:
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))


def _projection(kernel: Floats, dimension: int) -> tuple[Floats, Floats]:
    """Return V Lambda^{-1/2} and Lambda of the leading eigenpairs of a kernel matrix (2.1)."""
    symmetric = 0.5 * (kernel + kernel.T)
    values, vectors = eigsh(symmetric, k=dimension, which='LA', v0=start_vector(len(kernel)))
    order = np.argsort(values)[::-1]
    values, vectors = values[order], fix_signs(vectors[:, order])
    keep = values > 1e-10 * values[0]
    return vectors[:, keep] / np.sqrt(values[keep]), values[keep]
