# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Diffusion maps, with a choice of what density does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.affinity import (
    affinity,
    check_neighbourhood,
    check_positive,
    near_points,
    require,
    require_scale,
    shares_of,
)
from two_manifold_ros.manifold.graph import affinity_graph, connect, walk_modes
from two_manifold_ros.manifold.learner import Embedding, Extension

if TYPE_CHECKING:
    from collections.abc import Callable

    from scipy.sparse import csr_matrix

    from two_manifold_ros.manifold.learner import Response, Samples
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True)
class Transition:
    r"""
    Probabilities :math:`a_i \propto \exp(-d_i^2 / 2\sigma^2)\, q_i^{-\alpha}` of a step.

    Steps go to the ``near_points``: from a training point, to the same points as in training.
    """

    bandwidth: float  # sigma
    neighbours: int
    radii: Floats  # (n,), see `near_points`
    factors: Floats  # (n,), q^-alpha, see `DiffusionMap`

    def weights(self, squared: Floats) -> Floats | None:
        """Return (n,) weights that sum to one; ``None`` if all are out of reach."""
        close = near_points(squared, self.neighbours, self.radii)
        near = affinity(squared[close], self.bandwidth)
        return shares_of(near, self.factors[close], close, len(squared))

    def check(self, count: int) -> int:
        """Return ``count``; refuse what does not fit as many training points."""
        check_positive(self, 'bandwidth')
        check_neighbourhood(self.neighbours, self.radii, count)
        fits = self.factors.shape == (count,) and self.factors.min() > 0.0
        require(fits, f'factors are not {count} positive numbers')
        return count


@dataclass(frozen=True)
class DiffusionMap:
    r"""
    Eigenfunctions of a random walk over the points, times their eigenvalues.

    These are diffusion maps (Coifman & Lafon 2006). With affinities
    :math:`W_{ij} = \exp(-d_{ij}^2 / 2\sigma^2)` between neighbours and with oneself,
    :math:`q_i = \sum_j W_{ij}`, and P the rows of :math:`q_i^{-\alpha} W_{ij} q_j^{-\alpha}`
    divided by their sums,

    .. math:: P \psi_r = \mu_r \psi_r, \qquad E = [\mu_1 \psi_1, \dots, \mu_m \psi_m],

    the largest :math:`\mu` first, which are the eigenvalues of the embedding, without the
    constant mode; :math:`\psi` has mean square 1 in the stationary distribution of P. A new
    point gets the mean of :math:`\psi` over one step from it, which is :math:`\mu\psi` at a
    training point. It differs, by less than a thousandth of the spread, at the ends of edges that
    join pieces of the graph, and by as much or, among few points, a tenth and more, where of
    copies only some were neighbours of a point.

    :math:`\sigma^2` is half the median squared distance of a point to the last of its
    neighbours: the limits below hold where few affinities are cut off, and where the points
    are dense, more are.
    """

    # Coordinates kept, m, and kappa; either point may be the neighbour of the other.
    dimension: int
    neighbours: int
    # Alpha, from 0 to 1. As points become many, P becomes the heat flow along the manifold,
    # whatever their density p, with 1 (Laplace-Beltrami); the diffusion in the potential -log p
    # with 1/2 (backward Fokker-Planck), and in -2 log p with 0 (the normalised graph Laplacian).
    density: float = 0.0

    def __post_init__(self) -> None:
        """Check the density."""
        check_density(self.density)

    def fit(self, samples: Samples) -> Embedding:
        """Embed the points through their neighbour graph; no n x n dense matrix is formed."""
        from scipy.sparse import identity

        require_scale(samples, self.dimension, self.neighbours)
        indices, squared = samples.neighbours(self.neighbours)
        radii = squared[:, -1].copy()
        bandwidth = local_bandwidth(radii)
        graph = affinity_graph(indices, squared, bandwidth)
        graph, notes = connect(graph, samples, bandwidth, self.neighbours)
        return embed_walk(
            graph + identity(len(samples)),
            self.dimension,
            self.density,
            partial(Transition, bandwidth, self.neighbours, radii),
            bandwidth,
            notes,
        )


def embed_walk(
    graph: csr_matrix,
    dimension: int,
    density: float,
    respond: Callable[..., Response],
    bandwidth: float,
    notes: tuple[str, ...],
) -> Embedding:
    r"""
    Embed by the eigenfunctions of a random walk, times their eigenvalues.

    ``graph`` (n, n) holds symmetric affinities W, connected, of each point with itself too;
    ``respond`` makes the response of a new point of the (n,) ``factors`` :math:`q^{-\alpha}`.
    """
    from scipy.sparse import diags

    factors = np.asarray(graph.sum(axis=1)).ravel() ** -density
    scaling = diags(factors)
    eigenvalues, functions = walk_modes(scaling @ graph @ scaling, dimension)
    mean = (functions * eigenvalues).mean(axis=0)
    return Embedding(
        functions * eigenvalues - mean,
        Extension(respond(factors=factors), functions, -mean),
        eigenvalues,
        bandwidth,
        notes,
    )


def local_bandwidth(radii: Floats) -> float:
    """Return the root of half the median of (n,) squared distances to the last neighbours."""
    bandwidth = float(np.sqrt(0.5 * np.median(radii)))
    if not bandwidth > 0.0:
        msg = (
            'most points have as many identical copies as there are neighbours; leave out the '
            'copies or ask for more neighbours'
        )
        raise InputError(msg)
    return bandwidth


def check_density(density: float) -> None:
    """Refuse an exponent of the density that is not between 0 and 1."""
    if not 0.0 <= density <= 1.0:
        msg = f'density is {density}, but must be between 0 and 1'
        raise InputError(msg)
