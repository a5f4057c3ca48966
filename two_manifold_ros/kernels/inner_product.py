# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Response by powers of inner products, told from distances alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from two_manifold_ros.kernels.affinity import check_indices

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints


@dataclass(frozen=True)
class InnerProduct:
    r"""
    Powers of inner products with the members, centred at their mean.

    .. math:: a_j(x) = \Big(\frac{g_j(x)}{s} + c\Big)^p, \qquad
              g_j(x) = -\tfrac12\Big(d_j^2 - \frac1l\sum_i d_i^2 - h_j\Big)

    with the squared distances d of the new point to the members and :math:`h_j` as below:
    :math:`g_j(x)` is the inner product of x and member j, both taken from the mean of the members.

    Parameters
    ----------
    members : (l,) int64
        Training points that count.
    spreads : (l,)
        :math:`h`: mean squared distance of each member to all of them, less the mean over all.
    scale, constant, degree
        s, c and p.

    """

    members: Ints
    spreads: Floats
    scale: float
    constant: float
    degree: int

    def kernel(self, squared: Floats) -> Floats:
        """Return the (..., l) powers for (..., l) squared distances to the members."""
        inner = -0.5 * (squared - squared.mean(axis=-1, keepdims=True) - self.spreads)
        powers: Floats = (inner / self.scale + self.constant) ** self.degree
        return powers

    def weights(self, squared: Floats) -> Floats:
        """Return the (l,) powers of a point with (n,) squared distances."""
        return self.kernel(squared[self.members])

    def check(self, count: int) -> int:
        """Return l; refuse what does not fit ``count`` training points."""
        check_indices('members', self.members, count)
        if self.spreads.shape != self.members.shape:
            msg = f'spreads has the shape {self.spreads.shape} instead of {self.members.shape}'
            raise ValueError(msg)
        if not self.scale > 0.0:
            msg = f'scale is {self.scale!r}, not a positive number'
            raise ValueError(msg)
        if self.degree < 1:
            msg = f'degree is {self.degree}, not a whole number of at least 1'
            raise ValueError(msg)
        return len(self.members)


def spreads_of(between: Floats) -> Floats:
    """Return the ``spreads`` of members with (l, l) squared distances between them."""
    spreads: Floats = between.mean(axis=1) - between.mean()
    return spreads
