# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The rows of a matrix as the points that a manifold learner embeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist, pdist

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

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
