# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The covariance of observation features and its inverse, kept up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor, cho_solve

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

REFRESH_EVERY = 512
"""Samples after which the inverse is computed anew, so that rounding cannot add up."""

FEW = 4
"""Times the number of features: with fewer samples than that the ridge matters most, and the
inverse is computed anew at every fold."""


class ObservationCovariance:
    r"""
    :math:`\Sigma_{OO}+\lambda nI` and its inverse by Sherman, Morrison and Woodbury, eq. (9a).

    The ridge grows with the number of samples n, because it is the ratio of the two that decides
    whether a filter is stable (section 5). That would be an update of full rank; so the ridge of
    the new samples is given to a few features at a time, in turn, as if they had been observed.

    Parameters
    ----------
    size
        Number of observation features, p.
    ridge
        :math:`\lambda`, per sample.

    Attributes
    ----------
    total : (p, p)
        Weighted sum of the outer products.
    weight
        Sum of the weights, n.
    inverse : (p, p)
        Of the total with its ridge.

    """

    def __init__(self, size: int, ridge: float) -> None:
        self.ridge = ridge
        self.total = np.zeros((size, size))
        self.weight = 0.0
        self.inverse = np.eye(size)
        self._turn = 0
        self._since = 0

    def fold(self, features: Floats, weights: Floats, decay: float = 1.0) -> None:
        """
        Add samples to the decayed sum.

        Parameters
        ----------
        features : (c, p)
            Finite.
        weights : (c,)
            At least 0.
        decay
            By what the sum and its ridge are multiplied first.

        """
        self.total *= decay
        self.total += (features * weights[:, None]).T @ features
        self.weight = decay * self.weight + float(weights.sum())
        self._since += len(features)
        if self._since > REFRESH_EVERY or self.weight < FEW * len(self.total):
            self.refresh()
        else:
            self._update(features * np.sqrt(weights)[:, None], float(weights.sum()), decay)

    def refresh(self) -> None:
        """Compute the inverse anew from the sum."""
        self._since = 0
        size = len(self.total)
        ridge = self.ridge * self.weight * np.eye(size)
        inverse = cho_solve(cho_factor(self.total + ridge), np.eye(size))
        self.inverse = 0.5 * (inverse + inverse.T)

    def _update(self, rows: Floats, weight: float, decay: float) -> None:
        size, count = len(self.total), min(len(rows), len(self.total))
        ridge = np.zeros((count, size))
        turn = (self._turn + np.arange(count)) % size
        ridge[np.arange(count), turn] = np.sqrt(self.ridge * weight * size / count)
        self._turn = int(turn[-1] + 1) % size
        rows = np.vstack([rows, ridge])
        inverse = self.inverse / decay
        product = inverse @ rows.T
        gain = np.linalg.solve(np.eye(len(rows)) + rows @ product, product.T)
        inverse -= product @ gain
        self.inverse = 0.5 * (inverse + inverse.T)
