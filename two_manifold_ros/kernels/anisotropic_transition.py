# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Response by the probabilities of a step where distances are those of local metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.kernels.affinity import (
    affinity,
    check_bandwidth,
    check_indices,
    SMALLEST_DEGREE,
)
from two_manifold_ros.kernels.local_metric import LocalMetric

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints


def power_mean(first: Floats, second: Floats, power: float) -> Floats:
    """Return the power mean of two arrays, the geometric one for power 0; none below."""
    if power == 0.0:
        geometric: Floats = np.sqrt(first * second)
        return geometric
    mean: Floats = (0.5 * (first**power + second**power)) ** (1.0 / power)
    return mean


@dataclass(frozen=True)
class AnisotropicTransition:
    r"""
    Probabilities :math:`a_j \propto \exp(-d_j^2 / 2\sigma^2)\, q_j^{-\alpha}` of a step.

    A new point has no covariance of its own: it takes that of the nearest training point, in
    the ordinary distance, and may step where that one may.

    Parameters
    ----------
    bandwidth
        :math:`\sigma`.
    power
        Of the mean of the two squared distances.
    members, coefficients, offsets
        Of the `LocalMetric`.
    begins : (n + 1,) int64
        Where the steps of each training point begin in ``targets``.
    targets : (e,) int64
        Training points that may be stepped to, itself among them.
    places : (e, r)
        Their coordinates in the frame of the point stepped from.
    factors : (n,)
        :math:`q^{-\alpha}`.
    reach
        Typical distance of two training points, in the ordinary distance. Metrics do not see
        how far off a point lies across all their directions; at several times as much it
        resembles nothing.

    """

    bandwidth: float
    power: float
    members: Ints
    coefficients: Floats
    offsets: Floats
    begins: Ints
    targets: Ints
    places: Floats
    factors: Floats
    reach: float

    def weights(self, squared: Floats) -> Floats | None:
        """Return (n,) weights that sum to one; ``None`` if all are out of reach."""
        metric = LocalMetric(self.members, self.coefficients, self.offsets)
        nearest = int(squared.argmin())
        if not affinity(squared[nearest], self.reach) > SMALLEST_DEGREE:
            return None
        steps = slice(self.begins[nearest], self.begins[nearest + 1])
        targets = self.targets[steps]
        away = self.places[steps] - metric.frame(nearest, squared)
        back = metric.frames(targets, squared)
        distances = power_mean(
            np.square(away).sum(axis=1), np.square(back).sum(axis=1), self.power
        )
        near = affinity(distances, self.bandwidth)
        if not near.sum() > SMALLEST_DEGREE:
            return None
        near *= self.factors[targets]
        weights = np.zeros(len(squared))
        weights[targets] = near / near.sum()
        return weights

    def check(self, count: int) -> int:
        """Return ``count``; refuse what does not fit as many training points."""
        check_bandwidth(self.bandwidth)
        check_bandwidth(self.reach)
        if not 0.0 <= self.power <= 1.0:
            msg = f'power is {self.power!r}, not between 0 and 1'
            raise ValueError(msg)
        check_indices('targets', self.targets, count)
        check_indices('members', self.members.ravel(), count)
        rank = self.coefficients.shape[-1]
        shapes = {
            'members': (count, self.members.shape[-1]),
            'coefficients': (count, self.members.shape[-1], rank),
            'offsets': (count, rank),
            'begins': (count + 1,),
            'places': (len(self.targets), rank),
            'factors': (count,),
        }
        for name, shape in shapes.items():
            found = getattr(self, name).shape
            if found != shape:
                msg = f'{name} has the shape {found} instead of {shape}'
                raise ValueError(msg)
        steps = np.diff(self.begins)
        if self.begins[0] != 0 or self.begins[-1] != len(self.targets) or steps.min() < 1:
            msg = 'begins do not divide the targets among the training points'
            raise ValueError(msg)
        return count
