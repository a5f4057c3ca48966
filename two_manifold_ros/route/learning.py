# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn the map of a route from all visits of its places, or a part of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.readout import floors
from two_manifold_ros.route.densities import learn_densities, mistakable, shared, TAIL
from two_manifold_ros.route.merging import FINENESS
from two_manifold_ros.route.route import (
    LIMITS,
    PLACES_ALONG,
    Route,
    RouteLikelihood,
    RouteMotion,
    RouteReadout,
    RouteSwitching,
)
from two_manifold_ros.route.transitions import (
    chances_to_move,
    DURATIONS,
    exchanges_for,
    main_ways,
    reach,
    usual_speeds,
    ways_of,
)
from two_manifold_ros.route.visits import LARGEST_LOG_RATIO, near_stops, Passes, RATIO_PLACES

if TYPE_CHECKING:
    from two_manifold_ros.typing import Bools, Floats


@dataclass(frozen=True)
class Tuning:
    """Numbers with which a map is learned; docs/notebook.md has what else was tried."""

    # Exponent of the likelihood of an observation, and weight in it of the slow means: by default
    # that with which they count once in a memory.
    sharpness: float = 0.2
    persistence: float | None = None
    # Memories of the observations until a speed ratio is forgotten: drivers differ again within
    # each bend.
    ratio_memories: float = 4.0
    # Variance that free motion gains in a second: the error of the forward acceleration, a tenth
    # of the usual speed.
    free_variance: float = 0.01
    # Share of what training shows that counts as usual: of the visits, that were no faster than
    # free motion may be; of the changes of speed ratio; and of the driving, that looks no more
    # like standing than free motion may.
    usual_share: float = 0.99
    # Ticks of a visit at most: a vehicle that stopped changed its speed ratio by as much as then.
    most_stay: float = 5.0
    # Times the usual speed that a tick may reach; faster vehicles move by as much.
    fastest_move: float = 1.5
    # Shares of vehicles that start, rolling or standing, where a training drive started so: a
    # route has its pit or depot; the rest starts anywhere.
    begins_rolling: float = 0.5
    begins_standing: float = 0.97
    # Largest probability per tick to stop where drives stopped, or to drive on.
    most_stop: float = 0.5
    # Degrees of freedom of the t weights that keep a lap which crashed from moving the means.
    pass_tail: float = 4.0
    # Visits that weigh as much as what is known of all places; the first two at the usual spread
    # of speed ratios.
    slope_prior: float = 8.0
    drift_prior: float = 20.0
    noise_prior: float = 10.0
    spread_prior: float = 5.0
    # Of the correlations of features, so that few visits do not make a direction free of noise.
    shrinkage: float = 0.02


def learn_route(
    passes: Passes, kept: Bools, tuning: Tuning, states: Floats | None = None
) -> Route:
    """Learn the map from visits that are ``kept`` (V,); ``states`` (P, k) are of the places."""
    ways = ways_of(passes.places, kept)
    passes = replace(passes, kept=kept, after=main_ways(ways, len(passes.places)))
    usual = learn_features(passes, tuning)
    motion = learn_motion(passes, usual, tuning)
    likelihood = learn_likelihood(passes, usual, tuning)
    return Route(
        geometry=reach(ways, len(passes.places), motion.moves.shape[1] - 1),
        motion=motion,
        likelihood=likelihood,
        switching=learn_switching(passes, motion.rates, likelihood, tuning),
        readout=learn_readout(passes, tuning, states),
    )


class UsualFeatures(NamedTuple):
    """Usual features of a `RouteLikelihood`, not whitened, and the covariance about them."""

    means: Floats
    slopes: Floats
    noise: Floats
    scatter: Floats


def learn_features(passes: Passes, tuning: Tuning) -> UsualFeatures:
    """Learn what features are usual from visits whose slow means had settled."""
    values, visited = passes.features, passes.places.visited
    base = passes.usual * passes.settled
    if not (base > 0.5).any():
        # Short drives have no other visits, and these say more than none.
        base = passes.usual
    weights = base
    known = base > 0.5
    for _ in range(3):
        none = np.zeros((len(passes.places), values.shape[1]))
        level, slope, counts = passes.regress(values, weights, none, tuning.slope_prior)
        prior = _usual_slopes(level, slope, counts)
        level, slope, counts = passes.regress(values, weights, prior, tuning.slope_prior)
        rest = values - level[visited] - slope[visited] * passes.log_ratios[:, None]
        scale = np.median(np.abs(rest[known]), axis=0) / 0.6745 + 1e-9
        apart = np.square(rest / scale).mean(axis=1)
        weights = base * (tuning.pass_tail + 1.0) / (tuning.pass_tail + apart)
    times = passes.at_places(base)
    both = known & (times[visited] > 1.5)
    chosen = both if both.sum() >= 100 else known
    # Each visit is part of the mean that it is compared with.
    inflated = rest * np.sqrt(times / np.maximum(times - 1.0, 1.0))[visited, None]
    scatter = _scatter(inflated[chosen], passes.shifts, tuning.shrinkage)
    own = (inflated @ _whitening(scatter).T)[:, -passes.channels :]
    square = np.minimum(np.square(own).mean(axis=1), 20.0)
    stack = np.column_stack([np.where(chosen, square, 0.0), chosen])
    sums = passes.wide @ passes.at_places(stack)
    typical = float(square[chosen].mean())
    noise = (sums[:, 0] + tuning.noise_prior * typical) / (sums[:, 1] + tuning.noise_prior)
    noise = np.maximum(noise, 0.2) * (1.0 + 1.0 / np.maximum(times, 1.0))
    # Where no visit shows what is usual, nothing is expected.
    blank = passes.blank(passes.settled)
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


def learn_likelihood(passes: Passes, usual: UsualFeatures, tuning: Tuning) -> RouteLikelihood:
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
        **learn_densities(passes, whitening),
        shifts=np.broadcast_to(passes.shifts, passes.channels).copy(),
        exponents=np.broadcast_to(passes.exponents, passes.channels).copy(),
    )


def learn_motion(passes: Passes, usual: UsualFeatures, tuning: Tuning) -> RouteMotion:
    """Return how fast vehicles are at each place, and how their speed ratios change."""
    period_s, forward = passes.period_s, passes.forward
    observations = usual.means[:, -passes.channels :]
    rates, tick_lengths = usual_speeds(passes.places, passes.stays, passes.after, period_s)
    tick_lengths *= passes.gears
    trust, usual_change = learn_trust(passes, observations, tick_lengths, tuning)
    return RouteMotion(
        moves=chances_to_move(float(rates.max()) * tuning.fastest_move),
        moves_a_row=float(LIMITS.rows_a_place),
        rates=rates,
        tick_lengths=tick_lengths,
        pulls=observations @ forward.weights + forward.offset,
        ratio_spread=passes.ratio_spread,
        ratio_kept=math.exp(-1.0 / (tuning.ratio_memories * passes.memory_s / period_s)),
        ratio_noise=tuning.free_variance * period_s,
        forward=forward.weights,
        forward_offset=forward.offset,
        trust=trust,
        usual_change=usual_change,
        fastest=learn_fastest(passes, tuning.usual_share),
    )


def learn_trust(
    passes: Passes, usual: Floats, tick_lengths: Floats, tuning: Tuning
) -> tuple[float, float]:
    """Return trust and usual_change of ``RouteMotion``, from the usual observations (P, d)."""
    places, weights, ratios = passes.places, passes.forward.weights, passes.log_ratios
    visited = places.visited
    apart = passes.features[:, -passes.channels :] - usual[visited]
    ticks = np.append(np.diff(places.times), 0.0).clip(0.0, tuning.most_stay)
    changes = apart @ weights * tick_lengths[visited]
    measured = np.concatenate([[0.0], np.cumsum(changes * ticks)])
    # Farther apart than a speed ratio is measured over, so that no noise is in both.
    first = np.arange(max(len(visited) - 2 * RATIO_PLACES, 0))
    last = first + 2 * RATIO_PLACES
    chosen = (places.runs[first] == places.runs[last]) & passes.kept[first] & passes.kept[last]
    chosen &= np.maximum(np.abs(ratios[first]), np.abs(ratios[last])) < LARGEST_LOG_RATIO
    first, last = first[chosen], last[chosen]
    design = np.column_stack([measured[last] - measured[first], -ratios[first]])
    normal = design.T @ design + 1e-9 * np.eye(2)
    trust = np.linalg.solve(normal, design.T @ (ratios[last] - ratios[first]))[0]
    largest = float(np.quantile(np.abs(changes[passes.kept]), tuning.usual_share))
    return min(max(float(trust), 0.0), 1.0), largest


def learn_fastest(passes: Passes, share: float) -> Floats:
    """
    Return the largest speed ratios of free motion (P,): a ``share`` of the visits was no faster.

    Around stops, where all are slow, it is unknown how fast a vehicle is that does not stop.
    """
    places = passes.places
    seen = float(np.exp(np.quantile(passes.log_ratios[passes.kept], share)))
    slowed: Bools = np.zeros(len(places.visited), dtype=np.bool_)
    for segment, near in enumerate(near_stops(places, passes.period_s)):
        here = places.segments == segment
        when = np.rint(places.times[here]).astype(np.int64)
        slowed[here] = near[when.clip(0, len(near) - 1)]
    stops = passes.at_places((slowed & passes.kept).astype(np.float64)) > 0.0
    bound = min(max(seen, 1.0 + LIMITS.usual_ratios * passes.ratio_spread), LIMITS.fastest)
    return np.where(stops, LIMITS.fastest, bound)


def learn_switching(
    passes: Passes, rates: Floats, likelihood: RouteLikelihood, tuning: Tuning
) -> RouteSwitching:
    """Return probabilities to start at each place, to stop there and to switch hypotheses."""
    places, kept, count = passes.places, passes.kept, len(passes.places)
    period_s, memory_s = passes.period_s, passes.memory_s
    exchanges, jumps = exchanges_for(period_s, memory_s)
    # Of parts left out too: where drives begin is known, whichever part is followed.
    first = np.diff(places.segments, prepend=-1) != 0
    first &= passes.begins[places.segments]
    stands = passes.starts[first] > 0.0
    chance = (stands.sum() + 0.5) / (len(stands) + 1.0)
    beginnings = np.empty((2, count))
    for row, kind, whole, begun in (
        (0, ~stands, 1.0 - chance, tuning.begins_rolling),
        (1, stands, chance, tuning.begins_standing),
    ):
        counts = np.bincount(places.visited[first][kind], minlength=count)
        known = begun if counts.any() else 0.0
        even = (1.0 - known) / count
        beginnings[row] = whole * (known * counts / max(counts.sum(), 1) + even)
    halts, starts = passes.halts * kept, passes.starts * kept
    # Not even drivers at the same platform stop within a step of each other.
    near = passes.smoother((1.0,) * (PLACES_ALONG + 1))
    times, stops, stays, ticks = (
        near @ passes.at_places(each.astype(np.float64))
        for each in (kept, halts > 0.0, halts + starts > 0.0, halts + starts)
    )
    stops_in = np.divide(stops, times, out=np.zeros_like(stops), where=times > 0.0)
    goes_on = np.divide(stays, ticks, out=np.zeros_like(stops), where=ticks > 0.0)
    halts_once, rolls_once, finds_once = (
        -math.expm1(-period_s / (memories * memory_s))
        for memories in (DURATIONS.halt, DURATIONS.roll, DURATIONS.find)
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


def learn_readout(passes: Passes, tuning: Tuning, states: Floats | None) -> RouteReadout:
    """Return where vehicles get to from each place, and how sure that is."""
    places, columns = passes.places, []
    least = floors(passes.targets)
    for column, horizon in enumerate([*passes.horizons, -1]):
        here = places.positions[places.visited] if horizon >= 0 else 0.0
        level, drift, rest, weights = _ahead(
            passes, passes.targets[:, column] - here, horizon, tuning
        )
        spread = _spread(passes, rest, weights, tuning.spread_prior) + least[column] * np.eye(2)
        if horizon >= 0:
            level = level + places.positions
        blank = passes.blank(np.isfinite(passes.targets[:, column].sum(axis=1)))
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
        states=np.ones((len(places), 1)) if states is None else states,
    )


def _ahead(passes: Passes, wanted: Floats, horizon: int, tuning: Tuning) -> tuple[Floats, ...]:
    """Return levels, drifts (P, 2), residuals (V, 2) and weights (V,)."""
    positions, visited = passes.places.positions, passes.places.visited
    known = passes.usual * np.isfinite(wanted).all(axis=1)
    some = known[:, None] > 0.0
    wanted = np.where(some, wanted, 0.0)
    weights = known
    for _ in range(4):
        none = np.zeros((len(positions), 2))
        level, drift, _ = passes.regress(wanted, weights, none, tuning.drift_prior)
        if horizon:
            prior = level
            if horizon > 0:
                # What is travelled at the speed where it ends.
                reached = level + positions
                prior = (reached[passes.after] - reached) * FINENESS * horizon
                longest = 4.0 * horizon * passes.period_s * passes.places.usual_mps
                prior[np.linalg.norm(prior, axis=1) > longest] = 0.0
            # Times the share of it that the visits bear out.
            _, free, counts = passes.regress(wanted, weights, np.zeros_like(prior), 1.0)
            trust = np.minimum(counts, 20.0)[:, None]
            norm = float((trust * prior**2).sum())
            share = float((trust * prior * free).sum()) / norm if norm > 0.0 else 0.0
            prior = min(max(share, 0.0), 1.2) * prior
            level, drift, _ = passes.regress(wanted, weights, prior, tuning.drift_prior)
        rest = wanted - level[visited] - drift[visited] * passes.log_ratios[:, None]
        rest = np.where(some, rest, 0.0)
        squares = np.square(rest).sum(axis=1)
        usual = np.median(squares[known > 0.0]) / 1.386 if some.any() else 1.0
        apart = squares / max(usual, 1e-12)
        weights = known * (tuning.pass_tail + 2.0) / (tuning.pass_tail + apart)
    return level, drift, rest, weights


def _spread(passes: Passes, rest: Floats, weights: Floats, prior: float) -> Floats:
    """Return the covariances (P, 2, 2) of residuals at each place, drawn to that of all."""
    products = rest[:, :, None] * rest[:, None, :] * weights[:, None, None]
    sums = passes.at_places(np.column_stack([products.reshape(-1, 4), weights]))
    whole = sums.sum(axis=0)
    sums = passes.wide @ sums
    general = whole[:4] / max(whole[4], 1e-9)
    share = (sums[:, 4] + 1.0) / np.maximum(sums[:, 4] - 1.0, 1.0)
    spread = (sums[:, :4] + prior * general) / (sums[:, 4] + prior)[:, None]
    drawn: Floats = (spread * np.clip(share, 1.0, 3.0)[:, None]).reshape(-1, 2, 2)
    return drawn
