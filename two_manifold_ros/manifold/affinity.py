# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Affinities, the points near a point, landmarks, and the checks that learners share."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from two_manifold_ros.manifold.learner import Samples
    from two_manifold_ros.typing import Floats, Ints

RIDGE = 1e-3
"""
What is added to the diagonal of a system of equations, relative to what stands there.

Small against what is known, large against rounding: a half or a double of it changes nothing that
was measured.
"""


class Limits:
    """Limits of arithmetic."""

    # Total affinity below which a point resembles nothing in training (mathematics, section 8):
    # it is reached 7.4 bandwidths from the nearest point.
    degree = 1e-12
    # Smallest eigenvalue of a Laplacian whose inverse is taken: rounding may make one of a nearly
    # split graph 0. A point then lies 3e4 spreads away at the most.
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
    """
    Return the median distance; refuse what no learner can embed by an ``InputError``.

    Dimension and neighbours have to be whole numbers of at least 1, there have to be more points
    than dimensions (in a graph than dimensions and the constant mode, which is not kept), and not
    most of them identical.
    """
    for name, number in (('dimension', dimension), ('neighbours', neighbours)):
        if number is not None and (not isinstance(number, Integral) or number < 1):
            msg = f'{name} is {number!r}, but must be a whole number and at least 1'
            raise InputError(msg)
    least = dimension if neighbours is None else max(dimension + 1, neighbours)
    if len(samples) <= least:
        graph = f' and {neighbours} neighbours' if neighbours else ''
        msg = (
            f'{len(samples)} points are too few for {dimension} dimensions{graph}; ask for fewer, '
            'or take more points (of windows: record longer or shorten them)'
        )
        raise InputError(msg)
    return median_distance(samples)


def fix_signs(vectors: Floats) -> Floats:
    """Return the (n, m) columns with the entry of largest magnitude positive."""
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return vectors * np.where(signs == 0.0, 1.0, signs)


def leading_modes(matrix: Floats, count: int) -> tuple[Floats, Floats]:
    """
    Return the largest eigenvalues of a symmetric matrix and their vectors, signs fixed.

    Left out are those below 1e-10 of the largest: they are rounding, or negative. The solver is
    dense, since the space that Lanczos searches ends early where the rank is low.
    """
    from scipy.linalg import eigh

    last = len(matrix) - 1
    values, vectors = eigh(matrix, subset_by_index=[max(0, last + 1 - count), last])
    values, vectors = values[::-1], fix_signs(vectors[:, ::-1])
    keep = values > 1e-10 * values[0]
    return values[keep], vectors[:, keep]


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
    """Refuse landmarks within a millionth of the ``typical`` distance by (l, l) squared ones."""
    if not between.max() > (1e-6 * typical) ** 2:
        msg = (
            f'the {len(between)} points that stand for all are identical; leave out copies, or '
            'ask for more landmarks'
        )
        raise InputError(msg)


def shares_of(near: Floats, factors: Floats, places: Ints, count: int) -> Floats | None:
    """
    Return (n,) weights that sum to one and are proportional to affinities times factors.

    ``near`` and ``factors`` are those of some ``places``; ``None`` if all are out of reach.
    """
    if not near.sum() > Limits.degree:
        return None
    weighted = near * factors
    weights = np.zeros(count)
    weights[places] = weighted / weighted.sum()
    return weights


def near_points(squared: Floats, neighbours: int, radii: Floats) -> Ints:
    """
    Return the training points near a point, itself among them if it is one.

    They are the nearest ones, as many as ``neighbours`` and one more, and those that have the
    point within their own radius: ``radii`` (n,) are squared distances of the training points to
    the last of their own neighbours, fewer than n. For a training point these are the points of
    its row in the symmetric neighbour graph and itself, if no two distances from it are equal.
    """
    # One more than the neighbours, since a training point counts itself.
    radius = np.partition(squared, neighbours)[neighbours]
    # A distance that is a radius stays one when it is computed in another way.
    return np.flatnonzero(squared <= np.maximum(radii, radius) * (1.0 + 1e-9))


def require(fits: bool, cause: str) -> None:
    """Raise a ``ValueError``: a response does not fit the training points."""
    if not fits:
        raise ValueError(cause)


def check_shapes(part: object, **shapes: tuple[int, ...]) -> None:
    """Refuse arrays of a response by name that do not have these shapes."""
    for name, shape in shapes.items():
        found = getattr(part, name).shape
        require(found == shape, f'{name} has the shape {found} instead of {shape}')


def check_positive(part: object, *names: str) -> None:
    """Refuse numbers of a response by name that are not positive, or have no finite square."""
    for name in names:
        value = getattr(part, name)
        require(0.0 < value < 1e150, f'{name} is {value!r}, not a positive number')


def check_indices(name: str, indices: Ints, count: int) -> None:
    """Refuse what are not the indices of at least one of ``count`` training points."""
    whole = indices.ndim == 1 and indices.size > 0
    require(whole, f'{name} has the shape {indices.shape} instead of (any,)')
    inside = indices.min() >= 0 and indices.max() < count
    require(bool(inside), f'{name} lie outside the training points')


def check_neighbourhood(neighbours: int, radii: Floats, count: int) -> None:
    """Refuse what are not the neighbours and radii of ``count`` training points."""
    inside = 1 <= neighbours < count
    require(inside, f'neighbours is {neighbours}, not a number from 1 to {count - 1}')
    fits = radii.shape == (count,) and radii.min() >= 0.0
    require(fits, f'radii are not {count} squared distances')
