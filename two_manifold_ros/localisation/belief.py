# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The belief over the training ticks and its update by one observation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.arithmetic import gaussian_factors
from two_manifold_ros.localisation.features import FeatureStream, PLACE_MEMORIES
from two_manifold_ros.localisation.steps import change_pace, expected_state, hop, move, weigh
from two_manifold_ros.localisation.surprise import Surprise

if TYPE_CHECKING:
    from two_manifold_ros.localisation.pace_signs import PaceSigns
    from two_manifold_ros.localisation.route import Route
    from two_manifold_ros.typing import Floats

JUMP = 1e-4
"""Share of the belief that starts anywhere at each tick: what finds a vehicle that was moved."""

EAGERNESS, LARGEST_JUMP = 3.0, 0.05
"""
The logarithm by which ``JUMP`` grows with each unit of surprise above the usual, and what it grows
to at most: a vehicle that was put down elsewhere is looked for everywhere, and known not to be
known. With more of either the belief no longer comes to rest where laps differ much.
"""

UNLIKE = 2.5
"""
Surprise even at the most similar tick of all above which a belief in doubt drops the slow means.

They are then of a hand that carried the vehicle, or of two places at once.
"""

PACE_WEIGHT = 0.1
"""Weight of the signs of pace: of the exponent of their likelihood, which recurs at every tick."""

SMALLEST_SUPPORT = 1e-12
"""Likelihood at the most similar training tick below which an observation resembles none."""


class RouteBelief:
    r"""
    Where the vehicle may be on the training drives.

    The state of the HMM is the mean embedding :math:`b = X^\top \omega` of the weights, as in
    the spectral filter, but the weights stay a distribution: they move along the drives at a
    pace, go over to other passes of the same place, and are multiplied by the likelihood of each
    observation (Bayes' rule). No weight is ever negative, so nothing cancels.

    Parameters
    ----------
    route
        The map.

    Attributes
    ----------
    weights : (N,)
        Chances of the training ticks at the last observation, summing to one.
    state : (k,)
        Mean two-manifold state under the weights, the constant first.
    pace
        Expected pace, ticks of the training drives per tick: a mean over the longest memory of
        the features, so that what is foretold from it does not follow every bend.
    accepted
        Whether the last observation resembled any in training; if not, it was passed over.
    surprise
        How well the last observations fitted where the vehicle was expected.

    """

    def __init__(self, route: Route) -> None:
        self._route = route
        self._stream = FeatureStream(len(route.features) // (1 + PLACE_MEMORIES), route.gains)
        ticks = route.features.shape[1]
        self._belief = np.zeros((len(route.paces.factors), ticks))
        self._spare = np.zeros_like(self._belief)
        self._factors = np.zeros(ticks)
        self._even = np.ones(ticks)
        self._hidden = slice(0)
        self._expected = np.zeros((1, ticks))
        self._logarithms = np.log(route.paces.factors)
        self.weights = np.zeros(ticks)
        self.state = np.zeros(route.states.shape[1])
        self._pace_gain = float(route.gains.min())
        self.pace = 1.0
        self.accepted = True
        self.surprise = Surprise(route.surprise, route.gains)
        self.start()

    def start(self) -> None:
        """Begin anywhere."""
        self._stream.start()
        self.surprise.clear()
        self._belief[:] = 0.0
        self.accepted = True
        self._weigh(self._even, 1.0)
        self.pace = 1.0

    def hide(self, begin: int, end: int) -> None:
        """
        Begin anywhere but on a part of the map, which stays as if it had not been driven.

        Raises
        ------
        ValueError
            If nothing is left of the map; the belief stays as it was.

        """
        even = np.ones_like(self._even)
        even[begin:end] = 0.0
        if not even.any():
            msg = f'hiding the steps {begin} to {end} leaves nothing of the map'
            raise ValueError(msg)
        self._even = even
        self._hidden = slice(begin, end)
        self.start()

    def update(self, observation: Floats) -> float:
        """
        Take one (d,) observation.

        Returns
        -------
        float
            Evidence in (0, 1]: mean likelihood of the observation where the vehicle was expected,
            relative to its likelihood at the most similar tick of the whole training; 0 where it
            was passed over.

        """
        live = self._stream.push(observation)
        share = min(self._stream.settled / len(self._route.features), 1.0)
        self._advance()
        largest = self._compare(live)
        jump = min(JUMP * math.exp(EAGERNESS * max(self.surprise.recent - 1.0, 0.0)), LARGEST_JUMP)
        self.accepted = largest > SMALLEST_SUPPORT
        if self.surprise.doubted and self.surprise.of(largest, share) > UNLIKE:
            self._stream.start()
        if not self.accepted:
            self._weigh(self._even, jump)
            self.surprise.push(0.0, share)
            return 0.0
        signs = self._route.signs
        if signs is not None and len(self._logarithms) > 1 and self._stream.settled == len(live):
            self._weigh_paces(signs, live)
        likelihood = self._weigh(self._factors, jump)
        self.surprise.push(likelihood, share)
        return min(likelihood / largest, 1.0)

    def skip(self, ticks: int) -> None:
        """Move on by some ticks without observations."""
        self._stream.start()
        self.surprise.clear()
        for _ in range(ticks):
            self._advance()
            self._weigh(self._even, JUMP)

    def _compare(self, live: Floats) -> float:
        """Fill the likelihoods of the place and return the largest."""
        route = self._route
        # The whitening is triangular: the first whitened features are those of the first features.
        place = live[: len(route.features)] @ route.whitening
        settled = self._stream.settled
        gaussian_factors(route.features[:settled], place[:settled], route.bandwidth, self._factors)
        self._factors[self._hidden] = 0.0
        return float(self._factors.max())

    def _weigh_paces(self, signs: PaceSigns, live: Floats) -> None:
        expected = self._expected
        np.matmul(live, signs.slopes, out=expected[0])
        expected[0] += signs.offsets
        np.clip(expected, self._logarithms[0], self._logarithms[-1], out=expected)
        width = signs.spread / PACE_WEIGHT**0.5
        for row, logarithm in enumerate(self._logarithms[:, None]):
            gaussian_factors(expected, logarithm, width, self._spare[row])
        self._belief *= self._spare

    def _advance(self) -> None:
        route, paces = self._route, self._route.paces
        move(self._belief, paces.moves, route.since_begin, self._spare)
        change_pace(self._spare, paces.changes, self._belief)
        hop(self._belief, route.passes, route.shifts, route.hop, self._spare)

    def _weigh(self, factors: Floats, jump: float) -> float:
        paces = self._route.paces
        evidence = weigh(self._belief, paces.prior, jump, factors, self.weights)
        now = float(paces.factors @ self._belief.sum(axis=1))
        self.pace += self._pace_gain * (now - self.pace)
        expected_state(self.weights, self._route.states, self.state)
        return evidence
