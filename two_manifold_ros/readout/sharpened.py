# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sharpened convex weights: the default read-out (sections 7.2 and 7.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled, HAVE_NUMBA
from two_manifold_ros.readout.reading import second_moments

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

FAINTEST = 0.02
"""
Weights below this share of the largest are left out. To the sixth power they are 6e-11 of it,
and leaving them out is what makes reading eight horizons cheap.
"""

FLOOR = 1e-4
"""Added to each variance, m^2: one centimetre, so that no covariance is singular."""


@compiled
def _sharpen_loops(weights: Floats, chosen: Ints, shares: Floats) -> int:
    largest = 0.0
    for i in range(weights.size):
        largest = max(largest, weights[i])
    least = FAINTEST * largest
    count = 0
    for i in range(weights.size):
        if weights[i] > least:
            relative = weights[i] / largest
            square = relative * relative
            chosen[count] = i
            shares[count] = square * square * square
            count += 1
    return count


def _sharpen_arrays(weights: Floats, chosen: Ints, shares: Floats) -> int:
    largest = max(float(weights.max()), 0.0)
    found = np.flatnonzero(weights > FAINTEST * largest)
    chosen[: len(found)] = found
    if len(found):
        shares[: len(found)] = (weights[found] / largest) ** 6
    return len(found)


sharpen = _sharpen_loops if HAVE_NUMBA else _sharpen_arrays
"""
Raise the positive weights to the sixth power, relative to the largest.

Parameters
----------
weights : (n,)
    Finite.
chosen : (n,) int64, shares : (n,)
    Their first entries are filled with the training ticks that count and their shares.

Returns
-------
int
    How many ticks count; none if no weight is positive.

"""


@compiled
def _moments_loops(
    chosen: Ints, shares: Floats, targets: Floats, means: Floats, covariances: Floats
) -> None:
    for c in range(targets.shape[1]):
        total = 0.0
        x = 0.0
        y = 0.0
        xx = 0.0
        xy = 0.0
        yy = 0.0
        x0 = 0.0
        y0 = 0.0
        for m in range(chosen.size):
            i = chosen[m]
            if np.isfinite(targets[i, c, 0]) and np.isfinite(targets[i, c, 1]):
                if total == 0.0:
                    x0 = targets[i, c, 0]
                    y0 = targets[i, c, 1]
                dx = targets[i, c, 0] - x0
                dy = targets[i, c, 1] - y0
                total += shares[m]
                x += shares[m] * dx
                y += shares[m] * dy
                xx += shares[m] * dx * dx
                xy += shares[m] * dx * dy
                yy += shares[m] * dy * dy
        if total > 0.0:
            x /= total
            y /= total
            means[c, 0] = x0 + x
            means[c, 1] = y0 + y
            covariances[c, 0, 0] = max(xx / total - x * x, 0.0) + FLOOR
            covariances[c, 0, 1] = xy / total - x * y
            covariances[c, 1, 0] = covariances[c, 0, 1]
            covariances[c, 1, 1] = max(yy / total - y * y, 0.0) + FLOOR


def _moments_arrays(
    chosen: Ints, shares: Floats, targets: Floats, means: Floats, covariances: Floats
) -> None:
    for c in range(targets.shape[1]):
        picked = targets[chosen, c]
        known = np.isfinite(picked).all(axis=1)
        if known.any():
            weights = shares[known] / shares[known].sum()
            means[c] = weights @ picked[known]
            spread = picked[known] - means[c]
            covariances[c] = (spread * weights[:, None]).T @ spread + FLOOR * np.eye(2)


weighted_moments = _moments_loops if HAVE_NUMBA else _moments_arrays
"""
Mean and covariance of each target under shares of training ticks, eq. (7.2).

Parameters
----------
chosen : (m,) int64, shares : (m,)
    Training ticks and their unnormalised shares.
targets : (n, c, 2)
    NaN where unknown; such ticks are passed over.
means : (c, 2), covariances : (c, 2, 2)
    Overwritten, except where no chosen tick has the target.

"""


class SharpenedReadout:
    """
    Mean of the targets under the sixth power of the positive weights.

    The mean is convex, so every position lies in the hull of the training positions and is
    always finite. Where no weighted tick has a target, the prior over training is returned.

    Parameters
    ----------
    targets : (n, c, 2)
        Of the training ticks, NaN where unknown.
    factors : (c,)
        Calibration of the covariances.

    """

    def __init__(self, targets: Floats, factors: Floats) -> None:
        self.targets = np.ascontiguousarray(targets)
        self.factors = factors
        self._prior = second_moments(targets)
        self._chosen = np.zeros(len(targets), dtype=np.int64)
        self._shares = np.zeros(len(targets))

    def read(self, weights: Floats, state: Floats) -> tuple[Floats, Floats]:  # noqa: ARG002
        """Read all targets; see ``Readout``. The state is not needed."""
        means, covariances = self._prior[0].copy(), self._prior[1].copy()
        count = sharpen(weights, self._chosen, self._shares)
        weighted_moments(
            self._chosen[:count], self._shares[:count], self.targets, means, covariances
        )
        covariances *= self.factors[:, None, None]
        return means, covariances

    def scaled(self, factors: Floats) -> SharpenedReadout:
        """Return the read-out with its covariances multiplied by (c,) factors."""
        return SharpenedReadout(self.targets, self.factors * factors)
