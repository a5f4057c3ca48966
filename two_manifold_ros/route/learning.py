# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn the map of a route from all visits of its places, or a part of them."""

from __future__ import annotations

from dataclasses import dataclass, field
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.readout import floors
from two_manifold_ros.route.densities import learn_densities, mistakable, shared, TAIL
from two_manifold_ros.route.merging import FINENESS
from two_manifold_ros.route.route import (
    LIMITS,
    Route,
    RouteLikelihood,
    RouteMotion,
    RouteReadout,
    RouteSwitching,
)
from two_manifold_ros.route.transitions import (
    chances_to_move,
    Durations,
    exchanges_for,
    main_ways,
    reach,
    usual_speeds,
    ways_of,
)
from two_manifold_ros.route.visits import LARGEST_LOG_RATIO, PLACES_ALONG, RATIO_PLACES, VisitSums
from two_manifold_ros.ticks.standing import STANDS_S

if TYPE_CHECKING:
    from two_manifold_ros.route.visits import Passes
    from two_manifold_ros.typing import Bools, Floats


@dataclass(frozen=True)
class Tuning:
    """
    Numbers with which a map is learned; docs/notebook.md has what else was tried.

    Parameters
    ----------
    sharpness
        Exponent of the likelihood of an observation. With .1 and .4 cold starts of ridge_car err
        by 60 and 18 m (24), of the simulated kart by 20 and 28 m (23).
    persistence
        Weight in it of the slow means; by default that with which they count once in a memory.
    durations
        Mean times between switches of hypotheses.
    ratio_memories
        Memories of the observations until a speed ratio is forgotten: drivers differ again within
        each bend. With half and twice most errors change by less than 7 %.
    free_variance
        Variance that free motion gains in a second: the error of the forward acceleration, a tenth
        of the usual speed. With a quarter and four times as much errors change by up to 14 %.
    usual_share
        Share of what training shows that counts as usual: of the visits, that were no faster than
        free motion may be (without a bound ridge_car errs by 20 m, not 14); of the changes of
        speed ratio; and of the driving, that looks no more like standing than free motion may.
    most_stay
        Ticks of a visit at most: a vehicle that stopped changed its speed ratio by as much as
        then.
    fastest_move
        Times the usual speed that a tick may reach; faster vehicles move by as much.
    begins_rolling, begins_standing
        Shares of vehicles that start, rolling or standing, where a training drive started so: a
        route has its pit or depot; the rest starts anywhere. With .8 of the first ridge_car errs
        by 23 m (17), with .9 or .99 of the second starts on the way by 3 % more at most.
    most_stop
        Largest probability per tick to stop where drives stopped, or to drive on.
    pass_tail
        Degrees of freedom of the t weights that keep a lap which crashed from moving the means.
    slope_prior, drift_prior, noise_prior, spread_prior
        Visits that weigh as much as what is known of all places; the first two at the usual spread
        of speed ratios.
    shrinkage
        Of the correlations of features, so that few visits do not make a direction free of noise.

    """

    sharpness: float = 0.2
    persistence: float | None = None
    durations: Durations = field(default_factory=Durations)
    ratio_memories: float = 4.0
    free_variance: float = 0.01
    usual_share: float = 0.99
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
    """Learn the map from visits that are ``kept`` (V,); ``states`` (P, k) are of the places."""
    ways = ways_of(passes.places, kept)
    visits = VisitSums(passes, kept, main_ways(ways, len(passes.places)))
    usual = learn_features(visits, passes.settled, passes.shifts, tuning)
    motion = learn_motion(visits, usual, tuning)
    likelihood = learn_likelihood(passes, kept, usual, tuning)
    return Route(
        geometry=reach(ways, visits.count, motion.moves.shape[1] - 1),
        motion=motion,
        likelihood=likelihood,
        switching=learn_switching(visits, motion.rates, likelihood, tuning),
        readout=learn_readout(visits, tuning, states),
    )


class UsualFeatures(NamedTuple):
    """
    Usual features at each place, as observed.

    Parameters
    ----------
    means, slopes : (P, f)
        At the usual speed, and what they gain per unit of log-ratio.
    noise : (P,)
        Variance of the features over the usual one.
    scatter : (f, f)
        Covariance of the features of a visit about the usual ones.

    """

    means: Floats
    slopes: Floats
    noise: Floats
    scatter: Floats


def learn_features(
    visits: VisitSums, settled: Bools, shifts: Floats, tuning: Tuning
) -> UsualFeatures:
    """Learn what features are usual from visits whose slow means had ``settled`` (V,)."""
    values = visits.passes.features
    base = visits.usual * settled
    if not (base > 0.5).any():
        # Short drives have no other visits, and these say more than none.
        base = visits.usual
    weights = base
    known = base > 0.5
    for _ in range(3):
        none = np.zeros((visits.count, values.shape[1]))
        level, slope, counts = visits.regress(values, weights, none, tuning.slope_prior)
        prior = _usual_slopes(level, slope, counts)
        level, slope, counts = visits.regress(values, weights, prior, tuning.slope_prior)
        rest = values - level[visits.visited] - slope[visits.visited] * visits.ratios[:, None]
        scale = np.median(np.abs(rest[known]), axis=0) / 0.6745 + 1e-9
        apart = np.square(rest / scale).mean(axis=1)
        weights = base * (tuning.pass_tail + 1.0) / (tuning.pass_tail + apart)
    times = visits.at_places(base)
    both = known & (times[visits.visited] > 1.5)
    chosen = both if both.sum() >= 100 else known
    # Each visit is part of the mean that it is compared with.
    inflated = rest * np.sqrt(times / np.maximum(times - 1.0, 1.0))[visits.visited, None]
    scatter = _scatter(inflated[chosen], shifts, tuning.shrinkage)
    own = (inflated @ _whitening(scatter).T)[:, -visits.passes.channels :]
    square = np.minimum(np.square(own).mean(axis=1), 20.0)
    stack = np.column_stack([np.where(chosen, square, 0.0), chosen])
    sums = visits.wide @ visits.at_places(stack)
    typical = float(square[chosen].mean())
    noise = (sums[:, 0] + tuning.noise_prior * typical) / (sums[:, 1] + tuning.noise_prior)
    noise = np.maximum(noise, 0.2) * (1.0 + 1.0 / np.maximum(times, 1.0))
    # Where no visit shows what is usual, nothing is expected.
    blank = visits.blank(settled)
    level[blank] = np.median(level[~blank], axis=0) if (~blank).any() else 0.0
    slope[blank] = 0.0
    noise[blank] = 100.0 * float(np.median(noise))
    return UsualFeatures(level, slope, noise, scatter)


def _whitening(scatter: Floats) -> Floats:
    """Return the lower triangle whose product with features of that covariance is white."""
    whitening: Floats = np.tril(np.linalg.inv(np.linalg.cholesky(scatter)))
    return whitening


def _scatter(rows: Floats, shifts: Floats, shrinkage: float) -> Floats:
    """Return the covariance (f, f) of residuals (n, f), as of a Student-t density."""
    scatter = rows.T @ rows / len(rows)
    size = len(scatter)
    for _ in range(5):
        squares = (np.linalg.solve(scatter + 1e-9 * np.eye(size), rows.T) * rows.T).sum(axis=0)
        each = (size + TAIL) / (TAIL + squares)
        scatter = (rows * each[:, None]).T @ rows / len(rows)
    diagonal = np.diag(np.diag(scatter))
    scatter = (1.0 - shrinkage) * scatter + shrinkage * diagonal + 1e-6 * np.eye(size)
    whole: Floats = scatter + shared(shifts, size // len(shifts))
    return whole


def _usual_slopes(level: Floats, slope: Floats, counts: Floats) -> Floats:
    """Return the slope as a line in the level, per feature: faster turns are turned faster."""
    prior = np.zeros_like(slope)
    weights = np.minimum(counts, 10.0)
    for column in range(level.shape[1]):
        line = np.column_stack([level[:, column], np.ones(len(level))])
        design = line * weights[:, None]
        normal = design.T @ line
        normal += 1e-6 * np.eye(2) * max(float(np.trace(normal)), 1e-9)
        factor, constant = np.linalg.solve(normal, design.T @ slope[:, column])
        prior[:, column] = factor * level[:, column] + constant
    return prior


def learn_likelihood(
    passes: Passes, kept: Bools, usual: UsualFeatures, tuning: Tuning
) -> RouteLikelihood:
    """Return the likelihood of an observation at each place, and at none."""
    hidden = passes.features.shape[1] - passes.channels
    whitening = _whitening(usual.scatter)
    new = _whitening(usual.scatter[hidden:, hidden:])
    own = whitening[hidden:, hidden:]
    return RouteLikelihood(
        gains=passes.gains,
        whitening=whitening,
        means=usual.means @ whitening.T,
        slopes=usual.slopes @ whitening.T,
        new_whitening=new,
        new_means=usual.means[:, hidden:] @ new.T,
        new_slopes=usual.slopes[:, hidden:] @ new.T,
        new_level=float(np.log(np.diag(new)).sum() - np.log(np.diag(own)).sum()),
        noise=usual.noise,
        sharpness=tuning.sharpness,
        persistence=tuning.persistence or passes.persistence,
        tail=TAIL,
        **learn_densities(passes, kept, whitening),
        shifts=np.broadcast_to(passes.shifts, passes.channels).copy(),
        exponents=np.broadcast_to(passes.exponents, passes.channels).copy(),
    )


def learn_motion(visits: VisitSums, usual: UsualFeatures, tuning: Tuning) -> RouteMotion:
    """Return how fast vehicles are at each place, and how their speed ratios change."""
    passes = visits.passes
    period_s, forward = passes.period_s, passes.forward
    observations = usual.means[:, -passes.channels :]
    rates, tick_lengths = usual_speeds(passes.places, passes.stays, visits.after, period_s)
    tick_lengths *= passes.gears
    trust, usual_change = learn_trust(visits, observations, tick_lengths, tuning)
    return RouteMotion(
        moves=chances_to_move(float(rates.max()) * tuning.fastest_move),
        moves_a_row=float(LIMITS.rows_a_place),
        rates=rates,
        tick_lengths=tick_lengths,
        pulls=observations @ forward.weights + forward.offset,
        ratio_spread=visits.ratio_spread,
        ratio_kept=math.exp(-1.0 / (tuning.ratio_memories * passes.memory_s / period_s)),
        ratio_noise=tuning.free_variance * period_s,
        forward=forward.weights,
        forward_offset=forward.offset,
        trust=trust,
        usual_change=usual_change,
        fastest=learn_fastest(visits, tuning.usual_share),
    )


def learn_trust(
    visits: VisitSums, usual: Floats, tick_lengths: Floats, tuning: Tuning
) -> tuple[float, float]:
    """Return trust and usual_change of ``RouteMotion``, from the usual observations (P, d)."""
    passes, visited = visits.passes, visits.visited
    places, weights = passes.places, passes.forward.weights
    apart = passes.features[:, -passes.channels :] - usual[visited]
    ticks = np.append(np.diff(places.times), 0.0).clip(0.0, tuning.most_stay)
    changes = apart @ weights * tick_lengths[visited]
    measured = np.concatenate([[0.0], np.cumsum(changes * ticks)])
    # Farther apart than a speed ratio is measured over, so that no noise is in both.
    first = np.arange(max(len(visited) - 2 * RATIO_PLACES, 0))
    last = first + 2 * RATIO_PLACES
    chosen = (places.runs[first] == places.runs[last]) & visits.kept[first] & visits.kept[last]
    chosen &= (
        np.maximum(np.abs(visits.ratios[first]), np.abs(visits.ratios[last])) < LARGEST_LOG_RATIO
    )
    first, last = first[chosen], last[chosen]
    design = np.column_stack([measured[last] - measured[first], -visits.ratios[first]])
    normal = design.T @ design + 1e-9 * np.eye(2)
    trust = np.linalg.solve(normal, design.T @ (visits.ratios[last] - visits.ratios[first]))[0]
    largest = float(np.quantile(np.abs(changes[visits.kept]), tuning.usual_share))
    return min(max(float(trust), 0.0), 1.0), largest


def learn_fastest(visits: VisitSums, share: float) -> Floats:
    """
    Return the largest speed ratios of free motion (P,): a ``share`` of the visits was no faster.

    Around stops, where all are slow, it is unknown how fast a vehicle is that does not stop.
    """
    places = visits.passes.places
    seen = float(np.exp(np.quantile(visits.ratios[visits.kept], share)))
    around = np.ones(2 * round(STANDS_S[-1] / visits.passes.period_s) + 1)
    slowed: Bools = np.zeros(len(visits.visited), dtype=np.bool_)
    for segment, still in enumerate(places.standing):
        here = places.segments == segment
        near = np.convolve(still, around)[len(around) // 2 :] > 0.0
        when = np.rint(places.times[here]).astype(np.int64)
        slowed[here] = near[when.clip(0, len(near) - 1)]
    stops = visits.at_places((slowed & visits.kept).astype(np.float64)) > 0.0
    bound = min(max(seen, 1.0 + LIMITS.usual_ratios * visits.ratio_spread), LIMITS.fastest)
    return np.where(stops, LIMITS.fastest, bound)


def learn_switching(
    visits: VisitSums, rates: Floats, likelihood: RouteLikelihood, tuning: Tuning
) -> RouteSwitching:
    """Return probabilities to start at each place, to stop there and to switch hypotheses."""
    passes, places, kept = visits.passes, visits.passes.places, visits.kept
    period_s, memory_s = passes.period_s, passes.memory_s
    exchanges, jumps = exchanges_for(period_s, memory_s, tuning.durations)
    # Of parts left out too: where drives begin is known, whichever part is followed.
    first = np.diff(places.segments, prepend=-1) != 0
    first &= passes.begins[places.segments]
    stands = passes.starts[first] > 0.0
    chance = (stands.sum() + 0.5) / (len(stands) + 1.0)
    beginnings = np.empty((2, visits.count))
    for row, kind, whole, begun in (
        (0, ~stands, 1.0 - chance, tuning.begins_rolling),
        (1, stands, chance, tuning.begins_standing),
    ):
        counts = np.bincount(places.visited[first][kind], minlength=visits.count)
        known = begun if counts.any() else 0.0
        even = (1.0 - known) / visits.count
        beginnings[row] = whole * (known * counts / max(counts.sum(), 1) + even)
    halts, starts = passes.halts * kept, passes.starts * kept
    # Not even drivers at the same platform stop within a step of each other.
    near = visits.smoother((1.0,) * (PLACES_ALONG + 1))
    times, stops, stays, ticks = (
        near @ visits.at_places(each.astype(np.float64))
        for each in (kept, halts > 0.0, halts + starts > 0.0, halts + starts)
    )
    stops_in = np.divide(stops, times, out=np.zeros_like(stops), where=times > 0.0)
    goes_on = np.divide(stays, ticks, out=np.zeros_like(stops), where=ticks > 0.0)
    halts_once, rolls_once, finds_once = (
        -math.expm1(-period_s / (memories * memory_s))
        for memories in (tuning.durations.halt, tuning.durations.roll, tuning.durations.find)
    )
    return RouteSwitching(
        exchanges=exchanges,
        jumps=jumps,
        beginnings=beginnings,
        stops=np.minimum(np.stack([stops_in * rates, goes_on]), tuning.most_stop),
        halts=halts_once,
        rolls=rolls_once,
        finds=finds_once,
        mistakable=mistakable(likelihood, passes.series, tuning.usual_share),
    )


def learn_readout(visits: VisitSums, tuning: Tuning, states: Floats | None) -> RouteReadout:
    """Return where vehicles get to from each place, and how sure that is."""
    passes, places = visits.passes, visits.passes.places
    columns = []
    least = floors(passes.targets)
    for column, horizon in enumerate([*passes.horizons, -1]):
        here = places.positions[visits.visited] if horizon >= 0 else 0.0
        level, drift, rest, weights = _ahead(
            visits, passes.targets[:, column] - here, horizon, tuning
        )
        spread = _spread(visits, rest, weights, tuning.spread_prior) + least[column] * np.eye(2)
        if horizon >= 0:
            level = level + places.positions
        blank = visits.blank(np.isfinite(passes.targets[:, column].sum(axis=1)))
        if blank.any():
            # A drive that ended before: nothing but where others were is known.
            some = (~blank).any()
            level[blank] = level[~blank].mean(axis=0) if some else 0.0
            drift[blank] = 0.0
            if some:
                spread[blank] = np.cov(level[~blank].T) + least[column] * np.eye(2)
        columns.append((level, drift, spread))
    levels, drifts, spreads = zip(*columns, strict=True)
    return RouteReadout(
        targets=np.stack(levels, axis=1),
        drifts=np.stack(drifts, axis=1),
        covariances=np.stack(spreads, axis=1),
        factors=np.ones(len(passes.horizons) + 1),
        states=np.ones((visits.count, 1)) if states is None else states,
    )


def _ahead(visits: VisitSums, wanted: Floats, horizon: int, tuning: Tuning) -> tuple[Floats, ...]:
    """Return levels, drifts (P, 2), residuals (V, 2) and weights (V,)."""
    positions = visits.passes.places.positions
    known = visits.usual * np.isfinite(wanted).all(axis=1)
    some = known[:, None] > 0.0
    wanted = np.where(some, wanted, 0.0)
    weights = known
    for _ in range(4):
        none = np.zeros((visits.count, 2))
        level, drift, _ = visits.regress(wanted, weights, none, tuning.drift_prior)
        if horizon:
            prior = level
            if horizon > 0:
                # What is travelled at the speed where it ends.
                reached = level + positions
                prior = (reached[visits.after] - reached) * FINENESS * horizon
                longest = 4.0 * horizon * visits.passes.period_s * visits.passes.places.usual_mps
                prior[np.linalg.norm(prior, axis=1) > longest] = 0.0
            # Times the share of it that the visits bear out.
            _, free, counts = visits.regress(wanted, weights, np.zeros_like(prior), 1.0)
            trust = np.minimum(counts, 20.0)[:, None]
            norm = float((trust * prior**2).sum())
            share = float((trust * prior * free).sum()) / norm if norm > 0.0 else 0.0
            prior = min(max(share, 0.0), 1.2) * prior
            level, drift, _ = visits.regress(wanted, weights, prior, tuning.drift_prior)
        rest = wanted - level[visits.visited] - drift[visits.visited] * visits.ratios[:, None]
        rest = np.where(some, rest, 0.0)
        squares = np.square(rest).sum(axis=1)
        usual = np.median(squares[known > 0.0]) / 1.386 if some.any() else 1.0
        apart = squares / max(usual, 1e-12)
        weights = known * (tuning.pass_tail + 2.0) / (tuning.pass_tail + apart)
    return level, drift, rest, weights


def _spread(visits: VisitSums, rest: Floats, weights: Floats, prior: float) -> Floats:
    """Return the covariances (P, 2, 2) of residuals at each place, drawn to that of all."""
    products = rest[:, :, None] * rest[:, None, :] * weights[:, None, None]
    sums = visits.at_places(np.column_stack([products.reshape(-1, 4), weights]))
    whole = sums.sum(axis=0)
    sums = visits.wide @ sums
    general = whole[:4] / max(whole[4], 1e-9)
    share = (sums[:, 4] + 1.0) / np.maximum(sums[:, 4] - 1.0, 1.0)
    spread = (sums[:, :4] + prior * general) / (sums[:, 4] + prior)[:, None]
    drawn: Floats = (spread * np.clip(share, 1.0, 3.0)[:, None]).reshape(-1, 2, 2)
    return drawn
