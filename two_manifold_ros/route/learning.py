# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn the map of a route: what is usual at each place, from all passes or a part of them."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

from two_manifold_ros.hse_hmm.readout import FLOOR
from two_manifold_ros.route.merging import FINENESS, STANDS_S
from two_manifold_ros.route.passes import AROUND
from two_manifold_ros.route.placeless import learn_densities, mistakable, shared, TAIL
from two_manifold_ros.route.route import (
    chances_to_move,
    exchanges_for,
    HALT,
    main_ways,
    MOVES_A_ROW,
    reach,
    Route,
    ways_of,
)
from two_manifold_ros.route.speeds import ALONG, usual_speeds
from two_manifold_ros.route.steps import FASTEST, USUAL_PACES

if TYPE_CHECKING:
    from two_manifold_ros.route.passes import Passes
    from two_manifold_ros.typing import Bools, Floats

SHARPNESS = 0.2
"""
Exponent of the likelihood of an observation, where none is given.

From 20 places each, cold starts err by 60, 24 and 18 m on ridge_car with .1, .2 and .4, by 20, 23
and 28 m on the simulated kart; moved vehicles are found sooner the sharper it is; and drives on
another track pass for f1tenth_ipz20 the rarer, the less sharp.
"""

LEAST_PACE_SPREAD = 0.02
"""Of the logarithm: less is not told from the usual pace by any IMU."""

PACE_MEMORIES = 4.0
"""
Memories of the observations until a pace is forgotten: within bends drivers differ anew.

With half and twice no error of those tried changes by more than 7 %, but for the simulated car's:
38 m (27) with twice.
"""

OWN_PACE_VARIANCE = 0.01
"""
Variance that a pace gains in a second which the forward acceleration alone tells.

The error of the latter: a tenth of the usual pace in a second. With a quarter of it and four times
as much the simulated kart at 25 Hz errs by 3.7 and 4.3 m (3.5), others by up to 14 % more or less.
"""

FASTEST_VISITS = 0.99
"""
Share of the visits of places that were no faster than a pace of its own may be.

From an accelerometer alone it runs away: without a bound ridge_car errs by 20.3 m (14.0 m).
"""

USUAL_CHANGES, MOST_STAY = 0.99, 5.0
"""
Share of the changes of pace in training that count as usual, and ticks of a visit at most: who
stopped changed its pace by as much as in that time.
"""

FASTEST_MOVE = 1.5
"""Times the usual pace that a tick may reach; who is faster moves by as much."""

BEGINS_ROLLING, BEGINS_STANDING = 0.5, 0.97
"""
Shares of vehicles that start, rolling or standing, where a drive of the training began so.

A route has its pit, garage or depot; the rest starts anywhere. With .9 and .99 of the second the
simulated karts err by 3.1 and 2.5 m, and 3.7 and 3.1 m (2.5 and 3.2), others by up to 10 % more
or less, and starts on the way by 3 % at most. With .8 of the first ridge_car errs by 23 m (17).
"""

MOST_STOP = 0.5
"""Chance in a tick, at most, to stop where drives stopped, or to drive on: nobody is that sure."""

LARGEST_LOG_PACE = 0.6
"""Of a visit that tells how paces spread: beyond it the vehicle stopped or was carried."""

BESIDE = (1.0, 0.5, 0.1)
"""Weights of a place and of those one and two beside it in what is usual: less than a tick."""

WIDE = (1.0, 1.0, 1.0)
"""The same in spreads, which take more visits to know."""

PASS_TAIL = 4.0
"""Degrees of freedom of the t weights that keep a lap which crashed from moving the means."""

SLOPE_PRIOR, DRIFT_PRIOR = 8.0, 20.0
"""Visits, at the usual spread of paces, that weigh as much as what is known of all places."""

NOISE_PRIOR, SPREAD_PRIOR = 10.0, 5.0
"""Visits that weigh as much as the spread over all places."""

SHRINKAGE = 0.02
"""Of the correlations of features, so that few visits do not make a direction free of noise."""


@dataclass(frozen=True)
class Tuning:
    """
    Numbers of the likelihood that can be given.

    Parameters
    ----------
    sharpness
        Exponent of the likelihood of an observation.
    persistence
        Weight in it of the slow means; by default that with which they count once in a memory.

    """

    sharpness: float = SHARPNESS
    persistence: float | None = None


def learn_route(
    passes: Passes, kept: Bools, tuning: Tuning, states: Floats | None = None
) -> Route:
    """
    Learn the map from some of the visits.

    Parameters
    ----------
    passes
        From `lay_out`.
    kept : (V,) bool
        Visits that count.
    tuning
        Of the likelihood.
    states : (P, k)
        Mean two-manifold state at each place.

    """
    return _Learner(passes, kept).route(tuning, states)


class _Learner:
    """The steps of `learn_route`, with what they share."""

    def __init__(self, passes: Passes, kept: Bools) -> None:
        self.passes = passes
        self.count = len(passes.places)
        self.visited = passes.places.visited
        self.kept = kept
        self.ways = ways_of(passes.places, kept)
        self.after = main_ways(self.ways, self.count)
        steady = kept & (np.abs(passes.log_paces) < LARGEST_LOG_PACE)
        self.paces = passes.log_paces
        # Sums over visits and places beside are taken some sixty times; each is the same matrix.
        total = len(self.visited)
        self.summing = csr_matrix(
            (np.ones(total), (self.visited, np.arange(total))), (self.count, total)
        )
        self.smoothers: dict[tuple[float, ...], csr_matrix] = {}
        middle = np.median(np.abs(self.paces[steady])) if steady.any() else 0.0
        self.pace_spread = max(1.4826 * float(middle), LEAST_PACE_SPREAD)
        # A pass that stops or flees is no pass at another pace.
        self.usual = kept / (1.0 + (self.paces / (3.0 * self.pace_spread)) ** 4)

    def smoother(self, weights: tuple[float, ...]) -> csr_matrix:
        """Return the (P, P) sums over the places beside each along its main way."""
        if weights not in self.smoothers:
            self.smoothers[weights] = self._smoother(weights)
        return self.smoothers[weights]

    def _smoother(self, weights: tuple[float, ...]) -> csr_matrix:
        after, before = self.after, np.arange(self.count)
        before[after] = np.arange(self.count)
        rows, columns, values = (
            [np.arange(self.count)],
            [np.arange(self.count)],
            [np.full(self.count, weights[0])],
        )
        ahead = behind = np.arange(self.count)
        for weight in weights[1:]:
            ahead, behind = after[ahead], before[behind]
            for other in (ahead, behind):
                rows.append(np.arange(self.count))
                columns.append(other)
                values.append(np.full(self.count, weight))
        return csr_matrix(
            (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
            (self.count, self.count),
        )

    def at_places(self, values: Floats) -> Floats:
        """Return sums over the visits of each place: (P, ...)."""
        flat = values.reshape(len(values), -1)
        return np.asarray(self.summing @ flat).reshape(self.count, *values.shape[1:])

    def regress(
        self, values: Floats, weights: Floats, prior: Floats, strength: float, beside: csr_matrix
    ) -> tuple[Floats, Floats, Floats]:
        """
        Regress values on the log-pace at each place, its neighbours counting too.

        Parameters
        ----------
        values : (V, c), weights : (V,)
        prior : (P, c)
            Slope that few visits are drawn to.
        strength
            How many visits at the usual spread of paces weigh as much as the prior.

        Returns
        -------
        levels, slopes : (P, c), counts : (P,)
            At the usual pace.

        """
        paces, columns = self.paces, values.shape[1]
        stack = np.empty((len(paces), 3 + 2 * columns))
        stack[:, 0] = weights
        stack[:, 1] = at_pace = weights * paces
        stack[:, 2] = weights * paces**2
        np.multiply(weights[:, None], values, out=stack[:, 3 : 3 + columns])
        np.multiply(at_pace[:, None], values, out=stack[:, 3 + columns :])
        sums = beside @ self.at_places(stack)
        n = np.maximum(sums[:, 0], 1e-9)
        mean, pace = sums[:, 3 : 3 + columns] / n[:, None], sums[:, 1] / n
        variance = np.maximum(sums[:, 2] / n - pace**2, 0.0)
        shared = sums[:, 3 + columns :] / n[:, None] - mean * pace[:, None]
        penalty = strength * self.pace_spread**2
        slopes = (n[:, None] * shared + penalty * prior) / (n * variance + penalty)[:, None]
        return mean - slopes * pace[:, None], slopes, sums[:, 0]

    def route(self, tuning: Tuning, states: Floats | None) -> Route:
        passes = self.passes
        spread = self.pace_spread
        period_s, forward = passes.period_s, passes.forward
        rates, tick_lengths = usual_speeds(passes.places, passes.stays, self.after, period_s)
        moves = chances_to_move(float(rates.max()) * FASTEST_MOVE)
        leads = reach(self.ways, self.count, moves.shape[1] - 1)
        means, slopes, whitening, noise, new = self._features()
        targets, drifts, covariances = self._targets()
        hidden = passes.features.shape[1] - passes.channels
        own = whitening[hidden:, hidden:]
        densities = learn_densities(passes, self.kept, whitening)
        persistence = tuning.persistence or passes.persistence
        count = len(passes.horizons) + 1
        if states is None:
            states = np.ones((self.count, 1))
        return Route(
            passes.channels,
            passes.gains,
            whitening,
            means @ whitening.T,
            slopes @ whitening.T,
            new,
            means[:, hidden:] @ new.T,
            slopes[:, hidden:] @ new.T,
            float(np.log(np.diag(new)).sum() - np.log(np.diag(own)).sum()),
            noise,
            *leads,
            moves,
            float(MOVES_A_ROW),
            spread,
            math.exp(-1.0 / (PACE_MEMORIES * passes.memory_s / period_s)),
            OWN_PACE_VARIANCE * period_s,
            *self._trust(means[:, hidden:], tick_lengths),
            self._fastest(),
            -math.expm1(-period_s / (HALT * passes.memory_s)),
            mistakable(densities, passes, persistence),
            rates,
            tick_lengths,
            means[:, hidden:] @ forward.weights + forward.offset,
            forward.weights,
            forward.offset,
            tuning.sharpness,
            persistence,
            TAIL,
            densities['rest'],
            densities['rest_alone'],
            densities['rest_means'],
            densities['other'],
            densities['other_means'],
            densities['slow'],
            *exchanges_for(period_s, passes.memory_s),
            targets,
            drifts,
            covariances,
            np.ones(count),
            states,
            self._beginnings(),
            np.broadcast_to(passes.shifts, passes.channels).copy(),
            self._stops(rates),
        )

    def _trust(self, usual: Floats, tick_lengths: Floats) -> tuple[float, float]:
        """
        Return how far paces follow the forward acceleration, see ``Route``.

        Parameters
        ----------
        usual : (P, d)
            Usual observations.
        tick_lengths : (P,)
            See ``Route``.

        """
        passes, visited = self.passes, self.visited
        places, weights = passes.places, passes.forward.weights
        apart = passes.features[:, -passes.channels :] - usual[visited]
        ticks = np.append(np.diff(places.times), 0.0).clip(0.0, MOST_STAY)
        changes = apart @ weights * tick_lengths[visited]
        told = np.concatenate([[0.0], np.cumsum(changes * ticks)])
        # Farther apart than a pace is measured over, so that no noise is in both.
        first = np.arange(max(len(visited) - 2 * AROUND, 0))
        last = first + 2 * AROUND
        chosen = (places.runs[first] == places.runs[last]) & self.kept[first] & self.kept[last]
        chosen &= (
            np.maximum(np.abs(self.paces[first]), np.abs(self.paces[last])) < LARGEST_LOG_PACE
        )
        first, last = first[chosen], last[chosen]
        design = np.column_stack([told[last] - told[first], -self.paces[first]])
        normal = design.T @ design + 1e-9 * np.eye(2)
        trust = np.linalg.solve(normal, design.T @ (self.paces[last] - self.paces[first]))[0]
        largest = float(np.quantile(np.abs(changes[self.kept]), USUAL_CHANGES))
        return min(max(float(trust), 0.0), 1.0), largest

    def _fastest(self) -> Floats:
        """
        Return the largest paces of its own (P,), see ``Route``: hardly any visit was faster.

        Around stops, where any pace is a low one, nothing tells how fast who does not stop is.
        """
        places = self.passes.places
        seen = float(np.exp(np.quantile(self.paces[self.kept], FASTEST_VISITS)))
        around = np.ones(2 * round(STANDS_S[-1] / self.passes.period_s) + 1)
        slowed: Bools = np.zeros(len(self.visited), dtype=np.bool_)
        for segment, still in enumerate(places.standing):
            here = places.segments == segment
            near = np.convolve(still, around)[len(around) // 2 :] > 0.0
            when = np.rint(places.times[here]).astype(np.int64)
            slowed[here] = near[when.clip(0, len(near) - 1)]
        stops = self.at_places((slowed & self.kept).astype(np.float64)) > 0.0
        bound = min(max(seen, 1.0 + USUAL_PACES * self.pace_spread), FASTEST)
        return np.where(stops, FASTEST, bound)

    def _beginnings(self) -> Floats:
        """Return the chances that a drive begins at each place, rolling and standing: (2, P)."""
        places = self.passes.places
        first = np.diff(places.segments, prepend=-1) != 0
        stands = self.passes.starts[first] > 0.0
        chance = (stands.sum() + 0.5) / (len(stands) + 1.0)
        chances = np.empty((2, self.count))
        for row, kind, whole, begun in (
            (0, ~stands, 1.0 - chance, BEGINS_ROLLING),
            (1, stands, chance, BEGINS_STANDING),
        ):
            counts = np.bincount(places.visited[first][kind], minlength=self.count)
            known = begun if counts.any() else 0.0
            even = (1.0 - known) / self.count
            chances[row] = whole * (known * counts / max(counts.sum(), 1) + even)
        return chances

    def _stops(self, rates: Floats) -> Floats:
        """
        Return the chances per tick to stop at each place, and to drive on from it: (2, P).

        Parameters
        ----------
        rates : (P,)
            Places in a tick.

        """
        halts, starts = self.passes.halts * self.kept, self.passes.starts * self.kept
        # Not even drivers at the same platform stop within a step of each other.
        near = self.smoother((1.0,) * (ALONG + 1))
        visits, stops, stays, ticks = (
            near @ self.at_places(each.astype(np.float64))
            for each in (self.kept, halts > 0.0, halts + starts > 0.0, halts + starts)
        )
        stops_in = np.divide(stops, visits, out=np.zeros_like(stops), where=visits > 0.0)
        goes_on = np.divide(stays, ticks, out=np.zeros_like(stops), where=ticks > 0.0)
        chances: Floats = np.minimum(np.stack([stops_in * rates, goes_on]), MOST_STOP)
        return chances

    def _features(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        passes, visited = self.passes, self.visited
        beside, wide = self.smoother(BESIDE), self.smoother(WIDE)
        values = passes.features
        base = self.usual * passes.settled
        weights = base
        for _ in range(3):
            none = np.zeros((self.count, values.shape[1]))
            level, slope, counts = self.regress(values, weights, none, SLOPE_PRIOR, beside)
            prior = self._usual_slopes(level, slope, counts)
            level, slope, counts = self.regress(values, weights, prior, SLOPE_PRIOR, beside)
            rest = values - level[visited] - slope[visited] * self.paces[:, None]
            known = base > 0.5
            scale = np.median(np.abs(rest[known]), axis=0) / 0.6745 + 1e-9
            apart = np.square(rest / scale).mean(axis=1)
            weights = base * (PASS_TAIL + 1.0) / (PASS_TAIL + apart)
        visits = self.at_places(base)
        both = (base > 0.5) & (visits[visited] > 1.5)
        chosen = both if both.sum() >= 100 else base > 0.5
        # Each visit is part of the mean that it is compared with.
        inflated = rest * np.sqrt(visits / np.maximum(visits - 1.0, 1.0))[visited, None]
        rows = inflated[chosen]
        scatter = rows.T @ rows / len(rows)
        size = len(scatter)
        for _ in range(5):
            squares = (np.linalg.solve(scatter + 1e-9 * np.eye(size), rows.T) * rows.T).sum(axis=0)
            each = (size + TAIL) / (TAIL + squares)
            scatter = (rows * each[:, None]).T @ rows / len(rows)
        diagonal = np.diag(np.diag(scatter))
        scatter = (1.0 - SHRINKAGE) * scatter + SHRINKAGE * diagonal + 1e-6 * np.eye(size)
        scatter += shared(passes.shifts, size // passes.channels)
        root = np.linalg.cholesky(scatter)
        whitening = np.tril(np.linalg.inv(root))
        own = (inflated @ whitening.T)[:, -passes.channels :]
        square = np.minimum(np.square(own).mean(axis=1), 20.0)
        sums = wide @ self.at_places(np.column_stack([np.where(chosen, square, 0.0), chosen]))
        typical = float(square[chosen].mean())
        noise = (sums[:, 0] + NOISE_PRIOR * typical) / (sums[:, 1] + NOISE_PRIOR)
        noise = np.maximum(noise, 0.2) * (1.0 + 1.0 / np.maximum(visits, 1.0))
        # Where no visit tells what is usual, nothing is expected.
        blank = counts < 0.05
        level[blank] = np.median(level[~blank], axis=0) if (~blank).any() else 0.0
        slope[blank] = 0.0
        noise[blank] = 100.0 * float(np.median(noise))
        new = scatter[-passes.channels :, -passes.channels :]
        new = np.tril(np.linalg.inv(np.linalg.cholesky(new)))
        return level, slope, whitening, noise, new

    def _usual_slopes(self, level: Floats, slope: Floats, counts: Floats) -> Floats:
        """Return the slope as a line in the level, per feature: faster turns are turned faster."""
        prior = np.zeros_like(slope)
        weights = np.minimum(counts, 10.0)
        for column in range(level.shape[1]):
            design = np.column_stack([level[:, column], np.ones(self.count)]) * weights[:, None]
            normal = design.T @ np.column_stack([level[:, column], np.ones(self.count)])
            normal += 1e-6 * np.eye(2) * max(float(np.trace(normal)), 1e-9)
            line = np.linalg.solve(normal, design.T @ slope[:, column])
            prior[:, column] = line[0] * level[:, column] + line[1]
        return prior

    def _targets(self) -> tuple[Floats, Floats, Floats]:
        passes, visited, places = self.passes, self.visited, self.passes.places
        beside, wide = self.smoother(BESIDE), self.smoother(WIDE)
        count = len(passes.horizons) + 1
        levels, drifts = np.zeros((self.count, count, 2)), np.zeros((self.count, count, 2))
        covariances = np.zeros((self.count, count, 2, 2))
        here = places.positions[visited]
        ahead = [*passes.horizons, -1]
        for column, horizon in enumerate(ahead):
            wanted = passes.targets[:, column] - (0.0 if horizon < 0 else here)
            known = self.usual * np.isfinite(wanted).all(axis=1)
            wanted = np.where(known[:, None] > 0.0, wanted, 0.0)
            weights = known
            for _ in range(4):
                prior = np.zeros((self.count, 2))
                level, drift, counts = self.regress(wanted, weights, prior, DRIFT_PRIOR, beside)
                if horizon > 0:
                    prior = self._travel(level + places.positions, horizon)
                    level, drift, counts = self._scaled(wanted, weights, prior, beside)
                elif horizon < 0:
                    level, drift, counts = self._scaled(wanted, weights, level, beside)
                rest = np.where(
                    known[:, None] > 0.0,
                    wanted - level[visited] - drift[visited] * self.paces[:, None],
                    0.0,
                )
                squares = np.square(rest).sum(axis=1)
                usual = np.median(squares[known > 0.0]) / 1.386 if (known > 0.0).any() else 1.0
                weights = known * (PASS_TAIL + 2.0) / (PASS_TAIL + squares / max(usual, 1e-12))
            products = rest[:, :, None] * rest[:, None, :] * weights[:, None, None]
            sums = self.at_places(np.column_stack([products.reshape(-1, 4), weights]))
            whole = sums.sum(axis=0)
            sums = wide @ sums
            general = whole[:4] / max(whole[4], 1e-9)
            share = (sums[:, 4] + 1.0) / np.maximum(sums[:, 4] - 1.0, 1.0)
            spread = (sums[:, :4] + SPREAD_PRIOR * general) / (sums[:, 4] + SPREAD_PRIOR)[:, None]
            covariances[:, column] = (spread * np.clip(share, 1.0, 3.0)[:, None]).reshape(-1, 2, 2)
            covariances[:, column] += FLOOR * np.eye(2)
            if horizon >= 0:
                level = level + places.positions
            blank = counts < 0.05
            if blank.any():
                # A drive that ended before: nothing but where others were is known.
                level[blank] = level[~blank].mean(axis=0) if (~blank).any() else 0.0
                drift[blank] = 0.0
                if (~blank).any():
                    covariances[blank, column] = np.cov(level[~blank].T) + FLOOR * np.eye(2)
            levels[:, column], drifts[:, column] = level, drift
        return levels, drifts, covariances

    def _travel(self, reached: Floats, horizon: int) -> Floats:
        """Return the travel in ``horizon`` ticks at the speed where it ends: (P, 2)."""
        steps = reached[self.after] - reached
        travel = steps * FINENESS * horizon
        longest = 4.0 * horizon * self.passes.period_s * self.passes.places.usual_mps
        return np.where(np.linalg.norm(travel, axis=1)[:, None] > longest, 0.0, travel)

    def _scaled(
        self, wanted: Floats, weights: Floats, prior: Floats, beside: csr_matrix
    ) -> tuple[Floats, Floats, Floats]:
        """Regress with the prior times the share of it that the passes bear out."""
        none = np.zeros_like(prior)
        _, free, counts = self.regress(wanted, weights, none, 1.0, beside)
        trust = np.minimum(counts, 20.0)[:, None]
        norm = float((trust * prior**2).sum())
        share = float((trust * prior * free).sum()) / norm if norm > 0.0 else 0.0
        return self.regress(
            wanted, weights, min(max(share, 0.0), 1.2) * prior, DRIFT_PRIOR, beside
        )
