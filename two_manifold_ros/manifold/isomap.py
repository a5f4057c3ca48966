# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Landmark Isomap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.affinity import (
    leading_modes,
    require,
    require_scale,
    require_spread,
    spread_landmarks,
)
from two_manifold_ros.manifold.graph import find_bridges
from two_manifold_ros.manifold.learner import Embedding, Extension

if TYPE_CHECKING:
    from two_manifold_ros.manifold.graph import Bridges
    from two_manifold_ros.manifold.learner import Samples
    from two_manifold_ros.typing import Floats, Ints


@dataclass(frozen=True)
class Geodesic:
    """
    Squared geodesic distances of a new point to the landmarks, through its nearest neighbours.

    A training point gets its own: each of its neighbours is a detour at best. ``lengths`` (n, l)
    are the geodesic distances of the training points to the landmarks.
    """

    neighbours: int
    lengths: Floats

    def weights(self, squared: Floats) -> Floats | None:
        """Return (l,) squared geodesics; ``None`` if a distance is not finite."""
        if not np.isfinite(squared).all():
            return None
        from two_manifold_ros.ticks.sliding import nearest

        near = nearest(squared, self.neighbours)
        through = np.sqrt(squared[near])[:, None] + self.lengths[near]
        geodesics: Floats = np.square(through.min(axis=0))
        return geodesics

    def check(self, count: int) -> int:
        """Return l; refuse what does not fit ``count`` training points."""
        enough = self.neighbours >= 1
        require(enough, f'neighbours is {self.neighbours!r}, not a whole number of at least 1')
        shape = self.lengths.shape
        fits = len(shape) == 2 and shape[0] == count and shape[1] > 0
        require(fits, f'lengths has the shape {shape} instead of ({count}, at least 1)')
        require(bool(self.lengths.min() >= 0.0), 'lengths are negative')
        return int(shape[1])


def geodesic_lengths(indices: Ints, squared: Floats, bridges: Bridges, landmarks: Ints) -> Floats:
    """Return (n, l) lengths of shortest paths to landmarks over neighbours and bridges."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import dijkstra

    count, kappa = indices.shape
    rows = np.repeat(np.arange(count), kappa)
    first = np.concatenate([rows, indices.ravel(), bridges.first])
    second = np.concatenate([indices.ravel(), rows, bridges.second])
    lengths = np.sqrt(np.concatenate([squared.ravel(), squared.ravel(), bridges.squared]))
    # Each edge once: entries of one place would be added up. Zeros are kept; they join copies.
    _, kept = np.unique(first * count + second, return_index=True)
    places = (first[kept], second[kept])
    graph = csr_matrix((lengths[kept], places), shape=(count, count))
    return np.ascontiguousarray(dijkstra(graph, indices=landmarks).T)


@dataclass(frozen=True)
class Isomap:
    r"""
    Classical scaling of geodesic distances between landmarks; all others by triangulation.

    With squared geodesics :math:`\delta^2(x)` of a point to the l landmarks,
    :math:`\Delta` those between landmarks, and H the centring matrix,

    .. math:: -\tfrac12 H \Delta H = V \Lambda V^\top, \qquad
              z(x) = -\tfrac12 \Lambda^{-1/2} V^\top (\delta^2(x) - \bar\Delta),

    which gives a landmark its row of :math:`V \Lambda^{1/2}` (de Silva & Tenenbaum 2004). Where
    all points are landmarks this is Isomap itself (Tenenbaum, de Silva & Langford 2000). The
    eigenvalues are those of the leading modes of :math:`\Lambda`; coordinates are fewer than asked
    for where fewer of these are positive.

    Parameters
    ----------
    dimension, neighbours
        Coordinates kept, m, and :math:`\kappa`; a point is joined to those that it is nearest to.
    landmarks
        Most evenly spread points whose geodesics are found, at least 2: time and size of a model
        grow with them, and 200 were as good as all on windows and on a rolled sheet.

    """

    dimension: int
    neighbours: int
    landmarks: int = 200

    def __post_init__(self) -> None:
        """Check the number of landmarks."""
        if self.landmarks < 2:
            msg = f'landmarks is {self.landmarks}, but must be at least 2'
            raise InputError(msg)

    def fit(self, samples: Samples) -> Embedding:
        """Embed the points; the model keeps their (n, l) geodesics."""
        typical = require_scale(samples, self.dimension, self.neighbours)
        indices, squared = samples.neighbours(self.neighbours)
        bridges = find_bridges(samples, indices)
        members = spread_landmarks(len(samples), self.landmarks)
        lengths = geodesic_lengths(indices, squared, bridges, members)
        between = np.square(lengths[members])
        require_spread(between, typical)
        gram = -0.25 * (between + between.T)
        gram -= gram.mean(axis=0)
        gram -= gram.mean(axis=1)[:, None]
        eigenvalues, vectors = leading_modes(gram, self.dimension)
        table = -0.5 * vectors / np.sqrt(eigenvalues)
        coordinates = np.square(lengths) @ table
        mean = coordinates.mean(axis=0)
        extension = Extension(Geodesic(self.neighbours, lengths), table, -mean)
        return Embedding(coordinates - mean, extension, eigenvalues, notes=bridges.notes)
