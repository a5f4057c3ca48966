# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Diffusion in the variables behind the points (Singer & Coifman 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix, identity

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.affinity import (
    affinity,
    check_bandwidth,
    check_indices,
    check_shapes,
    require,
    require_scale,
    SMALLEST_DEGREE,
)
from two_manifold_ros.manifold.diffusion_map import check_density, embed_walk, local_bandwidth
from two_manifold_ros.manifold.graph import connect, notes_on_pieces
from two_manifold_ros.manifold.local_metric import LocalMetric

if TYPE_CHECKING:
    from two_manifold_ros.manifold.learner import Embedding, Samples
    from two_manifold_ros.manifold.local_metric import MetricSource
    from two_manifold_ros.typing import Floats, Ints


def power_mean(first: Floats, second: Floats, power: float) -> Floats:
    """Return the power mean of two arrays, the geometric one for power 0; none below."""
    if power == 0.0:
        geometric: Floats = np.sqrt(first * second)
        return geometric
    mean: Floats = (0.5 * (first**power + second**power)) ** (1.0 / power)
    return mean


@dataclass(frozen=True)
class AnisotropicTransition:
    r"""
    Probabilities :math:`a_j \propto \exp(-d_j^2 / 2\sigma^2)\, q_j^{-\alpha}` of a step.

    A new point has no covariance of its own: it takes that of the nearest training point, in
    the ordinary distance, and may step where that one may.

    Parameters
    ----------
    bandwidth, power
        :math:`\sigma`, and the power of the mean of the two squared distances.
    members, coefficients, offsets
        Fields of the `LocalMetric`.
    begins : (n + 1,) int64, targets : (e,) int64, places : (e, r)
        See ``Steps``: where each training point may step to, itself among them.
    factors : (n,)
        :math:`q^{-\alpha}`.
    reach
        Typical distance of two training points, in the ordinary distance. Metrics do not see
        how far off a point lies across all their directions; at several times as much it
        resembles nothing.

    """

    bandwidth: float
    power: float
    members: Ints
    coefficients: Floats
    offsets: Floats
    begins: Ints
    targets: Ints
    places: Floats
    factors: Floats
    reach: float

    def weights(self, squared: Floats) -> Floats | None:
        """Return (n,) weights that sum to one; ``None`` if all are out of reach."""
        metric = LocalMetric(self.members, self.coefficients, self.offsets)
        nearest = int(squared.argmin())
        if not affinity(squared[nearest], self.reach) > SMALLEST_DEGREE:
            return None
        steps = slice(self.begins[nearest], self.begins[nearest + 1])
        targets = self.targets[steps]
        away = self.places[steps] - metric.frame(nearest, squared)
        back = metric.frames(targets, squared)
        distances = power_mean(
            np.square(away).sum(axis=1), np.square(back).sum(axis=1), self.power
        )
        near = affinity(distances, self.bandwidth)
        if not near.sum() > SMALLEST_DEGREE:
            return None
        near *= self.factors[targets]
        weights = np.zeros(len(squared))
        weights[targets] = near / near.sum()
        return weights

    def check(self, count: int) -> int:
        """Return ``count``; refuse what does not fit as many training points."""
        check_bandwidth(self.bandwidth)
        check_bandwidth(self.reach)
        require(0.0 <= self.power <= 1.0, f'power is {self.power!r}, not between 0 and 1')
        check_indices('targets', self.targets, count)
        check_indices('members', self.members.ravel(), count)
        width, rank = self.members.shape[-1], self.coefficients.shape[-1]
        check_shapes(self, members=(count, width), coefficients=(count, width, rank))
        check_shapes(self, offsets=(count, rank), begins=(count + 1,), factors=(count,))
        check_shapes(self, places=(len(self.targets), rank))
        whole = self.begins[0] == 0 and self.begins[-1] == len(self.targets)
        divided = whole and np.diff(self.begins).min() >= 1
        require(bool(divided), 'begins do not divide the targets among the training points')
        return count


@dataclass(frozen=True)
class Steps:
    """
    Pairs of near points, each pair both ways, and each point with itself.

    Parameters
    ----------
    begins : (n + 1,) int64, targets : (e,) int64
        Where the pairs of each point begin, and the other points, increasing for each point.
    places : (e, r), squared : (e,)
        Coordinates of the other point in the frame of the point, and squared distances, the mean
        of those that the two see.
    radii : (n,)
        Squared distance of each point to the last of its neighbours.

    """

    begins: Ints
    targets: Ints
    places: Floats
    squared: Floats
    radii: Floats

    def matrix(self, values: Floats) -> csr_matrix:
        """Return the (n, n) matrix with these values, one a pair."""
        count = len(self.begins) - 1
        return csr_matrix((values, self.targets, self.begins), shape=(count, count))


def anisotropic_graph(
    samples: Samples, metric: LocalMetric, neighbours: int, power: float
) -> Steps:
    """
    Join the points of which either is among the nearest ``neighbours`` of the other.

    Nearest are those under the metric among the nearest in the ordinary distance: far away, a
    difference across the directions of a metric has no length.
    """
    begins, targets = _candidates(samples, neighbours)
    places = _places(samples, metric, begins, targets)
    away = np.square(places).sum(axis=1)
    count = len(samples)
    # Of a symmetric pattern the transpose has the same, so the values stand side by side.
    back = csr_matrix((away, targets, begins), shape=(count, count)).T.tocsr().data
    squared = power_mean(away, back, power)
    rows = np.repeat(np.arange(count), np.diff(begins))
    # One more than the neighbours, since a point is among its own candidates.
    radii = np.array(
        [np.partition(each, neighbours)[neighbours] for each in np.split(squared, begins[1:-1])]
    )
    kept = squared <= np.maximum(radii[rows], radii[targets])
    begins = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=count))])
    return Steps(begins.astype(np.int64), targets[kept], places[kept], squared[kept], radii)


def _places(samples: Samples, metric: LocalMetric, begins: Ints, targets: Ints) -> Floats:
    """Return (e, r) coordinates of each point's targets in the frame of the point."""
    result = np.empty((len(targets), metric.coefficients.shape[2]))
    for begin in range(0, len(samples), 128):
        block = np.arange(begin, min(begin + 128, len(samples)))
        members, local = np.unique(metric.members[block], return_inverse=True)
        distances = samples.distances_to(members)
        for index, columns in zip(block, local.reshape(len(block), -1), strict=True):
            pairs = slice(begins[index], begins[index + 1])
            near = distances[targets[pairs][:, None], columns]
            result[pairs] = metric.offsets[index] - 0.5 * near @ metric.coefficients[index]
    return result


def _candidates(samples: Samples, neighbours: int) -> tuple[Ints, Ints]:
    """Return ``begins`` and ``targets`` of pairs that may be near under a metric."""
    count = len(samples)
    # A metric's nearest are among eight times as many nearest in the ordinary distance.
    wanted = 8 * neighbours
    if wanted >= count - 1:
        every = np.arange(count)
        return np.arange(count + 1) * count, np.tile(every, count)
    indices, _ = samples.neighbours(wanted)
    begins = np.arange(count + 1) * wanted
    ones = np.ones(indices.size)
    graph = csr_matrix((ones, indices.ravel(), begins), shape=(count, count))
    graph = (graph + graph.T + identity(count)).tocsr()
    graph.sort_indices()
    return graph.indptr.astype(np.int64), graph.indices.astype(np.int64)


@dataclass(frozen=True)
class AnisotropicDiffusion:
    r"""
    Eigenfunctions of a random walk over the points, in distances of the variables behind them.

    With the covariance :math:`\Gamma_i = J_i J_i^\top` of the motion at each point, where J is
    the Jacobian of the unknown map from the variables to the points, and pseudo-inverses,

    .. math:: d_{ij}^2 = \tfrac12 (y_i - y_j)^\top (\Gamma_i^\dagger + \Gamma_j^\dagger)
              (y_i - y_j), \qquad W_{ij} = \exp(-d_{ij}^2 / 2\varepsilon),

    between neighbours and with oneself (Singer & Coifman 2008, eq. 20). From W on it is a
    ``DiffusionMap``: the same density normalisation, the same walk P,
    :math:`E = [\mu_1 \psi_1, \dots, \mu_m \psi_m]`, and as eigenvalues :math:`\mu`. In the limit
    :math:`-2 \log(\mu) / \varepsilon` are those of :math:`\nabla U \cdot \nabla - \Delta` in the
    variables, with U as in Singer & Coifman 2008, eq. 30 where
    the density is 0: of evenly spread points those of the Laplacian, which is twice Ito's
    generator of :math:`dx = dw`.

    A new point has no covariance; it takes that of the nearest training point and is compared
    with the neighbours of that one, which gives a training point its own row. At the ends of edges
    that join pieces of the graph it is off by up to a tenth of the spread or two; all copies get
    the row of one, from which theirs, with covariances of their own, are off by some hundredths.

    Parameters
    ----------
    dimension, neighbours
        As in ``DiffusionMap``.
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
        """Embed the points, which the metric must fit; no n x n dense matrix is formed."""
        typical = require_scale(samples, self.dimension, self.neighbours)
        metric = self.metric.measure(samples)
        steps = anisotropic_graph(samples, metric, self.neighbours, self.power)
        bandwidth = float(np.sqrt(self.epsilon)) if self.epsilon else local_bandwidth(steps.radii)
        weights = np.exp(steps.squared / (-2.0 * bandwidth**2))
        graph, components = connect(steps.matrix(weights), samples, typical)

        def respond(factors: Floats) -> AnisotropicTransition:
            near = (steps.begins, steps.targets, steps.places)
            frames = (metric.members, metric.coefficients, metric.offsets)
            return AnisotropicTransition(
                bandwidth, self.power, *frames, *near, factors, reach=typical
            )

        notes = notes_on_pieces(components, self.neighbours)
        return embed_walk(graph, self.dimension, self.density, respond, bandwidth, notes)
