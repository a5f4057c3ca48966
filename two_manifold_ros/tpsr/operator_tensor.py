# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The third moments of tests, observations and histories, in bases that move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.tpsr.move import Move
    from two_manifold_ros.typing import Floats


class OperatorTensor:
    r"""
    The sum that gives a TPSR its operators, eq. (6d), (8f) and (10.4).

    It is kept without the factor :math:`\hat S^{-1}`, so that each move of the bases is a
    rotation and forgetting is a factor. Divided by the singular values along its last axis it is
    :math:`\hat B_{AO}`.

    Parameters
    ----------
    observations
        Number of observation features, p.

    Attributes
    ----------
    moments : (r, p + 1, r)
        :math:`\sum_t(\hat U^\top\varphi^T_{t+1})\otimes[\varphi^O_t;1]\otimes(\hat
        V^\top\varphi^H_t)`; the last slice, that of the constant, gives the transition.

    """

    def __init__(self, observations: int) -> None:
        self.moments = np.zeros((0, observations + 1, 0))

    def move(self, move: Move, decay: float = 1.0) -> None:
        """Express the sum in new bases, and forget by a factor."""
        before, slices, across = self.moments.shape
        tests, histories = len(move.left), len(move.right)
        left = (decay * move.left) @ self.moments.reshape(before, slices * across)
        turned = left.reshape(tests * slices, across) @ move.right.T
        self.moments = turned.reshape(tests, slices, histories)

    def add(self, next_tests: Floats, observations: Floats, histories: Floats) -> None:
        """
        Add samples.

        Parameters
        ----------
        next_tests, histories : (c, r)
            Coordinates in the present bases; one of the two carries the weights.
        observations : (c, p)
            Features.

        """
        count, rank = histories.shape
        slices = np.hstack([observations, np.ones((count, 1))])
        pairs = (slices[:, :, None] * histories[:, None, :]).reshape(count, -1)
        self.moments += (next_tests.T @ pairs).reshape(-1, slices.shape[1], rank)
