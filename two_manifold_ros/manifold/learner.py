# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What every manifold learner is given, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Protocol, TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist, pdist

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints


class Samples(Protocol):
    """A finite set of n points in D dimensions; distances are Euclidean."""

    def __len__(self) -> int:
        """Return the number of points, n."""
        ...

    def rows(self, indices: Ints) -> Floats:
        """Return some points: (len(indices), D)."""
        ...

    def distances_to(self, others: Ints) -> Floats:
        """Return squared distances of all points to some of them: (n, len(others))."""
        ...

    def distances_from(self, right: Floats) -> Floats:
        """Return squared distances of all points to (m, D) rows: (n, m)."""
        ...

    def pair_distances(self, pairs: int, seed: int = 0) -> Floats:
        """Return the squared distances of randomly drawn pairs of different points."""
        ...

    def neighbours(self, count: int) -> tuple[Ints, Floats]:
        """
        Find the nearest other points of every point, exactly.

        Returns
        -------
        indices : (n, count) int64, squared : (n, count)
            Smallest distance first; n - 1 columns if there are no more others.

        """
        ...


def require_enough(samples: Samples, dimension: int, neighbours: int | None = None) -> None:
    """
    Refuse a set that is too small for an embedding, and an embedding of nothing.

    Raises
    ------
    InputError
        If there are no more points than dimensions, or, in a graph, no more than neighbours or
        than dimensions and the constant mode, which is not kept; or if either is no whole number
        or less than one.

    """
    for name, number in (('dimension', dimension), ('neighbours', neighbours)):
        if number is not None and (not isinstance(number, Integral) or number < 1):
            msg = f'{name} is {number!r}, but must be a whole number and at least 1'
            raise InputError(msg)
    least = dimension if neighbours is None else max(dimension + 1, neighbours)
    if len(samples) > least:
        return
    graph = f' and {neighbours} neighbours' if neighbours else ''
    msg = (
        f'{len(samples)} points are too few for {dimension} dimensions{graph}; ask for fewer, or '
        'take more points (of windows: record longer or shorten them)'
    )
    raise InputError(msg)


LARGEST = 1e150
"""Beyond this, squares are not finite."""


@dataclass(frozen=True)
class PointSet:
    """
    A set of points in D dimensions.

    Parameters
    ----------
    points : (n, D)
        One point a row, all numbers finite and below ``LARGEST``.

    Raises
    ------
    InputError
        If this is no matrix with a row and a column, or a number in it is not finite or too
        large.

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
        if np.abs(self.points).max() > LARGEST:
            msg = f'a point holds a number beyond {LARGEST:g}; choose a larger unit'
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
        squared: Floats = cdist(self.points, right, 'sqeuclidean')
        return squared

    def pair_distances(self, pairs: int, seed: int = 0) -> Floats:
        """
        Return the squared distances of randomly drawn pairs of different points.

        Where there are no more pairs than that, each counts once.
        """
        if len(self) * (len(self) - 1) <= 2 * pairs:
            every: Floats = pdist(self.points, 'sqeuclidean')
            return every
        rng = np.random.default_rng(seed)
        first = rng.integers(0, len(self), pairs)
        second = (first + rng.integers(1, len(self), pairs)) % len(self)
        return self._between(first, second)

    def neighbours(self, count: int) -> tuple[Ints, Floats]:
        """
        Find the nearest other points of every point, exactly.

        Returns
        -------
        indices : (n, count) int64, squared : (n, count)
            Smallest distance first; n - 1 columns if there are no more others.

        """
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
    What a new point is to the training points, as numbers that are linear in its coordinates.

    A response is a frozen dataclass whose fields are an ``int``, a ``float``, ``Ints`` or
    ``Floats`` and not called ``table`` or ``offset``, so that the codec of
    ``model.model_file`` can write it.
    """

    def weights(self, squared: Floats) -> Floats | None:
        """
        Return (l,) weights of a point from its (n,) squared distances to all training points.

        ``None`` if the point resembles no training point. Of distances that are all NaN,
        ``None`` or NaN, but no error; a single one may count as out of reach.
        """
        ...

    def check(self, count: int) -> int:
        """
        Return how many weights there are, l, where there are ``count`` training points.

        Raises
        ------
        ValueError
            If the fields, which have their types and are finite, do not fit together.

        """
        ...


@dataclass(frozen=True)
class Extension:
    r"""
    Coordinates of a new point from its squared distances to the training points.

    .. math:: z(x) = \sum_i a_i(x)\, T_i + c

    Parameters
    ----------
    response
        :math:`a`, of the kind that belongs to the learner.
    table : (l, m)
        :math:`T`.
    offset : (m,)
        :math:`c`.

    """

    response: Response
    table: Floats
    offset: Floats

    def transform(self, squared: Floats) -> Floats | None:
        """
        Return the (m,) coordinates of a point with (n,) squared distances.

        ``None`` if the point resembles no training point: there is nothing to extend from.
        """
        weights = self.response.weights(squared)
        if weights is None:
            return None
        coordinates: Floats = weights @ self.table + self.offset
        return coordinates

    def followed_by(self, linear: Floats, offset: Floats) -> Extension:
        """Return the extension of ``z @ linear + offset`` with linear (m, k)."""
        return replace(self, table=self.table @ linear, offset=self.offset @ linear + offset)


@dataclass(frozen=True)
class Embedding:
    """
    A low-rank centred embedding of a set of points.

    Parameters
    ----------
    coordinates : (n, m)
        Rows whose inner products are the learned, centred kernel; column means are zero.
    extension
        The same coordinates for new points; a training point gets its own row.
    eigenvalues : (m,)
        Of the learner's own operator, leading first.
    bandwidth
        Of the Gaussian weights, in units of distance; 0 where there are none.
    notes
        Sentences that have to be said aloud.

    """

    coordinates: Floats
    extension: Extension
    eigenvalues: Floats
    bandwidth: float = 0.0
    notes: tuple[str, ...] = ()


class ManifoldLearner(Protocol):
    """
    Turns a set of points into an embedding, by the same rules for every learner.

    Only distances count: neither where the points lie nor how they are turned nor a column that
    is constant has an effect. Copies of a point are points like all others, at distance 0. A
    graph that falls into pieces is joined by the shortest edges between them, and a note says so.
    The same points give the same bytes, and nothing that is returned is infinite or NaN. The
    extension gives a training point its own row, unless points at equal distances leave open
    which are its neighbours, or a docstring says otherwise.
    """

    def fit(self, samples: Samples) -> Embedding:
        """
        Embed the points.

        Raises
        ------
        InputError
            If there are too few points for the dimension asked for, or most are identical.

        """
        ...
