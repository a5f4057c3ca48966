# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gaussian affinity, and the response by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

SMALLEST_DEGREE = 1e-12
"""Below this total affinity a point resembles nothing in training (section 8 of the note)."""


def affinity(squared: Floats, bandwidth: float) -> Floats:
    r"""Return :math:`\exp(-d^2 / 2\sigma^2)` of squared distances; 1 where the bandwidth is 0."""
    weights: Floats = np.exp(squared / (-2.0 * (bandwidth or np.inf) ** 2))
    return weights


@dataclass(frozen=True)
class MemberAffinity:
    """
    Affinities to some members of the training points, for kernel PCA (2.1).

    Parameters
    ----------
    bandwidth
        Of the affinity.
    members : (l,) int64
        Training points that count.

    """

    bandwidth: float
    members: Ints

    def kernel(self, squared: Floats) -> Floats:
        """Return the (..., l) affinities for (..., l) squared distances to the members."""
        return affinity(squared, self.bandwidth)

    def weights(self, squared: Floats) -> Floats:
        """Return the (l,) affinities of a point with (n,) squared distances."""
        return self.kernel(squared[self.members])

    def check(self, count: int) -> int:
        """Return l; refuse what does not fit ``count`` training points."""
        check_bandwidth(self.bandwidth)
        check_indices('members', self.members, count)
        return len(self.members)


def check_bandwidth(bandwidth: float) -> None:
    """Refuse a bandwidth that is not positive."""
    if not bandwidth > 0.0:
        msg = f'bandwidth is {bandwidth!r}, not a positive number'
        raise ValueError(msg)


def check_neighbours(neighbours: int) -> None:
    """Refuse fewer neighbours than one."""
    if neighbours < 1:
        msg = f'neighbours is {neighbours!r}, not a whole number of at least 1'
        raise ValueError(msg)


def check_indices(name: str, indices: Ints, count: int) -> None:
    """Refuse what are not the indices of at least one of ``count`` training points."""
    if indices.ndim != 1 or not indices.size:
        msg = f'{name} has the shape {indices.shape} instead of (any,)'
        raise ValueError(msg)
    if not (indices.min() >= 0 and indices.max() < count):
        msg = f'{name} lie outside the training points'
        raise ValueError(msg)
