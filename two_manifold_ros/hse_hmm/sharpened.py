# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sharpened convex weights: the default read-out (sections 7.2 and 7.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled, HAVE_NUMBA
from two_manifold_ros.hse_hmm.readout import FLOOR, second_moments

if TYPE_CHECKING:
    from two_manifold_ros.typing import Bools, Floats, Ints


FAINTEST = 0.1
"""
Weights below this share of the largest are left out. To the sixth power they are at most 1e-6 of
it, and leaving them out is what makes reading eight horizons cheap.
"""


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
def _sum_rows_loops(chosen: Ints, shares: Floats, rows: Floats, sums: Floats) -> None:
    sums[:] = 0.0
    for m in range(chosen.size):
        row = rows[chosen[m]]
        share = shares[m]
        for c in range(sums.size):
            sums[c] += share * row[c]


def _sum_rows_arrays(chosen: Ints, shares: Floats, rows: Floats, sums: Floats) -> None:
    np.matmul(shares, rows[chosen], out=sums)


sum_rows = _sum_rows_loops if HAVE_NUMBA else _sum_rows_arrays
"""
Sum the chosen rows, each times its share.

Parameters
----------
chosen : (m,) int64, shares : (m,)
    Training ticks and their unnormalised shares.
rows : (n, c)
sums : (c,)
    Filled.

"""


def moment_rows(targets: Floats, centre: Floats) -> Floats:
    """
    Return what has to be summed for the first two moments of each target.

    Parameters
    ----------
    targets : (n, c, 2)
        NaN where unknown.
    centre : (c, 2)
        Subtracted, so that the second moments lose no digits far from the origin.

    Returns
    -------
    (n, 6 c)
        1, x, y, x^2, x y and y^2 of every target, all zero where it is unknown.

    """
    known: Bools = np.asarray(np.isfinite(targets).all(axis=2))
    x, y = np.moveaxis(np.where(known[..., None], targets - centre, 0.0), 2, 0)
    return np.hstack([known.astype(np.float64), x, y, x * x, x * y, y * y])


@compiled
def fill_moments(sums: Floats, factors: Floats, means: Floats, covariances: Floats) -> None:
    """
    Turn sums into means and covariances, eq. (7.2).

    Parameters
    ----------
    sums : (6 c,)
        Of ``moment_rows``.
    factors : (c,)
        Calibration of the covariances.
    means : (c, 2), covariances : (c, 2, 2)
        Hold the prior: the centre is added to, and where no chosen tick has the target the
        prior stays.

    """
    count = factors.size
    for c in range(count):
        if sums[c] > 0.0:
            x = sums[count + c] / sums[c]
            y = sums[2 * count + c] / sums[c]
            means[c, 0] += x
            means[c, 1] += y
            covariances[c, 0, 0] = max(sums[3 * count + c] / sums[c] - x * x, 0.0) + FLOOR
            covariances[c, 0, 1] = sums[4 * count + c] / sums[c] - x * y
            covariances[c, 1, 0] = covariances[c, 0, 1]
            covariances[c, 1, 1] = max(sums[5 * count + c] / sums[c] - y * y, 0.0) + FLOOR
        for i in range(2):
            for j in range(2):
                covariances[c, i, j] *= factors[c]


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
        self.targets = targets
        self.factors = factors
        self._means, self._covariances = second_moments(targets)
        self._rows = moment_rows(targets, self._means)
        self._chosen = np.zeros(len(targets), dtype=np.int64)
        self._shares = np.zeros(len(targets))
        self._sums = np.zeros(self._rows.shape[1])

    def read(self, weights: Floats, state: Floats) -> tuple[Floats, Floats]:  # noqa: ARG002
        """Read all targets; see ``Readout``. The state is not needed."""
        count = sharpen(weights, self._chosen, self._shares)
        sum_rows(self._chosen[:count], self._shares[:count], self._rows, self._sums)
        means, covariances = self._means.copy(), self._covariances.copy()
        fill_moments(self._sums, self.factors, means, covariances)
        return means, covariances

    def scaled(self, factors: Floats) -> SharpenedReadout:
        """Return the read-out with its covariances multiplied by (c,) factors."""
        return SharpenedReadout(self.targets, self.factors * factors)
