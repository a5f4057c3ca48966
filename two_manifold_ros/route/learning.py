# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn the map of a route from all visits of its places, or a part of them."""

from __future__ import annotations

from dataclasses import dataclass, field
import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

from two_manifold_ros.hse_hmm.readout import floors
from two_manifold_ros.route.densities import learn_densities, mistakable, shared, TAIL
from two_manifold_ros.route.merging import FINENESS
from two_manifold_ros.route.route import LIMITS, Route
from two_manifold_ros.route.standing import STANDS_S
from two_manifold_ros.route.transitions import (
    chances_to_move,
    Durations,
    exchanges_for,
    main_ways,
    MOVES_A_ROW,
    PLACES_ALONG,
    reach,
    usual_speeds,
    ways_of,
)
from two_manifold_ros.route.visits import RATIO_PLACES

if TYPE_CHECKING:
    from two_manifold_ros.route.visits import Passes
    from two_manifold_ros.typing import Bools, Floats

LARGEST_LOG_RATIO = 0.6
"""Of a visit that counts for the spread of speed ratios: beyond, it stopped or was carried."""


@dataclass(frozen=True)
class Tuning:
    """
    Numbers with which a map is learned.

    Parameters
    ----------
    sharpness
        Exponent of the likelihood of an observation. From 20 places each, cold starts err by 60,
        24 and 18 m on ridge_car with .1, .2 and .4, by 20, 23 and 28 m on the simulated kart;
        moved vehicles are found sooner the sharper it is; and drives on another track pass for
        f1tenth_ipz20 the rarer, the less sharp.
    persistence
        Weight in it of the slow means; by default that with which they count once in a memory.
    durations
        Mean times between switches of hypotheses.
    ratio_memories
        Memories of the observations until a speed ratio is forgotten: drivers differ again within
        each bend. With half and twice no error of those tried changes by more than 7 %, except
        the simulated car's: 38 m (27) with twice.
    free_variance
        Variance that free motion gains in a second: the error of the forward acceleration, a
        tenth of the usual speed. With a quarter of it and four times as much the simulated kart at
        25 Hz errs by 3.7 and 4.3 m (3.5), others by up to 14 % more or less.
    fastest_visits
        Share of the visits that were no faster than free motion may be: integrated from an
        accelerometer alone it runs away. Without a bound ridge_car errs by 20.3 m (14.0 m).
    usual_changes, most_stay
        Share of the changes of speed ratio in training that count as usual; and ticks of a visit
        at most: a vehicle that stopped changed its speed ratio by as much as in that time.
    fastest_move
        Times the usual speed that a tick may reach; faster vehicles move by as much.
    begins_rolling, begins_standing
        Shares of vehicles that start, rolling or standing, where a training drive started so:
        a route has its pit, garage or depot; the rest starts anywhere. With .9 and .99 of the
        second the simulated karts err by 3.1 and 2.5 m, and 3.7 and 3.1 m (2.5 and 3.2), others by
        up to 10 % more or less, and starts on the way by 3 % at most. With .8 of the first
        ridge_car errs by 23 m (17).
    most_stop
        Largest probability per tick to stop where drives stopped, or to drive on.
    pass_tail
        Degrees of freedom of the t weights that keep a lap which crashed from moving the means.
    slope_prior, drift_prior
        Visits, at the usual spread of speed ratios, that weigh as much as what is known of all
        places.
    noise_prior, spread_prior
        Visits that weigh as much as the spread over all places.
    shrinkage
        Of the correlations of features, so that few visits do not make a direction free of noise.

    """

    sharpness: float = 0.2
    persistence: float | None = None
    durations: Durations = field(default_factory=Durations)
    ratio_memories: float = 4.0
    free_variance: float = 0.01
    fastest_visits: float = 0.99
    usual_changes: float = 0.99
    most_stay: float = 5.0
    fastest_move: float = 1.5
    begins_rolling: float = 0.5
    begins_standing: float = 0.97
    most_stop: float = 0.5
    pass_tail: float = 4.0
    slope_prior: float = 8.0
    drift_prior: float = 20.0
    noise_prior: float = 10.0
    spread_prior: float = 5.0
    shrinkage: float = 0.02


def learn_route(
    passes: Passes, kept: Bools, tuning: Tuning, states: Floats | None = None
) -> Route:
    """
    Learn the map from the visits that are ``kept`` (V,) bool.

    ``states`` (P, k) are the mean two-manifold states at each place.
    """
    learner = _Learner(passes, kept, tuning)
    period_s, forward, count = passes.period_s, passes.forward, learner.count
    rates, tick_lengths = usual_speeds(passes.places, passes.stays, learner.after, period_s)
    tick_lengths *= passes.gears
    moves = chances_to_move(float(rates.max()) * tuning.fastest_move)
    begins, targets_of, steps_of, shares_of = reach(learner.ways, count, moves.shape[1] - 1)
    means, slopes, whitening, noise, new = learner.features()
    targets, drifts, covariances = learner.targets()
    hidden = passes.features.shape[1] - passes.channels
    usual, own = means[:, hidden:], whitening[hidden:, hidden:]
    densities = learn_densities(passes, kept, whitening)
    persistence = tuning.persistence or passes.persistence
    trust, usual_change = learner.trust(usual, tick_lengths)
    exchanges, jumps = exchanges_for(period_s, passes.memory_s, tuning.durations)
    return Route(
        channels=passes.channels,
        gains=passes.gains,
        whitening=whitening,
        means=means @ whitening.T,
        slopes=slopes @ whitening.T,
        new_whitening=new,
        new_means=usual @ new.T,
        new_slopes=slopes[:, hidden:] @ new.T,
        new_level=float(np.log(np.diag(new)).sum() - np.log(np.diag(own)).sum()),
        noise=noise,
        begins=begins,
        targets_of=targets_of,
        steps_of=steps_of,
        shares_of=shares_of,
        moves=moves,
        moves_a_row=float(MOVES_A_ROW),
        ratio_spread=learner.ratio_spread,
        ratio_kept=math.exp(-1.0 / (tuning.ratio_memories * passes.memory_s / period_s)),
        ratio_noise=tuning.free_variance * period_s,
        trust=trust,
        usual_change=usual_change,
        fastest=learner.fastest(),
        halts=-math.expm1(-period_s / (tuning.durations.halt * passes.memory_s)),
        mistakable=mistakable(densities, passes, persistence),
        rates=rates,
        tick_lengths=tick_lengths,
        pulls=usual @ forward.weights + forward.offset,
        forward=forward.weights,
        forward_offset=forward.offset,
        sharpness=tuning.sharpness,
        persistence=persistence,
        tail=TAIL,
        **densities,
        exchanges=exchanges,
        jumps=jumps,
        targets=targets,
        drifts=drifts,
        covariances=covariances,
        factors=np.ones(len(passes.horizons) + 1),
        states=np.ones((count, 1)) if states is None else states,
        beginnings=learner.beginnings(),
        shifts=np.broadcast_to(passes.shifts, passes.channels).copy(),
        stops=learner.stops(rates),
    )


class _Learner:
    """Steps of `learn_route`, with their shared arrays."""

    def __init__(self, passes: Passes, kept: Bools, tuning: Tuning) -> None:
        self.passes, self.kept, self.tuning = passes, kept, tuning
        self.count = len(passes.places)
        self.visited = passes.places.visited
        self.ways = ways_of(passes.places, kept)
        self.after = main_ways(self.ways, self.count)
        self.ratios = passes.log_ratios
        # Sums over visits and places beside are taken some sixty times; each is the same matrix.
        total = len(self.visited)
        self.summing = csr_matrix(
            (np.ones(total), (self.visited, np.arange(total))), (self.count, total)
        )
        # Neighbours, less than a tick away, count for what is usual; more for spreads, which take
        # more visits to know.
        self.beside, self.wide = self._smoother((1.0, 0.5, 0.1)), self._smoother((1.0, 1.0, 1.0))
        steady = kept & (np.abs(self.ratios) < LARGEST_LOG_RATIO)
        middle = np.median(np.abs(self.ratios[steady])) if steady.any() else 0.0
        # No IMU distinguishes a smaller one from the usual speed.
        self.ratio_spread = max(1.4826 * float(middle), 0.02)
        # A lap that stops or flees is no lap at another speed.
        self.usual = kept / (1.0 + (self.ratios / (3.0 * self.ratio_spread)) ** 4)

    def _smoother(self, weights: tuple[float, ...]) -> csr_matrix:
        """Return the (P, P) sums over the places beside each along its main way."""
        each = np.arange(self.count)
        after, before = self.after, each.copy()
        before[after] = each
        columns, values = [each], [np.full(self.count, weights[0])]
        ahead = behind = each
        for weight in weights[1:]:
            ahead, behind = after[ahead], before[behind]
            columns += [ahead, behind]
            values += [np.full(self.count, weight)] * 2
        rows = np.tile(each, len(columns))
        return csr_matrix(
            (np.concatenate(values), (rows, np.concatenate(columns))), (self.count, self.count)
        )

    def at_places(self, values: Floats) -> Floats:
        """Return sums over the visits of each place: (P, ...)."""
        flat = values.reshape(len(values), -1)
        return np.asarray(self.summing @ flat).reshape(self.count, *values.shape[1:])

    def blank(self, known: Bools) -> Bools:
        """
        Return at which places (P,), and beside them, none of the visits kept is ``known`` (V,).

        However unusual their speed ratios are: where a vehicle stops, all differ by more than
        elsewhere.
        """
        counts = self.beside @ self.at_places((self.kept & known).astype(np.float64))
        return np.asarray(counts == 0.0)

    def regress(
        self, values: Floats, weights: Floats, prior: Floats, strength: float
    ) -> tuple[Floats, Floats, Floats]:
        """
        Regress values (V, c) on the log-ratio at each place, its neighbours counting too.

        Few visits are drawn to the slopes ``prior`` (P, c): as many as ``strength``, at the usual
        spread of speed ratios, weigh as much. Returns levels at the usual speed and slopes (P, c),
        and counts (P,).
        """
        ratios, columns = self.ratios, values.shape[1]
        stack = np.empty((len(ratios), 3 + 2 * columns))
        stack[:, 0] = weights
        stack[:, 1] = at_ratio = weights * ratios
        stack[:, 2] = weights * ratios**2
        np.multiply(weights[:, None], values, out=stack[:, 3 : 3 + columns])
        np.multiply(at_ratio[:, None], values, out=stack[:, 3 + columns :])
        sums = self.beside @ self.at_places(stack)
        n = np.maximum(sums[:, 0], np.finfo(np.float64).tiny)
        mean, ratio = sums[:, 3 : 3 + columns] / n[:, None], sums[:, 1] / n
        variance = np.maximum(sums[:, 2] / n - ratio**2, 0.0)
        shared = sums[:, 3 + columns :] / n[:, None] - mean * ratio[:, None]
        penalty = strength * self.ratio_spread**2
        slopes = (n[:, None] * shared + penalty * prior) / (n * variance + penalty)[:, None]
        return mean - slopes * ratio[:, None], slopes, sums[:, 0]

    def trust(self, usual: Floats, tick_lengths: Floats) -> tuple[float, float]:
        """Return trust and usual_change of ``Route``, from the usual observations (P, d)."""
        passes, visited = self.passes, self.visited
        places, weights = passes.places, passes.forward.weights
        apart = passes.features[:, -passes.channels :] - usual[visited]
        ticks = np.append(np.diff(places.times), 0.0).clip(0.0, self.tuning.most_stay)
        changes = apart @ weights * tick_lengths[visited]
        measured = np.concatenate([[0.0], np.cumsum(changes * ticks)])
        # Farther apart than a speed ratio is measured over, so that no noise is in both.
        first = np.arange(max(len(visited) - 2 * RATIO_PLACES, 0))
        last = first + 2 * RATIO_PLACES
        chosen = (places.runs[first] == places.runs[last]) & self.kept[first] & self.kept[last]
        chosen &= (
            np.maximum(np.abs(self.ratios[first]), np.abs(self.ratios[last])) < LARGEST_LOG_RATIO
        )
        first, last = first[chosen], last[chosen]
        design = np.column_stack([measured[last] - measured[first], -self.ratios[first]])
        normal = design.T @ design + 1e-9 * np.eye(2)
        trust = np.linalg.solve(normal, design.T @ (self.ratios[last] - self.ratios[first]))[0]
        largest = float(np.quantile(np.abs(changes[self.kept]), self.tuning.usual_changes))
        return min(max(float(trust), 0.0), 1.0), largest

    def fastest(self) -> Floats:
        """
        Return the largest speed ratios of free motion (P,): hardly any visit was faster.

        Around stops, where all are slow, it is unknown how fast a vehicle is that does not stop.
        """
        places = self.passes.places
        seen = float(np.exp(np.quantile(self.ratios[self.kept], self.tuning.fastest_visits)))
        around = np.ones(2 * round(STANDS_S[-1] / self.passes.period_s) + 1)
        slowed: Bools = np.zeros(len(self.visited), dtype=np.bool_)
        for segment, still in enumerate(places.standing):
            here = places.segments == segment
            near = np.convolve(still, around)[len(around) // 2 :] > 0.0
            when = np.rint(places.times[here]).astype(np.int64)
            slowed[here] = near[when.clip(0, len(near) - 1)]
        stops = self.at_places((slowed & self.kept).astype(np.float64)) > 0.0
        bound = min(max(seen, 1.0 + LIMITS.usual_ratios * self.ratio_spread), LIMITS.fastest)
        return np.where(stops, LIMITS.fastest, bound)

    def beginnings(self) -> Floats:
        """Return the probabilities that a drive starts at each place, see ``Route``: (2, P)."""
        places, tuning = self.passes.places, self.tuning
        first = np.diff(places.segments, prepend=-1) != 0
        stands = self.passes.starts[first] > 0.0
        chance = (stands.sum() + 0.5) / (len(stands) + 1.0)
        chances = np.empty((2, self.count))
        for row, kind, whole, begun in (
            (0, ~stands, 1.0 - chance, tuning.begins_rolling),
            (1, stands, chance, tuning.begins_standing),
        ):
            counts = np.bincount(places.visited[first][kind], minlength=self.count)
            known = begun if counts.any() else 0.0
            even = (1.0 - known) / self.count
            chances[row] = whole * (known * counts / max(counts.sum(), 1) + even)
        return chances

    def stops(self, rates: Floats) -> Floats:
        """Return the probabilities per tick to stop, and to drive on, see ``Route``: (2, P)."""
        halts, starts = self.passes.halts * self.kept, self.passes.starts * self.kept
        # Not even drivers at the same platform stop within a step of each other.
        near = self._smoother((1.0,) * (PLACES_ALONG + 1))
        visits, stops, stays, ticks = (
            near @ self.at_places(each.astype(np.float64))
            for each in (self.kept, halts > 0.0, halts + starts > 0.0, halts + starts)
        )
        stops_in = np.divide(stops, visits, out=np.zeros_like(stops), where=visits > 0.0)
        goes_on = np.divide(stays, ticks, out=np.zeros_like(stops), where=ticks > 0.0)
        chances: Floats = np.minimum(np.stack([stops_in * rates, goes_on]), self.tuning.most_stop)
        return chances

    def features(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Return usual features and slopes (P, f), whitening, noise and new whitening."""
        passes, visited, tuning = self.passes, self.visited, self.tuning
        values = passes.features
        base = self.usual * passes.settled
        weights = base
        known = base > 0.5
        for _ in range(3):
            none = np.zeros((self.count, values.shape[1]))
            level, slope, counts = self.regress(values, weights, none, tuning.slope_prior)
            prior = self._usual_slopes(level, slope, counts)
            level, slope, counts = self.regress(values, weights, prior, tuning.slope_prior)
            rest = values - level[visited] - slope[visited] * self.ratios[:, None]
            scale = np.median(np.abs(rest[known]), axis=0) / 0.6745 + 1e-9
            apart = np.square(rest / scale).mean(axis=1)
            weights = base * (tuning.pass_tail + 1.0) / (tuning.pass_tail + apart)
        visits = self.at_places(base)
        both = known & (visits[visited] > 1.5)
        chosen = both if both.sum() >= 100 else known
        # Each visit is part of the mean that it is compared with.
        inflated = rest * np.sqrt(visits / np.maximum(visits - 1.0, 1.0))[visited, None]
        scatter = self._scatter(inflated[chosen])
        whitening = np.tril(np.linalg.inv(np.linalg.cholesky(scatter)))
        own = (inflated @ whitening.T)[:, -passes.channels :]
        square = np.minimum(np.square(own).mean(axis=1), 20.0)
        stack = np.column_stack([np.where(chosen, square, 0.0), chosen])
        sums = self.wide @ self.at_places(stack)
        typical = float(square[chosen].mean())
        noise = (sums[:, 0] + tuning.noise_prior * typical) / (sums[:, 1] + tuning.noise_prior)
        noise = np.maximum(noise, 0.2) * (1.0 + 1.0 / np.maximum(visits, 1.0))
        # Where no visit shows what is usual, nothing is expected.
        blank = self.blank(passes.settled)
        level[blank] = np.median(level[~blank], axis=0) if (~blank).any() else 0.0
        slope[blank] = 0.0
        noise[blank] = 100.0 * float(np.median(noise))
        new = scatter[-passes.channels :, -passes.channels :]
        new = np.tril(np.linalg.inv(np.linalg.cholesky(new)))
        return level, slope, whitening, noise, new

    def _scatter(self, rows: Floats) -> Floats:
        """Return the covariance (f, f) of residuals (n, f), as of a Student-t density."""
        passes, shrinkage = self.passes, self.tuning.shrinkage
        scatter = rows.T @ rows / len(rows)
        size = len(scatter)
        for _ in range(5):
            squares = (np.linalg.solve(scatter + 1e-9 * np.eye(size), rows.T) * rows.T).sum(axis=0)
            each = (size + TAIL) / (TAIL + squares)
            scatter = (rows * each[:, None]).T @ rows / len(rows)
        diagonal = np.diag(np.diag(scatter))
        scatter = (1.0 - shrinkage) * scatter + shrinkage * diagonal + 1e-6 * np.eye(size)
        whole: Floats = scatter + shared(passes.shifts, size // passes.channels)
        return whole

    def _usual_slopes(self, level: Floats, slope: Floats, counts: Floats) -> Floats:
        """Return the slope as a line in the level, per feature: faster turns are turned faster."""
        prior = np.zeros_like(slope)
        weights = np.minimum(counts, 10.0)
        for column in range(level.shape[1]):
            line = np.column_stack([level[:, column], np.ones(self.count)])
            design = line * weights[:, None]
            normal = design.T @ line
            normal += 1e-6 * np.eye(2) * max(float(np.trace(normal)), 1e-9)
            factor, constant = np.linalg.solve(normal, design.T @ slope[:, column])
            prior[:, column] = factor * level[:, column] + constant
        return prior

    def targets(self) -> tuple[Floats, Floats, Floats]:
        """Return targets, drifts and covariances of ``Route``."""
        passes, places = self.passes, self.passes.places
        columns = []
        least = floors(passes.targets)
        for column, horizon in enumerate([*passes.horizons, -1]):
            here = places.positions[self.visited] if horizon >= 0 else 0.0
            level, drift, rest, weights = self._ahead(passes.targets[:, column] - here, horizon)
            spread = self._spread(rest, weights) + least[column] * np.eye(2)
            if horizon >= 0:
                level = level + places.positions
            blank = self.blank(np.isfinite(passes.targets[:, column].sum(axis=1)))
            if blank.any():
                # A drive that ended before: nothing but where others were is known.
                some = (~blank).any()
                level[blank] = level[~blank].mean(axis=0) if some else 0.0
                drift[blank] = 0.0
                if some:
                    spread[blank] = np.cov(level[~blank].T) + least[column] * np.eye(2)
            columns.append((level, drift, spread))
        levels, drifts, spreads = zip(*columns, strict=True)
        return np.stack(levels, axis=1), np.stack(drifts, axis=1), np.stack(spreads, axis=1)

    def _ahead(self, wanted: Floats, horizon: int) -> tuple[Floats, ...]:
        """Return levels, drifts (P, 2), residuals (V, 2) and weights (V,)."""
        tuning, positions = self.tuning, self.passes.places.positions
        known = self.usual * np.isfinite(wanted).all(axis=1)
        some = known[:, None] > 0.0
        wanted = np.where(some, wanted, 0.0)
        weights = known
        for _ in range(4):
            none = np.zeros((self.count, 2))
            level, drift, _ = self.regress(wanted, weights, none, tuning.drift_prior)
            if horizon:
                prior = self._travel(level + positions, horizon) if horizon > 0 else level
                level, drift, _ = self._regress_scaled(wanted, weights, prior)
            rest = wanted - level[self.visited] - drift[self.visited] * self.ratios[:, None]
            rest = np.where(some, rest, 0.0)
            squares = np.square(rest).sum(axis=1)
            usual = np.median(squares[known > 0.0]) / 1.386 if some.any() else 1.0
            apart = squares / max(usual, 1e-12)
            weights = known * (tuning.pass_tail + 2.0) / (tuning.pass_tail + apart)
        return level, drift, rest, weights

    def _spread(self, rest: Floats, weights: Floats) -> Floats:
        """Return the covariances (P, 2, 2) of residuals at each place, drawn to that of all."""
        prior = self.tuning.spread_prior
        products = rest[:, :, None] * rest[:, None, :] * weights[:, None, None]
        sums = self.at_places(np.column_stack([products.reshape(-1, 4), weights]))
        whole = sums.sum(axis=0)
        sums = self.wide @ sums
        general = whole[:4] / max(whole[4], 1e-9)
        share = (sums[:, 4] + 1.0) / np.maximum(sums[:, 4] - 1.0, 1.0)
        spread = (sums[:, :4] + prior * general) / (sums[:, 4] + prior)[:, None]
        drawn: Floats = (spread * np.clip(share, 1.0, 3.0)[:, None]).reshape(-1, 2, 2)
        return drawn

    def _travel(self, reached: Floats, horizon: int) -> Floats:
        """Return the travel in ``horizon`` ticks at the speed where it ends: (P, 2)."""
        steps = reached[self.after] - reached
        travel = steps * FINENESS * horizon
        longest = 4.0 * horizon * self.passes.period_s * self.passes.places.usual_mps
        return np.where(np.linalg.norm(travel, axis=1)[:, None] > longest, 0.0, travel)

    def _regress_scaled(
        self, wanted: Floats, weights: Floats, prior: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Regress with the prior times the share of it that the visits bear out."""
        _, free, counts = self.regress(wanted, weights, np.zeros_like(prior), 1.0)
        trust = np.minimum(counts, 20.0)[:, None]
        norm = float((trust * prior**2).sum())
        share = float((trust * prior * free).sum()) / norm if norm > 0.0 else 0.0
        scaled = min(max(share, 0.0), 1.2) * prior
        return self.regress(wanted, weights, scaled, self.tuning.drift_prior)
