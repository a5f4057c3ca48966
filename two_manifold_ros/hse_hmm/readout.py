# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Read-outs: from weights or states to positions with covariances."""

from __future__ import annotations

from typing import Protocol, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.typing import Floats, Ints


def velocities(positions: Floats, period_s: float) -> Floats:
    """Return central differences of the (T, 2) positions of one segment, m/s; NaN at its ends."""
    result = np.full_like(positions, np.nan)
    if len(positions) > 2:
        result[1:-1] = (positions[2:] - positions[:-2]) / (2.0 * period_s)
    return result


def segment_targets(positions: Floats, horizons: Sequence[int], period_s: float) -> Floats:
    """
    Collect the targets of every tick of one segment.

    Parameters
    ----------
    positions : (T, 2)
        Metres, NaN where unknown.
    horizons
        Ticks ahead.
    period_s
        Length of a tick.

    Returns
    -------
    (T, H + 1, 2)
        Positions at the horizons, then the velocity; NaN where unknown or past the segment.

    """
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


READOUTS = ('sharpened', 'ridge', 'mkdr')

FLOOR = 1e-4
"""Added to each variance, m^2: one centimetre, so that no covariance is singular."""


class Readout(Protocol):
    """
    Turns a belief into positions at the horizons and the velocity, with covariances.

    The targets are counted as in ``segment_targets``: H horizons, then the velocity.
    """

    def read(self, weights: Floats, state: Floats) -> tuple[Floats, Floats]:
        """
        Read all targets.

        Parameters
        ----------
        weights : (n,)
            Weights on the training ticks at the last observation.
        state : (k,)
            Belief about the tick after.

        Returns
        -------
        means : (H + 1, 2), covariances : (H + 1, 2, 2)
            Finite; the covariances positive definite.

        """
        ...

    def scaled(self, factors: Floats) -> Readout:
        """Return the read-out with its covariances multiplied by (H + 1,) factors."""
        ...


def second_moments(values: Floats) -> tuple[Floats, Floats]:
    """
    Return mean and covariance of each target, passing over unknown ones.

    Parameters
    ----------
    values : (n, c, 2)
        NaN where unknown.

    Returns
    -------
    means : (c, 2), covariances : (c, 2, 2)
        Positive definite; zero mean for a target that is never known, and unit covariance for
        one that is known once at most.

    """
    means = np.zeros(values.shape[1:])
    covariances = np.tile(np.eye(2), (values.shape[1], 1, 1))
    for column in range(values.shape[1]):
        known = values[np.isfinite(values[:, column]).all(axis=1), column]
        if len(known):
            means[column] = known.mean(axis=0)
        if len(known) > 1:
            covariances[column] = np.cov(known.T, bias=True) + FLOOR * np.eye(2)
    return means, covariances


PENALTY = 1e-3
"""Times the mean square of the states: small against them, large against rounding."""


class RidgeReadout:
    r"""
    Linear read-out :math:`\hat p_{t+h} = W_h^\top b_{t+1}` with a fixed covariance.

    Parameters
    ----------
    coefficients : (c, 2, k)
        :math:`W_h^\top`; the state's first coordinate, 1, carries the constant.
    covariances : (c, 2, 2)
        Of the residuals.

    """

    def __init__(self, coefficients: Floats, covariances: Floats) -> None:
        self.coefficients = coefficients
        self.covariances = covariances

    def read(self, weights: Floats, state: Floats) -> tuple[Floats, Floats]:  # noqa: ARG002
        """Read all targets; see ``Readout``. The weights are not needed."""
        return self.coefficients @ state, self.covariances.copy()

    def scaled(self, factors: Floats) -> RidgeReadout:
        """Return the read-out with its covariances multiplied by (c,) factors."""
        return RidgeReadout(self.coefficients, self.covariances * factors[:, None, None])


def fit_ridge(states: Floats, targets: Floats) -> RidgeReadout:
    """
    Fit one regression per target.

    Parameters
    ----------
    states : (n, k)
        Filtered states of the training run: the belief after the observation of each tick.
    targets : (n, c, 2)
        NaN where unknown; a target that is never known keeps the prior of ``second_moments``.

    """
    means, covariances = second_moments(targets)
    coefficients = np.zeros((*means.shape, states.shape[1]))
    coefficients[:, :, 0] = means
    penalty = PENALTY * float(np.square(states[:, 1:]).mean()) * np.eye(states.shape[1])
    penalty[0, 0] = 0.0
    for column in range(targets.shape[1]):
        known = np.isfinite(targets[:, column]).all(axis=1)
        if np.count_nonzero(known) > states.shape[1]:
            rows, wanted = states[known], targets[known, column]
            normal = rows.T @ rows + len(rows) * penalty
            coefficients[column] = np.linalg.solve(normal, rows.T @ wanted).T
            residuals = wanted - rows @ coefficients[column].T
            covariances[column] = residuals.T @ residuals / len(residuals) + FLOOR * np.eye(2)
    return RidgeReadout(coefficients, covariances)


LEVELS = (0.68, 0.95)
CHI_SQUARE = tuple(-2.0 * np.log1p(-level) for level in LEVELS)
"""Squared radii of the 68 % and 95 % ellipses of a plane Gaussian."""

DOUBT = 20.0
"""Independent held-out windows at which half of a shrinking is believed (of its logarithm)."""

FEWEST = 20
"""Fewer held-out errors than this say nothing about a 95 % ellipse."""


def squared_mahalanobis(errors: Floats, covariances: Floats) -> Floats:
    """Return e' S^-1 e for (n, 2) errors and (n, 2, 2) covariances: (n,)."""
    solved = np.linalg.solve(covariances, errors[..., None])[..., 0]
    squared: Floats = (errors * solved).sum(axis=-1)
    return squared


def calibration_factors(errors: Floats, covariances: Floats) -> tuple[Floats, Floats]:
    """
    Choose a factor for the covariance of each target (split-conformal scaling, section 7.3).

    The factor is the geometric mean of those that would make the 68 % and the 95 % ellipse hold
    their share of the errors exactly; one factor cannot do both when the errors have heavy tails.

    Parameters
    ----------
    errors : (n, c, 2)
        Held-out errors, NaN where unknown.
    covariances : (n, c, 2, 2)
        Uncalibrated.

    Returns
    -------
    factors : (c,)
        1 where there are fewer than ``FEWEST`` errors.
    counts : (c,)
        How many errors each factor rests on.

    """
    factors = np.ones(errors.shape[1])
    counts = np.zeros(errors.shape[1])
    for column in range(errors.shape[1]):
        known = np.isfinite(errors[:, column]).all(axis=1)
        counts[column] = np.count_nonzero(known)
        if counts[column] < FEWEST:
            continue
        squared = squared_mahalanobis(errors[known, column], covariances[known, column])
        ratios = np.quantile(squared, LEVELS) / CHI_SQUARE
        factors[column] = np.sqrt(np.prod(np.maximum(ratios, 1e-6)))
    return factors, counts


def tempered(factors: Floats, independent: float) -> Floats:
    """
    Believe factors below 1 only as far as the held-out errors are independent.

    A block between two training laps is easier than what comes after the training, and errors
    of overlapping windows are alike, so a few windows of them must not shrink an ellipse. Factors
    above 1 stay.

    Parameters
    ----------
    factors : (c,)
        From ``calibration_factors``.
    independent
        Held-out ticks divided by the ticks of a window.

    """
    trust = independent / (independent + DOUBT)
    return np.where(factors < 1.0, factors**trust, factors)
