# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels of squared distances, landmarks, and responses by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.learner import require_enough

if TYPE_CHECKING:
    from two_manifold_ros.manifold.learner import Samples
    from two_manifold_ros.typing import Floats, Ints


def fix_signs(vectors: Floats) -> Floats:
    """Return the (n, m) columns with the entry of largest magnitude positive."""
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return vectors * np.where(signs == 0.0, 1.0, signs)


def start_vector(count: int) -> Floats:
    """
    Return (count,) fixed irregular numbers.

    A constant vector will not do: where it is itself an eigenvector the solver goes on at
    random, and where it shares a symmetry of the matrix the solver finds no mode without it.
    """
    return np.random.default_rng(0).standard_normal(count)


PAIRS = 20_000


def median_distance(samples: Samples) -> float:
    """
    Return the median distance between two different points, over randomly drawn pairs.

    Raises
    ------
    InputError
        If at least half of the points are identical, so that there is no scale.

    """
    bandwidth = float(np.sqrt(np.median(samples.pair_distances(PAIRS))))
    if not bandwidth > 0.0:
        msg = 'most points are identical; leave out the copies (of windows: record while driving)'
        raise InputError(msg)
    return bandwidth


def require_scale(samples: Samples, dimension: int, neighbours: int | None = None) -> float:
    """
    Refuse what no learner can embed; return the median distance, which not every learner needs.

    Raises
    ------
    InputError
        If there are too few points, see ``require_enough``, or most are identical.

    """
    require_enough(samples, dimension, neighbours)
    return median_distance(samples)


SMALLEST_SPREAD = 1e-6
"""Of landmarks, relative to the distance of two points; windows that are alike differ by less."""


def spread_landmarks(count: int, most: int) -> Ints:
    """
    Return increasing indices of ``count`` points, all of them if there are at ``most`` so many.

    The first, the last, and one drawn from each of as many equal stretches between: always at the
    same place of a stretch, they could all be at the same place of a lap. At least two.
    """
    if count <= most:
        return np.arange(count)
    stretches = np.linspace(1, count - 1, most - 1).round().astype(np.int64)
    drawn = np.random.default_rng(0).integers(stretches[:-1], stretches[1:])
    return np.concatenate([[0], drawn, [count - 1]])


def require_spread(between: Floats, typical: float) -> None:
    """
    Refuse landmarks that are all alike.

    Parameters
    ----------
    between : (l, l)
        Their squared distances.
    typical
        Distance of two points.

    Raises
    ------
    InputError
        If they are.

    """
    if not between.max() > (SMALLEST_SPREAD * typical) ** 2:
        msg = (
            f'the {len(between)} points that stand for all are identical; leave out copies, or '
            'ask for more landmarks'
        )
        raise InputError(msg)


SLACK = 1e-9
"""Relative; a distance that is a radius stays one when it is computed in another way."""


def near_points(squared: Floats, neighbours: int, radii: Floats) -> Ints:
    """
    Return the training points near a point, itself among them if it is one.

    They are the nearest ones, as many as ``neighbours`` and one more, and those that have the
    point within their own radius. For a training point these are the points of its row in the
    symmetric neighbour graph and itself, if no two distances from it are equal.

    Parameters
    ----------
    squared : (n,)
        Squared distances to all training points.
    neighbours
        How many others are near in the graph, fewer than n.
    radii : (n,)
        Squared distance of each training point to the last of its own neighbours.

    """
    # One more than the neighbours, since a training point counts itself.
    radius = np.partition(squared, neighbours)[neighbours]
    return np.flatnonzero(squared <= np.maximum(radii, radius) * (1.0 + SLACK))


def check_neighbourhood(neighbours: int, radii: Floats, count: int) -> None:
    """
    Refuse what are not the neighbours and radii of ``count`` training points.

    Raises
    ------
    ValueError
        Naming the first thing that does not fit.

    """
    if not 1 <= neighbours < count:
        msg = f'neighbours is {neighbours}, not a number from 1 to {count - 1}'
        raise ValueError(msg)
    if radii.shape != (count,) or radii.min() < 0.0:
        msg = f'radii are not {count} squared distances'
        raise ValueError(msg)


SMALLEST_DEGREE = 1e-12
"""Below this total affinity a point resembles nothing in training (section 8 of the note)."""


def affinity(squared: Floats, bandwidth: float) -> Floats:
    r"""Return :math:`\exp(-d^2 / 2\sigma^2)` of squared distances; 1 where the bandwidth is 0."""
    weights: Floats = np.exp(squared / (-2.0 * (bandwidth or np.inf) ** 2))
    return weights


@dataclass(frozen=True)
class MemberAffinity:
    """
    Affinities to some members of the training points, for kernel PCA (2.1).

    Parameters
    ----------
    bandwidth
        Of the affinity.
    members : (l,) int64
        Training points that count.

    """

    bandwidth: float
    members: Ints

    def kernel(self, squared: Floats) -> Floats:
        """Return the (..., l) affinities for (..., l) squared distances to the members."""
        return affinity(squared, self.bandwidth)

    def weights(self, squared: Floats) -> Floats:
        """Return the (l,) affinities of a point with (n,) squared distances."""
        return self.kernel(squared[self.members])

    def check(self, count: int) -> int:
        """Return l; refuse what does not fit ``count`` training points."""
        check_bandwidth(self.bandwidth)
        check_indices('members', self.members, count)
        return len(self.members)


def check_bandwidth(bandwidth: float) -> None:
    """Refuse a bandwidth that is not positive."""
    if not bandwidth > 0.0:
        msg = f'bandwidth is {bandwidth!r}, not a positive number'
        raise ValueError(msg)


def check_neighbours(neighbours: int) -> None:
    """Refuse fewer neighbours than one."""
    if neighbours < 1:
        msg = f'neighbours is {neighbours!r}, not a whole number of at least 1'
        raise ValueError(msg)


def check_indices(name: str, indices: Ints, count: int) -> None:
    """Refuse what are not the indices of at least one of ``count`` training points."""
    if indices.ndim != 1 or not indices.size:
        msg = f'{name} has the shape {indices.shape} instead of (any,)'
        raise ValueError(msg)
    if not (indices.min() >= 0 and indices.max() < count):
        msg = f'{name} lie outside the training points'
        raise ValueError(msg)


@dataclass(frozen=True)
class InnerProduct:
    r"""
    Powers of inner products with the members, centred at their mean.

    .. math:: a_j(x) = \Big(\frac{g_j(x)}{s} + c\Big)^p, \qquad
              g_j(x) = -\tfrac12\Big(d_j^2 - \frac1l\sum_i d_i^2 - h_j\Big)

    with the squared distances d of the new point to the members and :math:`h_j` as below:
    :math:`g_j(x)` is the inner product of x and member j, both taken from the mean of the members.

    Parameters
    ----------
    members : (l,) int64
        Training points that count.
    spreads : (l,)
        :math:`h`: mean squared distance of each member to all of them, less the mean over all.
    scale, constant, degree
        s, c and p.

    """

    members: Ints
    spreads: Floats
    scale: float
    constant: float
    degree: int

    def kernel(self, squared: Floats) -> Floats:
        """Return the (..., l) powers for (..., l) squared distances to the members."""
        inner = -0.5 * (squared - squared.mean(axis=-1, keepdims=True) - self.spreads)
        powers: Floats = (inner / self.scale + self.constant) ** self.degree
        return powers

    def weights(self, squared: Floats) -> Floats:
        """Return the (l,) powers of a point with (n,) squared distances."""
        return self.kernel(squared[self.members])

    def check(self, count: int) -> int:
        """Return l; refuse what does not fit ``count`` training points."""
        check_indices('members', self.members, count)
        if self.spreads.shape != self.members.shape:
            msg = f'spreads has the shape {self.spreads.shape} instead of {self.members.shape}'
            raise ValueError(msg)
        if not self.scale > 0.0:
            msg = f'scale is {self.scale!r}, not a positive number'
            raise ValueError(msg)
        if self.degree < 1:
            msg = f'degree is {self.degree}, not a whole number of at least 1'
            raise ValueError(msg)
        return len(self.members)


def spreads_of(between: Floats) -> Floats:
    """Return the ``spreads`` of members with (l, l) squared distances between them."""
    spreads: Floats = between.mean(axis=1) - between.mean()
    return spreads
