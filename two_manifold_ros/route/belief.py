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

from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.readout import floors
from two_manifold_ros.route.route import (
    FREE,
    JUMPED,
    LIMITS,
    OFF,
    OFF_NEW,
    ON,
    ON_NEW,
    Route,
    RouteGeometry,
    RouteLikelihood,
    RouteMotion,
    ROWS,
    STANDS,
)
from two_manifold_ros.route.steps import (
    Buffers,
    Cells,
    follow_offsets,
    Known,
    mean_state,
    Offsets,
    Placeless,
    Prepared,
    Reach,
    Readout,
    Scratch,
    step,
    Stream,
    sum_targets,
    Usual,
)

if TYPE_CHECKING:
    from two_manifold_ros.typing import Bools, Floats, Indices, Ints


def plain(group: Any) -> Any:  # noqa: ANN401 - any nested tuple of arrays
    """Return named tuples within each other as plain ones."""
    return tuple(map(plain, group)) if isinstance(group, tuple) else group


def prepared(
    likelihood: RouteLikelihood, motion: RouteMotion, starts: Floats, calm: float
) -> Prepared:
    """Lay out a likelihood; ``starts`` as in `Placeless`, ``calm`` as in `Usual`."""
    channels, tail = likelihood.channels, likelihood.tail
    hidden = likelihood.means.shape[1] - channels
    weights = np.concatenate([np.full(hidden, likelihood.persistence), np.ones(channels)])
    scale = np.sqrt(weights)
    # Seconds a metre, up to a factor; their mean over places is that of a lap.
    slowness = np.abs(motion.tick_lengths)
    slopes = np.ascontiguousarray(likelihood.slopes * scale)
    return Prepared(
        Placeless(
            likelihood.rest,
            likelihood.rest_alone,
            likelihood.rest_means,
            likelihood.other,
            likelihood.other_means,
            likelihood.slow,
            starts,
            apart=np.zeros(len(scale)),
        ),
        Usual(
            means=np.ascontiguousarray(likelihood.means * scale),
            slopes=slopes,
            squares=np.square(slopes).sum(axis=1),
            new_means=np.ascontiguousarray(likelihood.new_means),
            new_slopes=np.ascontiguousarray(likelihood.new_slopes),
            new_squares=np.square(likelihood.new_slopes).sum(axis=1),
            noise=likelihood.noise,
            levels=-0.5 * np.log(likelihood.noise),
            heights=likelihood.noise ** (-channels / (tail + channels)),
            columns=np.ascontiguousarray(likelihood.new_means.T),
            bends=_bends(likelihood),
            at_rest=likelihood.new_whitening @ likelihood.rest_alone.offset,
            slow_from=np.maximum(LIMITS.slowest, LIMITS.surely_fast * slowness / slowness.mean()),
            tail=tail,
            sharpness=float(likelihood.sharpness),
            persistence=float(likelihood.persistence),
            new_level=likelihood.new_level,
            freedom=float(weights.sum()),
            calm=calm,
        ),
        Stream(
            gains=likelihood.gains,
            means=np.zeros((len(likelihood.gains), channels)),
            features=np.zeros(len(scale)),
            whitening=np.ascontiguousarray(likelihood.whitening * scale[:, None]),
            whitened=np.zeros(len(scale)),
            new_whitening=np.ascontiguousarray(likelihood.new_whitening),
            newest=np.zeros(channels),
        ),
    )


def known_of(route: Route) -> Known:
    """Lay out a route for the compiled steps."""
    motion, likelihood = route.motion, route.likelihood
    moves = motion.moves
    steps = np.arange(float(moves.shape[1]))
    resting = np.linalg.solve(likelihood.rest_alone.root.T, motion.forward)
    calm = max(float(np.linalg.norm(resting)), 1e-9)
    return Known(
        likelihood=prepared(likelihood, motion, route.switching.beginnings.sum(axis=1), calm),
        geometry=unsigned(route.geometry),
        motion=motion,
        switching=route.switching,
        variances=moves @ steps**2 - (moves @ steps) ** 2,
        gained=motion.ratio_spread**2 * (1.0 - motion.ratio_kept**2),
        states=route.readout.states,
    )


def unsigned(geometry: RouteGeometry) -> Any:  # noqa: ANN401 - which no index of a map is
    """Return indices as compiled code takes them fastest: it need not look for negative ones."""
    return RouteGeometry._make(
        each.astype(np.uint32) if each.dtype.kind == 'i' else each for each in geometry
    )


def _bends(likelihood: RouteLikelihood) -> Floats:
    """
    Return half the second derivatives (P, d) of whitened observations by the speed ratio.

    An observation is a parabola in it: through that of standing, and at the usual speed through
    the usual one with a slope that is a mixture of physics and what was learned.
    """
    means, slopes = likelihood.usual()
    moving, exponents = means - likelihood.rest_alone.offset, likelihood.exponents
    # Rates of turning grow with the speed, accelerations with its square. Learned slopes alone,
    # from laps at much the same speed, are noise that is extrapolated.
    share = np.where(exponents > 0.0, LIMITS.learned_slopes, 1.0)
    slopes = exponents * moving + share * (slopes - exponents * moving)
    return np.ascontiguousarray((slopes - moving) @ likelihood.new_whitening.T)


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
        usual, slopes = likelihood.usual()
        lap = float((1.0 / route.motion.rates).sum())
        self._offsets, expected, self.applied = np.zeros((3, likelihood.channels))
        self._known: Offsets = plain(
            Offsets(
                usual=usual,
                slopes=slopes,
                shifts=np.ascontiguousarray(likelihood.shifts),
                gain=1.0 / max(lap, 1.0),
                bound=LIMITS.usual_ratios * route.motion.ratio_spread,
                expected=expected,
                offsets=self._offsets,
                applied=self.applied,
            )
        )
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
            follow_offsets(observation, chances, ratios, active, self._known)


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
        self._readout = Readout(
            self._targets, readout.drifts, readout.covariances, floors(readout.targets)
        )
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
        route, (means, covariances) = self._route, self._read
        sum_targets(
            self._buffers[0], self.support, route.motion.ratio_spread, tuple(self._readout), means,
            covariances,
        )  # fmt: skip
        return means + self._centre, covariances * route.readout.factors[:, None, None]

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
        support, readout = self.support, self._readout
        cells = Cells(
            self.chances[support] * shares[support, None],
            self.ratios[support],
            self.spreads[support],
        )
        means, covariances = (np.empty_like(each) for each in self._read)
        sum_targets(
            plain(cells), np.arange(len(support), dtype=support.dtype),
            self._route.motion.ratio_spread,
            (targets[support], readout.drifts[support], readout.covariances[support],
             readout.least),
            means, covariances,
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
