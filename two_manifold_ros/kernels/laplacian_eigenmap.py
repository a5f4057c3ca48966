# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The normalised Laplacian eigenmap as a kernel, with its Nystrom extension (sections 2.3, 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import diags
from scipy.sparse.linalg import eigsh

from two_manifold_ros.errors import InputError
from two_manifold_ros.kernels.bandwidth import median_distance
from two_manifold_ros.kernels.extension import Extension
from two_manifold_ros.kernels.graph import affinity_graph, connect
from two_manifold_ros.kernels.learner import Embedding
from two_manifold_ros.kernels.signs import fix_signs
from two_manifold_ros.kernels.start_vector import start_vector
from two_manifold_ros.windows.neighbours import nearest_neighbours

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from two_manifold_ros.typing import Floats
    from two_manifold_ros.windows.window_set import WindowSet

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

    def fit(self, windows: WindowSet) -> Embedding:
        """
        Embed the windows through their neighbour graph; no n x n dense matrix is formed.

        Raises
        ------
        InputError
            If there are too few windows for the dimension or the neighbours.

        """
        if len(windows) <= max(self.dimension + 1, self.neighbours):
            msg = (
                f'{len(windows)} windows are too few for {self.dimension} dimensions and '
                f'{self.neighbours} neighbours; record longer or shorten the window'
            )
            raise InputError(msg)
        bandwidth = median_distance(windows)
        graph = affinity_graph(*nearest_neighbours(windows, self.neighbours), bandwidth)
        graph, components = connect(graph, windows, bandwidth)
        notes = () if components == 1 else (_disconnected(components, self.neighbours),)
        degrees = np.asarray(graph.sum(axis=1)).ravel()
        eigenvalues, vectors = _leading(graph, degrees, self.dimension)
        scale = np.sqrt(len(windows) / (1.0 - eigenvalues))
        coordinates = vectors * scale
        mean = coordinates.mean(axis=0)
        extended = eigenvalues > SMALLEST_MODE
        gain = np.where(extended, scale / np.where(extended, eigenvalues, 1.0), 0.0)
        extension = Extension(
            bandwidth,
            self.neighbours,
            np.arange(len(windows), dtype=np.int64),
            vectors / np.sqrt(degrees)[:, None] * gain,
            -mean,
        )
        return Embedding(coordinates - mean, extension, bandwidth, notes)


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
        f'the neighbour graph fell into {components} pieces, joined by their nearest windows; '
        f'more than {neighbours} neighbours would connect it'
    )
