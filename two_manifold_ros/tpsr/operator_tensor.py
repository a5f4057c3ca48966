# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The third moments of tests, observations and histories, in bases that move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.tpsr.move import Move

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

TOGETHER = 128
"""Samples that are added at a time: the fewer times the whole sum is turned, the cheaper."""

BLOCK = 32
"""Observation features whose moments are turned at a time, so that they stay in the cache."""


class OperatorTensor:
    r"""
    The sum that gives a TPSR its operators, eq. (6d), (8f) and (10.4).

    It is kept without the factor :math:`\hat S^{-1}`, so that each move of the bases is a
    rotation and forgetting is a factor. Divided by the singular values along its last axis it is
    :math:`\hat B_{AO}`.

    The newest samples are kept apart, and with them the move since the last was added: to turn
    their few coordinates costs nothing beside turning the sum. When there are enough of them, or
    when the moments are asked for, sum and samples are brought together.

    Parameters
    ----------
    observations
        Number of observation features, p.

    """

    def __init__(self, observations: int) -> None:
        self.settled = np.zeros((observations + 1, 0, 0))
        self.moved = Move.none(0)
        self.next_tests = np.zeros((0, 0))
        self.histories = np.zeros((0, 0))
        self.observations = np.zeros((0, observations + 1))

    @property
    def moments(self) -> Floats:
        r"""
        The (p + 1, r, r) sum, by observation feature, test direction and history direction.

        It is :math:`\sum_t[\varphi^O_t;1]\otimes(\hat U^\top\varphi^T_{t+1})\otimes(\hat
        V^\top\varphi^H_t)`; the last slice, that of the constant, gives the transition.
        """
        self._settle()
        return self.settled

    def move(self, move: Move, decay: float = 1.0) -> None:
        """Express the sum in new bases, and forget by a factor."""
        self.moved = Move(decay * move.left, move.right).after(self.moved)
        self.next_tests = self.next_tests @ (decay * move.left).T
        self.histories = self.histories @ move.right.T

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
        slices = np.hstack([observations, np.ones((len(observations), 1))])
        for begin in range(0, len(slices), TOGETHER):
            part = slice(begin, begin + TOGETHER)
            self.next_tests = np.vstack([self.next_tests, next_tests[part]])
            self.histories = np.vstack([self.histories, histories[part]])
            self.observations = np.vstack([self.observations, slices[part]])
            if len(self.observations) >= TOGETHER:
                self._settle()

    def absorb(self, moments: Floats, move: Move) -> None:
        """Add the moments of another sum, with the move from its bases to these."""
        self.settled = self.moments + move.left @ moments @ move.right.T

    def _settle(self) -> None:
        before, rank = self.settled.shape[2], len(self.moved.left)
        total = self.settled
        if rank != before:
            total = np.empty((len(total), rank, rank))
        pairs = self.next_tests[:, :, None] * self.histories[:, None, :]
        pairs = pairs.reshape(len(pairs), rank**2)
        for begin in range(0, len(total), BLOCK):
            part = self.settled[begin : begin + BLOCK]
            turned = part.reshape(len(part) * before, before) @ self.moved.right.T
            turned = np.matmul(self.moved.left, turned.reshape(len(part), before, rank))
            added = self.observations[:, begin : begin + BLOCK].T @ pairs
            total[begin : begin + BLOCK] = turned + added.reshape(turned.shape)
        self.settled = total
        self.moved = Move.none(rank)
        self.next_tests = self.histories = np.zeros((0, rank))
        self.observations = np.zeros((0, len(total)))
