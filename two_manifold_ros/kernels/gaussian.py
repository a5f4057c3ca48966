# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gaussian kernel with the median trick, as explicit low-rank features (eq. 2.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from two_manifold_ros.kernels.affinity import MemberAffinity
from two_manifold_ros.kernels.bandwidth import require_scale
from two_manifold_ros.kernels.kernel_pca import kernel_pca, LANDMARKS
from two_manifold_ros.kernels.landmarks import require_spread, spread_landmarks

if TYPE_CHECKING:
    from two_manifold_ros.kernels.learner import Embedding
    from two_manifold_ros.kernels.samples import Samples


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
