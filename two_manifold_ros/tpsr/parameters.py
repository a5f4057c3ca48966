# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of a TPSR, and the belief that they make of a stream."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.hmm import shrink_growing_modes
from two_manifold_ros.tpsr.features import FeatureMap, LARGEST_SQUARE, squared_length
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from two_manifold_ros.tpsr.thin_svd import Move


@dataclass(frozen=True)
class Tpsr:
    """A transformed predictive state representation (Boots & Gordon 2011, eq. 7a-c)."""

    start: Floats  # (k,), b_*, the state on average, scaled so that the normaliser makes it one
    normaliser: Floats  # (k,), b_infty: its product with a state is one
    operators: Floats  # (p, k, k), B_AO by observation feature
    # (p, p), (Sigma_AO,AO / n + lambda I)^-1: of the mean, so that likelihoods keep their size.
    inverse: Floats
    transition: Floats  # (k, k), one tick without an observation; no mode of it grows
    bound: float  # length that no state exceeds, as a mean of test features

    @property
    def states(self) -> int:
        """Dimension of the state, k."""
        return len(self.start)

    def operator(self, features: Floats) -> Floats:
        """Return the (k, k) operator of an observation with (p,) features, mathematics (10.5)."""
        size, states = self.inverse.shape[0], self.states
        weights = self.inverse @ features
        return (weights @ self.operators.reshape(size, -1)).reshape(states, states)


def count_states(values: Floats, wanted: int) -> int:
    """Return how many of the wanted states have singular values (r,) that are not rounding."""
    states = int(np.count_nonzero(values[:wanted] > 1e-9 * values.max(initial=0.0)))
    if not states:
        raise InputError('nothing was learned yet; take samples and fold them first')
    return states


def make_parameters(
    start: Floats,
    normaliser: Floats,
    operators: Floats,
    inverse: Floats,
    weight: float,
    longest_square: float,
) -> Tpsr:
    r"""
    Return the parameters, with a start (k,) of any scale, and growing modes shrunk.

    ``operators`` (p + 1, k, k) are those by observation feature and that of the constant.
    ``inverse`` (p, p) is :math:`(\hat\Sigma_{AO,AO}+\lambda nI)^{-1}`, ``weight`` the sum of the
    weights, n, and ``longest_square`` the squared length of the longest test.
    """
    whole = float(normaliser @ start)
    if not whole > 0.1 * weight:
        raise InputError(
            f'features of histories: what was learned holds {whole / weight:.3g} of the '
            'constant instead of 1; append a constant feature'
        )
    return Tpsr(
        start=start / whole,
        normaliser=normaliser,
        operators=operators[:-1],
        inverse=weight * inverse,
        transition=shrink_growing_modes(operators[-1]),
        # 10 % for noise.
        bound=1.1 * math.sqrt(longest_square),
    )


SMALLEST_EVIDENCE = 0.05
"""Evidence at which an observation contradicts the belief, 19 times less likely than usual."""


class TpsrBelief:
    """
    Belief about the hidden state, filtered by a TPSR that ``adopt`` exchanges.

    The normaliser times the ``state`` (k,) before the next observation is one; ``accepted`` tells
    whether the last observation moved it.
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
        Take the (p,) features of one observation, Boots & Gordon 2011, eq. 2; return the evidence.

        That is its likelihood given the belief over the sum of this and its likelihood on average,
        in [-1, 1]. At or below ``SMALLEST_EVIDENCE``, and if features are zero, not finite or
        longer than 1e6, it is passed over and the state moves on by mathematics (6.3).
        """
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


class RememberingBelief(TpsrBelief):
    r"""
    A `TpsrBelief` about observations, and the ``weights`` (n,) that it gives to remembered ticks.

    The weight of a tick is that of its history under the state before an observation,
    :math:`b^\top\hat S^{-1}\hat V^\top\varphi^H_t`, times
    :math:`\varphi^{O\top}_t(\hat\Sigma_{OO}/n+\lambda I)^{-1}\varphi^O(o)`, mathematics (10.7):
    summed over all ticks with their next tests they are the numerator of Boots & Gordon 2011, eq.
    2. The product of the ``table`` (n, k) and a state is the weights of histories; ``features``
    (n, p) are those of the observations at the remembered ticks.
    """

    def __init__(
        self, tpsr: Tpsr, observations: FeatureMap, table: Floats, features: Floats
    ) -> None:
        self._map, self.table, self.features = observations, table, features
        super().__init__(tpsr)

    def start(self) -> None:
        """Restart at the state on average."""
        super().start()
        self.weights = self.table @ self.state

    def update(self, observation: Floats) -> float:
        """Take or pass over one observation (d,); return the evidence."""
        try:
            features = self._map.transform(observation[None])[0]
        except InputError:
            if len(observation) != self._map.inputs:
                raise
            # Too far out to have features; zeros are passed over.
            features = np.zeros(len(self.tpsr.inverse))
        before = self.state
        evidence = super().update(features)
        self.weights = self.table @ before
        if self.accepted:
            self.weights *= self.features @ (self.tpsr.inverse @ features)
        return evidence

    def adopt(self, tpsr: Tpsr, move: Move, *remembered: Floats) -> None:
        """Continue with newer parameters, and with another table and other features."""
        super().adopt(tpsr, move)
        self.table, self.features = remembered
        self.weights = self.table @ self.state
