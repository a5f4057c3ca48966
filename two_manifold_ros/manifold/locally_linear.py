# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Locally linear embedding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.manifold.affinity import (
    check_indices,
    check_shapes,
    require,
    require_scale,
    RIDGE,
)
from two_manifold_ros.manifold.graph import find_bridges, smallest_modes
from two_manifold_ros.manifold.learner import Embedding, Extension

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scipy.sparse import csr_matrix

    from two_manifold_ros.manifold.graph import Bridges
    from two_manifold_ros.manifold.learner import Samples
    from two_manifold_ros.typing import Floats, Ints


@dataclass(frozen=True)
class Barycentric:
    r"""
    Weights that best make a new point of its nearest training point and the neighbours of that.

    They minimise :math:`\|x - \sum_j w_j x_j\|^2 + \rho \sum_j w_j^2 d_j^2` with
    :math:`\sum_j w_j = 1`. A weight is penalised by the distance of its neighbour, so that a
    point on top of a training point has all its weight there; the usual penalty, which treats
    all alike, would miss the training rows.

    Parameters
    ----------
    neighbourhoods : (n, kappa + 1) int64
        Each training point, and its nearest neighbours.
    pairs : (p,) int64, between : (p,)
        ``i * n + j`` of all pairs i < j that are in one neighbourhood, increasing, and their
        squared distances.

    """

    neighbourhoods: Ints
    pairs: Ints
    between: Floats

    def weights(self, squared: Floats) -> Floats | None:
        """Return (n,) weights that sum to one; ``None`` for distances that no point has."""
        if not np.isfinite(squared).all():
            return None
        members = self.neighbourhoods[squared.argmin()]
        apart = np.zeros((len(members), len(members)))
        upper = np.triu_indices(len(members), 1)
        keys = pair_keys(members[None], len(squared))
        apart[upper] = self.between[np.searchsorted(self.pairs, keys)]
        apart += apart.T
        try:
            mixture = relative_weights(squared[members], apart)
        except np.linalg.LinAlgError:
            return None
        weights = np.zeros(len(squared))
        weights[members] = mixture
        return weights

    def check(self, count: int) -> int:
        """Return ``count``; refuse what does not fit as many training points."""
        shape = self.neighbourhoods.shape
        fits = len(shape) == 2 and shape[0] == count and 2 <= shape[1] <= count
        require(fits, f'neighbourhoods has the shape {shape} instead of ({count}, 2 to {count})')
        check_indices('neighbourhoods', self.neighbourhoods.ravel(), count)
        once = np.diff(np.sort(self.neighbourhoods, axis=1), axis=1).all()
        require(bool(once), 'neighbourhoods hold a training point twice')
        check_indices('pairs', self.pairs, count**2)
        check_shapes(self, between=self.pairs.shape)
        require(bool((np.diff(self.pairs) > 0).all()), 'pairs do not increase')
        require(bool(self.between.min() >= 0.0), 'between holds negative numbers')
        for _, keys in pairs_within(self.neighbourhoods):
            places = np.minimum(np.searchsorted(self.pairs, keys), len(self.pairs) - 1)
            known = (self.pairs[places] == keys).all()
            require(bool(known), 'pairs miss some of a neighbourhood')
        return count


def pair_keys(neighbourhoods: Ints, count: int) -> Ints:
    """Return ``i * n + j`` of all pairs i < j in each row of (r, c) out of n points."""
    first, second = np.triu_indices(neighbourhoods.shape[1], 1)
    one, other = neighbourhoods[:, first], neighbourhoods[:, second]
    return (np.minimum(one, other) * count + np.maximum(one, other)).ravel()


def pairs_within(neighbourhoods: Ints, block: int = 256) -> Iterator[tuple[int, Ints]]:
    """
    Yield each point i of (n, c) neighbourhoods, and ``i * n + j`` of its pairs i < j, increasing.

    A pair is of one neighbourhood or more, and comes once. Points without any are left out. Pairs
    of ``block`` points are found together: those of all may take gigabytes.
    """
    from scipy.sparse import csr_matrix

    count, width = neighbourhoods.shape
    begins = np.arange(count + 1) * width
    ones = np.ones(neighbourhoods.size, dtype=bool)
    holds = csr_matrix((ones, neighbourhoods.ravel(), begins), shape=(count, count))
    held = holds.T.tocsr()
    for begin in range(0, count, block):
        together = held[begin : begin + block] @ holds
        together.sort_indices()
        for row, partners in enumerate(np.split(together.indices, together.indptr[1:-1])):
            point, later = begin + row, partners[partners > begin + row]
            if later.size:
                yield point, point * count + later.astype(np.int64)


def usual_weights(gram: Floats) -> Floats:
    """
    Return (k,) weights that make a point of its neighbours, regularised by the trace.

    ``gram`` (k, k) holds inner products of the differences between the neighbours and the point.
    """
    # Where all neighbours are copies of the point there is no trace, and they share evenly.
    penalty = RIDGE * (np.trace(gram) or 1.0)
    weights = np.linalg.solve(gram + penalty * np.eye(len(gram)), np.ones(len(gram)))
    normalised: Floats = weights / weights.sum()
    return normalised


def relative_weights(squared: Floats, apart: Floats, penalty: float = RIDGE) -> Floats:
    r"""
    Return (k,) weights that make a point of its neighbours, regularised by their distances.

    With :math:`C_{jk} = (d_j^2 + d_k^2 - d_{jk}^2) / 2 d_j d_k`, the cosines between the
    neighbours as seen from the point: :math:`w \propto D^{-1} (C + \rho I)^{-1} D^{-1} 1`.

    ``squared`` (k,) are squared distances of the point to its neighbours, ``apart`` (k, k) those
    between these, and ``penalty`` is :math:`\rho / k`.

    Raises
    ------
    LinAlgError
        If no points are that far apart, and the weights are not determined.

    """
    distances = np.sqrt(squared)
    # Below this share of the farthest distance a point is its neighbour's copy.
    copies = distances <= 1e-9 * distances.max()
    if copies.any():
        shares: Floats = copies / copies.sum()
        return shares
    cosines = (squared[:, None] + squared - apart) / (2.0 * distances[:, None] * distances)
    np.fill_diagonal(cosines, 1.0 + penalty * len(squared))
    closeness = distances.min() / distances
    weights = closeness * np.linalg.solve(cosines, closeness)
    total = weights.sum()
    # Weights that cancel to less are rounding, or NaN.
    if not abs(total) > 1e-9 * np.abs(weights).sum():
        msg = 'the weights sum to nothing'
        raise np.linalg.LinAlgError(msg)
    normalised: Floats = weights / total
    return normalised


@dataclass(frozen=True)
class LocallyLinear:
    r"""
    Coordinates in which every point is the same mixture of its neighbours as it is in space.

    This is locally linear embedding (Roweis & Saul 2000). With weights W, whose rows sum to one
    and minimise the errors of the mixtures,

    .. math:: M = (I - W)^\top (I - W) = \sum_r \lambda_r v_r v_r^\top, \qquad
              E = \sqrt n\,[v_1, \dots, v_m],

    the smallest eigenvalues first and without the constant mode: columns of unit variance. A new
    point is a mixture (Saul & Roweis 2003) of its nearest training point and the neighbours of
    that; on top of copies, it gets the mean of their rows, which differ by about a thousandth of
    their spread.

    M is factored, which takes seconds for thousands of points along a curve or a sheet, and the
    longer the more dimensions they fill.
    """

    dimension: int
    neighbours: int

    def fit(self, samples: Samples) -> Embedding:
        """Embed the points; the model keeps the distances within neighbourhoods."""
        from scipy.sparse import identity

        require_scale(samples, self.dimension, self.neighbours)
        indices, _ = samples.neighbours(self.neighbours)
        bridges = find_bridges(samples, indices)
        count = len(samples)
        error = identity(count) - _mixtures(samples, indices, bridges)
        null = np.full(count, 1.0 / np.sqrt(count))
        eigenvalues, vectors = smallest_modes((error.T @ error).tocsc(), null, self.dimension)
        coordinates = np.sqrt(count) * vectors
        neighbourhoods = np.column_stack([np.arange(count), indices])
        pairs, between = [], []
        for point, keys in pairs_within(neighbourhoods):
            away = samples.rows(keys % count) - samples.rows(np.array([point]))
            pairs.append(keys)
            between.append(np.einsum('ij,ij->i', away, away))
        response = Barycentric(neighbourhoods, np.concatenate(pairs), np.concatenate(between))
        extension = Extension(response, coordinates, np.zeros(self.dimension))
        return Embedding(coordinates, extension, eigenvalues, notes=bridges.notes)


def _mixtures(samples: Samples, indices: Ints, bridges: Bridges) -> csr_matrix:
    """Return W; a point at the end of a bridge is mixed of the other end too."""
    from scipy.sparse import csr_matrix

    columns, weights = [], []
    for point, nearest in enumerate(indices):
        others = np.append(nearest, bridges.second[bridges.first == point])
        away = samples.rows(others) - samples.rows(np.array([point]))
        columns.append(others)
        weights.append(usual_weights(away @ away.T))
    count = len(indices)
    places = (
        np.repeat(np.arange(count), [len(each) for each in columns]),
        np.concatenate(columns),
    )
    return csr_matrix((np.concatenate(weights), places), shape=(count, count))
