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

from collections.abc import Sequence
from dataclasses import dataclass, replace
import math
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.compilation import compiled
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
    ROWS,
    SETTLED,
    STANDS,
)
from two_manifold_ros.route.steps import (
    Buffers,
    follow_offsets,
    Known,
    mean_state,
    Prepared,
    see,
    step,
    sum_targets,
    take_features,
)
from two_manifold_ros.typing import Bools, Floats, Indices, Ints

if TYPE_CHECKING:
    from two_manifold_ros.ticks.segments import Channels


def plain(group: Any) -> Any:  # noqa: ANN401 - any nested tuple of arrays
    """Return named tuples within each other as plain ones."""
    return tuple(map(plain, group)) if isinstance(group, tuple) else group


def prepared(likelihood: RouteLikelihood, starts: Floats, calm: float) -> Prepared:
    """Lay out a likelihood; ``starts`` and ``calm`` as in `Prepared`."""
    channels, tail = likelihood.channels, likelihood.tail
    hidden = likelihood.means.shape[1] - channels
    weights = np.concatenate([np.full(hidden, likelihood.persistence), np.ones(channels)])
    scale = np.sqrt(weights)
    slopes = np.ascontiguousarray(likelihood.slopes * scale)
    # An observation is a parabola in the speed ratio: through that of standing, and at the usual
    # speed through the usual one with a slope that mixes physics and what was learned, which from
    # laps at much the same speed is noise that is extrapolated.
    root = np.linalg.inv(likelihood.whitening).T
    times = len(scale) // channels
    rest, exponents = (
        np.tile(each, times) for each in (likelihood.rest_alone.offset, likelihood.exponents)
    )
    moving, gained = likelihood.means @ root - rest, likelihood.slopes @ root
    share = np.where(exponents > 0.0, LIMITS.learned_slopes, 1.0)
    gained = exponents * moving + share * (gained - exponents * moving)
    known = vars(likelihood)
    same: dict[str, Any] = {name: known[name] for name in Prepared._fields if name in known}
    for name in ('new_means', 'new_slopes', 'new_whitening'):
        same[name] = np.ascontiguousarray(same[name])
    return Prepared(
        **same | {
            'starts': starts,
            'means': np.ascontiguousarray(likelihood.means * scale),
            'slopes': slopes,
            'squares': np.square(slopes).sum(axis=1),
            'new_squares': np.square(likelihood.new_slopes).sum(axis=1),
            'levels': -0.5 * np.log(likelihood.noise),
            'heights': likelihood.noise ** (-channels / (tail + channels)),
            'columns': np.ascontiguousarray(likelihood.new_means.T),
            'bends': np.ascontiguousarray((gained - moving) @ likelihood.whitening.T * scale),
            'at_rest': likelihood.whitening @ rest * scale,
            'freedom': float(weights.sum()),
            'calm': calm,
            'slow_means': np.zeros((len(likelihood.gains), channels)),
            'features': np.zeros(len(scale)),
            'whitening': np.ascontiguousarray(likelihood.whitening * scale[:, None]),
            'whitened': np.zeros(len(scale)),
            'newest': np.zeros(channels),
            'apart': np.zeros(len(scale)),
        }
    )  # fmt: skip


def unsigned(geometry: RouteGeometry) -> Any:  # noqa: ANN401 - which no index of a map is
    """Return indices as compiled code takes them fastest: it need not look for negative ones."""
    return RouteGeometry._make(
        each.astype(np.uint32) if each.dtype.kind == 'i' else each for each in geometry
    )


class SensorOffsets:
    """
    Estimate the offsets of a sensor from the one that the map was learned with, while driving.

    They are the mean residual of the observations from what is usual where the vehicle is believed
    to be, over the newest lap: drivers differ from bend to bend, and over a lap that cancels. What
    is beyond the ``shifts`` of a `RouteLikelihood` is ``applied`` (d,): subtracted from an
    observation. Each start of the belief forgets them.
    """

    def __init__(self, route: Route) -> None:
        likelihood = route.likelihood
        usual, slopes = likelihood.usual()
        lap = float((1.0 / route.motion.rates).sum())
        self._offsets, expected, self.applied = np.zeros((3, likelihood.channels))
        self._known = (
            usual, slopes, np.ascontiguousarray(likelihood.shifts), 1.0 / max(lap, 1.0),
            LIMITS.usual_ratios * route.motion.ratio_spread, expected, self._offsets, self.applied,
        )  # fmt: skip
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


class Shares(NamedTuple):
    """Probabilities that the vehicle is on the route, and two of how it drives there."""

    on_route: float
    # As in training.
    driving: float
    # Unmodelled: free motion on the route, or elsewhere.
    unlike: float


class RouteBelief:
    """
    Belief about the place, the speed ratio, and whether the vehicle is on the route at all.

    At each place, in the order of ``PLACED``, there are (P, 7) ``chances`` and mean and variance
    of the speed ratio, ``ratios`` and ``spreads``; ``elsewhere`` is the probability of being at no
    place. ``offsets`` are those of the sensor, see `SensorOffsets`, and ``state`` (k,) is the mean
    two-manifold state on the route, the constant first.
    """

    # Chances at a start that a rolling vehicle is on the route, that a standing one is, and that
    # either is off it on a road of the same pieces; the rest is elsewhere. A standing one is
    # rather off the route, so that no place is reported before it moves.
    starts_on = 0.6
    starts_standing = 0.4
    starts_off = 0.15
    # Chances after `place` that the vehicle drives on the route, and that it stands there.
    placed_on, placed_stands = 0.5, 0.1
    # Of position fixes the share that is of any place of the map, whatever their covariance says;
    # chances, if one comes, that a vehicle at no place is back at one, and that one which is
    # believed to be at a place was moved unseen. So one fix that contradicts a sure belief leaves
    # a fiftieth for what it says, and a second one that agrees with the first decides.
    fix_gross, fix_returns, fix_moved = 0.05, 0.9, 1e-3

    def __init__(self, route: Route) -> None:
        self._route = route
        readout = route.readout
        self.offsets = SensorOffsets(route)
        places = route.places
        self.chances, self.ratios, self.spreads = np.zeros((3, places, ROWS))
        self._active: Indices = np.zeros(places, dtype=np.uint32)
        self._reached: Bools = np.zeros(places, dtype=np.bool_)
        self._carry = np.zeros(5)
        self._totals = np.zeros(ROWS + 1)
        self.state = np.zeros(readout.states.shape[1])
        self._buffers: Any = tuple(
            Buffers(
                self.chances,
                self.ratios,
                self.spreads,
                self._active,
                self._reached,
                order=np.zeros(places, dtype=np.uint32),
                moved=np.zeros((places, ROWS, 3)),
                logs=np.zeros((places, ROWS)),
                distances=np.zeros(places),
                jumped=np.zeros(len(JUMPED)),
                sums=np.zeros(ROWS + 1),
                carry=self._carry,
                totals=self._totals,
                state=self.state,
            )
        )
        motion, likelihood = route.motion, route.likelihood
        steps = np.arange(float(motion.moves.shape[1]))
        resting = np.linalg.solve(likelihood.rest_alone.root.T, motion.forward)
        calm = max(float(np.linalg.norm(resting)), 1e-9)
        starts = route.switching.beginnings.sum(axis=1)
        known = Known(
            likelihood=prepared(likelihood, starts, calm),
            geometry=unsigned(route.geometry),
            motion=motion,
            switching=route.switching,
            variances=motion.moves @ steps**2 - (motion.moves @ steps) ** 2,
            gained=motion.ratio_spread**2 * (1.0 - motion.ratio_kept**2),
            states=readout.states,
        )
        self._known: Known = plain(known)
        # Without observations nothing measures how speed ratios change.
        unmeasured = known.motion._replace(tick_lengths=np.zeros(places))
        self._unmeasured: Known = plain(known._replace(motion=unmeasured))
        # About their centre, and zero for the velocity: second moments of coordinates that are
        # large beside the route lose the digits that a small covariance is made of.
        self._centre = np.zeros(readout.targets.shape[1:])
        self._centre[:-1] = readout.targets[:, :-1].mean(axis=0)
        self._readout = (
            readout.targets - self._centre, readout.drifts, readout.covariances,
            floors(readout.targets),
        )  # fmt: skip
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

    def fix(self, near: Floats, away: float) -> float:
        """
        Take a position fix; return the probability that it is right, not a gross error.

        ``near`` (6, P) is its likelihood if the vehicle is at each place by each hypothesis on the
        route, and if it came there by the fix alone, ``away`` if it is elsewhere; all over that
        of a gross error.
        """
        placed, places = self.chances[:, :OFF].T, len(self.chances)
        on = float(placed.sum())
        lost = max(1.0 - on, 0.0)
        gross, right = self.fix_gross, 1.0 - self.fix_gross
        # What was moved, or was lost and is back on the map; and what is where it was believed.
        came = right * near[OFF] * (self.fix_moved * on + self.fix_returns * lost) / places
        stayed = (1.0 - self.fix_moved) * (gross + right * near[:OFF])
        left = (1.0 - self.fix_returns) * (gross + right * away)
        total = float(came.sum() + (placed * stayed).sum()) + left * lost
        wrong = gross * ((1.0 - self.fix_moved) * on + (1.0 - self.fix_returns) * lost)
        stands = self.placed_stands / (self.placed_on + self.placed_stands)
        self._reweigh(stayed / total, np.outer([1.0 - stands, stands], came / total), left / total)
        return max(1.0 - wrong / total, 0.0)

    def _reweigh(self, stayed: Floats, came: Floats, left: float) -> None:
        """Scale hypotheses on the route (5, P) and all else; add what came, rolling, standing."""
        chances = self.chances
        chances[:, :OFF] *= stayed.T
        chances[:, OFF:] *= left
        self.elsewhere *= left
        usual = self._route.motion.ratio_spread**2
        for row, ratio, new in ((ON_NEW, 1.0, came[0]), (STANDS, 0.0, came[1])):
            whole = chances[:, row] + new
            part = np.divide(new, whole, out=np.zeros_like(new), where=whole > 0.0)
            apart = ratio - self.ratios[:, row]
            self.spreads[:, row] += part * (
                usual - self.spreads[:, row] + (1.0 - part) * np.square(apart)
            )
            self.ratios[:, row] += part * apart
            chances[:, row] = whole
        kept = chances.sum(axis=1) > LIMITS.faint
        chances[~kept] = 0.0
        self._count = int(np.count_nonzero(kept))
        self._active[: self._count] = np.flatnonzero(kept)
        self._sum_up()

    def lose(self) -> None:
        """Know, after a start, that no drive begins here, which changes nothing on a route."""

    @property
    def support(self) -> Indices:
        """Places with any probability, in no order; the time of a tick grows with their number."""
        support: Indices = self._active[: self._count]
        return support

    @property
    def shares(self) -> Shares:
        """Probabilities of some hypotheses together."""
        sums = self._totals
        return Shares(
            float(sums[:OFF].sum()), float(sums[ON] + sums[ON_NEW]), float(sums[FREE] + sums[ROWS])
        )

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
            self._buffers[:3], self._active[: self._count], route.motion.ratio_spread,
            self._readout, means, covariances,
        )  # fmt: skip
        return means + self._centre, covariances * route.readout.factors[:, None, None]

    def targets_with(self, places: Ints, ahead: Floats) -> Floats:
        """Return targets for `read_among`, with other positions ahead (n, H, 2) of some places."""
        targets: Floats = self._readout[0].copy()
        targets[places, :-1] = ahead - self._centre[:-1]
        return targets

    def read_among(self, shares: Floats, targets: Floats) -> Floats:
        """
        Return means (H + 1, 2) of positions and velocity if only some places count.

        ``shares`` (P,) are how far each does, and ``targets`` where it leads, of `targets_with`.
        """
        support, (_, drifts, covariances, least) = self.support, self._readout
        chances = self.chances[support] * shares[support, None]
        means, spreads = (np.empty_like(each) for each in self._read)
        sum_targets(
            (chances, self.ratios[support], self.spreads[support]),
            np.arange(len(support), dtype=support.dtype), self._route.motion.ratio_spread,
            (targets[support], drifts[support], covariances[support], least), means, spreads,
        )  # fmt: skip
        return np.asarray(means + self._centre)

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


@dataclass(frozen=True)
class Sensor:
    """
    A sensor beside the IMU, heard on a ``topic``, as a map knows it.

    Samples beyond the range of its ``channels`` count as missing. ``most_still`` are the most
    ticks in a row of the training in which it did not change.
    """

    topic: str
    channels: Channels
    likelihood: RouteLikelihood
    most_still: int

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its channels among those of all sensors, as those of a `HeldStream`."""
        return tuple(f'{self.topic}:{field}' for field in self.channels.names)


@compiled
def weigh_sensor(
    observation: Floats, first: bool, buffers: Buffers, known: Any, weight: float,  # noqa: ANN401
    elsewhere: float, count: int,
) -> tuple[float, float]:  # fmt: skip
    """
    Update a belief with what a sensor reads (d,), if it is in order with probability ``weight``.

    If not, its reading is that of any road. ``known`` are its `Prepared`, the states (P, k), and
    the spread of speed ratios. Returns the probability that it is in order, and that of elsewhere.
    """
    into, likelihood, states, spread = Buffers(*buffers), Prepared(*known[0]), known[1], known[2]
    chances, ratios, spreads = into.chances, into.ratios, into.spreads
    before, active, logs, totals = into.moved, into.active, into.logs, into.totals
    for a in range(count):
        i = active[a]
        for h in range(ROWS):
            before[i, h, 0] = chances[i, h]
            before[i, h, 1] = ratios[i, h]
            before[i, h, 2] = spreads[i, h]
    nowhere, shift = see(observation, first, likelihood, into, active, spread, count)
    broken = math.exp(nowhere.anything - shift)
    sound = elsewhere * broken
    for a in range(count):
        i = active[a]
        for h in range(ROWS):
            if chances[i, h] > 0.0:
                chances[i, h] *= math.exp(logs[a, h] - shift)
                sound += chances[i, h]
    whole = weight * sound + (1.0 - weight) * broken
    totals[:] = 0.0
    for a in range(count):
        i = active[a]
        for h in range(ROWS):
            good = weight * chances[i, h] / whole
            chance = good + (1.0 - weight) * broken * before[i, h, 0] / whole
            chances[i, h] = chance
            totals[h] += chance
            if not chance > 0.0:
                continue
            share = good / chance
            ratio = share * ratios[i, h] + (1.0 - share) * before[i, h, 1]
            new, old = ratios[i, h] - ratio, before[i, h, 1] - ratio
            spreads[i, h] = share * (spreads[i, h] + new * new) + (1.0 - share) * (
                before[i, h, 2] + old * old
            )
            ratios[i, h] = ratio
    totals[ROWS] = elsewhere * broken / whole
    mean_state(chances, active[:count], states, into.state)
    return weight * sound / whole, totals[ROWS]


TRUSTED, BREAK_S, HEAL_S = 0.9, 120.0, 3600.0
"""Probability that a sensor is in order at a start; mean times until it breaks, and heals."""


class _Heard:
    """A sensor while a belief listens to it."""

    def __init__(self, route: Route, sensor: Sensor, period_s: float) -> None:
        likelihood = sensor.likelihood
        starts = route.switching.beginnings.sum(axis=1)
        # Its readings measure no acceleration.
        self.stream = prepared(likelihood, starts, 1.0)
        self.known = plain((self.stream, route.readout.states, route.motion.ratio_spread))
        channels = sensor.channels
        self.live = np.flatnonzero(channels.live)
        self.mean, self.scale = channels.mean[self.live], channels.scale[self.live]
        self.limit = channels.limit[self.live]
        self.breaks = -math.expm1(-period_s / BREAK_S)
        self.heals = -math.expm1(-period_s / HEAL_S)
        # As long a standstill as in training is no sign of a sensor that broke.
        self.warm = math.ceil(SETTLED / float(likelihood.gains.min()))
        self.most_still = 2 * sensor.most_still + math.ceil(1.0 / period_s)
        self.offsets = SensorOffsets(replace(route, likelihood=likelihood))
        self.weight = TRUSTED
        self.age = self.still = 0
        self.last = np.full(len(self.live), np.nan)

    def take(self, reading: Floats) -> Floats | None:
        """Return the standardised reading (d,), or ``None`` if it is missing or frozen."""
        values = reading[self.live]
        self.still = self.still + 1 if np.array_equal(values, self.last) else 0
        self.last[:] = values
        # One that is not a number is not within the limit.
        if self.still > self.most_still or not (np.abs(values - self.mean) <= self.limit).all():
            self.age = 0
            return None
        self.age += 1
        observation: Floats = (values - self.mean) / self.scale
        return observation


class SensedBelief(RouteBelief):
    """A `RouteBelief` that also takes sensors."""

    def __init__(self, route: Route, sensors: Sequence[Sensor], period_s: float) -> None:
        self.heard = [_Heard(route, each, period_s) for each in sensors]
        super().__init__(route)

    def sense(self, readings: Sequence[Floats]) -> None:
        """Update with the newest reading (m,) of each sensor, NaN where there is none."""
        for heard, reading in zip(self.heard, readings, strict=True):
            observation = heard.take(reading)
            if observation is None:
                continue
            if heard.age <= min(heard.warm, self._age - 1):
                # It is back: its slow means are not yet those of the road behind.
                stream, first = heard.stream, heard.age == 1
                take_features(observation, stream.gains, stream.slow_means, stream.features, first)
                continue
            weight = heard.weight * (1.0 - heard.breaks) + (1.0 - heard.weight) * heard.heals
            heard.weight, self.elsewhere = weigh_sensor(
                observation - heard.offsets.applied, self._age <= 1, self._buffers, heard.known,
                weight, self.elsewhere, self._count,
            )  # fmt: skip
            heard.offsets.follow(
                observation, self.chances, self.ratios, self._active[: self._count]
            )
