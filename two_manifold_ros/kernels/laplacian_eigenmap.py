# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laplacian eigenmaps as kernels, and their extension to new points (sections 2.3, 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import diags

from two_manifold_ros.errors import InputError
from two_manifold_ros.kernels.bandwidth import require_scale
from two_manifold_ros.kernels.bridges import notes_on_pieces
from two_manifold_ros.kernels.extension import Extension
from two_manifold_ros.kernels.graph import affinity_graph, connect
from two_manifold_ros.kernels.learner import Embedding
from two_manifold_ros.kernels.near_modes import NearModes
from two_manifold_ros.kernels.smallest_modes import smallest_modes
from two_manifold_ros.kernels.walk_modes import walk_modes

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from two_manifold_ros.kernels.samples import Samples
    from two_manifold_ros.typing import Floats

WEIGHTS = ('heat', 'binary')
SMALLEST_EIGENVALUE = 1e-9
"""Rounding may make one of a nearly split graph 0, where its inverse is infinite."""


@dataclass(frozen=True)
class LaplacianEigenmap:
    r"""
    Features of the pseudo-inverse of a graph Laplacian, eq. (2.3).

    With the symmetric affinities W of a neighbour graph and their row sums D,

    .. math:: \mathcal L = I - D^{-1/2} W D^{-1/2} \quad\text{or}\quad \mathcal L = D - W, \qquad
              \mathcal L = \sum_r \lambda_r v_r v_r^\top, \quad
              E = \sqrt n\,[v_1/\sqrt{\lambda_1}, \dots, v_m/\sqrt{\lambda_m}],

    without the mode of :math:`\lambda_0 = 0`, and then centred. The eigenvalues of the embedding
    are those of :math:`\mathcal L`, smallest first. A training point gets its own row out of
    sample but for the roughest of many modes of few points, see `NearModes`.

    Parameters
    ----------
    dimension
        Coordinates kept, m.
    neighbours
        :math:`\kappa`; either point may be the neighbour of the other.
    normalised
        Whether the Laplacian is the normalised one, the first.
    weights
        Affinities, one of ``WEIGHTS``: :math:`\exp(-d^2/2\sigma^2)` with the median distance
        :math:`\sigma`, or 1.
    scaled
        Whether modes are divided by :math:`\sqrt{\lambda}`; all count alike without.

    Raises
    ------
    InputError
        If there are no weights of that name.

    References
    ----------
    M. Belkin, P. Niyogi: Laplacian eigenmaps for dimensionality reduction and data
    representation. Neural Computation 15, 2003.

    """

    dimension: int
    neighbours: int
    normalised: bool = True
    weights: str = 'heat'
    scaled: bool = True

    def __post_init__(self) -> None:
        """Check the name of the weights."""
        if self.weights not in WEIGHTS:
            msg = (
                f'there are no weights named {self.weights!r}; choose one of {", ".join(WEIGHTS)}'
            )
            raise InputError(msg)

    def fit(self, samples: Samples) -> Embedding:
        """
        Embed the points through their neighbour graph; no n x n dense matrix is formed.

        Raises
        ------
        InputError
            If there are too few points for the dimension or the neighbours, or most are
            identical.

        """
        distance = require_scale(samples, self.dimension, self.neighbours)
        bandwidth = distance if self.weights == 'heat' else 0.0
        indices, squared = samples.neighbours(self.neighbours)
        near = affinity_graph(indices, squared, bandwidth)
        graph, components = connect(near, samples, bandwidth)
        degrees = np.asarray(graph.sum(axis=1)).ravel()
        solve = _normalised_modes if self.normalised else _plain_modes
        eigenvalues, vectors = solve(graph, degrees, self.dimension)
        scale = np.sqrt(len(samples) / (eigenvalues if self.scaled else np.ones(self.dimension)))
        coordinates = vectors * scale
        mean = coordinates.mean(axis=0)
        bridges = (graph - near).tocoo()
        response = NearModes(
            bandwidth,
            self.neighbours,
            int(self.normalised),
            squared[:, -1].copy(),
            eigenvalues,
            vectors / np.sqrt(degrees)[:, None] if self.normalised else vectors,
            np.column_stack([bridges.row, bridges.col]).astype(np.int64),
            bridges.data,
        )
        return Embedding(
            coordinates - mean,
            Extension(response, np.diag(scale), -mean),
            eigenvalues,
            bandwidth,
            notes_on_pieces(components, self.neighbours),
        )


def _normalised_modes(graph: csr_matrix, degrees: Floats, dimension: int) -> tuple[Floats, Floats]:
    """Return lambda_1.. and v_1.. from the random walk D^-1 W, whose modes are D^-1/2 v."""
    values, functions = walk_modes(graph, dimension)
    vectors = functions * np.sqrt(degrees / degrees.sum())[:, None]
    return np.maximum(1.0 - values, SMALLEST_EIGENVALUE), vectors


def _plain_modes(graph: csr_matrix, degrees: Floats, dimension: int) -> tuple[Floats, Floats]:
    constant = np.full(len(degrees), 1.0 / np.sqrt(len(degrees)))
    values, vectors = smallest_modes((diags(degrees) - graph).tocsc(), constant, dimension)
    return np.maximum(values, SMALLEST_EIGENVALUE * degrees.mean()), vectors
