# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Response by the modes of a graph Laplacian, carried on from the near training points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.kernels.affinity import affinity, check_indices, SMALLEST_DEGREE
from two_manifold_ros.kernels.neighbourhood import check_neighbourhood, near_points

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

LARGEST_GAIN = 20.0
"""Of a mode over its mean in the neighbourhood, either way: more would be the noise of it."""

SAME = 1e-12
"""Squared distance, relative to the largest radius, below which points are the same."""


@dataclass(frozen=True)
class NearModes:
    r"""
    Values of the modes of a Laplacian at a new point, from its affinities to those near.

    A mode satisfies :math:`\sum_j W_{ij}\psi_j = (d_i - \lambda)\psi_i` in each row of the graph,
    or :math:`= (1 - \lambda) d_i \psi_i` where the Laplacian is normalised. With :math:`W_{ii} =
    1` added on both sides this holds for the sum over all near points, of which a training point
    is one itself; so a new point gets

    .. math:: \psi(x) = \frac{\sum_j w_j(x)\psi_j}{d_x - \lambda + 1} \quad\text{or}\quad
              \sqrt{d_x}\,\frac{\sum_j w_j(x)\psi_j}{(1 - \lambda) d_x + 1}, \qquad
              d_x = \sum_j w_j(x) - 1,

    and a training point its own value; this is (8.1) of the note with the point's own affinity
    accounted for. Where a mode changes so much from point to point that its mean over those near
    says next to nothing of it, with a denominator around zero, the value falls to zero with the
    denominator and so misses that of a training point: where :math:`\lambda > 0.95`, or, of a
    Laplacian that is not normalised, above about the degree of the point. An edge that joins two
    pieces counts for the two points that it joins alone.

    Parameters
    ----------
    bandwidth
        Of the affinity; 0 for affinities of 1.
    neighbours
        How many others are near.
    normalised
        1 for the normalised Laplacian, else 0.
    radii : (n,)
        Squared distance of each training point to the last of its own neighbours.
    eigenvalues : (m,)
        :math:`\lambda`.
    modes : (n, m)
        :math:`\psi`; of the normalised Laplacian those of the random walk.
    bridges : (b, 2) int64
        Pairs that join pieces of the graph, in both directions.
    bridge_weights : (b,)
        Their affinities.

    """

    bandwidth: float
    neighbours: int
    normalised: int
    radii: Floats
    eigenvalues: Floats
    modes: Floats
    bridges: Ints
    bridge_weights: Floats

    def weights(self, squared: Floats) -> Floats | None:
        """Return the (m,) values of the modes; ``None`` if all points are out of reach."""
        near = near_points(squared, self.neighbours, self.radii)
        near_weights = affinity(squared[near], self.bandwidth)
        total = near_weights.sum()
        if not total > SMALLEST_DEGREE:
            return None
        summed = near_weights @ self.modes[near]
        for end, weight in self._bridged(squared):
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

    def _bridged(self, squared: Floats) -> list[tuple[int, float]]:
        """Return where the bridges of a training point lead, and their weights."""
        if not len(self.bridges):
            return []
        nearest = squared.argmin()
        if squared[nearest] > SAME * self.radii.max():
            return []
        mine = self.bridges[:, 0] == nearest
        return list(zip(self.bridges[mine, 1], self.bridge_weights[mine], strict=True))

    def check(self, count: int) -> int:
        """Return m; refuse what does not fit ``count`` training points."""
        if not self.bandwidth >= 0.0:
            msg = f'bandwidth is {self.bandwidth!r}, a negative number'
            raise ValueError(msg)
        if self.normalised not in {0, 1}:
            msg = f'normalised is {self.normalised}, neither 0 nor 1'
            raise ValueError(msg)
        check_neighbourhood(self.neighbours, self.radii, count)
        shapes = {
            'modes': (self.modes, (count, self.eigenvalues.size)),
            'eigenvalues': (self.eigenvalues, (self.eigenvalues.size,)),
            'bridges': (self.bridges, (self.bridge_weights.size, 2)),
            'bridge_weights': (self.bridge_weights, (self.bridge_weights.size,)),
        }
        for name, (array, shape) in shapes.items():
            if array.shape != shape:
                msg = f'{name} has the shape {array.shape} instead of {shape}'
                raise ValueError(msg)
        if self.bridges.size:
            check_indices('bridges', self.bridges.ravel(), count)
        return int(self.eigenvalues.size)
