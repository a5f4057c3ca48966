# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Response by the probabilities of a step to the training points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.kernels.affinity import (
    affinity,
    check_bandwidth,
    check_neighbours,
    SMALLEST_DEGREE,
)

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

SLACK = 1e-9
"""Relative; a distance that is a radius stays one when it is computed in another way."""


@dataclass(frozen=True)
class Transition:
    r"""
    Probabilities :math:`a_i \propto \exp(-d_i^2 / 2\sigma^2)\, q_i^{-\alpha}` of a step.

    Steps go to the nearest training points, and to those that have the new point among their
    nearest: from a training point, to the same points as in training.

    Parameters
    ----------
    bandwidth
        :math:`\sigma`.
    neighbours
        How many others are near.
    radii : (n,)
        Squared distance of each training point to the last of its own neighbours.
    factors : (n,)
        :math:`q^{-\alpha}`, see ``DiffusionMap``.

    """

    bandwidth: float
    neighbours: int
    radii: Floats
    factors: Floats

    def weights(self, squared: Floats) -> Floats | None:
        """Return (n,) weights that sum to one; ``None`` if all are out of reach."""
        # One more than the neighbours, since a training point counts itself.
        radius = np.partition(squared, self.neighbours)[self.neighbours]
        close = np.flatnonzero(squared <= np.maximum(self.radii, radius) * (1.0 + SLACK))
        near = affinity(squared[close], self.bandwidth)
        if not near.sum() > SMALLEST_DEGREE:
            return None
        near *= self.factors[close]
        weights = np.zeros(len(squared))
        weights[close] = near / near.sum()
        return weights

    def check(self, count: int) -> int:
        """Return ``count``; refuse what does not fit as many training points."""
        check_bandwidth(self.bandwidth)
        check_neighbours(self.neighbours)
        if self.neighbours >= count:
            msg = f'neighbours is {self.neighbours}, but there are {count} training points'
            raise ValueError(msg)
        for name in ('radii', 'factors'):
            values = getattr(self, name)
            if values.shape != (count,):
                msg = f'{name} has the shape {values.shape} instead of ({count},)'
                raise ValueError(msg)
            if values.min() < 0.0:
                msg = f'{name} are negative'
                raise ValueError(msg)
        return count
