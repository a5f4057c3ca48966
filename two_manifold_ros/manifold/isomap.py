# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Landmark Isomap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.affinity import (
    check_neighbours,
    fix_signs,
    require_scale,
    require_spread,
    spread_landmarks,
)
from two_manifold_ros.manifold.graph import find_bridges
from two_manifold_ros.manifold.learner import Embedding, Extension
from two_manifold_ros.ticks.sliding import nearest

if TYPE_CHECKING:
    from two_manifold_ros.manifold.graph import Bridges
    from two_manifold_ros.manifold.learner import Samples
    from two_manifold_ros.typing import Floats, Ints


@dataclass(frozen=True)
class Geodesic:
    """
    Squared geodesic distances of a new point to the landmarks, through its nearest neighbours.

    A training point gets its own: each of its neighbours is a detour at best.

    Parameters
    ----------
    neighbours
        Through how many the geodesics of a new point may begin.
    lengths : (n, l)
        Geodesic distances of the training points to the landmarks.

    """

    neighbours: int
    lengths: Floats

    def weights(self, squared: Floats) -> Floats | None:
        """Return (l,) squared geodesics; ``None`` if a distance is not finite."""
        if not np.isfinite(squared).all():
            return None
        near = nearest(squared, self.neighbours)
        through = np.sqrt(squared[near])[:, None] + self.lengths[near]
        geodesics: Floats = np.square(through.min(axis=0))
        return geodesics

    def check(self, count: int) -> int:
        """Return l; refuse what does not fit ``count`` training points."""
        check_neighbours(self.neighbours)
        shape = self.lengths.shape
        if len(shape) != 2 or shape[0] != count or not shape[1]:
            msg = f'lengths has the shape {shape} instead of ({count}, at least 1)'
            raise ValueError(msg)
        if self.lengths.min() < 0.0:
            msg = 'lengths are negative'
            raise ValueError(msg)
        return int(shape[1])


def geodesic_lengths(indices: Ints, squared: Floats, bridges: Bridges, landmarks: Ints) -> Floats:
    """
    Return the (n, l) lengths of the shortest paths to the landmarks.

    Parameters
    ----------
    indices, squared : (n, kappa)
        Nearest neighbours and their squared distances; edges go both ways.
    bridges
        That join the pieces of the graph.
    landmarks : (l,) int64
        Points.

    """
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


LANDMARKS = 200
"""Evenly spread points whose geodesics are found: time and size of a model grow with them."""

SMALLEST_SHARE = 1e-10
"""Of the first eigenvalue; smaller ones are rounding, and negative ones no distances."""


@dataclass(frozen=True)
class Isomap:
    r"""
    Classical scaling of geodesic distances between landmarks; all others by triangulation.

    With squared geodesics :math:`\delta^2(x)` of a point to the l landmarks,
    :math:`\Delta` those between landmarks, and H the centring matrix,

    .. math:: -\tfrac12 H \Delta H = V \Lambda V^\top, \qquad
              z(x) = -\tfrac12 \Lambda^{-1/2} V^\top (\delta^2(x) - \bar\Delta),

    which gives a landmark its row of :math:`V \Lambda^{1/2}`. Where all points are landmarks this
    is Isomap itself. The eigenvalues are those of the leading modes of :math:`\Lambda`;
    coordinates are fewer than asked for where fewer of these are positive.

    Parameters
    ----------
    dimension
        Coordinates kept, m.
    neighbours
        :math:`\kappa`; a point is joined to those that it is nearest to as well.
    landmarks
        At most so many, at least 2; 200 were as good as all on windows and on a rolled sheet.

    Raises
    ------
    InputError
        If there are fewer than two landmarks.

    References
    ----------
    J. B. Tenenbaum, V. de Silva, J. C. Langford: A global geometric framework for nonlinear
    dimensionality reduction. Science 290, 2000. V. de Silva, J. B. Tenenbaum: Sparse
    multidimensional scaling using landmark points. Stanford, 2004.

    """

    dimension: int
    neighbours: int
    landmarks: int = LANDMARKS

    def __post_init__(self) -> None:
        """Check the number of landmarks."""
        if self.landmarks < 2:
            msg = f'landmarks is {self.landmarks}, but must be at least 2'
            raise InputError(msg)

    def fit(self, samples: Samples) -> Embedding:
        """
        Embed the points; the model keeps their (n, l) geodesics.

        Raises
        ------
        InputError
            If there are too few points, or most are identical.

        """
        typical = require_scale(samples, self.dimension, self.neighbours)
        indices, squared = samples.neighbours(self.neighbours)
        bridges = find_bridges(samples, indices)
        members = spread_landmarks(len(samples), self.landmarks)
        lengths = geodesic_lengths(indices, squared, bridges, members)
        between = np.square(lengths[members])
        require_spread(between, typical)
        eigenvalues, vectors = _scaling(between, self.dimension)
        table = -0.5 * vectors / np.sqrt(eigenvalues)
        coordinates = np.square(lengths) @ table
        mean = coordinates.mean(axis=0)
        extension = Extension(Geodesic(self.neighbours, lengths), table, -mean)
        return Embedding(coordinates - mean, extension, eigenvalues, notes=bridges.notes)


def _scaling(squared: Floats, dimension: int) -> tuple[Floats, Floats]:
    """Return the leading eigenpairs of (l, l) squared distances centred twice."""
    gram = -0.25 * (squared + squared.T)
    gram -= gram.mean(axis=0)
    gram -= gram.mean(axis=1)[:, None]
    first = max(0, len(gram) - dimension)
    values, vectors = eigh(gram, subset_by_index=[first, len(gram) - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    keep = values > SMALLEST_SHARE * values[0]
    return values[keep], fix_signs(vectors[:, keep])
