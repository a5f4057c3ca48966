# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Local metrics: distances as each point sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TYPE_CHECKING

import numpy as np
from scipy.linalg import qr

from two_manifold_ros.errors import InputError
from two_manifold_ros.ticks.windows import WindowSet

if TYPE_CHECKING:
    from two_manifold_ros.manifold.learner import Samples
    from two_manifold_ros.typing import Bools, Floats, Ints


def local_covariances(bursts: Floats, duration: float) -> Floats:
    r"""
    Estimate :math:`J J^\top` (Singer & Coifman 2008, eq. 10) at the start of bursts.

    The products of the steps along each path, its quadratic variation, are summed:

    .. math:: \frac{1}{b\,T} \sum_{a=1}^b \sum_{k=1}^s
              (y^a_k - y^a_{k-1})(y^a_k - y^a_{k-1})^\top

    With one step these are second moments about the start. More steps see less of the
    drift, of walls and of the curvature of the map, and are s times as many numbers to
    average: the covariance of the end points alone (Singer & Coifman 2008, eq. 35) is too
    small near a wall.

    Parameters
    ----------
    bursts : (n, b, s + 1, D)
        Positions of b paths of ``duration`` T from each of n points: the point itself first, then
        after each of s equal steps in time.

    Returns
    -------
    covariances : (n, D, D)
        Per unit of time.

    Raises
    ------
    InputError
        If there is no step, or the duration is not positive.

    """
    if bursts.ndim != 4 or bursts.shape[2] < 2 or not bursts.size:
        msg = f'bursts have the shape {bursts.shape}; give (points, paths, steps + 1, dimensions)'
        raise InputError(msg)
    if not duration > 0.0:
        msg = f'bursts last {duration}; give a positive time'
        raise InputError(msg)
    count, paths, _, width = bursts.shape
    steps = np.diff(bursts, axis=2).reshape(count, -1, width)
    covariances: Floats = steps.transpose(0, 2, 1) @ steps / (paths * duration)
    return covariances


@dataclass(frozen=True)
class LocalMetric:
    r"""
    Scaled directions :math:`\mu^{-1/2} v` of the pseudo-inverse of a covariance at each point.

    They are combinations of training points, :math:`\sum_k c_{ikm} y_{ik}` with
    :math:`\sum_k c_{ikm} = 0`, so that the coordinates of any point y in the frame of point i
    follow from its squared distances s to the training points alone:

    .. math:: p_{im}(y) = \mu_{im}^{-1/2} v_{im}^\top (y - y_i)
              = o_{im} - \tfrac12 \sum_k c_{ikm}\, s_{ik}(y),

    and its squared length is :math:`(y - y_i)^\top \Gamma_i^\dagger (y - y_i)`.

    Parameters
    ----------
    members : (n, c) int64
        Training points that the directions at each point are made of.
    coefficients : (n, c, r)
        :math:`c`; a zero where a direction or a member is missing.
    offsets : (n, r)
        :math:`o`, by which a point is at the origin of its own frame.

    """

    members: Ints
    coefficients: Floats
    offsets: Floats

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


class MetricSource(Protocol):
    """Where the local metric of a set of points comes from."""

    def measure(self, samples: Samples) -> LocalMetric:
        """Return the metric at every point; refuse points that do not fit or do not move."""


@dataclass(frozen=True)
class GivenCovariances:
    """
    Known (n, D, D) covariances at every point, for instance of ``local_covariances``.

    ``rank`` is that of the pseudo-inverses: the dimension of the manifold.
    """

    covariances: Floats
    rank: int

    def measure(self, samples: Samples) -> LocalMetric:
        """Return the metric; a point without any variance has that of the nearest with some."""
        _check_rank(self.rank)
        rows = samples.rows(np.arange(len(samples)))
        count, width = rows.shape
        if self.covariances.shape != (count, width, width):
            msg = (
                f'covariances have the shape {self.covariances.shape} instead of '
                f'{(count, width, width)}; give one for each of the points'
            )
            raise InputError(msg)
        variances, directions = np.linalg.eigh(self.covariances)
        variances, directions = variances[:, ::-1], directions[:, :, ::-1]
        scaled = directions[:, :, : self.rank] * _gains(variances, self.rank)[:, None]
        anchors, combine = _anchors(rows)
        coefficients = np.einsum('kd,ndm->nkm', combine, scaled)
        return _completed(samples, np.tile(anchors, (count, 1)), coefficients)


@dataclass(frozen=True)
class NeighboursInTime:
    """
    Covariances of the ``reach`` points before and after every point, about their mean.

    Of windows, those within reach count that overlap with the window; other points are taken to
    follow each other in time without a gap. ``rank`` is that of the pseudo-inverses.
    """

    reach: int
    rank: int

    def measure(self, samples: Samples) -> LocalMetric:
        """Return the metric; a point at rest has that of the nearest one that moves."""
        _check_rank(self.rank)
        count = len(samples)
        first, last = _in_reach(samples)
        near = np.arange(count)[:, None] + np.arange(-self.reach, self.reach + 1)
        members = np.clip(near, first[:, None], last[:, None])
        coefficients = np.empty((*members.shape, self.rank))
        for begin in range(0, count, 128):
            block = slice(begin, begin + 128)
            rows = samples.rows(members[block].ravel()).reshape(*members[block].shape, -1)
            coefficients[block] = _of_rows(rows, near[block] == members[block], self.rank)
        return _completed(samples, members, coefficients)


def _check_rank(rank: int) -> None:
    if rank < 1:
        msg = f'the rank of a local covariance is {rank}, but must be at least 1'
        raise InputError(msg)


def _in_reach(samples: Samples) -> tuple[Ints, Ints]:
    """Return the first and the last point that may count as neighbours in time of each."""
    count = len(samples)
    if isinstance(samples, WindowSet):
        # No window crosses a seam, so two that overlap lie on the same side of it.
        apart = max(samples.width, 2)
        first = np.searchsorted(samples.starts, samples.starts - apart, side='right')
        last = np.searchsorted(samples.starts, samples.starts + apart, side='left') - 1
        return first.astype(np.int64), last.astype(np.int64)
    return np.zeros(count, dtype=np.int64), np.full(count, count - 1)


def _gains(variances: Floats, rank: int) -> Floats:
    """Return (n, r) inverse roots of (n, c) variances, largest first; 0 where there is none."""
    kept = variances[:, :rank]
    # Directions with a billionth of the largest variance are none.
    counted = kept > 1e-9 * np.maximum(variances[:, :1], 0.0)
    return np.where(counted, 1.0 / np.sqrt(np.where(counted, kept, 1.0)), 0.0)


def _of_rows(rows: Floats, counted: Bools, rank: int) -> Floats:
    """Return the (n, c, r) coefficients of (n, c, D) rows of which only some count."""
    counts = counted.sum(axis=1)
    sums = (rows * counted[:, :, None]).sum(axis=1)
    centred = (rows - (sums / counts[:, None])[:, None]) * counted[:, :, None]
    # The left singular vectors need only the small Gram matrices, however wide the rows are.
    variances, mixes = np.linalg.eigh(centred @ centred.transpose(0, 2, 1))
    gains = _gains(variances[:, ::-1], rank)
    scale = np.square(gains) * np.sqrt(counts)[:, None]
    coefficients = np.zeros((*counted.shape, rank))
    coefficients[:, :, : gains.shape[1]] = mixes[:, :, ::-1][:, :, :rank] * scale[:, None]
    return coefficients


def _anchors(rows: Floats) -> tuple[Ints, Floats]:
    """Return the fewest points that span all, and (a, D) how they make up any direction."""
    first = int(np.square(rows - rows.mean(axis=0)).sum(axis=1).argmin())
    _, upper, order = qr((rows - rows[first]).T, mode='economic', pivoting=True)
    sizes = np.abs(np.diag(upper))
    others = order[: len(sizes)][sizes > 1e-10 * sizes[0]]
    combine = np.linalg.pinv(rows[others] - rows[first]).T
    return (
        np.concatenate([[first], others]).astype(np.int64),
        np.concatenate([-combine.sum(axis=0, keepdims=True), combine]),
    )


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
