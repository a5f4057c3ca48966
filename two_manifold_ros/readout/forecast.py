# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Mean and covariance of the targets under weights that are chances: for the route belief."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled, HAVE_NUMBA
from two_manifold_ros.readout.reading import second_moments
from two_manifold_ros.readout.sharpened import fill_moments, moment_rows, sum_rows

if TYPE_CHECKING:
    from two_manifold_ros.typing import Bools, Floats, Ints

FAINTEST = 1e-4
"""Weights below this share of the largest are left out: they cost time and move nothing."""

LEAST_KNOWN = 0.1
"""
Share of the weights whose target has to be known.

Where the positions of a part of the route were never recorded a belief that is sure to be there
has a remainder elsewhere, which knows positions and is wrong.
"""


@compiled
def _choose_loops(weights: Floats, chosen: Ints, shares: Floats) -> int:
    largest = 0.0
    for i in range(weights.size):
        largest = max(largest, weights[i])
    least = FAINTEST * largest
    count = 0
    for i in range(weights.size):
        if weights[i] > least:
            chosen[count] = i
            shares[count] = weights[i]
            count += 1
    return count


def _choose_arrays(weights: Floats, chosen: Ints, shares: Floats) -> int:
    found = np.flatnonzero(weights > FAINTEST * weights.max())
    chosen[: len(found)] = found
    shares[: len(found)] = weights[found]
    return len(found)


choose_weights = _choose_loops if HAVE_NUMBA else _choose_arrays
"""
Pick the weights that count.

Parameters
----------
weights : (N,)
    None negative.
chosen : (N,) int64, shares : (N,)
    Their first entries are filled with the training ticks that count and their weights.

Returns
-------
int
    How many ticks count.

"""


class ForecastReadout:
    """
    Mean of the targets under the weights, moved on by the pace.

    Where hardly any of the weight is on ticks with a target, the prior over training is returned
    as it is: the calibration is not about it.

    Parameters
    ----------
    targets : (N, c, 2)
        Of the training ticks, NaN where unknown.
    drift : (N, c, 2)
        What each target gains per unit of pace above 1, from ``pace_drift``.
    factors : (c,)
        Calibration of the covariances.

    """

    def __init__(self, targets: Floats, drift: Floats, factors: Floats) -> None:
        self.targets = targets
        self.drift = drift
        self.factors = factors
        self._means, self._covariances = second_moments(targets)
        known: Bools = np.asarray(np.isfinite(targets).all(axis=2))
        gains = np.where(known[..., None], drift, 0.0)
        self._rows = np.hstack([moment_rows(targets, self._means), gains[..., 0], gains[..., 1]])
        self._chosen = np.zeros(len(targets), dtype=np.int64)
        self._shares = np.zeros(len(targets))
        self._sums = np.zeros(self._rows.shape[1])
        self._ones = np.ones(len(factors))

    def read(self, weights: Floats, state: Floats, pace: float) -> tuple[Floats, Floats]:  # noqa: ARG002
        """Read all targets; see ``Readout``. The state is not needed."""
        count = choose_weights(weights, self._chosen, self._shares)
        sum_rows(self._chosen[:count], self._shares[:count], self._rows, self._sums)
        means, covariances = self._means.copy(), self._covariances.copy()
        sums = self._sums.reshape(8, -1)
        told = sums[0] > LEAST_KNOWN * self._shares[:count].sum()
        sums[:, ~told] = 0.0
        fill_moments(self._sums, self._ones, means, covariances)
        gains = sums[6:] / np.where(told, sums[0], 1.0)
        means += (pace - 1.0) * gains.T
        covariances *= np.where(told, self.factors, 1.0)[:, None, None]
        return means, covariances

    def scaled(self, factors: Floats) -> ForecastReadout:
        """Return the read-out with its covariances multiplied by (c,) factors."""
        return ForecastReadout(self.targets, self.drift, self.factors * factors)
