# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The belief of the HMM and its update by one observation.

Tables are passed transposed, (k, n), so that every inner loop runs along memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.compilation import compiled
from two_manifold_ros.hse_hmm.tables import ObservationOperator, RawKernel, Tables, transition
from two_manifold_ros.manifold.learner import Limits

if TYPE_CHECKING:
    from two_manifold_ros.manifold.learner import Extension
    from two_manifold_ros.ticks.sliding import SlidingWindow
    from two_manifold_ros.typing import Floats


@compiled
def gaussian_factors(
    observations: Floats, observation: Floats, bandwidth: float, factors: Floats
) -> None:
    """Fill the Gaussian kernel (n,) between an observation (d,) and many (d, n)."""
    # exp(-s) = (1 / exp(s / 4096))^4096 by a Taylor polynomial and twelve squarings, which become
    # vector code: a fourth of the time of exp(). Relative error below 1e-10; s is cut at 700.
    scale = 0.5 / (bandwidth * bandwidth)
    factors[:] = 0.0
    for c in range(observation.size):
        value = observation[c]
        for i in range(factors.size):
            difference = value - observations[c, i]
            factors[i] += difference * difference
    for i in range(factors.size):
        y = -min(factors[i] * scale, 700.0) / 4096.0
        e = 1.0 + y / 9.0
        e = 1.0 + y / 8.0 * e
        e = 1.0 + y / 7.0 * e
        e = 1.0 + y / 6.0 * e
        e = 1.0 + y / 5.0 * e
        e = 1.0 + y / 4.0 * e
        e = 1.0 + y / 3.0 * e
        e = 1.0 + y / 2.0 * e
        e = 1.0 + y * e
        for _ in range(12):
            e = e * e
        factors[i] = e


@compiled
def implied_weights(table: Floats, state: Floats, weights: Floats) -> None:
    """Fill the weights (n,) of a state (k,), mathematics (3.2); table (k, n)."""
    weights[:] = 0.0
    for j in range(state.size):
        coefficient = state[j]
        for i in range(weights.size):
            weights[i] += coefficient * table[j, i]


@compiled
def reweight(weights: Floats, factors: Floats) -> tuple[float, float]:
    """Multiply weights by factors in place; return their sum and the sum of their magnitudes."""
    total = 0.0
    absolute = 0.0
    for i in range(weights.size):
        product = weights[i] * factors[i]
        weights[i] = product
        total += product
        absolute += abs(product)
    return total, absolute


@compiled
def next_state(table: Floats, weights: Floats, state: Floats) -> None:
    """Fill the state (k,) one tick later than weights (n,), of any sum, mathematics (6.2)."""
    for j in range(state.size):
        total = 0.0
        for i in range(weights.size):
            total += table[j, i] * weights[i]
        state[j] = total
    first = state[0]
    for j in range(state.size):
        state[j] /= first


SHARE = 0.03
"""Chance in a tick that the vehicle is where the newest window puts it, whatever was believed."""

SMALLEST_EVIDENCE = 0.1
"""Below this an update is mostly cancellation: the observation is rejected (mathematics, 6.5)."""


class Recollection:
    """Regression from the newest window, which its owner appends to, to the state."""

    def __init__(self, window: SlidingWindow, warm_start: Extension) -> None:
        self.window = window
        self._warm_start = warm_start

    def state(self) -> Floats | None:
        """Return the (k,) state; ``None`` if the window is not full, or unlike all of training."""
        if not self.window.full:
            return None
        warm = self._warm_start.transform(self.window.distances())
        return None if warm is None else np.concatenate([[1.0], warm])

    def remind(self, belief: Belief) -> None:
        """Mix a belief with the state of the window, a second hypothesis of weight `SHARE`."""
        state = self.state()
        if state is not None:
            belief.state += SHARE * (state - belief.state)


class Belief:
    """
    Belief about the hidden state, as weights on the training ticks.

    The ``state`` (k,) is the belief before the next observation; its first coordinate is 1. The
    ``weights`` (n,), some negative, sum to one and are *at* the last observation, which
    ``accepted`` says to have moved the belief. ``lost``: it left no finite state without guards,
    so that the belief started again. A ``guarded`` one passes over observations of little
    evidence; others are as in Song et al. 2010.
    """

    def __init__(
        self, tables: Tables, operator: ObservationOperator, *, guarded: bool = True
    ) -> None:
        self._weight_table = np.ascontiguousarray(tables.weights.T)
        self._state_table = np.ascontiguousarray(tables.states.T)
        self._transition = transition(tables.weights, tables.states)
        self._operator = operator
        self._kernel_points = np.ascontiguousarray(operator.kernel_points.T)
        self._kernel = np.zeros(len(operator.kernel_points))
        self.weights = np.zeros(len(tables.weights))
        self.state = np.zeros(len(self._weight_table))
        self._guarded = guarded
        self.accepted = True
        self.lost = False
        self.start()

    def start(self, state: Floats | None = None) -> None:
        """Start at a state, or at the prior [1, 0, ..., 0] of the form mathematics (3.4)."""
        if state is None:
            self.state[:] = 0.0
            self.state[0] = 1.0
        else:
            self.state[:] = state
        implied_weights(self._weight_table, self.state, self.weights)

    def update(self, observation: Floats) -> float:
        """
        Take one (d,) observation, mathematics (6.2), and return its evidence in [-1, 1].

        That is what cancellation leaves of the weights, 0 for an observation unlike any in
        training. At `SMALLEST_EVIDENCE` or less a guarded belief moves on by mathematics (6.3)
        instead.
        """
        implied_weights(self._weight_table, self.state, self.weights)
        operator, factors = self._operator, self._kernel
        # As a row of another array it would be compiled for once more.
        observation = np.ascontiguousarray(observation)
        gaussian_factors(self._kernel_points, observation, operator.bandwidth, factors)
        if not isinstance(operator, RawKernel):
            factors = operator.features @ (factors @ operator.responses)
        total, absolute = reweight(self.weights, factors)
        evidence = total / absolute if absolute > Limits.degree else 0.0
        self.accepted = evidence > SMALLEST_EVIDENCE or not self._guarded
        if not self.accepted:
            implied_weights(self._weight_table, self.state, self.weights)
            self.state[:] = self._transition @ self.state
            return evidence
        # NumPy's quotient of a zero is infinite; Python's would raise.
        with np.errstate(divide='ignore', invalid='ignore', over='ignore'):
            self.weights /= total
        next_state(self._state_table, self.weights, self.state)
        self.lost = not self._guarded and not np.isfinite(self.state).all()
        if self.lost:
            self.start()
            return 0.0
        return evidence

    def skip(self, ticks: int) -> None:
        """Move on by some ticks without observations, mathematics (6.3)."""
        for _ in range(ticks):
            self.state[:] = self._transition @ self.state
        implied_weights(self._weight_table, self.state, self.weights)
