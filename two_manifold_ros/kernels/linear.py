# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Linear kernel: principal components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from two_manifold_ros.kernels.bandwidth import require_scale
from two_manifold_ros.kernels.inner_product import InnerProduct, spreads_of
from two_manifold_ros.kernels.kernel_pca import kernel_pca, LANDMARKS
from two_manifold_ros.kernels.landmarks import require_spread, spread_landmarks

if TYPE_CHECKING:
    from two_manifold_ros.kernels.learner import Embedding
    from two_manifold_ros.kernels.samples import Samples


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
