# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A ridge regression per horizon from the state (section 7.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.readout.reading import FLOOR, second_moments

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

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
