# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Diffusion maps, and diffusion in the variables behind the points by local metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError, refuse
from two_manifold_ros.manifold.learner import (
    affinity,
    affinity_graph,
    connect,
    Embedding,
    Extension,
    Limits,
    near_points,
    NEIGHBOURHOOD,
    require_scale,
    Response,
    Samples,
    shares_of,
    walk_modes,
)
from two_manifold_ros.rules import BOUNDS, check_fields, Rules
from two_manifold_ros.typing import Floats, Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class Transition:
    r"""Probabilities :math:`a_i \propto \exp(-d_i^2 / 2\sigma^2)\, q_i^{-\alpha}` of a step."""

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
        rules: Rules = {'bandwidth': ('', BOUNDS.least), 'factors': ('n', BOUNDS.least)}
        check_fields(self, NEIGHBOURHOOD | rules, {'n': count})
        return count


@dataclass(frozen=True)
class DiffusionMap:
    r"""
    Eigenfunctions of a random walk over the points, times their eigenvalues.

    Coifman & Lafon 2006. With affinities :math:`W_{ij} = \exp(-d_{ij}^2 / 2\sigma^2)` between
    neighbours and with oneself, :math:`q_i = \sum_j W_{ij}`, and P the rows of
    :math:`q_i^{-\alpha} W_{ij} q_j^{-\alpha}` divided by their sums, :math:`P \psi_r = \mu_r
    \psi_r` and :math:`E = [\mu_1 \psi_1, \dots, \mu_m \psi_m]`. A new point gets its row by a
    step; a training point its own, but at the ends of edges that join pieces of the graph and near
    copies. :math:`\sigma^2` is half the median squared distance of a point to the last of its
    neighbours.
    """

    dimension: int  # coordinates kept, m
    neighbours: int  # kappa; either point may be the neighbour of the other
    # Alpha, from 0 to 1. As points become many, P becomes the heat flow along the manifold,
    # whatever their density p, with 1 (Laplace-Beltrami); the diffusion in the potential -log p
    # with 1/2 (backward Fokker-Planck), and in -2 log p with 0 (the normalised graph Laplacian).
    density: float = 0.0

    def __post_init__(self) -> None:
        """Check the density."""
        check_share('density', self.density)

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
    """Embed by a walk over affinities (n, n), with the response of ``factors`` (n,)."""
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
        raise InputError(
            'most points have as many identical copies as there are neighbours; leave out the '
            'copies or ask for more neighbours'
        )
    return bandwidth


def check_share(name: str, value: float) -> None:
    """Refuse a number that is not between 0 and 1."""
    if not 0.0 <= value <= 1.0:
        raise InputError(f'{name} is {value}, but must be between 0 and 1')


@dataclass(frozen=True)
class LocalMetric:
    r"""
    Scaled directions :math:`\mu^{-1/2} v` of the pseudo-inverse of a covariance at each point.

    They are combinations of training points, so that the coordinates of any point y in the frame
    of point i follow from its squared distances s to the training points alone:

    .. math:: p_{im}(y) = \mu_{im}^{-1/2} v_{im}^\top (y - y_i)
              = o_{im} - \tfrac12 \sum_k c_{ikm}\, s_{ik}(y)
    """

    members: Ints  # (n, c) int64, training points that the directions at each point are made of
    coefficients: Floats  # (n, c, r), c; a zero where a direction or a member is missing
    offsets: Floats  # (n, r), o, by which a point is at the origin of its own frame

    def frame(self, index: int, squared: Floats) -> Floats:
        """Return (..., r) coordinates in the frame of a point, of (n, ...) squared distances."""
        mixed = squared[self.members[index]].T @ self.coefficients[index]
        seen: Floats = self.offsets[index] - 0.5 * mixed
        return seen

    def frames(self, indices: Ints, squared: Floats) -> Floats:
        """Return (len(indices), r) coordinates of one point in the frames of some others."""
        near = squared[self.members[indices]]
        mixed = np.einsum('ik,ikm->im', near, self.coefficients[indices])
        seen: Floats = self.offsets[indices] - 0.5 * mixed
        return seen


@dataclass(frozen=True)
class GivenCovariances:
    """Known (n, D, D) covariances at every point; ``rank`` is the dimension of the manifold."""

    covariances: Floats
    rank: int

    def measure(self, samples: Samples) -> LocalMetric:
        """Return the metric; a point without any variance has that of the nearest with some."""
        from scipy.linalg import qr

        rows = samples.rows(np.arange(len(samples)))
        count, width = rows.shape
        if self.covariances.shape != (count, width, width):
            shape = self.covariances.shape
            msg = f'covariances are {shape} instead of {(count, width, width)}; give one a point'
            raise InputError(msg)
        variances, directions = np.linalg.eigh(self.covariances)
        variances, directions = variances[:, ::-1], directions[:, :, ::-1]
        scaled = directions[:, :, : self.rank] * _gains(variances, self.rank)[:, None]
        # The fewest points that span all, and how they make up any direction.
        first = int(np.square(rows - rows.mean(axis=0)).sum(axis=1).argmin())
        _, upper, order = qr((rows - rows[first]).T, mode='economic', pivoting=True)
        sizes = np.abs(np.diag(upper))
        others = order[: len(sizes)][sizes > 1e-10 * sizes[0]]
        others_combine = np.linalg.pinv(rows[others] - rows[first]).T
        combine = np.vstack([-others_combine.sum(axis=0), others_combine])
        anchors = np.append(first, others).astype(np.int64)
        coefficients = np.einsum('kd,ndm->nkm', combine, scaled)
        return _completed(samples, np.tile(anchors, (count, 1)), coefficients)


@dataclass(frozen=True)
class NeighboursInTime:
    """Covariances of ``reach`` points, or windows that overlap, before and after each."""

    reach: int
    rank: int

    def measure(self, samples: Samples) -> LocalMetric:
        """Return the metric; a point at rest has that of the nearest one that moves."""
        from two_manifold_ros.ticks.windows import WindowSet

        count = len(samples)
        first, last = np.zeros(count, dtype=np.int64), np.full(count, count - 1)
        if isinstance(samples, WindowSet):
            # No window crosses a seam, so two that overlap lie on the same side of it.
            apart = max(samples.width, 2)
            first = np.searchsorted(samples.starts, samples.starts - apart, side='right')
            last = np.searchsorted(samples.starts, samples.starts + apart, side='left') - 1
        near = np.arange(count)[:, None] + np.arange(-self.reach, self.reach + 1)
        members = np.clip(near, first[:, None], last[:, None]).astype(np.int64)
        coefficients = np.zeros((*members.shape, self.rank))
        for begin in range(0, count, 128):
            block = slice(begin, begin + 128)
            rows = samples.rows(members[block].ravel()).reshape(*members[block].shape, -1)
            counted = near[block] == members[block]
            counts = counted.sum(axis=1)
            sums = (rows * counted[:, :, None]).sum(axis=1)
            centred = (rows - (sums / counts[:, None])[:, None]) * counted[:, :, None]
            # The left singular vectors need only the small Gram matrices, however wide rows are.
            variances, mixes = np.linalg.eigh(centred @ centred.transpose(0, 2, 1))
            gains = _gains(variances[:, ::-1], self.rank)
            scale = np.square(gains) * np.sqrt(counts)[:, None]
            mixed = mixes[:, :, ::-1][:, :, : self.rank] * scale[:, None]
            coefficients[block, :, : gains.shape[1]] = mixed
        return _completed(samples, members, coefficients)


def _gains(variances: Floats, rank: int) -> Floats:
    """Return (n, r) inverse roots of (n, c) variances, largest first; 0 where there is none."""
    kept = variances[:, :rank]
    # Directions with a billionth of the largest variance are none.
    counted = kept > 1e-9 * np.maximum(variances[:, :1], 0.0)
    return np.where(counted, 1.0 / np.sqrt(np.where(counted, kept, 1.0)), 0.0)


def _completed(samples: Samples, members: Ints, coefficients: Floats) -> LocalMetric:
    """Return the metric of these directions; a point that has none takes those of the nearest."""
    moving = np.abs(coefficients).max(axis=(1, 2)) > 0.0
    if not moving.any():
        msg = 'no point moves, all of a burst are identical; give bursts or windows that do'
        raise InputError(msg)
    source = np.arange(len(samples))
    still = np.flatnonzero(~moving)
    for begin in range(0, len(still), 128):
        block = still[begin : begin + 128]
        distances = samples.distances_to(block)
        distances[~moving] = np.inf
        source[block] = distances.argmin(axis=0)
    members, coefficients = members[source], coefficients[source]
    # Each point is the origin of its own frame.
    offsets = np.empty((len(members), coefficients.shape[2]))
    for begin in range(0, len(members), 128):
        block = np.arange(begin, min(begin + 128, len(members)))
        own = samples.rows(block)[:, None]
        others = samples.rows(members[block].ravel()).reshape(*members[block].shape, -1)
        squared = np.square(others - own).sum(axis=2)
        offsets[block] = 0.5 * np.einsum('ik,ikm->im', squared, coefficients[block])
    return LocalMetric(members, coefficients, offsets)


def power_mean(first: Floats, second: Floats, power: float) -> Floats:
    """Return the power mean of two arrays, the geometric one for power 0; none below."""
    if power == 0.0:
        return np.sqrt(first * second)
    return (0.5 * (first**power + second**power)) ** (1.0 / power)


@dataclass(frozen=True)
class AnisotropicTransition(LocalMetric):
    r"""Probabilities :math:`a_j \propto \exp(-d_j^2 / 2\sigma^2)\, q_j^{-\alpha}` of a step."""

    bandwidth: float  # sigma
    power: float  # of the mean of the two squared distances
    begins: Ints  # (n + 1,) int64, of the targets that each training point may step to
    targets: Ints  # (e,) int64
    places: Floats  # (e, r)
    factors: Floats  # (n,), q^-alpha
    # Typical distance of training points: at several times as much a point resembles nothing.
    reach: float

    def weights(self, squared: Floats) -> Floats | None:
        """Return (n,) weights that sum to one; ``None`` if all are out of reach."""
        nearest = int(squared.argmin())
        if not affinity(squared[nearest], self.reach) > Limits.degree:
            return None
        steps = slice(self.begins[nearest], self.begins[nearest + 1])
        targets = self.targets[steps]
        away = self.places[steps] - self.frame(nearest, squared)
        back = self.frames(targets, squared)
        distances = power_mean(
            np.square(away).sum(axis=1), np.square(back).sum(axis=1), self.power
        )
        near = affinity(distances, self.bandwidth)
        return shares_of(near, self.factors[targets], targets, len(squared))

    def check(self, count: int) -> int:
        """Return ``count``; refuse what does not fit as many training points."""
        rules: Rules = {
            'bandwidth reach': ('', BOUNDS.least), 'power': ('', 0.0, 1.0),
            'members': ('nW', 0, 'n'), 'coefficients': ('nwr',), 'offsets': ('nr',),
            'targets': ('E', 0, 'n'), 'begins': ('n+',), 'places': ('er',), 'factors': ('n',),
        }  # fmt: skip
        check_fields(self, rules, {'n': count})
        whole = self.begins[0] == 0 and self.begins[-1] == len(self.targets)
        if not (whole and np.diff(self.begins).min() >= 1):
            refuse('begins do not divide the targets among the training points')
        return count


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
    from scipy.sparse import csr_matrix, identity

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
    Diffusion in the variables behind the points, by local metrics (Singer & Coifman 2008).

    With the covariances :math:`J_i J_i^\top` of the motion at each point, affinities W are those
    of mathematics (11.1), between neighbours and with oneself; from W on it is a ``DiffusionMap``.
    In the limit :math:`-2 \log(\mu) / \varepsilon` are eigenvalues of :math:`\nabla U \cdot \nabla
    - \Delta` in the variables, with U as in eq. 30: of evenly spread points those of the
    Laplacian. A given epsilon has to leave little of the kernel at the last of the neighbours.

    A new point takes the covariance of the nearest training point and is compared with its
    neighbours, which gives a training point its own row. At the ends of edges that join pieces of
    the graph it is off by up to a tenth of the spread or two; all copies get the row of one.
    """

    dimension: int  # as in `DiffusionMap`
    neighbours: int
    metric: GivenCovariances | NeighboursInTime  # with the rank of the pseudo-inverses
    # Alpha, see `DiffusionMap`. 0 is the paper's; with 1/2 the limit is the generator of the
    # process itself, twice, where the points are its stationary distribution, and errors at the
    # edge of the points are an order smaller.
    density: float = 0.0
    # Of the mean of the two squared distances of a pair: 1 is the paper's, 0 the geometric one.
    power: float = 1.0
    # Positive; by default half the median squared distance of a point to its last neighbour.
    epsilon: float | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_share('density', self.density)
        check_share('power', self.power)
        for name, value in (('epsilon', self.epsilon), ('rank', self.metric.rank)):
            if value is not None and not value > 0:
                raise InputError(f'{name} is {value}, but must be positive')

    def fit(self, samples: Samples) -> Embedding:
        """Embed the points, which the metric must fit; no n x n dense matrix is formed."""
        from scipy.sparse import csr_matrix

        typical = require_scale(samples, self.dimension, self.neighbours)
        metric, count = self.metric.measure(samples), len(samples)
        # Only the nearest are asked: a far difference across a metric has no length.
        begins, targets = _candidates(samples, self.neighbours)
        places = _places(samples, metric, begins, targets)
        away = np.square(places).sum(axis=1)
        # Of a symmetric pattern the transpose has the same, so the values stand side by side.
        back = csr_matrix((away, targets, begins), shape=(count, count)).T.tocsr().data
        squared = power_mean(away, back, self.power)
        rows, last = np.repeat(np.arange(count), np.diff(begins)), self.neighbours
        # Of the last of the neighbours, and one more, since a point is its own candidate.
        radii = np.array(
            [np.partition(each, last)[last] for each in np.split(squared, begins[1:-1])]
        )
        kept = squared <= np.maximum(radii[rows], radii[targets])
        begins = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=count))])
        begins, targets = begins.astype(np.int64), targets[kept]
        bandwidth = float(np.sqrt(self.epsilon)) if self.epsilon else local_bandwidth(radii)
        weights = np.exp(squared[kept] / (-2.0 * bandwidth**2))
        near = csr_matrix((weights, targets, begins), shape=(count, count))
        graph, notes = connect(near, samples, typical, self.neighbours)
        respond = partial(
            AnisotropicTransition,
            **vars(metric),
            bandwidth=bandwidth,
            power=self.power,
            begins=begins,
            targets=targets,
            places=places[kept],
            reach=typical,
        )
        return embed_walk(graph, self.dimension, self.density, respond, bandwidth, notes)
