# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The belief of the HMM and its update by one observation (section 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.arithmetic import (
    gaussian_factors,
    implied_weights,
    next_state,
    reweight,
)
from two_manifold_ros.hse_hmm.observation import RawKernel
from two_manifold_ros.hse_hmm.transition import transition

if TYPE_CHECKING:
    from two_manifold_ros.hse_hmm.observation import ObservationOperator
    from two_manifold_ros.hse_hmm.tables import Tables
    from two_manifold_ros.typing import Floats

SMALLEST_EVIDENCE = 0.1
"""
Below this share the update is mostly cancellation, and the observation is passed over (6.5).

Dividing by so little blows the state up, by orders of magnitude where a thousandth is let pass.
"""


SMALLEST_SUPPORT = 1e-12
"""Sum of weight magnitudes after the observation below which it resembles none in training: with
the raw kernel, none within seven bandwidths."""


class Belief:
    """
    What is believed about the hidden state.

    Attributes
    ----------
    state : (k,)
        Belief before the next observation; the first coordinate is 1.
    weights : (n,)
        Weights on the training ticks *at* the last observation, summing to one; negative entries
        are part of the method. They give the filtered position, while the state is about the
        tick after.
    accepted
        Whether the last observation moved the belief.

    """

    def __init__(self, tables: Tables, operator: ObservationOperator) -> None:
        self._weight_table = np.ascontiguousarray(tables.weights.T)
        self._state_table = np.ascontiguousarray(tables.states.T)
        self._transition = transition(tables.weights, tables.states)
        self._operator = operator
        self._kernel_points = np.ascontiguousarray(operator.kernel_points.T)
        self._kernel = np.zeros(len(operator.kernel_points))
        self._factors = np.zeros(len(tables.weights))
        self.weights = np.zeros(len(tables.weights))
        self.state = np.zeros(len(self._weight_table))
        self.accepted = True
        self.start()

    def start(self, state: Floats | None = None) -> None:
        """Begin at a state, or at the prior [1, 0, ..., 0] of the centred form (3.4)."""
        if state is None:
            self.state[:] = 0.0
            self.state[0] = 1.0
        else:
            self.state[:] = state
        implied_weights(self._weight_table, self.state, self.weights)

    def update(self, observation: Floats) -> float:
        """
        Take one (d,) observation, eq. (6.2).

        Returns
        -------
        float
            Evidence in [-1, 1]: what is left of the weights after cancellation, and 0 for an
            observation unlike any in training. At or below ``SMALLEST_EVIDENCE`` the observation
            was passed over and the state moved on by (6.3).

        """
        implied_weights(self._weight_table, self.state, self.weights)
        total, absolute = reweight(self.weights, self._evaluate(observation))
        evidence = total / absolute if absolute > SMALLEST_SUPPORT else 0.0
        self.accepted = evidence > SMALLEST_EVIDENCE
        if not self.accepted:
            implied_weights(self._weight_table, self.state, self.weights)
            self.state[:] = self._transition @ self.state
            return evidence
        self.weights *= 1.0 / total
        next_state(self._state_table, self.weights, self.state)
        return evidence

    def skip(self, ticks: int) -> None:
        """Move on by some ticks without observations, eq. (6.3)."""
        for _ in range(ticks):
            self.state[:] = self._transition @ self.state
        implied_weights(self._weight_table, self.state, self.weights)

    def _evaluate(self, observation: Floats) -> Floats:
        operator = self._operator
        if isinstance(operator, RawKernel):
            gaussian_factors(self._kernel_points, observation, operator.bandwidth, self._factors)
        else:
            gaussian_factors(self._kernel_points, observation, operator.bandwidth, self._kernel)
            np.matmul(operator.features, self._kernel @ operator.responses, out=self._factors)
        return self._factors
