# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Response by barycentric weights over a neighbourhood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.kernels.affinity import check_indices

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

PENALTY = 1e-3
"""Of large weights, relative to the trace of the Gram matrix."""

COPY = 1e-9
"""Below this share of the distance to the farthest neighbour a point is its neighbour's copy."""


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
    pairs : (p,) int64
        ``i * n + j`` of all pairs i < j that are in one neighbourhood, increasing.
    between : (p,)
        Squared distances of these pairs.

    """

    neighbourhoods: Ints
    pairs: Ints
    between: Floats

    def weights(self, squared: Floats) -> Floats | None:
        """Return (n,) weights that sum to one; ``None`` if a distance is not finite."""
        if not np.isfinite(squared).all():
            return None
        members = self.neighbourhoods[squared.argmin()]
        apart = np.zeros((len(members), len(members)))
        upper = np.triu_indices(len(members), 1)
        keys = pair_keys(members[None], len(squared))
        apart[upper] = self.between[np.searchsorted(self.pairs, keys)]
        apart += apart.T
        weights = np.zeros(len(squared))
        weights[members] = relative_weights(squared[members], apart)
        return weights

    def check(self, count: int) -> int:
        """Return ``count``; refuse what does not fit as many training points."""
        shape = self.neighbourhoods.shape
        if len(shape) != 2 or shape[0] != count or shape[1] < 2:
            msg = f'neighbourhoods has the shape {shape} instead of ({count}, at least 2)'
            raise ValueError(msg)
        check_indices('neighbourhoods', self.neighbourhoods.ravel(), count)
        check_indices('pairs', self.pairs, count**2)
        if self.between.shape != self.pairs.shape:
            msg = f'between has the shape {self.between.shape} instead of {self.pairs.shape}'
            raise ValueError(msg)
        if not (np.diff(self.pairs) > 0).all():
            msg = 'pairs do not increase'
            raise ValueError(msg)
        if not np.isin(pair_keys(self.neighbourhoods, count), self.pairs).all():
            msg = 'pairs miss some of a neighbourhood'
            raise ValueError(msg)
        return count


def pair_keys(neighbourhoods: Ints, count: int) -> Ints:
    """Return ``i * n + j`` of all pairs i < j in each row of (r, c) out of n points."""
    first, second = np.triu_indices(neighbourhoods.shape[1], 1)
    one, other = neighbourhoods[:, first], neighbourhoods[:, second]
    keys: Ints = (np.minimum(one, other) * count + np.maximum(one, other)).ravel()
    return keys


def usual_weights(gram: Floats) -> Floats:
    """
    Return (k,) weights that make a point of its neighbours, regularised by the trace.

    Parameters
    ----------
    gram : (k, k)
        Inner products of the differences between the neighbours and the point.

    """
    # Where all neighbours are copies of the point there is no trace, and they share evenly.
    penalty = PENALTY * (np.trace(gram) or 1.0)
    weights = np.linalg.solve(gram + penalty * np.eye(len(gram)), np.ones(len(gram)))
    normalised: Floats = weights / weights.sum()
    return normalised


def relative_weights(squared: Floats, apart: Floats) -> Floats:
    r"""
    Return (k,) weights that make a point of its neighbours, regularised by their distances.

    With :math:`C_{jk} = (d_j^2 + d_k^2 - d_{jk}^2) / 2 d_j d_k`, the cosines between the
    neighbours as seen from the point: :math:`w \propto D^{-1} (C + \rho I)^{-1} D^{-1} 1`.

    Parameters
    ----------
    squared : (k,)
        Squared distances of the point to its neighbours.
    apart : (k, k)
        Squared distances between these.

    """
    distances = np.sqrt(squared)
    copies = distances <= COPY * distances.max()
    if copies.any():
        shares: Floats = copies / copies.sum()
        return shares
    cosines = (squared[:, None] + squared - apart) / (2.0 * distances[:, None] * distances)
    np.fill_diagonal(cosines, 1.0 + PENALTY * len(squared))
    closeness = distances.min() / distances
    weights = closeness * np.linalg.solve(cosines, closeness)
    normalised: Floats = weights / weights.sum()
    return normalised
