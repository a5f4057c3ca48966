# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Belief over where the vehicle is: on the route at a place and a pace, or elsewhere.

A Bayes filter over hypotheses. On the route the vehicle drives as usual, stands, or drives at a
pace of its own: it pulls away, brakes, slides, does what training never saw. How far it gets
meanwhile is told by its forward acceleration alone; what it sees tells nothing of the place.
Driving off the route means a road made of the same pieces in another order: any place may follow
any other. On the route that predicts worse than the route itself, by the pieces that do not end;
on another road it predicts better. Driving is *settled* where the slow means of the observations
are those of the road behind, and *new* where they are not yet: after a start, a gap, a move or a
piece of another road. Elsewhere the vehicle does anything, at no place. Only the likelihood of the
observations decides between all of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import HAVE_NUMBA
from two_manifold_ros.route.features import FeatureStream
from two_manifold_ros.route.route import JUMPED
from two_manifold_ros.route.steps import OFF, OFF_NEW, ON, ON_NEW, OWN_PACE, ROWS, STANDS

if HAVE_NUMBA:
    from two_manifold_ros.route.reading import mean_state, sum_targets
    from two_manifold_ros.route.steps import go_over, measure, move, weigh
else:
    from two_manifold_ros.route.array_steps import (
        go_over,
        mean_state,
        measure,
        move,
        sum_targets,
        weigh,
    )

if TYPE_CHECKING:
    from two_manifold_ros.route.route import Route
    from two_manifold_ros.typing import Floats

ROLLS, STANDS_THERE, OTHER_ROAD = 0.6, 0.4, 0.15
"""
Chances at a start that a rolling vehicle is on the route, that a standing one is, and of either to
be off it on a road of the same pieces; elsewhere else.

One that stands is rather off the route, so that no place is told before it moves. With .45 and .5
of the first no error of those tried changes by more than 5 %.
"""

LARGEST_PULL = 100.0
"""Forward acceleration, m/s^2, beyond which an observation tells none: no vehicle has that."""


class RouteBelief:
    """
    Belief about the place on the route, the pace, and whether the vehicle is on the route at all.

    Parameters
    ----------
    route
        The map.

    Attributes
    ----------
    chances, paces, spreads : (P, 6)
        At each place, in the order of ``PLACED``: probabilities, and mean and variance of the
        pace, which is the speed over the usual one there.
    elsewhere
        Probability of being at no place.
    log_evidence
        Logarithm of the predicted density of the last observation.
    state : (k,)
        Mean two-manifold state under the belief on the route, the constant first.

    """

    def __init__(self, route: Route) -> None:
        self._route = route
        self._stream = FeatureStream(route.channels, route.gains)
        places = len(route.noise)
        self.chances, self.paces, self.spreads = (np.zeros((places, ROWS)) for _ in range(3))
        self._moved = np.zeros((places, ROWS, 3))
        self._active = np.arange(places)
        self._count = places
        self._reached = np.zeros(places, dtype=np.int64)
        self._order = np.zeros(places, dtype=np.int64)
        self._logs, self._distances = np.zeros((places, ROWS)), np.zeros(places)
        self._totals, self._sums = np.zeros(ROWS + 1), np.zeros(ROWS + 1)
        self._jumped = np.zeros(len(JUMPED))
        self._no_lengths = np.zeros(places)
        counts = np.arange(float(route.moves.shape[1]))
        self._variances = route.moves @ counts**2 - (route.moves @ counts) ** 2
        spread, kept = route.pace_spread, route.pace_kept
        gained = spread**2 * (1.0 - kept**2)
        self._motion = np.array(
            [
                route.moves_a_row, 0.0, 0.0, spread, kept, gained, route.pace_noise, route.trust,
                route.usual_change, route.halts, 1.0,
            ]
        )  # fmt: skip
        hidden = route.means.shape[1] - route.channels
        weights = np.concatenate([np.full(hidden, route.persistence), np.ones(route.channels)])
        self._scale = np.sqrt(weights)
        self._means = np.ascontiguousarray(route.means * self._scale)
        self._slopes = np.ascontiguousarray(route.slopes * self._scale)
        self._squares = np.square(self._slopes).sum(axis=1)
        self._new_means = np.ascontiguousarray(route.new_means.T)
        self._new_squares = np.square(route.new_slopes).sum(axis=1)
        self._levels = -0.5 * np.log(route.noise)
        self._heights = route.noise ** (-route.channels / (route.tail + route.channels))
        self._numbers = np.array(
            [route.tail, float(weights.sum()), 0.0, route.sharpness, spread, 0.0, 0.0]
        )
        count = route.targets.shape[1]
        self._read = np.zeros((count, 2)), np.zeros((count, 2, 2))
        self.elsewhere = self.log_evidence = self._resting = 0.0
        self.state = np.zeros(route.states.shape[1])
        self.start()

    def start(self) -> None:
        """Start at the beginning of a drive or anywhere, rolling or standing."""
        self._stream.start()
        route = self._route
        places = len(self.chances)
        rolls, stands = route.beginnings
        self.chances[:] = 0.0
        self.chances[:, ON_NEW] = ROLLS * rolls
        self.chances[:, OFF_NEW] = OTHER_ROAD / places
        self.chances[:, STANDS] = STANDS_THERE * stands
        self.paces[:] = 1.0
        self.paces[:, STANDS] = 0.0
        self.spreads[:] = route.pace_spread**2
        self.elsewhere = 1.0 - float(self.chances.sum())
        self._motion[-1] = 1.0
        self._active[:] = np.arange(places)
        self._count = places
        self._reached[:] = 0
        # Until the vehicle stands, training tells what its accelerometer reads at rest.
        self._resting = float(route.forward @ route.rest_alone.offset) + route.forward_offset
        self._sum_up()
        self.log_evidence = 0.0
        self._tell_state()

    @property
    def on_route(self) -> float:
        """Probability that the vehicle is on the route."""
        return float(self._totals[:OFF].sum())

    @property
    def driving(self) -> float:
        """Probability that the vehicle drives on the route as in training."""
        return float(self._totals[ON] + self._totals[ON_NEW])

    @property
    def unlike(self) -> float:
        """Probability of what training never saw: a pace of its own on the route, or elsewhere."""
        return float(self._totals[OWN_PACE] + self._totals[ROWS])

    @property
    def weights(self) -> Floats:
        """Probabilities of the places, given that the vehicle is on the route: (P,)."""
        weights: Floats = self.chances[:, :OFF].sum(axis=1)
        total = float(weights.sum())
        if total > 0.0:
            return weights / total
        return np.full(len(weights), 1.0 / len(weights))

    def read(self) -> tuple[Floats, Floats]:
        """Return means (H + 1, 2) and covariances (H + 1, 2, 2) of positions and velocity."""
        route = self._route
        means, covariances = self._read
        sum_targets(
            self.chances, self.paces, self.spreads, self._active[: self._count], route.pace_spread,
            route.targets, route.drifts, route.covariances, means, covariances,
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
        forward = float(route.forward @ observation) + route.forward_offset
        if not abs(forward) <= LARGEST_PULL:
            forward = self._resting
        self._motion[1:3] = forward, self._resting
        self._predict(route.tick_lengths)
        stands, anything, lasting = self._placeless(observation, features[: -route.channels])
        self._numbers[2] = lasting + route.new_level
        self._numbers[5:] = stands, anything
        newest = route.new_whitening @ observation
        shift = measure(
            self.chances, self.paces, self.spreads, self._order, self._count,
            (route.whitening @ features) * self._scale, self._means, self._slopes, self._squares,
            newest, self._new_means, route.new_slopes, self._new_squares, route.noise,
            self._levels, self._numbers, self._logs,
        )  # fmt: skip
        evidence, self._count = weigh(
            self.chances, self.paces, self.spreads, self._order, self._reached, self._count,
            self._jumped, newest, self._new_means, route.noise, self._heights, self._numbers,
            self._logs, shift, self.elsewhere, self._distances, self._active, self._totals,
        )  # fmt: skip
        if not evidence > 0.0:
            self.start()
            return 0.0
        self.elsewhere = float(self._totals[ROWS])
        # As long as it stands, the sensor tells what it reads at rest on this day and slope.
        gain = float(self._totals[STANDS]) * route.persistence
        self._resting += gain * (forward - self._resting)
        self.log_evidence = math.log(evidence) + shift
        self._tell_state()
        return min(evidence, 1.0)

    def _placeless(self, observation: Floats, means: Floats) -> tuple[float, float, float]:
        """
        Return log-likelihoods of an observation (d,) after slow means (m,) at no known place.

        Returns
        -------
        stands, anything
            Tempered: of a vehicle that stands; and of one that does anything, which is the largest
            of those of standing, of a low pace and of any road, at a start their mean. How likely
            the vehicle moves goes into the next prediction.
        lasting
            Of the slow means of any road, weighed as what lasts.

        """
        route, nothing = self._route, means[:0]
        lasting = route.persistence * route.other_means.log_density(means, nothing)
        stands = route.rest_alone.log_density(observation, nothing) + lasting
        first = self._stream.age == 1
        # The first observation has no slow means: they begin with it.
        if not first:
            resting = route.persistence * route.rest_means.log_density(means, nothing)
            stands = max(stands, route.rest.log_density(observation, means) + resting)
        slow = route.slow.log_density(observation, means) + lasting
        other = route.other.log_density(observation, means) + lasting
        moves = max(slow, other)
        self._motion[-1] = 1.0 / (1.0 + math.exp(min(stands - moves, 100.0)))
        stands, moves = route.sharpness * stands, route.sharpness * moves
        anything = max(stands, moves)
        if first:
            # Wherever it is, it stands at a start as likely as drives of the training did.
            apart = np.array([stands, moves]) - anything
            anything += math.log(route.beginnings.sum(axis=1)[::-1] @ np.exp(apart))
        return stands, anything, lasting

    def skip(self, ticks: int) -> None:
        """Predict some ticks without observations: the slow means know nothing of them."""
        for _ in range(ticks):
            # Nothing tells that a pace changed.
            self._predict(self._no_lengths)
            reached = np.flatnonzero(self._reached)
            self._count = len(reached)
            self._active[: self._count] = reached
            self._reached[:] = 0
        for settled, new in ((ON, ON_NEW), (OFF, OFF_NEW)):
            missed = 1.0 - (1.0 - self._route.exchanges[new, settled]) ** ticks
            came = missed * self.chances[:, settled]
            whole = self.chances[:, new] + came
            share = np.divide(came, whole, out=np.zeros_like(came), where=whole > 0.0)
            for table in (self.paces, self.spreads):
                table[:, new] += share * (table[:, settled] - table[:, new])
            self.chances[:, new] = whole
            self.chances[:, settled] -= came
        # What jumped anywhere is no part of it: less than a thousandth in a tick.
        total = self.chances.sum() + self.elsewhere
        self.chances /= total
        self.elsewhere /= total
        self._sum_up()
        self._tell_state()

    def _sum_up(self) -> None:
        self._totals[:ROWS] = self.chances.sum(axis=0)
        self._totals[ROWS] = self.elsewhere

    def _tell_state(self) -> None:
        mean_state(self.chances, self._active[: self._count], self._route.states, self.state)

    def _predict(self, tick_lengths: Floats) -> None:
        route = self._route
        self._count = move(
            self.chances, self.paces, self.spreads, self._active, self._count, route.begins,
            route.targets_of, route.steps_of, route.shares_of, route.moves, self._variances,
            route.rates, tick_lengths, route.pulls, self._motion, self._moved, self._reached,
            self._order,
        )  # fmt: skip
        self.elsewhere = go_over(
            self.chances, self.paces, self.spreads, self._moved, self._order, self._count,
            self._motion, route.exchanges, route.jumps, route.stops, self.elsewhere, self._jumped,
            self._sums,
        )  # fmt: skip
