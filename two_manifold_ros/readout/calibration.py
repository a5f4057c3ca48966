# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Covariances that mean something: one factor per horizon, from data the fit did not see."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

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
