# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Belief over where the vehicle is: on the route at a place and a speed ratio, or elsewhere.

A Bayes filter over ``HYPOTHESES``, between which the likelihood of the observations decides:

=============  =========================================  =====================================
hypothesis     motion                                     likelihood
=============  =========================================  =====================================
on, on new     along the map, near the usual speed        of the place; new: without slow means
slow           along the map, at a lasting speed ratio    of the place, by physics
free motion    along the map, by forward acceleration     of no place: the largest of standing,
                                                          low speed and any road
stands         none                                       of standing
off, off new   as on, to any next place after a piece     of the place, as on
elsewhere      at no place                                as in free motion
=============  =========================================  =====================================

In free motion the vehicle pulls away, brakes, slides or moves as it never did in training. Off the
route is a road made of the same pieces in another order: on the route it predicts worse than the
route itself, by the pieces that do not end; on another road it predicts better.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.readout import floors
from two_manifold_ros.route.arrays import Buffers, Cells, Known, known_of, plain, Reach, Scratch
from two_manifold_ros.route.route import (
    FREE,
    JUMPED,
    LIMITS,
    OFF,
    OFF_NEW,
    ON,
    ON_NEW,
    Route,
    ROWS,
    STANDS,
)
from two_manifold_ros.route.updating import follow_offsets, mean_state, step, sum_targets

if TYPE_CHECKING:
    from two_manifold_ros.typing import Bools, Floats, Indices, Ints


class SensorOffsets:
    """
    Estimate the offsets of a sensor from the one that the map was learned with, while driving.

    They are the mean residual of the observations from what is usual where the vehicle is believed
    to be, over the newest lap: drivers differ from bend to bend, and over a whole lap that
    cancels. The ``shifts`` of a `RouteLikelihood`, which the map reckons with anyway, are left
    alone; what is beyond them is ``applied`` (d,): subtracted from an observation. So a sensor
    that is as it was costs nothing. Each start of the belief forgets them.
    """

    def __init__(self, route: Route) -> None:
        likelihood = route.likelihood
        self._usual, self._slopes = likelihood.usual()
        lap = float((1.0 / route.motion.rates).sum())
        self._numbers = np.array(
            [1.0 / max(lap, 1.0), LIMITS.usual_ratios * route.motion.ratio_spread]
        )
        self._shifts = np.ascontiguousarray(likelihood.shifts)
        self._offsets, self._expected, self.applied = np.zeros((3, likelihood.channels))
        self._follows = bool(likelihood.shifts.any())

    def start(self) -> None:
        """Forget all offsets."""
        self._offsets[:] = 0.0
        self.applied[:] = 0.0

    def follow(
        self, observation: Floats, chances: Floats, ratios: Floats, active: Indices
    ) -> None:
        """Update with an observation (d,) as it came, and the belief (P, 7) after it."""
        if self._follows:
            follow_offsets(
                observation, chances, ratios, active, self._usual, self._slopes, self._numbers,
                self._shifts, self._expected, self._offsets, self.applied,
            )  # fmt: skip


class RouteBelief:
    """
    Belief about the place, the speed ratio, and whether the vehicle is on the route at all.

    At each place, in the order of ``PLACED``, there are (P, 7) ``chances`` and mean and variance
    of the speed ratio, ``ratios`` and ``spreads``; ``elsewhere`` is the probability of being at no
    place. ``offsets`` are those of the sensor from the one that the map was learned with, and
    ``state`` (k,) is the mean two-manifold state on the route, the constant first.
    """

    # Chances at a start that a rolling vehicle is on the route, that a standing one is, and that
    # either is off it on a road of the same pieces; the rest is elsewhere. A standing one is
    # rather off the route, so that no place is reported before it moves.
    starts_on = 0.6
    starts_standing = 0.4
    starts_off = 0.15
    # Chances after `place` that the vehicle drives on the route, and that it stands there.
    placed_on, placed_stands = 0.5, 0.1

    def __init__(self, route: Route) -> None:
        self._route = route
        readout = route.readout
        self.offsets = SensorOffsets(route)
        places = route.places
        self.chances, self.ratios, self.spreads = np.zeros((3, places, ROWS))
        self._active, order = np.zeros((2, places), dtype=np.uint32)
        self._reached: Bools = np.zeros(places, dtype=np.bool_)
        self._carry = np.zeros(5)
        self._totals = np.zeros(ROWS + 1)
        self.state = np.zeros(readout.states.shape[1])
        scratch = Scratch(
            moved=np.zeros((places, ROWS, 3)),
            logs=np.zeros((places, ROWS)),
            distances=np.zeros(places),
            jumped=np.zeros(len(JUMPED)),
            sums=np.zeros(ROWS + 1),
        )
        cells = Cells(self.chances, self.ratios, self.spreads)
        reach = Reach(self._active, self._reached, order)
        self._buffers: Buffers = plain(
            Buffers(cells, reach, scratch, self._carry, self._totals, self.state)
        )
        known = known_of(route)
        self._known: Known = plain(known)
        # Without observations nothing measures how speed ratios change.
        unmeasured = known.motion._replace(tick_lengths=np.zeros(places))
        self._unmeasured: Known = plain(known._replace(motion=unmeasured))
        # About their centre, and zero for the velocity: second moments of coordinates that are
        # large beside the route lose the digits that a small covariance is made of.
        self._centre = np.zeros(readout.targets.shape[1:])
        self._centre[:-1] = readout.targets[:, :-1].mean(axis=0)
        self._targets = readout.targets - self._centre
        self._least = floors(readout.targets)
        count = readout.targets.shape[1]
        self._read = np.zeros((count, 2)), np.zeros((count, 2, 2))
        self.start()

    def start(self) -> None:
        """Start where drives start or anywhere, rolling or standing."""
        self._age = 0
        self.offsets.start()
        route = self._route
        places = len(self.chances)
        rolls, stands = route.switching.beginnings
        self.chances[:] = 0.0
        self.chances[:, ON_NEW] = self.starts_on * rolls
        self.chances[:, OFF_NEW] = self.starts_off / places
        self.chances[:, STANDS] = self.starts_standing * stands
        self.ratios[:] = 1.0
        self.ratios[:, STANDS] = 0.0
        self.spreads[:] = route.motion.ratio_spread**2
        self.elsewhere = 1.0 - float(self.chances.sum())
        # Until the vehicle stands, its accelerometer is taken to read at rest what it read in
        # training.
        resting = (
            float(route.motion.forward @ route.likelihood.rest_alone.offset)
            + route.motion.forward_offset
        )
        self._carry[:] = resting, 0.0, 1.0, 1.0, 1.0
        self._active[:] = np.arange(places)
        self._count = places
        self._reached[:] = False
        self._sum_up()

    def place(self, chances: Floats) -> None:
        """Be at the places with these ``chances`` (P,) in place of anywhere, after a start."""
        self.chances[:, ON_NEW] = self.placed_on * chances
        self.chances[:, STANDS] = self.placed_stands * chances
        self.elsewhere = 1.0 - float(self.chances.sum())
        self._sum_up()

    def lose(self) -> None:
        """Know, after a start, that no drive begins here, which changes nothing on a route."""

    @property
    def support(self) -> Indices:
        """Places with any probability, in no order; the time of a tick grows with their number."""
        support: Indices = self._active[: self._count]
        return support

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
        """Probability of unmodelled motion: free motion on the route, or elsewhere."""
        return float(self._totals[FREE] + self._totals[ROWS])

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
        route, readout = self._route, self._route.readout
        means, covariances = self._read
        sum_targets(
            self._buffers[0], self.support, route.motion.ratio_spread,
            self._targets, readout.drifts, readout.covariances, self._least, means, covariances,
        )  # fmt: skip
        return means + self._centre, covariances * readout.factors[:, None, None]

    def targets_with(self, places: Ints, ahead: Floats) -> Floats:
        """Return targets for `read_among`, with other positions ahead (n, H, 2) of some places."""
        targets: Floats = self._targets.copy()
        targets[places, :-1] = ahead - self._centre[:-1]
        return targets

    def read_among(self, shares: Floats, targets: Floats) -> Floats:
        """
        Return means (H + 1, 2) of positions and velocity if only some places count.

        ``shares`` (P,) are how far each does, and ``targets`` where it leads, of `targets_with`.
        """
        support, readout = self.support, self._route.readout
        cells = Cells(
            self.chances[support] * shares[support, None],
            self.ratios[support],
            self.spreads[support],
        )
        means, covariances = (np.empty_like(each) for each in self._read)
        sum_targets(
            plain(cells), np.arange(len(support), dtype=support.dtype),
            self._route.motion.ratio_spread, targets[support], readout.drifts[support],
            readout.covariances[support], self._least, means, covariances,
        )  # fmt: skip
        moved: Floats = means + self._centre
        return moved

    def update(self, observation: Floats) -> float:
        """
        Predict by a tick and update with its (d,) observation; return the evidence in (0, 1].

        It is the mean likelihood over the largest of all hypotheses; 0 if the observation fits
        none, and the belief starts again.
        """
        # As a row of another array it would be compiled for once more.
        observation = np.ascontiguousarray(observation)
        evidence, self._count, _ = step(
            observation - self.offsets.applied, True, self._age == 0, self._buffers, self._known,
            self._count, self.elsewhere,
        )  # fmt: skip
        if not evidence > 0.0:
            self.start()
            return 0.0
        self._age += 1
        self.offsets.follow(observation, self.chances, self.ratios, self._active[: self._count])
        self.elsewhere = float(self._totals[ROWS])
        return min(evidence, 1.0)

    def skip(self, ticks: int) -> None:
        """Predict by some ticks without observations: slow means are unknown after them."""
        for _ in range(ticks):
            _, self._count, self.elsewhere = step(
                self.offsets.applied, False, False, self._buffers, self._unmeasured, self._count,
                self.elsewhere,
            )  # fmt: skip
            reached = np.flatnonzero(self._reached)
            self._count = len(reached)
            self._active[: self._count] = reached
            self._reached[:] = False
        for settled, new in ((ON, ON_NEW), (OFF, OFF_NEW)):
            missed = 1.0 - (1.0 - self._route.switching.exchanges[new, settled]) ** ticks
            came = missed * self.chances[:, settled]
            whole = self.chances[:, new] + came
            share = np.divide(came, whole, out=np.zeros_like(came), where=whole > 0.0)
            for table in (self.ratios, self.spreads):
                table[:, new] += share * (table[:, settled] - table[:, new])
            self.chances[:, new] = whole
            self.chances[:, settled] -= came
        # What restarted anywhere is no part of it: less than a thousandth in a tick.
        total = self.chances.sum() + self.elsewhere
        self.chances /= total
        self.elsewhere /= total
        self._sum_up()

    def _sum_up(self) -> None:
        self._totals[:ROWS] = self.chances.sum(axis=0)
        self._totals[ROWS] = self.elsewhere
        mean_state(
            self.chances, self._active[: self._count], self._route.readout.states, self.state
        )
