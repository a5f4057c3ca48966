# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Belief over where the vehicle is: on the route at a place and a pace, or elsewhere.

A Bayes filter over hypotheses: on the route or off it, the vehicle drives, stands, or does what
training never saw. Driving off the route means a road made of the same pieces in another order:
any place may follow any other. On the route that predicts worse than the route itself, by the
pieces that do not end; on another road it predicts better. Driving is *settled* where the slow
means of the observations are those of the road behind, and *new* where they are not yet: after a
start, a gap, a move or a piece of another road. Only the likelihood of the observations decides
between all of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.route.features import FeatureStream
from two_manifold_ros.route.reading import mean_state, sum_targets
from two_manifold_ros.route.route import DRIVING, ELSE, HYPOTHESES
from two_manifold_ros.route.steps import fill_logs, predict, weigh

if TYPE_CHECKING:
    from two_manifold_ros.route.route import Route
    from two_manifold_ros.typing import Floats

ON, ON_NEW, OFF, OFF_NEW = 0, 1, 2, 3
"""Rows of driving: on the route or off it, settled or new there."""

STANDING = 0
"""Column of what else a vehicle does, on the route (row 0) or off it (row 1), see ``ELSE``."""

BEGINS_AT_BEGINNING, STANDS_AT_BEGINNING = 0.5, 0.9
"""
Shares of vehicles that start, rolling or standing, where a drive of the training began.

A route has its pit, garage or depot; the rest starts anywhere.
"""


class RouteBelief:
    """
    Belief about the place on the route, the pace, and whether the vehicle is on the route at all.

    Parameters
    ----------
    route
        The map.

    Attributes
    ----------
    cells : (P, 4, r)
        Probabilities of driving at each place and pace: on the route settled and new, off it
        settled and new.
    others : (P, 2, K)
        Probabilities at each place, on the route and off it, of whatever else it does.
    log_evidence
        Logarithm of the predicted density of the last observation.
    state : (k,)
        Mean two-manifold state under the belief on the route, the constant first.

    """

    def __init__(self, route: Route) -> None:
        self._route = route
        self._stream = FeatureStream(route.channels, route.gains)
        paces, places = len(route.log_paces), len(route.noise)
        self.cells = np.zeros((places, 4, paces))
        self.others = np.zeros((places, 2, len(ELSE)))
        self._moved = np.zeros_like(self.cells)
        self._moved_others = np.zeros_like(self.others)
        self._active = np.arange(places)
        self._count = places
        self._reached = np.zeros(places, dtype=np.int64)
        self._order = np.zeros(places, dtype=np.int64)
        self._logs = np.zeros((places, 2, paces))
        self._totals = np.zeros((3, 2))
        self._jumped, self._sums_of = np.zeros(len(DRIVING)), np.zeros(len(HYPOTHESES))
        self._steps = np.ascontiguousarray(route.moves.T)
        hidden = route.means.shape[1] - route.channels
        weights = np.concatenate([np.full(hidden, route.persistence), np.ones(route.channels)])
        self._scale = np.sqrt(weights)
        self._freedom = float(weights.sum())
        self._means = np.ascontiguousarray(route.means * self._scale)
        self._slopes = np.ascontiguousarray(route.slopes * self._scale)
        self._squares = np.square(self._slopes).sum(axis=1)
        self._new_squares = np.square(route.new_slopes).sum(axis=1)
        self._levels = -0.5 * np.log(route.noise)
        self._numbers = np.array([route.tail, self._freedom, 0.0, route.sharpness])
        count = route.targets.shape[1]
        self._sums = np.zeros((count, 2)), np.zeros((count, 2, 2))
        self._factors = np.zeros(len(ELSE))
        self.log_evidence = 0.0
        self.state = np.zeros(route.states.shape[1])
        self.start()

    def start(self) -> None:
        """
        Start at the beginning of a drive or anywhere, on the route as likely as not.

        Who stands is rather off it, so that no place is told before the vehicle moves.
        """
        self._stream.start()
        prior, begun = self._route.pace_prior, self._route.beginnings
        places = len(begun)
        even = 1.0 / places
        rolling = BEGINS_AT_BEGINNING * begun + (1.0 - BEGINS_AT_BEGINNING) * even
        standing = STANDS_AT_BEGINNING * begun + (1.0 - STANDS_AT_BEGINNING) * even
        self.cells[:] = 0.0
        self.cells[:, ON_NEW] = rolling[:, None] * prior * 3.0 / 8.0
        self.cells[:, OFF_NEW] = even * prior / 6.0
        self.others[:] = 0.0
        self.others[:, 0, STANDING] = standing / 8.0
        self.others[:, 1, [STANDING, -1]] = even / 6.0
        self._active[:] = np.arange(places)
        self._count = places
        self._reached[:] = 0
        self._totals[:] = [[3 / 8, 1 / 6], [1 / 8, 1 / 6], [0.0, 1 / 6]]
        self.log_evidence = 0.0
        self._tell_state()

    @property
    def on_route(self) -> float:
        """Probability that the vehicle is on the route."""
        return float(self._totals[:, 0].sum())

    @property
    def driving(self) -> float:
        """Probability that the vehicle drives on the route as in training."""
        return float(self._totals[0, 0])

    @property
    def standing(self) -> float:
        """Probability that the vehicle stands."""
        return float(self._totals[1].sum())

    @property
    def unlike(self) -> float:
        """Probability of something that training never saw, pulling away among it."""
        return float(self._totals[2].sum())

    @property
    def weights(self) -> Floats:
        """Probabilities of the places, given that the vehicle is on the route: (P,)."""
        weights: Floats = self.cells[:, :OFF].sum(axis=(1, 2)) + self.others[:, 0].sum(axis=1)
        total = float(weights.sum())
        if total > 0.0:
            return weights / total
        return np.full(len(weights), 1.0 / len(weights))

    def read(self) -> tuple[Floats, Floats]:
        """Return means (H + 1, 2) and covariances (H + 1, 2, 2) of positions and velocity."""
        route = self._route
        means, covariances = self._sums
        sum_targets(
            self.cells, self.others, self._active[: self._count], route.log_paces, route.targets,
            route.drifts, route.covariances, means, covariances,
        )  # fmt: skip
        return means.copy(), covariances * route.factors[:, None, None]

    def update(self, observation: Floats) -> float:
        """
        Take one (d,) observation.

        Returns
        -------
        float
            Evidence in (0, 1]: mean likelihood under the belief before it, relative to the largest
            of all hypotheses.

        """
        route = self._route
        features = self._stream.push(observation)
        self._predict()
        means, nothing = features[: -route.channels], features[:0]
        lasting = route.persistence * route.other_means.log_density(means, nothing)
        rest = route.rest.log_density(observation, means)
        rest += route.persistence * route.rest_means.log_density(means, nothing)
        unlike = route.other.log_density(observation, means) + lasting
        slow = route.slow.log_density(observation, means) + lasting
        self._numbers[2] = lasting + route.new_level
        largest = fill_logs(
            (route.whitening @ features) * self._scale, self._means, self._slopes, self._squares,
            route.new_whitening @ observation, route.new_means, route.new_slopes,
            self._new_squares, route.noise, self._levels, route.log_paces, self._reached,
            self._numbers, self._logs,
        )  # fmt: skip
        self._factors[:] = rest, slow, slow, unlike
        self._factors *= route.sharpness
        shift = max(largest, float(self._factors.max()))
        np.exp(self._factors - shift, out=self._factors)
        evidence, self._count = weigh(
            self.cells, self.others, self._order, self._reached, self._count, self._jumped,
            route.pace_prior, self._logs, shift, self._factors, self._active, self._totals,
        )  # fmt: skip
        if not evidence > 0.0:
            self.start()
            return 0.0
        self.log_evidence = math.log(evidence) + shift
        self._tell_state()
        return min(evidence, 1.0)

    def skip(self, ticks: int) -> None:
        """Predict some ticks without observations: the slow means know nothing of them."""
        for _ in range(ticks):
            self._predict()
            reached = np.flatnonzero(self._reached)
            self._count = len(reached)
            self._active[: self._count] = reached
            self._reached[:] = 0
        for settled, new in ((ON, ON_NEW), (OFF, OFF_NEW)):
            missed = 1.0 - (1.0 - self._route.exchanges[new, settled]) ** ticks
            self.cells[:, new] += missed * self.cells[:, settled]
            self.cells[:, settled] *= 1.0 - missed
        # What jumped anywhere is no part of it: less than a thousandth in a tick.
        total = self.cells.sum() + self.others.sum()
        self.cells /= total
        self.others /= total
        self._totals[0] = self.cells[:, :OFF].sum(), self.cells[:, OFF:].sum()
        self._totals[1] = self.others[:, :, STANDING].sum(axis=0)
        self._totals[2] = self.others.sum(axis=(0, 2)) - self._totals[1]
        self._tell_state()

    def _tell_state(self) -> None:
        mean_state(
            self.cells, self.others, self._active[: self._count], self._route.states, self.state
        )

    def _predict(self) -> None:
        route = self._route
        self._count = predict(
            self.cells, self.others, self._active, self._count, route.begins, route.targets_of,
            route.steps_of, route.shares_of, self._steps, route.pace_changes, route.pace_prior,
            route.exchanges, route.jumps, self._moved, self._moved_others, self._reached,
            self._order, self._jumped, self._sums_of,
        )  # fmt: skip
