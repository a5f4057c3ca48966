# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The belief of a TPSR and its update by one observation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.tpsr.features import LARGEST_SQUARE, squared_length

if TYPE_CHECKING:
    from two_manifold_ros.tpsr.parameters import Tpsr
    from two_manifold_ros.tpsr.thin_svd import Move
    from two_manifold_ros.typing import Floats


SMALLEST_EVIDENCE = 0.05
"""
Below this evidence an observation contradicts the belief, and is passed over (mathematics,
section 6.5).

It is then 19 times less likely than on average; at half of it 39 times, at twice of it 9 times.
"""


class TpsrBelief:
    """
    Belief about the hidden state, filtered by a TPSR that ``adopt`` exchanges.

    Attributes
    ----------
    state : (k,)
        Belief before the next observation, such that the normaliser gives one.
    accepted
        Whether the last observation moved the belief.

    """

    def __init__(self, tpsr: Tpsr) -> None:
        self.tpsr = tpsr
        self.start()

    def start(self) -> None:
        """Restart at the state on average."""
        self.state = self.tpsr.start.copy()
        self.accepted = True

    def update(self, features: Floats) -> float:
        """
        Take the (p,) features of one observation, Boots & Gordon 2011, eq. 2.

        Returns
        -------
        float
            Evidence in [-1, 1]: the likelihood of the observation given the belief, against the
            sum of that and its likelihood on average. One half says that the belief predicts
            no more than the average does, 1 that it knew. At or below ``SMALLEST_EVIDENCE``, and
            when features are zero, not finite or longer than 1e6, the observation was passed
            over and the state moved on by mathematics (6.3).

        Raises
        ------
        InputError
            If the number of features is another one than was learned from.

        """
        wanted = len(self.tpsr.inverse)
        if len(features) != wanted:
            msg = (
                f'the observation has {len(features)} features, but {wanted} were learned from: '
                f'use the same feature map'
            )
            raise InputError(msg)
        evidence, moved = 0.0, self.state
        if 0.0 < squared_length(features) < LARGEST_SQUARE:
            operator = self.tpsr.operator(features)
            moved = operator @ self.state
            likelihood = float(self.tpsr.normaliser @ moved)
            usual = float(self.tpsr.normaliser @ (operator @ self.tpsr.start))
            whole = abs(likelihood) + abs(usual)
            evidence = likelihood / whole if whole > 0.0 else 0.0
        self.accepted = evidence > SMALLEST_EVIDENCE and self._move_to(moved)
        if not self.accepted:
            self.skip(1)
        return evidence

    def skip(self, ticks: int) -> None:
        """Move on by some ticks without observations, mathematics (6.3)."""
        for _ in range(ticks):
            if not self._move_to(self.tpsr.transition @ self.state):
                self.state = self.tpsr.start.copy()

    def adopt(self, tpsr: Tpsr, move: Move) -> None:
        """Continue with newer parameters; the state moves along with their bases."""
        left = move.left[: tpsr.states, : len(self.state)]
        self.tpsr = tpsr
        if not self._move_to(left @ self.state):
            self.state = tpsr.start.copy()

    def _move_to(self, state: Floats) -> bool:
        """Normalise a state and take it, unless it cannot be one."""
        # It is a likelihood where one is usual.
        total = float(self.tpsr.normaliser @ state)
        if not abs(total) > 1e-9:
            return False
        state = state / total
        if not float(state @ state) <= self.tpsr.bound**2:
            return False
        self.state = state
        return True
