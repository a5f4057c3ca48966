# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The normalised Laplacian eigenmap as a kernel, with its Nystrom extension (sections 2.3, 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import diags
from scipy.sparse.linalg import eigsh

from two_manifold_ros.kernels.affinity import NearAffinity
from two_manifold_ros.kernels.bandwidth import median_distance
from two_manifold_ros.kernels.extension import Extension
from two_manifold_ros.kernels.graph import affinity_graph, connect
from two_manifold_ros.kernels.learner import Embedding
from two_manifold_ros.kernels.samples import require_more_than
from two_manifold_ros.kernels.signs import fix_signs
from two_manifold_ros.kernels.start_vector import start_vector

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from two_manifold_ros.kernels.samples import Samples
    from two_manifold_ros.typing import Floats

SMALLEST_MODE = 0.3
"""Modes with a smaller eigenvalue of S are not extended: 1/mu amplifies noise (section 8)."""


@dataclass(frozen=True)
class LaplacianEigenmap:
    r"""
    Features of the kernel :math:`\mathcal L^\dagger`, eq. (2.3).

    .. math:: S = D^{-1/2} W D^{-1/2} = \sum_r \mu_r v_r v_r^\top, \quad \lambda_r = 1 - \mu_r,
              \quad E = \sqrt n\,[v_1/\sqrt{\lambda_1}, \dots, v_m/\sqrt{\lambda_m}]

    Parameters
    ----------
    dimension
        Coordinates kept, m.
    neighbours
        :math:`\kappa`.

    """

    dimension: int
    neighbours: int

    def fit(self, samples: Samples) -> Embedding:
        """
        Embed the points through their neighbour graph; no n x n dense matrix is formed.

        Raises
        ------
        InputError
            If there are too few points for the dimension or the neighbours.

        """
        # One more for the constant mode, which is not kept.
        require_more_than(samples, self.dimension + 1, self.neighbours)
        bandwidth = median_distance(samples)
        graph = affinity_graph(*samples.neighbours(self.neighbours), bandwidth)
        graph, components = connect(graph, samples, bandwidth)
        notes = () if components == 1 else (_disconnected(components, self.neighbours),)
        degrees = np.asarray(graph.sum(axis=1)).ravel()
        eigenvalues, vectors = _leading(graph, degrees, self.dimension)
        scale = np.sqrt(len(samples) / (1.0 - eigenvalues))
        coordinates = vectors * scale
        mean = coordinates.mean(axis=0)
        extended = eigenvalues > SMALLEST_MODE
        gain = np.where(extended, scale / np.where(extended, eigenvalues, 1.0), 0.0)
        extension = Extension(
            NearAffinity(bandwidth, self.neighbours),
            vectors / np.sqrt(degrees)[:, None] * gain,
            -mean,
        )
        return Embedding(coordinates - mean, extension, eigenvalues, bandwidth, notes)


def _leading(graph: csr_matrix, degrees: Floats, dimension: int) -> tuple[Floats, Floats]:
    """Return mu_1.. and v_1.. of S, without the constant mode v_0."""
    root = diags(1.0 / np.sqrt(degrees))
    start = start_vector(len(degrees))
    values, vectors = eigsh(root @ graph @ root, k=dimension + 1, which='LA', v0=start)
    order = np.argsort(values)[::-1][1:]
    # Rounding may lift an eigenvalue of a nearly split graph to 1, where 1/lambda is infinite.
    return np.minimum(values[order], 1.0 - 1e-9), fix_signs(vectors[:, order])


def _disconnected(components: int, neighbours: int) -> str:
    return (
        f'the neighbour graph fell into {components} pieces, joined by their nearest points; '
        f'more than {neighbours} neighbours would connect it'
    )
