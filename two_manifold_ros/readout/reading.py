# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a read-out is."""

from __future__ import annotations

from typing import Protocol, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

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
