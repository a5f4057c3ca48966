# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Response by the probabilities of a step to the training points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.kernels.affinity import affinity, check_bandwidth, SMALLEST_DEGREE
from two_manifold_ros.kernels.neighbourhood import check_neighbourhood, near_points

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True)
class Transition:
    r"""
    Probabilities :math:`a_i \propto \exp(-d_i^2 / 2\sigma^2)\, q_i^{-\alpha}` of a step.

    Steps go to the ``near_points``: from a training point, to the same points as in training.

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
        close = near_points(squared, self.neighbours, self.radii)
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
        check_neighbourhood(self.neighbours, self.radii, count)
        if self.factors.shape != (count,) or not self.factors.min() > 0.0:
            msg = f'factors are not {count} positive numbers'
            raise ValueError(msg)
        return count
