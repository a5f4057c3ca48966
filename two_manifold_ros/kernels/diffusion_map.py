# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Diffusion maps with a choice of what the density of the points does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import diags, identity

from two_manifold_ros.errors import InputError
from two_manifold_ros.kernels.bandwidth import median_distance
from two_manifold_ros.kernels.bridges import disconnected
from two_manifold_ros.kernels.extension import Extension
from two_manifold_ros.kernels.graph import affinity_graph, connect
from two_manifold_ros.kernels.learner import Embedding
from two_manifold_ros.kernels.samples import require_enough
from two_manifold_ros.kernels.transition import Transition
from two_manifold_ros.kernels.walk_modes import walk_modes

if TYPE_CHECKING:
    from two_manifold_ros.kernels.samples import Samples
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True)
class DiffusionMap:
    r"""
    Eigenfunctions of a random walk over the points, times their eigenvalues.

    With affinities :math:`W_{ij} = \exp(-d_{ij}^2 / 2\sigma^2)` between neighbours and with
    oneself, :math:`q_i = \sum_j W_{ij}`, and P the rows of
    :math:`q_i^{-\alpha} W_{ij} q_j^{-\alpha}` divided by their sums,

    .. math:: P \psi_r = \mu_r \psi_r, \qquad E = [\mu_1 \psi_1, \dots, \mu_m \psi_m],

    the largest :math:`\mu` first, which are the eigenvalues of the embedding, without the
    constant mode; :math:`\psi` has mean square 1 in the stationary distribution of P. A new
    point gets the mean of :math:`\psi` over one step from it, which is :math:`\mu\psi` at a
    training point, unless it ends an edge that joins pieces of the graph.

    :math:`\sigma^2` is half the median squared distance of a point to the last of its
    neighbours: the limits below hold where few affinities are cut off, and where the points
    are dense, more are.

    Parameters
    ----------
    dimension
        Coordinates kept, m.
    neighbours
        :math:`\kappa`; either point may be the neighbour of the other.
    density
        :math:`\alpha`. As points become many, P becomes the heat flow along the manifold,
        whatever their density p, with 1 (Laplace-Beltrami); the diffusion in the potential
        -log p with 1/2 (backward Fokker-Planck), and in -2 log p with 0 (the normalised graph
        Laplacian).

    Raises
    ------
    InputError
        If the density is not between 0 and 1.

    References
    ----------
    R. R. Coifman, S. Lafon: Diffusion maps. Applied and Computational Harmonic Analysis 21, 2006.

    """

    dimension: int
    neighbours: int
    density: float = 0.0

    def __post_init__(self) -> None:
        """Check the density."""
        if not 0.0 <= self.density <= 1.0:
            msg = f'density is {self.density}, but must be between 0 and 1'
            raise InputError(msg)

    def fit(self, samples: Samples) -> Embedding:
        """
        Embed the points through their neighbour graph; no n x n dense matrix is formed.

        Raises
        ------
        InputError
            If there are too few points, or most are identical.

        """
        require_enough(samples, self.dimension, self.neighbours)
        # Only refuses a set without any scale: the bandwidth is that of the neighbours.
        median_distance(samples)
        indices, squared = samples.neighbours(self.neighbours)
        radii = squared[:, -1].copy()
        bandwidth = _local_bandwidth(radii)
        graph = affinity_graph(indices, squared, bandwidth)
        graph, components = connect(graph, samples, bandwidth)
        notes = () if components == 1 else (disconnected(components, self.neighbours),)
        graph = graph + identity(len(samples))
        factors = np.asarray(graph.sum(axis=1)).ravel() ** -self.density
        eigenvalues, functions = walk_modes(
            diags(factors) @ graph @ diags(factors), self.dimension
        )
        mean = (functions * eigenvalues).mean(axis=0)
        response = Transition(bandwidth, self.neighbours, radii, factors)
        return Embedding(
            functions * eigenvalues - mean,
            Extension(response, functions, -mean),
            eigenvalues,
            bandwidth,
            notes,
        )


def _local_bandwidth(radii: Floats) -> float:
    bandwidth = float(np.sqrt(0.5 * np.median(radii)))
    if not bandwidth > 0.0:
        msg = (
            'most points have as many identical copies as there are neighbours; leave out the '
            'copies or ask for more neighbours'
        )
        raise InputError(msg)
    return bandwidth
