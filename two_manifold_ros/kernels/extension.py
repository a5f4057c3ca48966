# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The out-of-sample part of an embedding: coordinates of a window it was not fitted on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.windows.neighbours import nearest

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

SMALLEST_DEGREE = 1e-12
"""Below this total affinity a window resembles nothing in training (section 8 of the note)."""


@dataclass(frozen=True)
class Extension:
    r"""
    Coordinates of a new window from its squared distances to the training windows.

    .. math:: z(x) = \sum_{i \in \mathcal N(x)} a_i(x)\, T_i + c, \qquad
              w_i(x) = \exp(-d_i^2(x) / 2\sigma^2)

    with :math:`a_i = w_i` over all members (kernel PCA, eq. 2.1), or
    :math:`a_i = w_i / \sqrt{\sum_j w_j}` over the nearest ones (Nystrom, eq. 8.1).

    Parameters
    ----------
    bandwidth
        :math:`\sigma`.
    neighbours
        How many nearest members count, or 0 for all of them without dividing by the degree.
    members : (l,) int64
        Training windows that the table's rows belong to.
    table : (l, m)
        :math:`T`.
    offset : (m,)
        :math:`c`.

    """

    bandwidth: float
    neighbours: int
    members: Ints
    table: Floats
    offset: Floats

    def transform(self, squared: Floats) -> Floats | None:
        """
        Return the (m,) coordinates of a window with (n,) squared distances.

        ``None`` if the window resembles no training window: there is nothing to divide by.
        """
        squared = squared[self.members]
        if not self.neighbours:
            affinity = np.exp(squared / (-2.0 * self.bandwidth**2))
            whole: Floats = affinity @ self.table + self.offset
            return whole
        close = nearest(squared, self.neighbours)
        affinity = np.exp(squared[close] / (-2.0 * self.bandwidth**2))
        degree = affinity.sum()
        if not degree > SMALLEST_DEGREE:
            return None
        near: Floats = (affinity / np.sqrt(degree)) @ self.table[close] + self.offset
        return near

    def followed_by(self, linear: Floats, offset: Floats) -> Extension:
        """Return the extension of ``z @ linear + offset`` with linear (m, k)."""
        return replace(self, table=self.table @ linear, offset=self.offset @ linear + offset)
