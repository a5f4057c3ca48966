# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a manifold learner is given, what it does, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from two_manifold_ros.ticks.windows import WindowSet
    from two_manifold_ros.typing import Floats, Ints


Samples: TypeAlias = 'PointSet | WindowSet'
"""A finite set of n points in D dimensions; distances are Euclidean."""


@dataclass(frozen=True)
class PointSet:
    """
    A set of (n, D) points, one a row; see ``Samples``.

    Raises ``InputError`` if there is none, or a number is not finite or beyond 1e150.
    """

    points: Floats

    def __post_init__(self) -> None:
        """Check the points."""
        if self.points.ndim != 2 or not self.points.size:
            msg = f'points have the shape {self.points.shape}; give one point a row'
            raise InputError(msg)
        if not np.isfinite(self.points).all():
            msg = 'a point holds a number that is not finite; leave that row out'
            raise InputError(msg)
        if np.abs(self.points).max() > 1e150:
            msg = 'a point holds a number beyond 1e+150; choose a larger unit'
            raise InputError(msg)

    def __len__(self) -> int:
        """Return the number of points."""
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
        """
        Return (n, count) indices and squared distances of the nearest other points, exactly.

        Smallest distance first; n - 1 columns if there are no more others.
        """
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
        """
        Return (l,) weights of a point from its (n,) squared distances to all training points.

        ``None`` if it resembles none. Of distances that are all NaN, ``None`` or NaN, but no
        error.
        """

    def check(self, count: int) -> int:
        """
        Return how many weights there are, l, of ``count`` training points.

        Raises ``ValueError`` if the fields, which have their types and are finite, do not fit
        together.
        """


@dataclass(frozen=True)
class Extension:
    r"""
    Coordinates of a new point from its squared distances to the training points.

    .. math:: z(x) = \sum_i a_i(x)\, T_i + c
    """

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

    # (n, m), rows whose inner products are the learned, centred kernel; column means are zero.
    coordinates: Floats
    extension: Extension  # the same coordinates for new points; a training point gets its own row
    eigenvalues: Floats  # (m,), eigenvalues of the learner's own operator, leading first
    # Bandwidth of Gaussian weights, in units of distance; 0 where there are none.
    bandwidth: float = 0.0
    notes: tuple[str, ...] = ()  # sentences that must be logged


class ManifoldLearner(Protocol):
    """
    Turns a set of points into an embedding, by the same rules for every learner.

    Only distances count. A graph that falls into pieces is joined by the shortest edges between
    them, and a note says so. The same points give the same bytes, and nothing is infinite or NaN.
    The extension gives a training point its own row, unless points at equal distances leave open
    which are its neighbours, or a docstring says otherwise.
    """

    def fit(self, samples: Samples) -> Embedding:
        """Embed the points; raise ``InputError`` if they are too few or mostly alike."""
