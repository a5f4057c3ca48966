# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Learn the map of a route: what is usual at each place, from all the passes of it.

`lay_out` collects what every pass saw and where it led to; `learn_route` then takes any part of
the passes, so that a belief can be rehearsed on those which it did not learn from.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

from two_manifold_ros.readout.reading import FLOOR
from two_manifold_ros.readout.targets import segment_targets
from two_manifold_ros.route.features import features_along, gains_for
from two_manifold_ros.route.merging import FINENESS, merge_passes
from two_manifold_ros.route.route import Density, Rates, Route

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.route.merging import Places
    from two_manifold_ros.typing import Bools, Floats, Ints

MEMORIES = (0.5, 1.5)
"""
Time constants of the slow means, in memories of the observations, see `memory_of`.

The shorter predicts the next observation, the longer carries what is off on this lap.
"""

LEAST_MEMORY = 4.0
"""Ticks of the memory at least: means over less than a tick are the observation itself."""

LONGEST_LAG_S = 12.0
"""Up to which autocorrelations are looked at: no slow mean may take longer to settle."""

SETTLED = 2.0
"""Time constants after which a slow mean hardly remembers where it began: 14 % of it."""

AROUND = 8
"""
Places before and behind over which the pace of a visit is measured: four ticks each way.

With half of them the noise of positions passes for pace: ipz20 errs by a tenth more.
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

UNSTEADY = 0.36
"""Variance of the move in a tick, places: of the grid itself, and of what one tick differs."""

UNLIKE_PACE, UNLIKE_UNSTEADY = 0.9, 2.0
"""Mean pace, and variance in places, of a vehicle that does what training never saw."""

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

LEAVE, ENTER = 2000.0, 200.0
"""
Memories of the observations, see `memory_of`, between leaving the route, and until it is back.

About a quarter of an hour on a small track, and two laps. Observations outweigh them by about e
for each piece of road, see ``PIECE``: ten times either costs or saves about three pieces.
"""

STOP_S, GO_S = 100.0, 10.0
"""Between two stops, and how long one lasts: what is observed soon outweighs them."""

UNLIKE_S = 200.0
"""Between two times at which the vehicle does what training never saw."""

PIECE, UNLIKE_LASTS, UNLIKE_ASTRAY = 1.2, 6.0, 20.0
"""
Memories that a piece of another road lasts, that anything unseen lasts, and until it leads astray.

With shorter pieces other roads pass for the route, with longer ones stop-and-go for another road.
"""

REST_PRIOR = 20.0
FEWEST_AT_REST = 50
"""Ticks at rest from which it is learned what a standing vehicle looks like."""

REST_SPREAD, REST_CALM = 0.3, 0.5
"""
Where none was seen: deviation of the slow means of a standing vehicle from no motion, in standard
deviations of the channels, and of its observations from those means over that while driving.
"""

OTHER_TAIL, OTHER_WIDTH = 2.0, 2.0
"""Degrees of freedom, and times the variance of training, of what was never seen."""

LEAST_VARIANCE = 1e-4
"""Of a density, in standard deviations squared, so that a channel that never moved has one."""


@dataclass(frozen=True)
class Tuning:
    """Numbers that are fitted by following parts of the drives, see `fitting`."""

    sharpness: float = 0.2
    persistence: float = 0.5


@dataclass(frozen=True)
class Passes:
    """
    What each visit of a place saw, and where it led to.

    Parameters
    ----------
    places
        Of the route.
    features : (V, f), settled : (V,) bool
        Of the visits, and whether their slow means had settled.
    log_paces : (V,)
        Logarithm of the speed over the usual one of the place.
    targets : (V, H + 1, 2)
        Positions at the horizons and the velocity; NaN where unknown.
    rest, series : (n, f)
        Features of ticks at rest, and of all others.
    horizons, period_s, gains, channels
        As in the model.
    at_rest, shifts : (d,)
        The observation of no motion, and what a channel may be off from one day to another.
    memory_s
        Of the observations, see `memory_of`.

    """

    places: Places
    features: Floats
    settled: Bools
    log_paces: Floats
    targets: Floats
    rest: Floats
    series: Floats
    horizons: tuple[int, ...]
    period_s: float
    gains: Floats
    channels: int
    at_rest: Floats
    shifts: Floats
    memory_s: float


def lay_out(
    observations: Sequence[Floats],
    tracks: Sequence[Floats],
    horizons: Sequence[int],
    period_s: float,
    zero: Floats,
    shifts: Floats,
    memory_s: float,
) -> Passes | None:
    """
    Collect the passes of the training drives.

    Parameters
    ----------
    observations, tracks
        Of each segment (T, d), standardised, and (T, 2), metres, NaN where unknown.
    horizons
        Ticks ahead.
    period_s
        Length of a tick.
    zero : (d,)
        The observation when every channel is 0 in its own units.
    shifts : (d,)
        Standard deviation of what a channel may be off from one day to another.
    memory_s
        Of the observations, see `memory_of`.

    """
    places = merge_passes(tracks, period_s)
    if places is None:
        return None
    memories_s = tuple(each * memory_s for each in MEMORIES)
    gains = gains_for(memories_s, period_s)
    along = [features_along(each, gains) for each in observations]
    targets = [segment_targets(each, horizons, period_s) for each in tracks]
    lengths = np.array([len(each) for each in tracks])
    times = np.clip(places.times, 0.0, lengths[places.segments] - 1.0)
    features = np.empty((len(times), along[0].shape[1]))
    led = np.empty((len(times), len(horizons) + 1, 2))
    for index, (seen, to) in enumerate(zip(along, targets, strict=True)):
        mine = places.segments == index
        features[mine] = _between(seen, times[mine])
        led[mine] = _between(to, times[mine])
    warm = round(SETTLED * max(memories_s) / period_s)
    standing = [_standing(track, places.usual_mps, period_s) for track in tracks]
    seen = np.concatenate([each[warm:] for each in along])
    still = np.concatenate([each[warm:] for each in standing])
    return Passes(
        places,
        features,
        times > warm,
        _log_paces(places),
        led,
        seen[still],
        seen[~still],
        tuple(horizons),
        period_s,
        gains,
        observations[0].shape[1],
        zero,
        shifts,
        max(memories_s) / MEMORIES[-1],
    )


def memory_of(observations: Sequence[Floats], period_s: float) -> float:
    """
    Return the memory of the observations: for how long the slowest channel stays alike, seconds.

    Parameters
    ----------
    observations
        Of each segment (T, d), standardised.
    period_s
        Length of a tick.

    Returns
    -------
    float
        Lag at which its autocorrelation has fallen to 1 / e.

    """
    longest = max(min(round(LONGEST_LAG_S / period_s), max(map(len, observations)) // 3), 1)
    sums = np.zeros((longest + 1, observations[0].shape[1]))
    for each in observations:
        if len(each) > 2 * longest:
            left = len(each) - longest
            for lag in range(longest + 1):
                sums[lag] += (each[:left] * each[lag : lag + left]).sum(axis=0)
    with np.errstate(divide='ignore', invalid='ignore'):
        alike = np.nan_to_num(sums / sums[0], nan=0.0) > math.exp(-1.0)
    lags = [int(np.argmin(column)) if not column.all() else longest for column in alike.T]
    return max(float(max(lags)), LEAST_MEMORY) * period_s


def _between(rows: Floats, times: Floats) -> Floats:
    """Return rows of a series between its ticks."""
    before = np.floor(times).astype(np.int64)
    share = (times - before).reshape(-1, *[1] * (rows.ndim - 1))
    after = np.minimum(before + 1, len(rows) - 1)
    between: Floats = rows[before] * (1.0 - share) + rows[after] * share
    return between


def _standing(track: Floats, usual_mps: float, period_s: float) -> Bools:
    """Return at which ticks the vehicle did not move for half a second before and after: (T,)."""
    half = max(round(0.5 / period_s), 1)
    still: Bools = np.zeros(len(track), dtype=np.bool_)
    if len(track) <= 2 * half:
        return still
    moved = np.linalg.norm(track[2 * half :] - track[: -2 * half], axis=1)
    still[half:-half] = moved < 0.1 * usual_mps * 2 * half * period_s
    return still


def _log_paces(places: Places) -> Floats:
    """Return the logarithm of the usual stay around each visit over its own: (V,)."""
    stays = np.empty(len(places.times))
    for begin, end in _stretches(places.runs):
        index = np.arange(begin, end)
        low, high = np.maximum(index - AROUND, begin), np.minimum(index + AROUND, end - 1)
        stays[begin:end] = (places.times[high] - places.times[low]) / np.maximum(high - low, 1)
    logs = np.log(np.clip(stays, 0.01, 50.0))
    # Of half of the passes, so that one which stopped does not make all others fast.
    usual = _median_by(places.visited, logs, len(places))
    return np.clip(usual[places.visited] - logs, -1.0, 1.0)


def _stretches(labels: Ints) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(labels)) + 1
    return list(zip([0, *edges.tolist()], [*edges.tolist(), len(labels)], strict=True))


def _median_by(groups: Ints, values: Floats, count: int) -> Floats:
    order = np.lexsort((values, groups))
    counts = np.bincount(groups, minlength=count)
    begins = np.concatenate([[0], np.cumsum(counts)[:-1]])
    low = begins + np.maximum(counts - 1, 0) // 2
    high = begins + counts // 2
    sorted_values = np.append(values[order], 0.0)
    medians: Floats = 0.5 * (sorted_values[low] + sorted_values[np.minimum(high, len(values))])
    return medians


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
        Numbers of the likelihood.
    states : (P, k)
        Mean two-manifold state at each place.

    """
    return _Learner(passes, kept, tuning).route(states)


class _Learner:
    """The steps of `learn_route`, with what they share."""

    def __init__(self, passes: Passes, kept: Bools, tuning: Tuning) -> None:
        self.passes, self.tuning = passes, tuning
        self.kept = kept
        self.count = len(passes.places)
        self.visited = passes.places.visited
        self.ways = self._ways()
        steady = kept & (np.abs(passes.log_paces) < LARGEST_LOG_PACE)
        self.paces = passes.log_paces
        middle = np.median(np.abs(self.paces[steady])) if steady.any() else 0.0
        self.pace_spread = max(1.4826 * float(middle), LEAST_PACE_SPREAD)
        # A pass that stops or flees is no pass at another pace.
        self.usual = kept / (1.0 + (self.paces / (3.0 * self.pace_spread)) ** 4)

    def _ways(self) -> dict[int, list[tuple[int, float]]]:
        """Return where the drives went on to from each place, and which share of them."""
        counts: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
        runs, visited = self.passes.places.runs, self.visited
        going = np.flatnonzero((runs[1:] == runs[:-1]) & (visited[1:] != visited[:-1]))
        going = going[self.kept[going] & self.kept[going + 1]]
        for a, b in zip(visited[going].tolist(), visited[going + 1].tolist(), strict=True):
            counts[a][b] += 1.0
        main = {
            a: max(to, key=lambda b: (to[b] + 0.5 * (b == a + 1), -b)) for a, to in counts.items()
        }

        def follows(a: int, b: int) -> bool:
            for _ in range(6):
                a = main.get(a, -1)
                if a == b:
                    return True
            return False

        ways = {}
        for a, to in counts.items():
            # Who skips a place, or slips back to it by noise, is still on the same way.
            real = {
                b: n for b, n in to.items() if b == main[a] or not (follows(a, b) or follows(b, a))
            }
            total = sum(real.values())
            ways[a] = [(b, n / total) for b, n in sorted(real.items())]
        return ways

    def _reach(self, most: int) -> tuple[Ints, Ints, Ints, Floats]:
        begins, targets, steps, shares = [0], [], [], []
        for place in range(self.count):
            front = {place: 1.0}
            for step in range(most + 1):
                if step:
                    beyond: dict[int, float] = defaultdict(float)
                    for a, share in front.items():
                        for b, part in self.ways.get(a, [(a, 1.0)]):
                            if share * part > 1e-4:
                                beyond[b] += share * part
                    front = beyond
                for b, share in sorted(front.items()):
                    targets.append(b)
                    steps.append(step)
                    shares.append(share)
            begins.append(len(targets))
        return (
            np.array(begins, dtype=np.int64),
            np.array(targets, dtype=np.int64),
            np.array(steps, dtype=np.int64),
            np.array(shares),
        )

    def smoother(self, weights: tuple[float, ...]) -> csr_matrix:
        """Return the (P, P) sums over the places beside each along its main way."""
        after = np.arange(self.count)
        for a, to in self.ways.items():
            after[a] = max(to, key=lambda each: each[1])[0]
        before = np.arange(self.count)
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

    def route(self, states: Floats | None) -> Route:
        passes, tuning = self.passes, self.tuning
        spread = self.pace_spread
        step = max(SPAN * spread / PACES_EACH_WAY, 0.02)
        log_paces = np.linspace(-step, step, 2 * PACES_EACH_WAY + 1) * PACES_EACH_WAY
        moves = _moves(log_paces)
        reach = self._reach(moves.shape[1] - 1)
        means, slopes, whitening, noise, alone = self._features()
        targets, drifts, covariances = self._targets()
        hidden = passes.features.shape[1] - passes.channels
        own = whitening[hidden:, hidden:]
        lasting = whitening[:hidden, :hidden]
        rest, rest_means = self._at_rest(own, lasting)
        other, other_means = self._densities(passes.series, own, lasting, OTHER_TAIL, OTHER_WIDTH)
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
            alone,
            means[:, hidden:] @ alone.T,
            slopes[:, hidden:] @ alone.T,
            float(np.log(np.diag(alone)).sum() - np.log(np.diag(own)).sum()),
            noise,
            *reach,
            log_paces,
            moves,
            _changes(log_paces, spread, PACE_MEMORY_S / passes.period_s),
            prior / prior.sum(),
            tuning.sharpness,
            tuning.persistence,
            TAIL,
            rest,
            rest_means,
            other,
            other_means,
            _rates(passes.period_s, passes.memory_s),
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
        return counts / counts.sum()

    def _features(self) -> tuple[Floats, Floats, Floats, Floats]:
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
        alone = np.tril(np.linalg.inv(np.linalg.cholesky(scatter[-passes.channels :, -passes.channels :])))
        return level, slope, whitening, noise, alone

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
        after = np.arange(self.count)
        for a, to in self.ways.items():
            after[a] = max(to, key=lambda each: each[1])[0]
        steps = reached[after] - reached
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
            _density(np.zeros((hidden, 0)), centre[:hidden], spread[:hidden, :hidden], lasting, TAIL),
        )

    def _densities(
        self, seen: Floats, own: Floats, lasting: Floats, tail: float, width: float
    ) -> tuple[Density, Density]:
        """
        Return densities of an observation given its slow means, and of the slow means.

        Parameters
        ----------
        seen : (n, f)
            Features, of ticks at rest or of all roads.
        own : (d, d), lasting : (f - d, f - d)
            Inverse roots of the same at a place.
        tail, width
            Degrees of freedom, and times the variance that was seen.

        """
        channels = self.passes.channels
        hidden = len(lasting)
        design = np.column_stack([seen[:, :hidden], np.ones(len(seen))])
        wanted = seen[:, hidden:]
        normal = design.T @ design + 1e-3 * len(design) * np.eye(hidden + 1)
        line = np.linalg.solve(normal, design.T @ wanted)
        apart = wanted - design @ line
        covariance = width * apart.T @ apart / len(apart) + LEAST_VARIANCE * np.eye(channels)
        given = _density(line[:-1].T, line[-1], covariance, own, tail)
        centre = np.median(seen[:, :hidden], axis=0)
        apart = seen[:, :hidden] - centre
        covariance = width * apart.T @ apart / len(apart) + LEAST_VARIANCE * np.eye(hidden)
        covariance += _shared(self.passes.shifts, hidden // channels)
        return given, _density(np.zeros((hidden, 0)), centre, covariance, lasting, tail)


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


def _moves(log_paces: Floats) -> Floats:
    """Return the chances to move by 0, 1, ... places: normal, tilted until the mean is right."""
    wanted = np.append(FINENESS * np.exp(log_paces), UNLIKE_PACE * FINENESS)
    variances = np.append(np.full(len(log_paces), UNSTEADY), UNLIKE_UNSTEADY)
    steps = np.arange(math.ceil(wanted.max() + 3.0 * UNSTEADY**0.5) + 1)
    moves = np.zeros((len(wanted), len(steps)))
    for row, mean, variance in zip(moves, wanted, variances, strict=True):
        logs = -0.5 * np.square(steps - mean) / variance
        for _ in range(100):
            chances = np.exp(logs - logs.max())
            chances /= chances.sum()
            logs += (mean - chances @ steps) / variance * steps
        row[:] = chances
    standing = np.eye(len(steps))[:1]
    return np.concatenate([moves[:-1], standing, moves[-1:]])


def _changes(log_paces: Floats, spread: float, memory: float) -> Floats:
    """Return the chances to change paces in a tick: a process that forgets in ``memory`` ticks."""
    step = log_paces[1] - log_paces[0]
    keep = math.exp(-1.0 / memory)
    changes = np.zeros((len(log_paces), len(log_paces)))
    last = len(log_paces) - 1
    diffused = 0.5 * (1.0 - keep**2) * (spread / step) ** 2
    for row, pace in enumerate(log_paces):
        pulled = (1.0 - keep) * pace / step
        up, down = diffused + max(-pulled, 0.0), diffused + max(pulled, 0.0)
        total = max(up + down, 1.0)
        changes[row, min(row + 1, last)] += up / total
        changes[row, max(row - 1, 0)] += down / total
        changes[row, row] += 1.0 - (up + down) / total
    return changes


def _rates(period_s: float, memory_s: float) -> Rates:
    """Return the chances in a tick of what happens once in so many seconds."""

    def each(seconds: float) -> float:
        return -math.expm1(-period_s / max(seconds, 2.0 * period_s))

    return Rates(
        leave=each(LEAVE * memory_s),
        carried=each(ENTER * memory_s),
        enter=each(ENTER * memory_s),
        piece=each(PIECE * memory_s),
        settle=each(SETTLED * MEMORIES[-1] * memory_s),
        stop=each(STOP_S),
        go=each(GO_S),
        unlike=each(UNLIKE_S),
        unlike_off=each(UNLIKE_LASTS * memory_s),
        unlike_ends=each(UNLIKE_LASTS * memory_s),
        astray=each(UNLIKE_LASTS * memory_s),
    )
