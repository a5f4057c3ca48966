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
from two_manifold_ros.route.offsets import SensorOffsets
from two_manifold_ros.route.passes import FeatureStream
from two_manifold_ros.route.placeless import placeless_of
from two_manifold_ros.route.route import JUMPED
from two_manifold_ros.route.steps import OFF, OFF_NEW, ON, ON_NEW, OWN_PACE, ROWS, STANDS
from two_manifold_ros.route.updating import HALTS, MOVING, predict, update

if HAVE_NUMBA:
    from two_manifold_ros.route.reading import mean_state, sum_targets
else:
    from two_manifold_ros.route.array_steps import mean_state, sum_targets

if TYPE_CHECKING:
    from two_manifold_ros.route.route import Route
    from two_manifold_ros.typing import Bools, Floats

ROLLS, STANDS_THERE, OTHER_ROAD = 0.6, 0.4, 0.15
"""
Chances at a start that a rolling vehicle is on the route, that a standing one is, and of either to
be off it on a road of the same pieces; elsewhere else.

One that stands is rather off the route, so that no place is told before it moves. With .45 and .5
of the first no error of those tried changes by more than 5 %.
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
    chances, paces, spreads : (P, 6)
        At each place, in the order of ``PLACED``: probabilities, and mean and variance of the
        pace, which is the speed over the usual one there.
    elsewhere
        Probability of being at no place.
    offsets
        How far the sensor is off from the one that the map was learned with.
    log_evidence
        Logarithm of the predicted density of the last observation.
    state : (k,)
        Mean two-manifold state under the belief on the route, the constant first.

    """

    def __init__(self, route: Route) -> None:
        self._route = route
        self._stream = FeatureStream(route.channels, route.gains)
        self.offsets = SensorOffsets(route)
        places = len(route.noise)
        self.chances, self.paces, self.spreads = (np.zeros((places, ROWS)) for _ in range(3))
        self._tables = self.chances, self.paces, self.spreads
        self._active, order = (np.zeros(places, dtype=np.uint32) for _ in range(2))
        self._reached: Bools = np.zeros(places, dtype=np.bool_)
        self._found = self._active, self._reached, order
        self._count = places
        self._room = (
            np.zeros((places, ROWS, 3)),
            np.zeros((places, ROWS)),
            np.zeros(places),
            np.zeros(len(JUMPED)),
            np.zeros(ROWS + 1),
        )
        self._totals = np.zeros(ROWS + 1)
        self._no_lengths = np.zeros(places)
        counts = np.arange(float(route.moves.shape[1]))
        variances = route.moves @ counts**2 - (route.moves @ counts) ** 2
        ways = route.begins, route.targets_of, route.steps_of
        begins, targets, steps = (each.astype(np.uint32) for each in ways)
        self._ways = (
            begins, targets, steps, route.shares_of, route.moves, variances, route.rates,
            route.pulls, route.fastest,
        )  # fmt: skip
        self._changes = route.exchanges, route.jumps, route.stops
        spread, kept = route.pace_spread, route.pace_kept
        gained = spread**2 * (1.0 - kept**2)
        self._motion = np.array(
            [
                route.moves_a_row, 0.0, 0.0, spread, kept, gained, route.pace_noise, route.trust,
                route.usual_change, 0.0, 1.0,
            ]
        )  # fmt: skip
        hidden = route.means.shape[1] - route.channels
        weights = np.concatenate([np.full(hidden, route.persistence), np.ones(route.channels)])
        scale = np.sqrt(weights)
        slopes = np.ascontiguousarray(route.slopes * scale)
        self._looks = (
            np.ascontiguousarray(route.means * scale),
            slopes,
            np.square(slopes).sum(axis=1),
            np.ascontiguousarray(route.new_means),
            np.ascontiguousarray(route.new_slopes),
            np.square(route.new_slopes).sum(axis=1),
            route.noise,
            -0.5 * np.log(route.noise),
            route.noise ** (-route.channels / (route.tail + route.channels)),
            np.ascontiguousarray(route.new_means.T),
        )
        self._numbers = np.array(
            [route.tail, float(weights.sum()), 0.0, route.sharpness, spread, 0.0, 0.0]
        )
        self._sight = (
            self._stream.gains,
            self._stream.means,
            self._stream.features,
            np.ascontiguousarray(route.whitening * scale[:, None]),
            np.zeros(len(scale)),
            np.ascontiguousarray(route.new_whitening),
            np.zeros(route.channels),
            np.ascontiguousarray(route.forward),
        )
        self._scalars = (
            float(route.forward_offset), float(route.persistence), float(route.new_level),
            float(route.halts), float(route.mistakable),
        )  # fmt: skip
        self._placeless = placeless_of(route)
        count = route.targets.shape[1]
        self._read = np.zeros((count, 2)), np.zeros((count, 2, 2))
        self.elsewhere = self.log_evidence = self._resting = 0.0
        self.state = np.zeros(route.states.shape[1])
        self.start()

    def start(self) -> None:
        """Start at the beginning of a drive or anywhere, rolling or standing."""
        self._stream.start()
        self.offsets.start()
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
        self._motion[HALTS], self._motion[MOVING] = 0.0, 1.0
        self._active[:] = np.arange(places)
        self._count = places
        self._reached[:] = False
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
        evidence, shift, self._count, self._resting = update(
            observation - self.offsets.applied, self._stream.age == 0, self._tables, self._found,
            self._room, self._sight, self._scalars, self._placeless, self._ways,
            route.tick_lengths, self._changes, self._looks, self._motion, self._numbers,
            self._count, self.elsewhere, self._resting, self._totals, route.states, self.state,
        )  # fmt: skip
        if not evidence > 0.0:
            self.start()
            return 0.0
        self._stream.age += 1
        self.offsets.follow(observation, self.chances, self.paces, self._active[: self._count])
        self.elsewhere = float(self._totals[ROWS])
        self.log_evidence = math.log(evidence) + shift
        return min(evidence, 1.0)

    def skip(self, ticks: int) -> None:
        """Predict some ticks without observations: the slow means know nothing of them."""
        for _ in range(ticks):
            # Nothing tells that a pace changed.
            self._count, self.elsewhere = predict(
                self._tables, self._found, self._room, self._ways, self._no_lengths,
                self._changes, self._motion, self._count, self.elsewhere,
            )  # fmt: skip
            reached = np.flatnonzero(self._reached)
            self._count = len(reached)
            self._active[: self._count] = reached
            self._reached[:] = False
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
