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

    Where no weighted tick has a target, the prior over training is returned.

    Parameters
    ----------
    targets : (N, c, 2)
        Of the training ticks, NaN where unknown.
    drift : (N, c, 2)
        What each target gains per unit of pace above 1, from ``pace_drift``.
    noise : (c, 2, 2)
        Added to the covariance under the weights: how far a certain belief is off all the same.
    factors : (c,)
        Calibration of the covariances.

    """

    def __init__(self, targets: Floats, drift: Floats, noise: Floats, factors: Floats) -> None:
        self.targets = targets
        self.drift = drift
        self.noise = noise
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
        fill_moments(self._sums, self._ones, means, covariances)
        targets = len(self.factors)
        known = np.maximum(self._sums[:targets], 1e-300)
        gains = self._sums[6 * targets :].reshape(2, targets) / known
        means += (pace - 1.0) * gains.T
        covariances += self.noise
        covariances *= self.factors[:, None, None]
        return means, covariances

    def scaled(self, factors: Floats) -> ForecastReadout:
        """Return the read-out with its covariances multiplied by (c,) factors."""
        return ForecastReadout(self.targets, self.drift, self.noise, self.factors * factors)

    def with_noise(self, noise: Floats) -> ForecastReadout:
        """Return the read-out with another (c, 2, 2) noise."""
        return ForecastReadout(self.targets, self.drift, noise, self.factors)
