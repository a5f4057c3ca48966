# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laplacian eigenmaps as kernels, and their extension to new points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from two_manifold_ros.manifold.learner import (
    affinity,
    affinity_graph,
    connect,
    Embedding,
    Extension,
    Limits,
    near_points,
    NEIGHBOURHOOD,
    require_scale,
    Samples,
    smallest_modes,
    walk_modes,
)
from two_manifold_ros.rules import BOUNDS, check_fields, Rules
from two_manifold_ros.typing import Floats, Ints

LARGEST_GAIN = 20.0
"""Largest value of a mode over its mean in the neighbourhood, either way: more would be noise."""


@dataclass(frozen=True)
class NearModes:
    r"""
    Values of the modes of a Laplacian at a new point, from its affinities to those near.

    .. math:: \psi(x) = \frac{\sum_j w_j(x)\psi_j}{d_x - \lambda + 1} \quad\text{or}\quad
              \sqrt{d_x}\,\frac{\sum_j w_j(x)\psi_j}{(1 - \lambda) d_x + 1}, \qquad
              d_x = \sum_j w_j(x) - 1,

    the second where the Laplacian is normalised, so that a training point gets its own value,
    mathematics (8.4). Around a denominator of zero the value falls to zero. An edge that joins two
    pieces counts for the two points that it joins alone.
    """

    bandwidth: float  # of the affinity, 0 for affinities of 1
    neighbours: int
    normalised: int  # 1 for the normalised Laplacian, else 0
    radii: Floats  # (n,), see `near_points`
    eigenvalues: Floats  # (m,), lambda
    modes: Floats  # (n, m), psi; of the normalised Laplacian those of the random walk
    bridges: Ints  # (b, 2) int64, pairs that join pieces of the graph, in both directions
    bridge_weights: Floats  # (b,), their affinities

    def weights(self, squared: Floats) -> Floats | None:
        """Return the (m,) values of the modes; ``None`` if all points are out of reach."""
        near = near_points(squared, self.neighbours, self.radii)
        near_weights = affinity(squared[near], self.bandwidth)
        total = near_weights.sum()
        if not total > Limits.degree:
            return None
        summed = near_weights @ self.modes[near]
        nearest = squared.argmin()
        # A training point itself has the bridges that lead from it.
        if len(self.bridges) and not squared[nearest] > 1e-12 * self.radii.max():
            mine = self.bridges[:, 0] == nearest
            for end, weight in zip(self.bridges[mine, 1], self.bridge_weights[mine], strict=True):
                total += weight
                summed += weight * self.modes[end]
        degree = max(total - 1.0, 0.0)
        if self.normalised:
            own = (1.0 - self.eigenvalues) * degree + 1.0
            summed *= np.sqrt(degree)
        else:
            own = degree - self.eigenvalues + 1.0
        least = total / LARGEST_GAIN
        values: Floats = summed * np.clip(own / least, -1.0, 1.0) / np.maximum(np.abs(own), least)
        return values

    def check(self, count: int) -> int:
        """Return m; refuse what does not fit ``count`` training points."""
        least = BOUNDS.least if self.bandwidth else 0.0
        rules: Rules = {
            'bandwidth': ('', least), 'normalised': ('', 0, 1), 'eigenvalues': ('m',),
            'modes': ('nm',), 'bridge_weights': ('b',), 'bridges': ('b2', 0, 'n'),
        }  # fmt: skip
        check_fields(self, NEIGHBOURHOOD | rules, {'n': count})
        return int(self.eigenvalues.size)


@dataclass(frozen=True)
class LaplacianEigenmap:
    """
    Features of the pseudo-inverse of a graph Laplacian (Belkin & Niyogi 2003), mathematics (2.3).

    The Laplacian is of the symmetric affinities of a neighbour graph. The eigenvalues of the
    embedding are its own, smallest first, without the zero. Out of sample a training point gets
    its own row but for the roughest of many modes of few points, see `NearModes`.
    """

    dimension: int  # coordinates kept, m
    neighbours: int  # kappa; either point may be the neighbour of the other
    normalised: bool = True  # whether the Laplacian is the normalised one, or D - W
    heat: bool = True  # affinities exp(-d^2/2sigma^2), or all 1
    scaled: bool = True  # whether modes are divided by sqrt(lambda); all count alike without
    width: float = 1.0  # sigma, in median distances

    def fit(self, samples: Samples) -> Embedding:
        """Embed the points through their neighbour graph; no n x n dense matrix is formed."""
        distance = require_scale(samples, self.dimension, self.neighbours)
        bandwidth = self.width * distance if self.heat else 0.0
        indices, squared = samples.neighbours(self.neighbours)
        near = affinity_graph(indices, squared, bandwidth)
        graph, notes = connect(near, samples, bandwidth, self.neighbours)
        degrees = np.asarray(graph.sum(axis=1)).ravel()
        count = len(samples)
        if self.normalised:
            # The modes of the random walk D^-1 W are D^-1/2 v.
            values, functions = walk_modes(graph, self.dimension)
            vectors = functions * np.sqrt(degrees / degrees.sum())[:, None]
            eigenvalues = np.maximum(1.0 - values, Limits.eigenvalue)
        else:
            from scipy.sparse import diags

            null = np.full(count, 1.0 / np.sqrt(count))
            laplacian = (diags(degrees) - graph).tocsc()
            values, vectors = smallest_modes(laplacian, null, self.dimension)
            eigenvalues = np.maximum(values, Limits.eigenvalue * degrees.mean())
        scale = np.sqrt(count / (eigenvalues if self.scaled else np.ones(self.dimension)))
        coordinates = vectors * scale
        mean = coordinates.mean(axis=0)
        bridges = (graph - near).tocoo()
        response = NearModes(
            bandwidth,
            self.neighbours,
            int(self.normalised),
            squared[:, -1].copy(),
            eigenvalues,
            vectors / np.sqrt(degrees)[:, None] if self.normalised else vectors,
            np.column_stack([bridges.row, bridges.col]).astype(np.int64),
            bridges.data,
        )
        return Embedding(
            coordinates - mean,
            Extension(response, np.diag(scale), -mean),
            eigenvalues,
            bandwidth,
            notes,
        )
