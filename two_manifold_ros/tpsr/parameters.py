# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of a TPSR, and the belief that they make of a stream."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.tables import shrink_growing_modes
from two_manifold_ros.tpsr.features import LARGEST_SQUARE, squared_length

if TYPE_CHECKING:
    from two_manifold_ros.tpsr.features import FeatureMap
    from two_manifold_ros.tpsr.thin_svd import Move
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True)
class Tpsr:
    r"""
    A transformed predictive state representation (Boots & Gordon 2011, eq. 7a-c).

    Parameters
    ----------
    start : (k,)
        :math:`\hat b_*`, the state on average, scaled so that the normaliser makes it one.
    normaliser : (k,)
        :math:`\hat b_\infty`: its product with a state is one.
    operators : (p, k, k)
        :math:`\hat B_{AO}` by observation feature.
    inverse : (p, p)
        :math:`(\hat\Sigma_{AO,AO}/n+\lambda I)^{-1}`, of the mean, so that a likelihood keeps its
        size however long was learned.
    transition : (k, k)
        One tick without an observation (mathematics, section 6.2); no mode of it grows.
    bound
        Length that no state exceeds: a state is a mean of test features, no longer than they are.

    """

    start: Floats
    normaliser: Floats
    operators: Floats
    inverse: Floats
    transition: Floats
    bound: float

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
    """Return how many of the wanted states have (r,) singular values that are not rounding."""
    return int(np.count_nonzero(values[:wanted] > 1e-9 * values.max(initial=0.0)))


def make_parameters(
    start: Floats,
    normaliser: Floats,
    operators: Floats,
    inverse: Floats,
    weight: float,
    test_square: float,
) -> Tpsr:
    r"""
    Return the parameters, with a start (k,) of any scale, and growing modes shrunk.

    ``operators`` (p + 1, k, k) are those by observation feature and that of the constant. Of n
    samples ``inverse`` (p, p) is :math:`(\hat\Sigma_{AO,AO}+\lambda nI)^{-1}`, ``weight`` the sum
    of the weights, n, and ``test_square`` that of the squared lengths of the tests.

    Raises `InputError` if the histories hold less than a tenth of the constant, by which beliefs
    are normalised.
    """
    whole = float(normaliser @ start)
    if not whole > 0.1 * weight:
        msg = (
            f'features of histories: what was learned holds {whole / weight:.3g} of the '
            'constant instead of 1; append a constant feature'
        )
        raise InputError(msg)
    return Tpsr(
        start=start / whole,
        normaliser=normaliser,
        operators=operators[:-1],
        inverse=weight * inverse,
        transition=shrink_growing_modes(operators[-1]),
        # With 10 % for noise: with 100 % the few states in between, which are no means of
        # features, cost up to 12 % of the error in the experiment slot-car-online, on slot cars 6
        # to 8.
        bound=1.1 * math.sqrt(test_square / weight),
    )


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


class RememberingBelief:
    r"""
    A `TpsrBelief` about observations, and the weights that it gives to remembered ticks.

    The weight of a tick is that of its history under the state before an observation,
    :math:`b^\top\hat S^{-1}\hat V^\top\varphi^H_t`, times
    :math:`\varphi^{O\top}_t(\hat\Sigma_{OO}/n+\lambda I)^{-1}\varphi^O(o)`, mathematics (10.7):
    summed over all ticks with their next tests they are the numerator of Boots & Gordon 2011,
    eq. 2.

    Parameters
    ----------
    tpsr
        The parameters.
    observations
        Features of observations.
    table : (n, k)
        Its product with a state gives the weights of histories.
    features : (n, p)
        Of the observations at the remembered ticks.

    Attributes
    ----------
    weights : (n,)
        Of the remembered ticks, at the last observation.

    """

    def __init__(
        self, tpsr: Tpsr, observations: FeatureMap, table: Floats, features: Floats
    ) -> None:
        self._map = observations
        self._belief = TpsrBelief(tpsr)
        self._take(table, features)
        self.start()

    def _take(self, table: Floats, features: Floats) -> None:
        self.table, self.features = table, features
        self.weights = self.table @ self.state

    @property
    def tpsr(self) -> Tpsr:
        """The parameters."""
        return self._belief.tpsr

    @property
    def state(self) -> Floats:
        """Belief (k,) before the next observation."""
        state: Floats = self._belief.state
        return state

    @property
    def accepted(self) -> bool:
        """Whether the last observation moved the belief."""
        return self._belief.accepted

    def start(self) -> None:
        """Restart at the state on average."""
        self._belief.start()
        self.weights = self.table @ self.state

    def update(self, observation: Floats) -> float:
        """Take or pass over one observation (d,); return the evidence, see `TpsrBelief.update`."""
        try:
            features = self._map.transform(observation[None])[0]
        except InputError:
            if len(observation) != self._map.inputs:
                raise
            # Too far out to have features; zeros are passed over.
            features = np.zeros(len(self.tpsr.inverse))
        before = self.state
        evidence = self._belief.update(features)
        self.weights = self.table @ before
        if self.accepted:
            self.weights *= self.features @ (self.tpsr.inverse @ features)
        return evidence

    def skip(self, ticks: int) -> None:
        """Move on by some ticks without observations, mathematics (6.3)."""
        self._belief.skip(ticks)

    def adopt(self, tpsr: Tpsr, move: Move, table: Floats, features: Floats) -> None:
        """Continue with newer parameters and other remembered ticks, see `TpsrBelief.adopt`."""
        self._belief.adopt(tpsr, move)
        self._take(table, features)
