# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Read-outs: from weights or states to positions with covariances (mathematics, section 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math
from typing import TypeAlias

import numpy as np

from two_manifold_ros.compilation import compiled
from two_manifold_ros.manifold.learner import RIDGE
from two_manifold_ros.typing import Bools, Floats, Ints

LEVELS = (0.68, 0.95)
CHI_SQUARE = tuple(-2.0 * np.log1p(-level) for level in LEVELS)
"""Squared radii of the 68 % and 95 % ellipses of a plane Gaussian."""

FEWEST = round(1.0 / (1.0 - max(LEVELS)))
"""Errors of which one lies outside of the largest ellipse: fewer show nothing of its size."""

LEAST_LEFT = 0.25
"""Share of a variance that noise of the reference positions leaves at least: half of an axis."""

ADDED = np.arange(0.05, 0.96, 0.05)
"""Quantiles of the squared errors that are tried as the variance that calibration adds."""


def velocities(positions: Floats, period_s: float) -> Floats:
    """Return central differences of the (T, 2) positions of one segment, m/s; NaN at its ends."""
    result = np.full_like(positions, np.nan)
    if len(positions) > 2:
        result[1:-1] = (positions[2:] - positions[:-2]) / (2.0 * period_s)
    return result


def segment_targets(positions: Floats, horizons: Sequence[int], period_s: float) -> Floats:
    """Return (T, H + 1, 2) positions at H horizons, in ticks, and velocity; NaN if unknown."""
    targets = np.full((len(positions), len(horizons) + 1, 2), np.nan)
    for column, horizon in enumerate(horizons):
        if horizon < len(positions):
            targets[: len(positions) - horizon, column] = positions[horizon:]
    targets[:, -1] = velocities(positions, period_s)
    return targets


def training_targets(
    positions: Sequence[Floats], ticks: Ints, horizons: Sequence[int], period_s: float
) -> Floats:
    """Return the targets (n, H + 1, 2) of training ticks given as places in the series."""
    every = [segment_targets(segment, horizons, period_s) for segment in positions]
    return np.concatenate(every)[ticks]


def floors(values: Floats) -> Floats:
    """Return the variance (c,) to add to (n, c, 2) targets, of which the last is a velocity."""
    spreads = np.zeros(values.shape[1])
    for column in range(values.shape[1]):
        known = values[np.isfinite(values[:, column]).all(axis=1), column]
        # A velocity may be the same everywhere, but not zero.
        velocity = 0 < column == values.shape[1] - 1
        centre = known.mean(axis=0) if len(known) and not velocity else 0.0
        spreads[column] = np.square(known - centre).sum() / max(2 * len(known), 1)
    # Of a target that is the same all over training: a micrometre, which no position knows.
    # A deviation in its spreads over training: no covariance is singular.
    return np.maximum(5e-4**2 * spreads, 1e-12)


def second_moments(values: Floats) -> tuple[Floats, Floats]:
    """Return (c, 2) means and (c, 2, 2) covariances of (n, c, 2); 0 and 1 if unknown."""
    means = np.zeros(values.shape[1:])
    covariances = np.tile(np.eye(2), (values.shape[1], 1, 1))
    least = floors(values)
    for column in range(values.shape[1]):
        known = values[np.isfinite(values[:, column]).all(axis=1), column]
        if len(known):
            means[column] = known.mean(axis=0)
        if len(known) > 1:
            covariances[column] = np.cov(known.T, bias=True) + least[column] * np.eye(2)
    return means, covariances


@dataclass(frozen=True)
class Calibration:
    """What makes ellipses hold their share of the errors (mathematics, section 7.3)."""

    # (c,), variance added to each covariance, m^2 and of the velocity m^2/s^2: the error that a
    # target has however well its remembered ticks agree.
    added: Floats
    factors: Floats  # (c,), what the covariances are multiplied by then

    @classmethod
    def none(cls, targets: int) -> Calibration:
        """Return one that leaves covariances as they are."""
        return cls(np.zeros(targets), np.ones(targets))

    def of(self, covariances: Floats) -> Floats:
        """Return covariances (..., c, 2, 2), calibrated."""
        added = self.added[:, None, None] * np.eye(2)
        calibrated: Floats = (covariances + added) * self.factors[:, None, None]
        return calibrated


@dataclass(frozen=True)
class RidgeReadout:
    r"""Linear read-out :math:`\hat p_{t+h} = W_h^\top b_{t+1}` with a fixed covariance."""

    # (c, 2, k), transposed W_h; the state's first coordinate, 1, carries the constant.
    coefficients: Floats
    covariances: Floats  # (c, 2, 2), of the residuals

    def read(self, weights: Floats, state: Floats) -> tuple[Floats, Floats]:  # noqa: ARG002
        """Read all targets of a (k,) state, the belief about the tick after the last."""
        return self.coefficients @ state, self.covariances.copy()

    def calibrated(self, calibration: Calibration) -> RidgeReadout:
        """Return the read-out with calibrated covariances."""
        return RidgeReadout(self.coefficients, calibration.of(self.covariances))


def fit_ridge(states: Floats, targets: Floats) -> RidgeReadout:
    """Fit states (n, k) after each observation to targets (n, c, 2), NaN where unknown."""
    means, covariances = second_moments(targets)
    least = floors(targets)
    coefficients = np.zeros((*means.shape, states.shape[1]))
    coefficients[:, :, 0] = means
    penalty = RIDGE * float(np.square(states[:, 1:]).mean()) * np.eye(states.shape[1])
    penalty[0, 0] = 0.0
    for column in range(targets.shape[1]):
        known = np.isfinite(targets[:, column]).all(axis=1)
        if np.count_nonzero(known) > states.shape[1]:
            rows, wanted = states[known], targets[known, column]
            normal = rows.T @ rows + len(rows) * penalty
            coefficients[column] = np.linalg.solve(normal, rows.T @ wanted).T
            residuals = wanted - rows @ coefficients[column].T
            scatter = residuals.T @ residuals / len(residuals)
            covariances[column] = scatter + least[column] * np.eye(2)
    return RidgeReadout(coefficients, covariances)


@compiled
def sharpen(weights: Floats, chosen: Ints, shares: Floats) -> int:
    """Fill places and sixth powers of the weights (n,) that count; return how many they are."""
    largest = 0.0
    for i in range(weights.size):
        largest = max(largest, weights[i])
    # The inverse of a subnormal number is infinite.
    if largest < 1e-300:
        return 0
    # Below, a sixth power is at most 1e-6 of the largest: eight horizons are read cheaply.
    least = 0.1 * largest
    count = 0
    for i in range(weights.size):
        if weights[i] > least:
            relative = weights[i] / largest
            square = relative * relative
            chosen[count] = i
            shares[count] = square * square * square
            count += 1
    return count


@compiled
def sum_rows(chosen: Ints, shares: Floats, rows: Floats, sums: Floats) -> None:
    """Fill the sum (c,) of the chosen (m,) of many rows (n, c), each times its share (m,)."""
    sums[:] = 0.0
    for m in range(chosen.size):
        row = rows[chosen[m]]
        share = shares[m]
        for c in range(sums.size):
            sums[c] += share * row[c]


@compiled
def fill_moments(
    sums: Floats, floors: Floats, factors: Floats, means: Floats, covariances: Floats
) -> None:
    """Turn sums (6 c,) into means (c, 2) and covariances (c, 2, 2), which hold the prior."""
    count = factors.size
    for c in range(count):
        if sums[c] > 0.0:
            x = sums[count + c] / sums[c]
            y = sums[2 * count + c] / sums[c]
            means[c, 0] += x
            means[c, 1] += y
            covariances[c, 0, 0] = max(sums[3 * count + c] / sums[c] - x * x, 0.0) + floors[c]
            covariances[c, 0, 1] = sums[4 * count + c] / sums[c] - x * y
            covariances[c, 1, 0] = covariances[c, 0, 1]
            covariances[c, 1, 1] = max(sums[5 * count + c] / sums[c] - y * y, 0.0) + floors[c]
        for i in range(2):
            for j in range(2):
                covariances[c, i, j] *= factors[c]


class SharpenedReadout:
    """
    Mean of the targets (n, c, 2) of training ticks under the sixth power of positive weights.

    It lies in the hull of the training positions; where no weighted tick has a target, it is the
    prior over training. ``added`` and ``factors`` (c,) are those of a `Calibration`.
    """

    def __init__(
        self, targets: Floats, added: Floats | None = None, factors: Floats | None = None
    ) -> None:
        self.targets = targets
        usual = Calibration.none(targets.shape[1])
        self.added = usual.added if added is None else added
        self.factors = usual.factors if factors is None else factors
        self._means, self._covariances = second_moments(targets)
        self._floors = floors(targets)
        # 1, x, y, x^2, x y and y^2 (n, 6 c), zero where a target is unknown. Less the means: far
        # from the origin second moments would lose digits.
        known: Bools = np.asarray(np.isfinite(targets).all(axis=2))
        x, y = np.moveaxis(np.where(known[..., None], targets - self._means, 0.0), 2, 0)
        self._rows = np.hstack([known.astype(np.float64), x, y, x * x, x * y, y * y])

    def read(self, weights: Floats, state: Floats) -> tuple[Floats, Floats]:  # noqa: ARG002
        """Read all targets of (n,) weights on the training ticks at the last observation."""
        # Filters of several threads may share a read-out.
        chosen, shares = np.empty(len(weights), dtype=np.int64), np.empty(len(weights))
        sums = np.empty(self._rows.shape[1])
        count = sharpen(weights, chosen, shares)
        sum_rows(chosen[:count], shares[:count], self._rows, sums)
        means, covariances = self._means.copy(), self._covariances.copy()
        fill_moments(sums, self._floors + self.added, self.factors, means, covariances)
        return means, covariances

    def calibrated(self, calibration: Calibration) -> SharpenedReadout:
        """Return the read-out of the same targets with another calibration."""
        return SharpenedReadout(self.targets, calibration.added, calibration.factors)


Readout: TypeAlias = RidgeReadout | SharpenedReadout
"""``read`` turns a belief into means (H + 1, 2) and covariances (H + 1, 2, 2) of the targets."""


def calibrate(errors: Floats, covariances: Floats, independent: float) -> Calibration:
    """
    Calibrate the covariances of each target (mathematics, section 7.3).

    Of zero and the `ADDED` quantiles of the squared errors, that variance is added with which
    ellipses that hold their share are smallest (Gneiting et al. 2007). Errors (n, c, 2) are held
    out, NaN where unknown; of fewer than `FEWEST` nothing is learned. ``independent``: see
    `tempered`.
    """
    found = Calibration.none(errors.shape[1])
    for column in range(errors.shape[1]):
        known = np.isfinite(errors[:, column]).all(axis=1)
        if np.count_nonzero(known) < FEWEST:
            continue
        variances, axes = np.linalg.eigh(covariances[known, column])
        squares = np.square(np.einsum('nij,ni->nj', axes, errors[known, column]))
        least = math.inf
        for added in (0.0, *np.quantile(squares.mean(axis=1), ADDED)):
            whole = variances + added
            factor = share_factor((squares / whole).sum(axis=1))
            size = float(np.log(factor * whole).mean())
            if size < least:
                least = size
                found.added[column], found.factors[column] = added, factor
    return Calibration(found.added, tempered(found.factors, independent))


def share_factor(squared: Floats) -> float:
    """Return the factor with which 68 % and 95 % ellipses hold their share, geometric mean."""
    ratios = np.quantile(squared, LEVELS) / CHI_SQUARE
    return float(np.sqrt(np.prod(np.maximum(ratios, 1e-6))))


def squared_mahalanobis(errors: Floats, covariances: Floats) -> Floats:
    """Return e' S^-1 e for (n, 2) errors and (n, 2, 2) covariances: (n,)."""
    solved = np.linalg.solve(covariances, errors[..., None])[..., 0]
    squared: Floats = (errors * solved).sum(axis=-1)
    return squared


def calibration_factors(errors: Floats, covariances: Floats, noise: Floats) -> Floats:
    """
    Choose a factor for the covariance (n, c, 2, 2) of each target by errors (n, c, 2).

    The positions have noise of a variance (c,) in an axis, which is none of the filter
    (mathematics, 7.3): it leaves at least `LEAST_LEFT` of a factor. Of fewer errors than `FEWEST`
    it is one.
    """
    factors = np.ones(errors.shape[1])
    for column in range(errors.shape[1]):
        known = np.isfinite(errors[:, column]).all(axis=1)
        if np.count_nonzero(known) < FEWEST:
            continue
        found = errors[known, column]
        whole = share_factor(squared_mahalanobis(found, covariances[known, column]))
        factors[column] = whole
        if noise[column] > 0.0:
            # Noise larger than the errors that hold it is none; both are known to a tenth.
            middle = float(np.median(np.square(found).sum(axis=1))) / (2.0 * math.log(2.0))
            limits = [0.9 * middle, 1.1 * middle]
            share = float(np.interp(noise[column], limits, [LEAST_LEFT, 1.0]))
            left = _factor_beside_noise(found, covariances[known, column], noise[column])
            factors[column] = max(left, share * whole)
    return factors


def _factor_beside_noise(errors: Floats, covariances: Floats, noise: float) -> float:
    """Return `share_factor` of a covariance (n, 2, 2) to which noise is added afterwards."""
    variances, axes = np.linalg.eigh(covariances)
    squares = np.square(np.einsum('nij,ni->nj', axes, errors))
    product = 1.0
    for level, length in zip(LEVELS, CHI_SQUARE, strict=True):
        low, high = -16.0, 16.0
        # By halves, to a thousandth: the share inside grows with the factor.
        while high - low > 1e-3:
            middle = 0.5 * (low + high)
            whole = math.exp(middle) * variances + noise
            if np.quantile((squares / whole).sum(axis=1), level) > length:
                low = middle
            else:
                high = middle
        product *= math.exp(0.5 * (low + high))
    return math.sqrt(product)


def tempered(factors: Floats, independent: float) -> Floats:
    """
    Trust factors (c,) below 1 only as far as the held-out errors are independent.

    ``independent`` is the held-out ticks over the ticks of a window; at `FEWEST`, half of the
    logarithm counts.
    """
    trust = independent / (independent + FEWEST)
    return np.where(factors < 1.0, factors**trust, factors)
