# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Second and third moments of features, kept up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import solve_triangular

from two_manifold_ros.tpsr.thin_svd import Move

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


class ObservationCovariance:
    r"""
    :math:`\Sigma_{OO}+\lambda nI` and its inverse by the Woodbury identity, mathematics (10.1).

    The ridge should grow with the number of samples n, because it is the ratio of the two that
    decides whether a filter is stable (mathematics, section 5). That would be an update of full
    rank; so the inverse has the ridge of its last computation, decayed like everything. It is
    computed again when that is off by a tenth, or after 512 samples, so that rounding errors do
    not add up.

    ``total`` (p, p) is the weighted sum of the outer products, ``weight`` the sum of the weights,
    n, and ``inverse`` (p, p) that of the total with ``ridge_within``, about :math:`\lambda n`.
    """

    def __init__(self, size: int, ridge: float) -> None:
        self.ridge = ridge
        self.total = np.zeros((size, size))
        self.weight = 0.0
        self.inverse = np.eye(size)
        self._scratch = np.zeros((size, size))
        self.ridge_within = 1.0
        self.since = 0

    def fold(self, features: Floats, weights: Floats, decay: float = 1.0) -> None:
        """Add finite (c, p) features with (c,) weights, not all 0, to the decayed sum."""
        rows = features * np.sqrt(weights)[:, None]
        self.total *= decay
        self.weight *= decay
        self.ridge_within *= decay
        self.inverse /= decay
        self.total += np.matmul(rows.T, rows, out=self._scratch)
        self.weight += float(weights.sum())
        self.since += len(rows)
        wanted = self.ridge * self.weight
        stale = abs(self.ridge_within - wanted) > 0.1 * wanted or self.since > 512
        # Of up to four features per sample a new inverse costs no more than its update.
        if stale or len(self.total) <= 4 * len(rows):
            self.refresh()
        else:
            self._update(rows)

    def refresh(self) -> None:
        """Compute the inverse again from the sum."""
        self.since = 0
        size = len(self.total)
        # Below the second, rounding could make the sum indefinite.
        least = size * float(np.finfo(np.float64).eps) * float(self.total.trace())
        self.ridge_within = max(self.ridge * self.weight, least)
        one = np.eye(size)
        root = np.linalg.cholesky(self.total + self.ridge_within * one)
        half = solve_triangular(root, one, lower=True, check_finite=False)
        self.inverse = half.T @ half

    def _update(self, rows: Floats) -> None:
        product = rows @ self.inverse
        try:
            root = np.linalg.cholesky(np.eye(len(rows)) + product @ rows.T)
        except np.linalg.LinAlgError:
            # Rows that are long and nearly parallel: there is more rounding in it than one.
            self.refresh()
            return
        half = solve_triangular(root, product, lower=True, check_finite=False)
        # A product with its own transpose: exactly symmetric, and half the work.
        self.inverse -= np.matmul(half.T, half, out=self._scratch)


class OperatorTensor:
    r"""
    The sum that gives a TPSR its operators, mathematics (10.4).

    It is the sum of Boots & Gordon 2011, eq. 6d and 8f, kept without the factor :math:`\hat
    S^{-1}`, so that each move of the bases is a rotation and forgetting is a factor. Divided by
    the singular values along its last axis it is :math:`\hat B_{AO}`. The newest samples are kept
    apart, and with them the move since the last was added: to turn their few coordinates costs
    nothing beside turning the sum. When there are ``together`` of them, or when the moments are
    asked for, sum and samples are brought together.
    """

    def __init__(self, observations: int, together: int = 128) -> None:
        self._together = together
        self.settled = np.zeros((observations + 1, 0, 0))
        self.moved = Move.none(0)
        self.next_tests = np.zeros((0, 0))
        self.histories = np.zeros((0, 0))
        self.observations = np.zeros((0, observations + 1))

    @property
    def moments(self) -> Floats:
        """The (p + 1, r, r) sum by observation feature, test and history; the last: transition."""
        self._settle()
        return self.settled

    def move(self, move: Move, decay: float = 1.0) -> None:
        """Express the sum in new bases, and forget by a factor."""
        self.moved = Move(decay * move.left, move.right).after(self.moved)
        self.next_tests = self.next_tests @ (decay * move.left).T
        self.histories = self.histories @ move.right.T

    def add(self, next_tests: Floats, observations: Floats, histories: Floats) -> None:
        """Add coordinates (c, r), one of which carries the weights, and (c, p) features."""
        slices = np.hstack([observations, np.ones((len(observations), 1))])
        for begin in range(0, len(slices), self._together):
            part = slice(begin, begin + self._together)
            self.next_tests = np.vstack([self.next_tests, next_tests[part]])
            self.histories = np.vstack([self.histories, histories[part]])
            self.observations = np.vstack([self.observations, slices[part]])
            if len(self.observations) >= self._together:
                self._settle()

    def _settle(self) -> None:
        before, rank = self.settled.shape[2], len(self.moved.left)
        total = self.settled
        if rank != before:
            total = np.empty((len(total), rank, rank))
        pairs = self.next_tests[:, :, None] * self.histories[:, None, :]
        pairs = pairs.reshape(len(pairs), rank**2)
        block = 32  # observation features turned at a time, so that they stay in the cache
        for begin in range(0, len(total), block):
            part = self.settled[begin : begin + block]
            turned = part.reshape(len(part) * before, before) @ self.moved.right.T
            turned = np.matmul(self.moved.left, turned.reshape(len(part), before, rank))
            added = self.observations[:, begin : begin + block].T @ pairs
            total[begin : begin + block] = turned + added.reshape(turned.shape)
        self.settled = total
        self.moved = Move.none(rank)
        self.next_tests = self.histories = np.zeros((0, rank))
        self.observations = np.zeros((0, len(total)))
