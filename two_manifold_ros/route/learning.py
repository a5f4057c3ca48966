# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn the map of a route from all visits of its places, or a part of them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import lru_cache
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.readout import floors
from two_manifold_ros.route.merging import FINENESS
from two_manifold_ros.route.route import (
    Density,
    HYPOTHESES,
    JUMPED,
    LIMITS,
    MEMORIES,
    PLACES_ALONG,
    Route,
    RouteGeometry,
    RouteLikelihood,
    RouteMotion,
    RouteReadout,
    RouteSwitching,
    SETTLED,
)
from two_manifold_ros.route.visits import (
    LARGEST_LOG_RATIO,
    main_ways,
    near_stops,
    Passes,
    RATIO_PLACES,
    ways_of,
)
from two_manifold_ros.ticks.rest import SLOW_SHARE
from two_manifold_ros.typing import Bools, Floats, Ints

if TYPE_CHECKING:
    from two_manifold_ros.route.merging import Places

    Ways = dict[int, list[tuple[int, float]]]


class Durations(NamedTuple):
    """
    Mean times between switches of hypotheses, in memories of the observations (`memory_of`).

    Observations outweigh the long ones: ten times as much costs or saves about three pieces of
    road. docs/notebook.md has what else was tried.
    """

    # Until a vehicle leaves the route, and until one that is off it is put down anywhere on it.
    leave: float = 2000.0
    # Until one that is off is back, or is moved along it.
    enter: float = 300.0
    # Until a vehicle changes to free motion (brakes, stops, slides, is pushed), until one in free
    # motion leaves the route, and that a vehicle stays on no known road.
    own: float = 60.0
    own_lasts: float = 6.0
    elsewhere_lasts: float = 20.0
    # Until a vehicle whose speed ratio is the usual one drives as usual.
    gather: float = 1.0
    # Of looking like standing until a vehicle is taken for standing, whatever its acceleration
    # integrates to: that is far off after a long way to a stop.
    halt: float = 4.0
    # Until a standing vehicle may be moving, and one of speed ratio zero that does not accelerate
    # standing.
    pull_away: float = 0.35
    # After pulling away until a vehicle may be at its usual speed, and thus anywhere.
    roll: float = 4.0
    # Until a vehicle that has not driven on the route as usual since the belief started is on it,
    # where it drives as on it, in place of ``enter``: nothing speaks for another road yet.
    find: float = 12.0
    # That a piece of another road lasts: the longer, the fewer other roads pass for the route, and
    # the later a return to it is recognised.
    piece: float = MEMORIES[-1]
    # Until a vehicle in free motion that is fast enough is taken to drive a slow lap. With 6 to
    # 100 laps are followed alike, and other roads the less, the longer it is.
    slow: float = 24.0


DURATIONS = Durations()


def reach(ways: Ways, count: int, most: int) -> RouteGeometry:
    """Return where each of ``count`` places leads in up to ``most`` steps."""
    begins: list[int] = [0]
    targets: list[int] = []
    steps: list[int] = []
    shares: list[float] = []
    for place in range(count):
        front = {place: 1.0}
        for step in range(most + 1):
            if step:
                beyond: dict[int, float] = defaultdict(float)
                for a, share in front.items():
                    # A dead end leads to itself.
                    for b, part in ways.get(a, [(a, 1.0)]):
                        if share * part > LIMITS.least_way:
                            beyond[b] += share * part
                front = beyond
            targets += sorted(front)
            steps += [step] * len(front)
            shares += [front[b] for b in sorted(front)]
        begins.append(len(targets))
    begun, there, after = (np.array(each, dtype=np.int64) for each in (begins, targets, steps))
    return RouteGeometry(begun, there, after, np.array(shares))


# Each row takes a hundred iterations, and folds and later trainings mostly ask for as many rows.
@lru_cache(maxsize=8)
def chances_to_move(last: int) -> Floats:
    """
    Return the probabilities to move by 0, 1, ... places: normal, tilted until the mean is right.

    Row j of (``last`` + 1, M + 1) has the mean j / ``LIMITS.rows_a_place``.
    """
    # Variance of the move in a tick: of the grid, and of what one tick differs.
    unsteadiness = 0.36
    wanted = np.arange(last + 1) / LIMITS.rows_a_place
    steps = np.arange(math.ceil(wanted[-1] + 3.0 * unsteadiness**0.5) + 1)
    moves = np.zeros((len(wanted), len(steps)))
    moves[0, 0] = 1.0
    for row, mean in zip(moves[1:], wanted[1:], strict=True):
        # Slow vehicles are as unsteady as the grid makes them, and no more.
        between = mean % 1.0
        variance = max(unsteadiness * min(mean, 1.0), between * (1.0 - between) + 0.02)
        logs = -0.5 * np.square(steps - mean) / variance
        for _ in range(100):
            chances = np.exp(logs - logs.max())
            chances /= chances.sum()
            logs += (mean - chances @ steps) / variance * steps
        row[:] = chances
    return moves


def exchanges_for(period_s: float, memory_s: float) -> tuple[Floats, Floats]:
    """Return exchanges and jumps of ``RouteSwitching``, probabilities per tick."""

    def once(memories: float) -> float:
        return -math.expm1(-period_s / max(memories * memory_s, 2.0 * period_s))

    mean = DURATIONS
    leave, enter, piece = once(mean.leave), once(mean.enter), once(mean.piece)
    own, lasts = once(mean.own), once(mean.elsewhere_lasts)
    pull_away = once(mean.pull_away)
    settle = once(SETTLED * MEMORIES[-1])
    here = {
        ('on', 'off'): 0.5 * leave,
        ('on', 'elsewhere'): 0.5 * leave,
        ('on', 'free motion'): own,
        ('on new', 'on'): settle,
        ('on new', 'free motion'): own,
        ('free motion', 'on new'): once(mean.gather),
        ('free motion', 'slow'): once(mean.slow),
        ('slow', 'on new'): once(mean.gather),
        ('slow', 'free motion'): own,
        ('slow', 'elsewhere'): leave,
        ('free motion', 'stands'): pull_away,
        ('free motion', 'elsewhere'): once(mean.own_lasts),
        ('stands', 'free motion'): pull_away,
        ('off', 'on'): enter,
        ('off', 'elsewhere'): lasts,
        ('off new', 'on new'): enter,
        ('off new', 'off'): settle,
        ('off new', 'elsewhere'): lasts,
    }
    anywhere = {
        ('on', 'on new'): enter,
        ('free motion', 'on new'): enter,
        ('off', 'off'): 0.5 * piece,
        ('off', 'off new'): 0.5 * piece,
        ('off new', 'off'): 0.5 * piece,
        ('off new', 'off new'): 0.5 * piece,
        ('elsewhere', 'on new'): leave,
        ('elsewhere', 'off'): 0.25 * lasts,
        ('elsewhere', 'off new'): 0.25 * lasts,
    }
    count = len(HYPOTHESES)
    exchanges, jumps = np.zeros((count, count)), np.zeros((count, len(JUMPED)))
    for table, names, chances in ((exchanges, HYPOTHESES, here), (jumps, JUMPED, anywhere)):
        for (before, after), chance in chances.items():
            table[HYPOTHESES.index(before), names.index(after)] = chance
    exchanges += np.diag(1.0 - exchanges.sum(axis=1) - jumps.sum(axis=1))
    return exchanges, jumps


def usual_speeds(
    places: Places, stays: Floats, after: Ints, period_s: float
) -> tuple[Floats, Floats]:
    """Return rates and tick_lengths (P,) of ``RouteMotion``, from columns of ``Passes``."""
    rates = np.clip(1.0 / stays, LIMITS.least_rate, LIMITS.largest_rate)
    metres = np.linalg.norm(places.positions[after] - places.positions, axis=1)
    # A place that leads to itself is the end of a drive.
    weights = (metres > 0.0).astype(np.float64)
    near = np.column_stack([weights, weights * metres * rates])
    ahead = behind = np.arange(len(places))
    before = np.arange(len(places))
    goes_on = after != before
    before[after[goes_on]] = before[goes_on].copy()
    sums = near.copy()
    for _ in range(PLACES_ALONG):
        ahead, behind = after[ahead], before[behind]
        sums += near[ahead] + near[behind]
    speeds = sums[:, 1] / np.maximum(sums[:, 0], 1.0) / period_s
    # Where vehicles stop the speed would be zero.
    return rates, period_s / np.maximum(speeds, SLOW_SHARE * places.usual_mps)


TAIL = 5.0
"""Degrees of freedom of the density of an observation."""

OTHER_TAIL = 2.0
"""Degrees of freedom of the densities of what was never seen."""

HALF_SEEN = 20.0
"""Ticks seen at rest, or at a low speed, that weigh as much as what is expected."""


def _at_rest(passes: Passes, own: Floats, lasting: Floats) -> dict[str, Density]:
    # Expected, in standard deviations of the channels: the offset of a standing vehicle from no
    # motion, the same in an observation and its slow means. The noise of its observations is half
    # of that at a place while driving, and that of the slow means a tenth of it.
    offset_spread, calm, means_calm = 0.3, 0.5, 0.1
    seen, channels, hidden = passes.rest, passes.channels, len(lasting)
    variances = np.linalg.inv(own.T @ own) * calm**2
    times = hidden // channels
    centre = np.tile(passes.at_rest, times + 1)
    noise = np.diag([*[means_calm] * times, 1.0])
    spread = shared(np.full(channels, offset_spread), times + 1) + np.kron(noise, variances)
    if len(seen):
        share = len(seen) / (len(seen) + HALF_SEEN)
        median = np.median(seen, axis=0)
        apart = seen - median
        centre = centre + share * (median - centre)
        spread = (1 - share) * spread + share * (apart.T @ apart / len(apart))
    spread += shared(passes.shifts, times + 1) + LIMITS.least_spread * np.eye(len(spread))
    means, given = spread[:hidden, :hidden], spread[hidden:, :hidden]
    slopes = np.linalg.solve(means, given.T).T
    alone = spread[hidden:, hidden:]
    none, offset = np.zeros((channels, 0)), centre[hidden:]
    return {
        'rest': density(
            slopes, offset - slopes @ centre[:hidden], alone - slopes @ given.T, own, TAIL
        ),
        'rest_alone': density(none, offset, alone, own, TAIL),
        'rest_means': density(np.zeros((hidden, 0)), centre[:hidden], means, lasting, TAIL),
    }


def _on_any_road(passes: Passes, own: Floats, lasting: Floats) -> dict[str, Density]:
    # What was never seen has twice the variance of training.
    width = 2.0
    seen, channels, hidden = passes.series, passes.channels, len(lasting)
    design = np.column_stack([seen[:, :hidden], np.ones(len(seen))])
    wanted = seen[:, hidden:]
    normal = design.T @ design + 1e-3 * len(design) * np.eye(hidden + 1)
    line = np.linalg.solve(normal, design.T @ wanted)
    apart = wanted - design @ line
    covariance = width * apart.T @ apart / len(apart) + LIMITS.least_spread * np.eye(channels)
    centre = np.median(seen[:, :hidden], axis=0)
    apart = seen[:, :hidden] - centre
    spread = width * apart.T @ apart / len(apart) + LIMITS.least_spread * np.eye(hidden)
    spread += shared(passes.shifts, hidden // channels)
    found = {
        'other': density(line[:-1].T, line[-1], covariance, own, OTHER_TAIL),
        'other_means': density(np.zeros((hidden, 0)), centre, spread, lasting, OTHER_TAIL),
    }
    # At a low speed it is drawn to visits below about half the usual one.
    slow = passes.features[passes.kept & (passes.log_ratios < -LARGEST_LOG_RATIO), hidden:]
    share = len(slow) / (len(slow) + HALF_SEEN)
    if len(slow):
        middle = np.median(slow, axis=0)
        apart = slow - middle
        line = (1.0 - share) * line
        line[-1] += share * middle
        covariance = (1.0 - share) * covariance + share * (apart.T @ apart / len(apart))
    covariance = covariance + np.diag(np.square(passes.shifts))
    tail = TAIL if len(slow) else OTHER_TAIL
    return found | {'slow': density(line[:-1].T, line[-1], covariance, own, tail)}


def mistakable(likelihood: RouteLikelihood, series: Floats, share: float) -> float:
    """
    Return the log-likelihood ratio of standing over driving that driving rarely exceeds.

    To a density that knows no place straights look like standing. A ``share`` of the driving
    ``series`` (n, f) is below.
    """
    # Some 5,000 ticks of the training are enough.
    seen = series[:: max(len(series) // 5000, 1)]
    means, newest = seen[:, : -likelihood.channels], seen[:, -likelihood.channels :]
    nothing = means[:, :0]
    lasting = likelihood.persistence * _logs(likelihood.other_means, means, nothing)
    stands = np.maximum(
        _logs(likelihood.rest_alone, newest, nothing) + lasting,
        _logs(likelihood.rest, newest, means)
        + likelihood.persistence * _logs(likelihood.rest_means, means, nothing),
    )
    moves = np.maximum(
        _logs(likelihood.slow, newest, means), _logs(likelihood.other, newest, means)
    )
    return max(float(np.quantile(stands - moves - lasting, share)), 0.0)


def _logs(density: Density, observations: Floats, features: Floats) -> Floats:
    """Return the logarithms of a density at observations (n, d) after slow means (n, m)."""
    apart = observations - density.offset - features @ density.slopes.T
    squares = np.square(apart @ density.root.T).sum(axis=1)
    freedom = density.tail + len(density.offset)
    logs: Floats = density.level - 0.5 * freedom * np.log1p(squares / density.tail)
    return logs


def shared(shifts: Floats, times: int) -> Floats:
    """Return the covariance of features that a shift of each channel moves together."""
    return np.kron(np.ones((times, times)), np.diag(np.square(shifts)))


def density(
    slopes: Floats, offset: Floats, covariance: Floats, own: Floats, tail: float
) -> Density:
    """Return a density whose level is relative to that of the places, of inverse root ``own``."""
    root, half = np.linalg.inv(np.linalg.cholesky(covariance)), 0.5 * len(offset)
    level = float(np.log(np.diag(root)).sum() - np.log(np.diag(own)).sum())
    constant, usual = (
        math.lgamma(0.5 * (freedom + len(offset)))
        - math.lgamma(0.5 * freedom)
        - half * math.log(freedom)
        for freedom in (tail, TAIL)
    )
    return Density(np.ascontiguousarray(slopes), offset, root, level + (constant - usual), tail)


@dataclass(frozen=True)
class Tuning:
    """Numbers with which a map is learned; docs/notebook.md has what else was tried."""

    # Exponent of the likelihood of an observation, and weight in it of the slow means: by default
    # that with which they count once in a memory.
    sharpness: float = 0.2
    persistence: float | None = None
    # Memories of the observations until a speed ratio is forgotten.
    ratio_memories: float = 4.0
    # Variance that free motion gains in a second: a tenth of the usual speed, squared.
    free_variance: float = 0.01
    # Share of what training shows that counts as usual: of speed ratios, of their changes, and of
    # how much driving looks like standing.
    usual_share: float = 0.99
    # Ticks of a visit at most: a vehicle that stopped changed its speed ratio by as much as then.
    most_stay: float = 5.0
    # Times the usual speed that a tick may reach; faster vehicles move by as much.
    fastest_move: float = 1.5
    # Shares of vehicles that start, rolling or standing, where a training drive started so.
    begins_rolling: float = 0.5
    begins_standing: float = 0.97
    # Largest probability per tick to stop where drives stopped, or to drive on.
    most_stop: float = 0.5
    # Degrees of freedom of the t weights that keep a lap which crashed from moving the means.
    pass_tail: float = 4.0
    # Visits that weigh as much as what is known of all places.
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
    # The covariance of residuals as of a Student-t density.
    rows, size = inflated[chosen], values.shape[1]
    scatter = rows.T @ rows / len(rows)
    for _ in range(5):
        squares = (np.linalg.solve(scatter + 1e-9 * np.eye(size), rows.T) * rows.T).sum(axis=0)
        each = (size + TAIL) / (TAIL + squares)
        scatter = (rows * each[:, None]).T @ rows / len(rows)
    diagonal = tuning.shrinkage * np.diag(np.diag(scatter))
    scatter = (1.0 - tuning.shrinkage) * scatter + diagonal + 1e-6 * np.eye(size)
    scatter = scatter + shared(passes.shifts, size // passes.channels)
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
    return np.asarray(np.tril(np.linalg.inv(np.linalg.cholesky(scatter))))


def _usual_slopes(level: Floats, slope: Floats, counts: Floats) -> Floats:
    """Return the slope as a line in the level, per feature: faster turns are turned faster."""
    prior = np.zeros_like(slope)
    weights = np.minimum(counts, 10.0)[:, None]
    for column in range(level.shape[1]):
        line = np.column_stack([level[:, column], np.ones(len(level))])
        design = line * weights
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
        # Of the slow means, and of the observation given them.
        **_at_rest(passes, own, whitening[:hidden, :hidden]),
        **_on_any_road(passes, own, whitening[:hidden, :hidden]),
        shifts=passes.shifts.copy(),
        exponents=passes.exponents.copy(),
    )


def learn_motion(passes: Passes, usual: UsualFeatures, tuning: Tuning) -> RouteMotion:
    """Return how fast vehicles are at each place, and how their speed ratios change."""
    places, period_s, forward = passes.places, passes.period_s, passes.forward
    observations = usual.means[:, -passes.channels :]
    rates, tick_lengths = usual_speeds(places, passes.stays, passes.after, period_s)
    tick_lengths *= passes.gears
    trust, usual_change = learn_trust(passes, observations, tick_lengths, tuning)
    # In free motion as fast as nearly any visit was. Around stops, where all are slow, it is
    # unknown how fast a vehicle is that does not stop.
    seen = float(np.exp(np.quantile(passes.log_ratios[passes.kept], tuning.usual_share)))
    bound = min(max(seen, 1.0 + LIMITS.usual_ratios * passes.ratio_spread), LIMITS.fastest)
    slowed: Bools = np.zeros(len(places.visited), dtype=np.bool_)
    for segment, near in enumerate(near_stops(places, period_s)):
        here = places.segments == segment
        when = np.rint(places.times[here]).astype(np.int64)
        slowed[here] = near[when.clip(0, len(near) - 1)]
    stops = passes.at_places((slowed & passes.kept).astype(np.float64)) > 0.0
    most = float(rates.max()) * tuning.fastest_move
    return RouteMotion(
        moves=chances_to_move(math.ceil(most * LIMITS.rows_a_place)).copy(),
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
        fastest=np.where(stops, LIMITS.fastest, bound),
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


def learn_switching(
    passes: Passes, rates: Floats, likelihood: RouteLikelihood, tuning: Tuning
) -> RouteSwitching:
    """Return probabilities to start at each place, to stop there and to switch hypotheses."""
    places, kept, count = passes.places, passes.kept, len(passes.places)
    period_s, memory_s = passes.period_s, passes.memory_s
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
        *exchanges_for(period_s, memory_s),
        beginnings,
        np.minimum(np.stack([stops_in * rates, goes_on]), tuning.most_stop),
        halts_once,
        rolls_once,
        finds_once,
        mistakable(likelihood, passes.series, tuning.usual_share),
    )


def learn_readout(passes: Passes, tuning: Tuning, states: Floats | None) -> RouteReadout:
    """Return where vehicles get to from each place, and how sure that is."""
    places, columns, prior = passes.places, [], tuning.spread_prior
    least = floors(passes.targets)
    for column, horizon in enumerate([*passes.horizons, -1]):
        here = places.positions[places.visited] if horizon >= 0 else 0.0
        level, drift, rest, weights = _ahead(
            passes, passes.targets[:, column] - here, horizon, tuning
        )
        # Covariances of the residuals at each place, drawn to that of all.
        products = rest[:, :, None] * rest[:, None, :] * weights[:, None, None]
        sums = passes.at_places(np.column_stack([products.reshape(-1, 4), weights]))
        whole, sums = sums.sum(axis=0), passes.wide @ sums
        general = whole[:4] / max(whole[4], 1e-9)
        share = (sums[:, 4] + 1.0) / np.maximum(sums[:, 4] - 1.0, 1.0)
        spread = (sums[:, :4] + prior * general) / (sums[:, 4] + prior)[:, None]
        spread = (spread * np.clip(share, 1.0, 3.0)[:, None]).reshape(-1, 2, 2)
        spread = spread + least[column] * np.eye(2)
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
    levels, drifts, spreads = (np.stack(each, axis=1) for each in zip(*columns, strict=True))
    factors = np.ones(len(passes.horizons) + 1)
    states = np.ones((len(places), 1)) if states is None else states
    return RouteReadout(levels, drifts, spreads, factors, states)


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
