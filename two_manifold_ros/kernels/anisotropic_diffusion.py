# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The diffusion of Singer & Coifman in the variables behind the points, not in the points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.kernels.anisotropic_graph import anisotropic_graph
from two_manifold_ros.kernels.anisotropic_transition import AnisotropicTransition
from two_manifold_ros.kernels.bandwidth import require_scale
from two_manifold_ros.kernels.bridges import notes_on_pieces
from two_manifold_ros.kernels.graph import connect
from two_manifold_ros.kernels.walk_embedding import check_density, embed_walk, local_bandwidth

if TYPE_CHECKING:
    from two_manifold_ros.kernels.learner import Embedding
    from two_manifold_ros.kernels.local_metric import MetricSource
    from two_manifold_ros.kernels.samples import Samples


@dataclass(frozen=True)
class AnisotropicDiffusion:
    r"""
    Eigenfunctions of a random walk over the points, in distances of the variables behind them.

    With the covariance :math:`\Gamma_i = J_i J_i^\top` of the motion at each point, where J is
    the Jacobian of the unknown map from the variables to the points, and pseudo-inverses,

    .. math:: d_{ij}^2 = \tfrac12 (y_i - y_j)^\top (\Gamma_i^\dagger + \Gamma_j^\dagger)
              (y_i - y_j), \qquad W_{ij} = \exp(-d_{ij}^2 / 2\varepsilon), \quad (20)

    between neighbours and with oneself. From W on it is a ``DiffusionMap``: the same density
    normalisation, the same walk P, :math:`E = [\mu_1 \psi_1, \dots, \mu_m \psi_m]`, and as
    eigenvalues :math:`\mu`. In the limit :math:`-2 \log(\mu) / \varepsilon` are those of
    :math:`\nabla U \cdot \nabla - \Delta` in the variables, with U as in (30) where
    the density is 0: of evenly spread points those of the Laplacian, which is twice Ito's
    generator of :math:`dx = dw`.

    A new point has no covariance; it takes that of the nearest training point and is compared
    with the neighbours of that one, which gives a training point its own row. At the ends of edges
    that join pieces of the graph it is off by up to a tenth of the spread or two; all copies get
    the row of one, from which theirs, with covariances of their own, are off by some hundredths.

    Parameters
    ----------
    dimension
        Coordinates kept, m.
    neighbours
        :math:`\kappa`; either point may be the neighbour of the other.
    metric
        Where the covariances come from, and the rank of the pseudo-inverses.
    density
        :math:`\alpha`, see ``DiffusionMap``. 0 is the paper's; with 1/2 the limit is the
        generator of the process itself, twice, where the points are its stationary distribution,
        and errors at the edge of the points are an order smaller.
    power
        Of the mean of the two squared distances of a pair, from 0 to 1. Every mean of them is
        right to second order: the paper's, 1, is too long where the map bends, the geometric,
        0, hardly.
    epsilon
        :math:`\varepsilon`; by default half the median squared distance of a point to the last
        of its neighbours.

    Raises
    ------
    InputError
        If one of the numbers is out of its range.

    References
    ----------
    A. Singer, R. R. Coifman: Non-linear independent component analysis with diffusion maps.
    Applied and Computational Harmonic Analysis 25, 2008.

    """

    dimension: int
    neighbours: int
    metric: MetricSource
    density: float = 0.0
    power: float = 1.0
    epsilon: float | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_density(self.density)
        if not 0.0 <= self.power <= 1.0:
            msg = f'power is {self.power}, but must be between 0 and 1'
            raise InputError(msg)
        if self.epsilon is not None and not self.epsilon > 0.0:
            msg = f'epsilon is {self.epsilon}, but must be positive'
            raise InputError(msg)

    def fit(self, samples: Samples) -> Embedding:
        """
        Embed the points through their neighbour graph; no n x n dense matrix is formed.

        Raises
        ------
        InputError
            If there are too few points, most are identical, or the metric does not fit them.

        """
        typical = require_scale(samples, self.dimension, self.neighbours)
        metric = self.metric.measure(samples)
        steps = anisotropic_graph(samples, metric, self.neighbours, self.power)
        bandwidth = float(np.sqrt(self.epsilon)) if self.epsilon else local_bandwidth(steps.radii)
        weights = np.exp(steps.squared / (-2.0 * bandwidth**2))
        graph, components = connect(steps.matrix(weights), samples, typical)
        respond = partial(
            AnisotropicTransition,
            bandwidth,
            self.power,
            **vars(metric),
            begins=steps.begins,
            targets=steps.targets,
            places=steps.places,
            reach=typical,
        )
        return embed_walk(
            graph,
            self.dimension,
            self.density,
            lambda factors: respond(factors=factors),
            bandwidth,
            notes_on_pieces(components, self.neighbours),
        )
