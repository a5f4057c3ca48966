# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a manifold learner is given and returns; graph, modes and checks that learners share."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral
from typing import Protocol, TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.typing import Floats, Ints

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix, csr_matrix

    from two_manifold_ros.rules import Rules
    from two_manifold_ros.ticks.windows import WindowSet


Samples: TypeAlias = 'PointSet | WindowSet'
"""A finite set of n points in D dimensions; distances are Euclidean."""


@dataclass(frozen=True)
class PointSet:
    """A set of (n, D) finite points, one a row; see ``Samples``."""

    points: Floats

    def __len__(self) -> int:
        return len(self.points)

    def rows(self, indices: Ints) -> Floats:
        """Return some points: (len(indices), D)."""
        return self.points[indices]

    def distances_to(self, others: Ints) -> Floats:
        """Return squared distances of all points to some of them: (n, len(others))."""
        return self.distances_from(self.points[others])

    def distances_from(self, right: Floats) -> Floats:
        """Return squared distances of all points to (m, D) rows: (n, m)."""
        from scipy.spatial.distance import cdist

        squared: Floats = cdist(self.points, right, 'sqeuclidean')
        return squared

    def pair_distances(self, pairs: int, seed: int = 0) -> Floats:
        """Return the squared distances of random pairs, or of each once where these are fewer."""
        if len(self) * (len(self) - 1) <= 2 * pairs:
            from scipy.spatial.distance import pdist

            every: Floats = pdist(self.points, 'sqeuclidean')
            return every
        rng = np.random.default_rng(seed)
        first = rng.integers(0, len(self), pairs)
        second = (first + rng.integers(1, len(self), pairs)) % len(self)
        return self._between(first, second)

    def neighbours(self, count: int) -> tuple[Ints, Floats]:
        """Return (n, count) indices and squared distances of the nearest others, nearest first."""
        from scipy.spatial import cKDTree

        count = min(count, len(self) - 1)
        _, found = cKDTree(self.points).query(self.points, range(1, count + 2))
        own = found == np.arange(len(self))[:, None]
        # A point with many duplicates may miss itself among them; then the farthest goes.
        own[~own.any(axis=1), -1] = True
        indices = found[~own].reshape(len(self), count).astype(np.int64)
        every = np.arange(len(self))
        squared = np.stack([self._between(every, column) for column in indices.T], axis=1)
        return indices, squared

    def _between(self, first: Ints, second: Ints) -> Floats:
        result = np.empty(len(first))
        for begin in range(0, len(first), 1024):
            part = slice(begin, begin + 1024)
            difference = self.points[first[part]] - self.points[second[part]]
            result[part] = np.square(difference).sum(axis=1)
        return result


class Response(Protocol):
    """
    Relation of a new point to the training points; its coordinates are linear in the numbers.

    A response is a frozen dataclass whose fields are an ``int``, a ``float``, ``Ints`` or
    ``Floats`` and not called ``table`` or ``offset``, so that a model file can hold it.
    """

    def weights(self, squared: Floats) -> Floats | None:
        """Return (l,) weights by (n,) squared distances; ``None`` if none is near, or of NaN."""

    def check(self, count: int) -> int:
        """Return how many weights there are, l; ``ValueError`` if fields do not fit."""


@dataclass(frozen=True)
class Extension:
    r"""Coordinates :math:`z(x) = \sum_i a_i(x)\, T_i + c` of a point from squared distances."""

    response: Response  # a
    table: Floats  # (l, m), T
    offset: Floats  # (m,), c

    def transform(self, squared: Floats) -> Floats | None:
        """Return the (m,) coordinates for (n,) squared distances; ``None`` if none is near."""
        weights = self.response.weights(squared)
        if weights is None:
            return None
        return weights @ self.table + self.offset


@dataclass(frozen=True)
class Embedding:
    """A low-rank centred embedding of a set of points."""

    coordinates: Floats  # (n, m), whose inner products are the learned, centred kernel
    extension: Extension  # the same coordinates for new points; a training point gets its own row
    eigenvalues: Floats  # (m,), eigenvalues of the learner's own operator, leading first
    bandwidth: float = 0.0  # of Gaussian weights, in units of distance; 0 where there are none
    notes: tuple[str, ...] = ()  # sentences that must be logged


NEIGHBOURHOOD: Rules = {'neighbours': ('', 1, 'n'), 'radii': ('n', 0.0)}
"""Of the neighbours of ``n`` training points, see `near_points`."""


class ManifoldLearner(Protocol):
    """
    Turns a set of points into an embedding, by the same rules for every learner.

    Only distances count. A graph that falls into pieces is joined by the shortest edges, and a
    note says so. The same points give the same bytes, nothing is infinite or NaN, and the
    extension gives a training point its own row, unless a docstring says otherwise.
    """

    def fit(self, samples: Samples) -> Embedding:
        """Embed the points; raise ``InputError`` if they are too few or mostly alike."""


RIDGE = 1e-3
"""What is added to the diagonal of a system of equations, relative to what stands there."""


class Limits:
    """Limits of arithmetic."""

    # Total affinity below which a point resembles nothing: 7.4 bandwidths from the nearest one.
    degree = 1e-12
    # Smallest eigenvalue of a Laplacian whose inverse is taken: rounding may make one 0.
    eigenvalue = 1e-9


def affinity(squared: Floats, bandwidth: float) -> Floats:
    r"""Return :math:`\exp(-d^2 / 2\sigma^2)` of squared distances; 1 where the bandwidth is 0."""
    return np.exp(squared / (-2.0 * (bandwidth or np.inf) ** 2))


def median_distance(samples: Samples) -> float:
    """Return the median distance of random pairs; refuse points most of which are identical."""
    bandwidth = float(np.sqrt(np.median(samples.pair_distances(20_000))))
    if not bandwidth > 0.0:
        msg = 'most points are identical; leave out the copies (of windows: record while driving)'
        raise InputError(msg)
    return bandwidth


def require_scale(samples: Samples, dimension: int, neighbours: int | None = None) -> float:
    """Return the median distance; refuse too few points for the numbers, and bad numbers."""
    for name, number in (('dimension', dimension), ('neighbours', neighbours)):
        if number is not None and (not isinstance(number, Integral) or number < 1):
            raise InputError(f'{name} is {number!r}, but must be a whole number and at least 1')
    least = dimension if neighbours is None else max(dimension + 1, neighbours)
    if len(samples) <= least:
        graph = f' and {neighbours} neighbours' if neighbours else ''
        few = f'{len(samples)} points are too few for {dimension} dimensions{graph}'
        msg = f'{few}; ask for fewer, or give more (of windows: record longer or shorten them)'
        raise InputError(msg)
    return median_distance(samples)


def fix_signs(vectors: Floats) -> Floats:
    """Return the (n, m) columns with the entry of largest magnitude positive."""
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return vectors * np.where(signs == 0.0, 1.0, signs)


def leading_modes(matrix: Floats, count: int) -> tuple[Floats, Floats]:
    """Return the largest eigenvalues, above 1e-10 of the first, and their vectors, signs fixed."""
    from scipy.linalg import eigh

    last = len(matrix) - 1
    values, vectors = eigh(matrix, subset_by_index=[max(0, last + 1 - count), last])
    values, vectors = values[::-1], fix_signs(vectors[:, ::-1])
    keep = values > 1e-10 * values[0]
    return values[keep], vectors[:, keep]


def spread_landmarks(count: int, most: int) -> Ints:
    """Return ``most`` increasing indices: both ends, and one drawn from each stretch between."""
    if count <= most:
        return np.arange(count)
    stretches = np.linspace(1, count - 1, most - 1).round().astype(np.int64)
    drawn = np.random.default_rng(0).integers(stretches[:-1], stretches[1:])
    return np.concatenate([[0], drawn, [count - 1]])


def shares_of(near: Floats, factors: Floats, places: Ints, count: int) -> Floats | None:
    """Return (n,) weights of sum one, affinities times factors at places, if any is near."""
    if not near.sum() > Limits.degree:
        return None
    weighted = near * factors
    weights = np.zeros(count)
    weights[places] = weighted / weighted.sum()
    return weights


def near_points(squared: Floats, neighbours: int, radii: Floats) -> Ints:
    """
    Return the nearest training points of a point, and those that have it within their own radius.

    That is its row in the symmetric graph of ``neighbours``, with itself; ``radii`` (n,) are
    squared distances to the last neighbours.
    """
    radius = np.partition(squared, neighbours)[neighbours]
    # A distance that is a radius stays one when it is computed in another way.
    return np.flatnonzero(squared <= np.maximum(radii, radius) * (1.0 + 1e-9))


def affinity_graph(indices: Ints, squared: Floats, bandwidth: float) -> csr_matrix:
    """Build the affinity matrix W of mathematics, section 2.3, from (n, kappa) neighbours."""
    from scipy.sparse import csr_matrix

    count, kappa = indices.shape
    weights = affinity(squared, bandwidth)
    rows = np.repeat(np.arange(count), kappa)
    graph = csr_matrix((weights.ravel(), (rows, indices.ravel())), shape=(count, count))
    return graph.maximum(graph.T).tocsr()


def connect(
    graph: csr_matrix, samples: Samples, bandwidth: float, neighbours: int, probes: int = 200
) -> tuple[csr_matrix, tuple[str, ...]]:
    """Join the pieces of an affinity graph, each by one edge to its nearest point; say so."""
    # A piece more is a null vector more, whose inverse root explodes.
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    components, labels = connected_components(graph, directed=False)
    notes: tuple[str, ...] = ()
    if components > 1:
        pieces = (
            f'the neighbour graph fell into {components} pieces, joined by their nearest points'
        )
        notes = (f'{pieces}; more than {neighbours} neighbours would connect it',)
    while components > 1:
        bridges = []
        sizes = np.bincount(labels)
        for label in np.flatnonzero(np.arange(components) != sizes.argmax()):
            members = np.flatnonzero(labels == label)
            some = members[:: max(1, len(members) // probes)][:probes]
            distances = samples.distances_to(some)
            distances[members] = np.inf
            outside, probe = np.unravel_index(int(distances.argmin()), distances.shape)
            bridges.append((some[probe], outside, distances[outside, probe]))
        first, second, squared = (np.array(column) for column in zip(*bridges, strict=True))
        weight = np.maximum(affinity(squared, bandwidth), 1e-3)
        edges = coo_matrix((weight, (first, second)), shape=graph.shape).tocsr()
        graph = graph.maximum(edges).maximum(edges.T).tocsr()
        components, labels = connected_components(graph, directed=False)
    return graph, notes


def smallest_modes(matrix: csc_matrix, null: Floats, count: int) -> tuple[Floats, Floats]:
    """
    Return the smallest eigenvalues (m,) of a positive semidefinite matrix without a known zero.

    By inverse iteration on the complement of ``null`` (n,), its unit eigenvector, at most n - 2
    modes; vectors (n, m) are orthonormal, orthogonal to ``null``, with signs fixed.
    """
    from scipy.sparse import identity
    from scipy.sparse.linalg import eigsh, LinearOperator, splu

    size = len(null)
    # Added to the diagonal so that the matrix can be factored.
    shift = 1e-9 * matrix.diagonal().mean()
    factors = splu(
        (matrix + shift * identity(size)).tocsc(),
        # For a matrix that is symmetric and, with the shift, positive: fewer entries, no pivots.
        permc_spec='MMD_AT_PLUS_A',
        diag_pivot_thresh=0.0,
        options={'SymmetricMode': True},
    )

    def project(vector: Floats) -> Floats:
        return vector - null * (null @ vector)

    inverse = LinearOperator(
        (size, size), matvec=lambda vector: project(factors.solve(project(vector))), dtype=float
    )
    start = project(_start_vector(size))
    values, vectors = eigsh(matrix, k=count, sigma=-shift, OPinv=inverse, v0=start)
    order = np.argsort(values)
    # Up to SciPy 1.14 ARPACK leaves in what rounding, a billion times as large here, let in.
    vectors = vectors - np.outer(null, null @ vectors)
    return np.maximum(values[order], 0.0), fix_signs(vectors[:, order])


def walk_modes(graph: csr_matrix, count: int, few: int = 1_000) -> tuple[Floats, Floats]:
    """
    Return the largest eigenvalues (m,) and the eigenfunctions (n, m) of a walk.

    Its steps are the rows of symmetric affinities (n, n), connected, divided by their sums. The
    constant mode is left out; functions have mean square 1 in the stationary distribution, with
    signs fixed. Inverse iteration, for ``few`` points, copes with any symmetry. For more, products
    with the graph are tried first: they take long along a thread, whose factors are small.
    """
    from scipy.sparse import diags, identity
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh, LinearOperator

    degrees = np.asarray(graph.sum(axis=1)).ravel()
    root = diags(1.0 / np.sqrt(degrees))
    symmetric = (root @ graph @ root).tocsr()
    constant = np.sqrt(degrees / degrees.sum())
    if len(constant) > few:
        # The constant mode becomes the last of all.
        without = LinearOperator(
            symmetric.shape,
            matvec=lambda vector: symmetric @ vector - 3.0 * constant * (constant @ vector),
            dtype=float,
        )
        start = _start_vector(len(constant))
        with suppress(ArpackNoConvergence):
            # Most graphs need less than ten restarts, points along a thread may need thousands.
            values, vectors = eigsh(without, k=count, which='LA', v0=start, maxiter=100)
            order = np.argsort(values)[::-1]
            return values[order], fix_signs(vectors[:, order]) / constant[:, None]
    laplacian = (identity(len(constant)) - symmetric).tocsc()
    gaps, vectors = smallest_modes(laplacian, constant, count)
    return 1.0 - gaps, vectors / constant[:, None]


def _start_vector(count: int) -> Floats:
    # A constant vector will not do: where it is itself an eigenvector the solver goes on at
    # random, and where it shares a symmetry of the matrix the solver finds no mode without it.
    return np.random.default_rng(0).standard_normal(count)
