# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn the map of a route: what is usual at each place, from all passes or a part of them."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

from two_manifold_ros.readout.reading import FLOOR
from two_manifold_ros.route.merging import FINENESS
from two_manifold_ros.route.motion import (
    chances_to_move,
    exchanges_for,
    main_ways,
    pace_changes,
    reach,
    ways_of,
)
from two_manifold_ros.route.route import Density, Route

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

PACES_EACH_WAY = 3
SPAN = 2.5
"""Paces on either side of the usual one, and how many standard deviations of the training's they
reach; with two more that reach twice as far no error changes by more than 5 %."""

LEAST_PACE_SPREAD = 0.02
"""Of the logarithm: less is not told from the usual pace by any IMU."""

PACE_MEMORY_S = 1.0
"""
Time after which a pace is forgotten: within bends drivers differ anew.

At 5 s the car of ipz20, which several drivers drove, errs by a seventh more; others hardly change.
"""

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

TAIL = 5.0
"""
Degrees of freedom of the density of an observation.

With 30 the end of ipz10, where the car brakes hard, errs three times as much, others hardly.
"""

SHRINKAGE = 0.02
"""Of the correlations of features, so that few visits do not make a direction free of noise."""

REST_PRIOR = 20.0
"""Ticks at rest that weigh as much as what is expected of a standing vehicle."""

REST_SPREAD, REST_CALM = 0.3, 0.5
"""
What is expected: deviation of a standing vehicle from no motion, in standard deviations of the
channels, and the noise of its observations over that at a place while driving.
"""

OTHER_TAIL, OTHER_WIDTH = 2.0, 2.0
"""Degrees of freedom, and times the variance of training, of what was never seen."""

LEAST_VARIANCE = 1e-4
"""Of a density, in standard deviations squared, so that a channel that never moved has one."""


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
        middle = np.median(np.abs(self.paces[steady])) if steady.any() else 0.0
        self.pace_spread = max(1.4826 * float(middle), LEAST_PACE_SPREAD)
        # A pass that stops or flees is no pass at another pace.
        self.usual = kept / (1.0 + (self.paces / (3.0 * self.pace_spread)) ** 4)

    def smoother(self, weights: tuple[float, ...]) -> csr_matrix:
        """Return the (P, P) sums over the places beside each along its main way."""
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
        sums = (
            csr_matrix(
                (np.ones(len(flat)), (self.visited, np.arange(len(flat)))), (self.count, len(flat))
            )
            @ flat
        )
        return np.asarray(sums).reshape(self.count, *values.shape[1:])

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
        paces = self.paces
        stack = np.column_stack(
            [
                weights,
                weights * paces,
                weights * paces**2,
                weights[:, None] * values,
                (weights * paces)[:, None] * values,
            ]
        )
        sums = beside @ self.at_places(stack)
        n = np.maximum(sums[:, 0], 1e-9)
        columns = values.shape[1]
        mean, pace = sums[:, 3 : 3 + columns] / n[:, None], sums[:, 1] / n
        variance = np.maximum(sums[:, 2] / n - pace**2, 0.0)
        shared = sums[:, 3 + columns :] / n[:, None] - mean * pace[:, None]
        penalty = strength * self.pace_spread**2
        slopes = (n[:, None] * shared + penalty * prior) / (n * variance + penalty)[:, None]
        return mean - slopes * pace[:, None], slopes, sums[:, 0]

    def route(self, tuning: Tuning, states: Floats | None) -> Route:
        passes = self.passes
        spread = self.pace_spread
        step = max(SPAN * spread / PACES_EACH_WAY, 0.02)
        log_paces = step * np.arange(-PACES_EACH_WAY, PACES_EACH_WAY + 1.0)
        moves = chances_to_move(log_paces)
        leads = reach(self.ways, self.count, moves.shape[1] - 1)
        means, slopes, whitening, noise, new = self._features()
        targets, drifts, covariances = self._targets()
        hidden = passes.features.shape[1] - passes.channels
        own = whitening[hidden:, hidden:]
        lasting = whitening[:hidden, :hidden]
        rest, rest_means = self._at_rest(own, lasting)
        other, other_means, slow = self._of_any_road(own, lasting)
        prior = np.exp(-0.5 * np.square(log_paces / spread))
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
            log_paces,
            moves,
            pace_changes(log_paces, spread, PACE_MEMORY_S / passes.period_s),
            prior / prior.sum(),
            tuning.sharpness,
            tuning.persistence or passes.persistence,
            TAIL,
            rest,
            rest_means,
            other,
            other_means,
            slow,
            *exchanges_for(passes.period_s, passes.memory_s),
            targets,
            drifts,
            covariances,
            np.ones(count),
            states,
            self._beginnings(),
        )

    def _beginnings(self) -> Floats:
        """Return how often a drive began at each place: (P,)."""
        places = self.passes.places
        first = np.diff(places.segments, prepend=-1) != 0
        counts = np.bincount(places.visited[first], minlength=self.count).astype(np.float64)
        shares: Floats = counts / counts.sum()
        return shares

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
        scatter += _shared(passes.shifts, size // passes.channels)
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

    def _at_rest(self, own: Floats, lasting: Floats) -> tuple[Density, Density]:
        """Return densities of an observation and of the slow means of a standing vehicle."""
        passes = self.passes
        seen, channels, hidden = passes.rest, passes.channels, len(lasting)
        calm = np.linalg.inv(own.T @ own) * REST_CALM**2
        times = hidden // channels
        centre = np.tile(passes.at_rest, times + 1)
        spread = REST_SPREAD**2 * np.eye(hidden + channels)
        spread[hidden:, hidden:] += calm
        if len(seen):
            share = len(seen) / (len(seen) + REST_PRIOR)
            median = np.median(seen, axis=0)
            apart = seen - median
            centre = centre + share * (median - centre)
            spread = (1 - share) * spread + share * (apart.T @ apart / len(apart))
        spread += _shared(passes.shifts, times + 1) + LEAST_VARIANCE * np.eye(len(spread))
        none = np.zeros((channels, hidden))
        return (
            _density(none, centre[hidden:], spread[hidden:, hidden:], own, TAIL),
            _density(
                np.zeros((hidden, 0)), centre[:hidden], spread[:hidden, :hidden], lasting, TAIL
            ),
        )

    def _of_any_road(self, own: Floats, lasting: Floats) -> tuple[Density, Density, Density]:
        """Return densities of an observation given its slow means, and of these, on any road."""
        passes = self.passes
        seen, channels, hidden = passes.series, passes.channels, len(lasting)
        design = np.column_stack([seen[:, :hidden], np.ones(len(seen))])
        wanted = seen[:, hidden:]
        normal = design.T @ design + 1e-3 * len(design) * np.eye(hidden + 1)
        line = np.linalg.solve(normal, design.T @ wanted)
        apart = wanted - design @ line
        covariance = OTHER_WIDTH * apart.T @ apart / len(apart) + LEAST_VARIANCE * np.eye(channels)
        given = _density(line[:-1].T, line[-1], covariance, own, OTHER_TAIL)
        slow = self._slow(line, covariance, own)
        centre = np.median(seen[:, :hidden], axis=0)
        apart = seen[:, :hidden] - centre
        covariance = OTHER_WIDTH * apart.T @ apart / len(apart) + LEAST_VARIANCE * np.eye(hidden)
        covariance += _shared(passes.shifts, hidden // channels)
        means = _density(np.zeros((hidden, 0)), centre, covariance, lasting, OTHER_TAIL)
        return given, means, slow

    def _slow(self, line: Floats, covariance: Floats, own: Floats) -> Density:
        """Return the density of an observation at a low pace, from the passes that had one."""
        passes = self.passes
        seen = passes.features[self.kept & (self.paces < -LARGEST_LOG_PACE)]
        seen = seen[:, -passes.channels :]
        share = len(seen) / (len(seen) + REST_PRIOR)
        if len(seen):
            middle = np.median(seen, axis=0)
            apart = seen - middle
            line = (1.0 - share) * line
            line[-1] += share * middle
            covariance = (1.0 - share) * covariance + share * (apart.T @ apart / len(apart))
        covariance = covariance + np.diag(np.square(passes.shifts))
        return _density(line[:-1].T, line[-1], covariance, own, TAIL if len(seen) else OTHER_TAIL)


def _shared(shifts: Floats, times: int) -> Floats:
    """Return the covariance of features that a shift of each channel moves together."""
    return np.kron(np.ones((times, times)), np.diag(np.square(shifts)))


def _density(
    slopes: Floats, offset: Floats, covariance: Floats, own: Floats, tail: float
) -> Density:
    """Return a density whose level is relative to that of the places, of inverse root ``own``."""
    root = np.linalg.inv(np.linalg.cholesky(covariance))
    count = len(offset)
    level = float(np.log(np.diag(root)).sum() - np.log(np.diag(own)).sum())

    def constant(freedom: float) -> float:
        return (
            math.lgamma(0.5 * (freedom + count))
            - math.lgamma(0.5 * freedom)
            - 0.5 * count * math.log(freedom)
        )

    level += constant(tail) - constant(TAIL)
    return Density(slopes, offset, root, level, tail)
