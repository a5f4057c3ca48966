# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Observations of the vehicle at each visit of a place, its speed, and sums over visits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
import itertools
import math
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

from two_manifold_ros.hse_hmm.readout import segment_targets
from two_manifold_ros.recordings.recording import GRAVITY
from two_manifold_ros.route.merging import merge_forked, Places, SAME_WAY
from two_manifold_ros.route.route import MEMORIES, PLACES_ALONG, SETTLED
from two_manifold_ros.route.steps import take_features
from two_manifold_ros.ticks.rest import STANDS_S, stretches_of
from two_manifold_ros.typing import Bools, Floats, Ints

if TYPE_CHECKING:
    Ways = dict[int, list[tuple[int, float]]]

RATIO_PLACES = 2 * PLACES_ALONG
"""
Places before and behind over which a speed ratio is measured: half as many pass noise for it.
"""

LEAST_TICKS = 4.0
"""Least memory of observations, ticks."""

LARGEST_LOG_RATIO = 0.6
"""Of a visit that counts for the spread of speed ratios: beyond, it stopped or was carried."""


def ways_of(places: Places, kept: Bools) -> Ways:
    """Return where the kept visits (V,) bool went on to from each place, and in which shares."""
    counts: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    runs, visited = places.runs, places.visited
    going = np.flatnonzero((runs[1:] == runs[:-1]) & (visited[1:] != visited[:-1]))
    going = going[kept[going] & kept[going + 1]]
    for a, b in zip(visited[going].tolist(), visited[going + 1].tolist(), strict=True):
        counts[a][b] += 1.0
    main = {a: max(to, key=lambda b: (to[b] + 0.5 * (b == a + 1), -b)) for a, to in counts.items()}

    def chain(a: int) -> list[int]:
        """Return the next six places on the main way."""
        return [a := main.get(a, -1) for _ in range(6)]

    ways = {}
    for a, to in counts.items():
        # A visit that skips a place, or slips back to it by noise, is still on the same way.
        real = {
            b: n for b, n in to.items() if b == main[a] or not (b in chain(a) or a in chain(b))
        }
        total = sum(real.values())
        ways[a] = [(b, n / total) for b, n in sorted(real.items())]
    return ways


def main_ways(ways: Ways, count: int) -> Ints:
    """Return the place that most drives went on to from each: (P,), itself at a dead end."""
    after = np.arange(count)
    for a, to in ways.items():
        after[a] = max(to, key=lambda each: each[1])[0]
    return after


def features_along(observations: Floats, gains: Floats) -> Floats:
    """Return the features (T, f) of the ticks of a segment (T, d), as of a live stream."""
    means = np.zeros((len(gains), observations.shape[1]))
    features = np.empty((len(observations), observations.shape[1] * (1 + len(gains))))
    for tick, observation in enumerate(np.ascontiguousarray(observations)):
        take_features(observation, gains, means, features[tick], tick == 0)
    return features


class Forward(NamedTuple):
    """Forward acceleration, m/s^2, as a line in the observation; the share that it explains."""

    weights: Floats
    offset: float
    explained: float


@dataclass(frozen=True)
class Passes:
    """
    Observations of each of V visits of P places, and sums and regressions over those ``kept``.

    Of the visits (V,): ``features`` (V, f) and whether their slow means had ``settled``;
    ``targets`` (V, H + 1, 2), positions at the horizons and the velocity, NaN where unknown;
    ``log_ratios`` of the speed over the usual one of the place; ``halts`` and ``starts``, ticks
    that the vehicle stood after a visit, on its way and at first. Of the places (P,): ``stays``,
    ticks that a vehicle usually takes to the next; ``gears``, 1, or -1 where it drives in reverse;
    ``after``, where most drives went on to.

    ``rest`` and ``series`` (n, f) are features of ticks at rest, and of all others. Of the
    channels (d,), standardised: ``at_rest`` is the observation of no motion, ``shifts`` is what
    may be off from one day to another, ``exponents`` are as in `RouteLikelihood`. ``memory_s`` see
    `memory_of`. ``begins`` (S,) are the segments that begin where drives do: on a network neither
    those behind a gap, nor those that nobody drove.
    """

    places: Places
    features: Floats
    settled: Bools
    log_ratios: Floats
    stays: Floats
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
    forward: Forward
    gears: Floats
    exponents: Floats
    halts: Floats
    starts: Floats
    begins: Bools
    kept: Bools
    after: Ints

    @property
    def persistence(self) -> float:
        """Weight of slow means in each tick with which they count once in a memory."""
        return min(self.period_s / self.memory_s, 1.0)

    @cached_property
    def ratio_spread(self) -> float:
        """Standard deviation of the log-ratios of the visits, robust."""
        steady = self.kept & (np.abs(self.log_ratios) < LARGEST_LOG_RATIO)
        middle = np.median(np.abs(self.log_ratios[steady])) if steady.any() else 0.0
        # No IMU distinguishes a smaller one from the usual speed.
        return max(1.4826 * float(middle), 0.02)

    @cached_property
    def usual(self) -> Floats:
        """Weights (V,) of the visits: a lap that stops or flees is no lap at another speed."""
        usual: Floats = self.kept / (1.0 + (self.log_ratios / (3.0 * self.ratio_spread)) ** 4)
        return usual

    @cached_property
    def beside(self) -> csr_matrix:
        """Sums (P, P) over neighbours, less than a tick away, which count for what is usual."""
        return self.smoother((1.0, 0.5, 0.1))

    @cached_property
    def wide(self) -> csr_matrix:
        """Sums (P, P) for spreads, which take more visits to know."""
        return self.smoother((1.0, 1.0, 1.0))

    @cached_property
    def _summing(self) -> csr_matrix:
        visited, total = self.places.visited, len(self.places.visited)
        return csr_matrix((np.ones(total), (visited, np.arange(total))), (len(self.places), total))

    def smoother(self, weights: tuple[float, ...]) -> csr_matrix:
        """Return the (P, P) sums over the places beside each along its main way."""
        count = len(self.places)
        each = np.arange(count)
        after, before = self.after, each.copy()
        before[after] = each
        columns, values = [each], [np.full(count, weights[0])]
        ahead = behind = each
        for weight in weights[1:]:
            ahead, behind = after[ahead], before[behind]
            columns += [ahead, behind]
            values += [np.full(count, weight)] * 2
        rows = np.tile(each, len(columns))
        return csr_matrix(
            (np.concatenate(values), (rows, np.concatenate(columns))), (count, count)
        )

    def at_places(self, values: Floats) -> Floats:
        """Return sums over the visits of each place: (P, ...)."""
        flat = values.reshape(len(values), -1)
        return np.asarray(self._summing @ flat).reshape(len(self.places), *values.shape[1:])

    def blank(self, known: Bools) -> Bools:
        """Return at which places (P,), and beside them, no kept visit is ``known`` (V,)."""
        counts = self.beside @ self.at_places((self.kept & known).astype(np.float64))
        return np.asarray(counts == 0.0)

    def regress(
        self, values: Floats, weights: Floats, prior: Floats, strength: float
    ) -> tuple[Floats, Floats, Floats]:
        """
        Regress values (V, c) on the log-ratio at each place, its neighbours counting too.

        Few visits are drawn to the slopes ``prior`` (P, c), which weigh as much as ``strength``
        visits at the usual spread. Returns levels at the usual speed and slopes (P, c), and counts
        (P,).
        """
        ratios, columns = self.log_ratios, values.shape[1]
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


def lay_out(
    observations: Sequence[Floats],
    tracks: Sequence[Floats],
    horizons: Sequence[int],
    period_s: float,
    memory_s: float,
    at_rest: Floats,
    shifts: Floats,
    exponents: Floats,
    *,
    network: bool = False,
) -> Passes | None:
    """
    Collect the visits of all places by the training drives; None if no drive moves.

    ``observations`` of each segment are (T, d), standardised, ``tracks`` (T, 2), metres, NaN where
    unknown; the rest is as in `Passes`. Places are those of a route, or of a ``network`` of roads.
    """
    places = merge_forked(tracks, period_s, memory_s, network=network)
    if places is None:
        return None
    gains = -np.expm1(-period_s / (np.array(MEMORIES) * memory_s))
    halts, starts = _halts(places, tracks, period_s)
    # Times that vehicles stood on their way do not count for speed ratios.
    driven = places.times - np.cumsum(np.concatenate([[0.0], halts[:-1]]))
    low, high = around(places)
    took = (driven[high] - driven[low]) / np.maximum(high - low, 1)
    logs = np.log(np.clip(took, 0.01, 50.0))
    # The median, so that one lap which stopped does not make all others fast.
    usual = quantiles(places.visited, logs, 0.5)
    forward, gears = _forward_and_gears(places, observations, tracks, period_s)
    kept = np.ones(len(places.visited), dtype=np.bool_)
    return Passes(
        places,
        **observe(places, observations, gains, MEMORIES[-1] * memory_s, period_s),
        log_ratios=np.clip(usual[places.visited] - logs, -1.0, 1.0),
        stays=np.exp(usual),
        targets=_at_visits(places, [segment_targets(each, horizons, period_s) for each in tracks]),
        horizons=tuple(horizons),
        period_s=period_s,
        gains=gains,
        channels=observations[0].shape[1],
        at_rest=at_rest,
        shifts=shifts,
        exponents=exponents,
        # As a time constant is a product: another rounding would change models.
        memory_s=MEMORIES[-1] * memory_s / MEMORIES[-1],
        forward=forward,
        gears=gears,
        halts=halts,
        starts=starts,
        begins=np.ones(len(tracks), dtype=np.bool_),
        kept=kept,
        after=main_ways(ways_of(places, kept), len(places)),
    )


def observe(
    places: Places,
    observations: Sequence[Floats],
    gains: Floats,
    longest_s: float,
    period_s: float,
) -> dict[str, Any]:
    """
    Return features, settled, rest and series of `Passes`, from observations (T, d) of segments.

    ``longest_s`` is the longest time constant of the slow means.
    """
    along = [features_along(each, gains) for each in observations]
    warm = round(SETTLED * longest_s / period_s)
    seen = np.concatenate([each[warm:] for each in along])
    still = np.concatenate([each[warm:] for each in places.standing])
    # Drives often start at rest, before slow means have settled: there is nothing to settle to.
    # At rest is who stands a while before and after, too.
    edge = round(0.5 * STANDS_S[0] / period_s)
    rest = [each[:0] for each in along]
    for each, stands in zip(along, places.standing, strict=True):
        rest += [each[a + edge : max(b - edge, 0)] for a, b in stretches_of(stands)]
    ends = np.array([len(each) for each in along])[places.segments] - 1.0
    return {
        'features': _at_visits(places, along),
        'settled': np.clip(places.times, 0.0, ends) > warm,
        'rest': np.concatenate(rest),
        'series': seen[~still],
    }


def _at_visits(places: Places, series: Sequence[Floats]) -> Floats:
    """Return series (T, ...) of each segment at the visits, also between ticks: (V, ...)."""
    values = np.empty((len(places.times), *series[0].shape[1:]))
    for index, rows in enumerate(series):
        mine = places.segments == index
        times = np.clip(places.times[mine], 0.0, len(rows) - 1.0)
        before = np.floor(times).astype(np.int64)
        part = (times - before).reshape(-1, *[1] * (rows.ndim - 1))
        after = np.minimum(before + 1, len(rows) - 1)
        values[mine] = rows[before] * (1.0 - part) + rows[after] * part
    return values


def motionless(means: Floats) -> Floats:
    """
    Return the reading of an IMU at rest, from its means (6,) while driving.

    Gravity is on the axis whose mean is above half of it; on none if the driver has removed it.
    """
    still = np.zeros(len(means))
    vertical = np.flatnonzero(np.abs(means[:3]) > 0.5 * GRAVITY)
    still[vertical] = np.copysign(GRAVITY, means[vertical])
    return still


def memory_of(
    observations: Sequence[Floats],
    period_s: float,
    longest_s: float = 12.0,
) -> float:
    """
    Return the memory of the observations, seconds: for how long the slowest channel stays alike.

    It is the lag at which the autocorrelation of standardised observations (T, d) has fallen to 1
    / e, at least ``LEAST_TICKS``; no slow mean may take longer to settle than longest.
    """
    longest = longest_lag(observations, period_s, longest_s)
    sums = np.zeros((longest + 1, observations[0].shape[1]))
    for each in observations:
        if len(each) > 2 * longest:
            left = len(each) - longest
            # What a drive is off as a whole, by a bias or a load, is no memory of the road.
            apart = each - each.mean(axis=0)
            for lag in range(longest + 1):
                sums[lag] += (apart[:left] * apart[lag : lag + left]).sum(axis=0)
    with np.errstate(divide='ignore', invalid='ignore'):
        alike = np.nan_to_num(sums / sums[0], nan=0.0) > math.exp(-1.0)
    lags = [int(np.argmin(column)) if not column.all() else longest for column in alike.T]
    return max(float(max(lags)), LEAST_TICKS) * period_s


def longest_lag(observations: Sequence[Floats], period_s: float, longest_s: float) -> int:
    """Return the ticks over which a memory is looked for: a third of a short drive."""
    return max(min(round(longest_s / period_s), max(map(len, observations)) // 3), 1)


def _forward_and_gears(
    places: Places, observations: Sequence[Floats], tracks: Sequence[Floats], period_s: float
) -> tuple[Forward, Floats]:
    """
    Return forward and gears of `Passes`.

    If a vehicle drives back in reverse rather than turning round, which positions do not show, its
    speed goes on falling below zero, and observations explain that better.
    """
    forward = learn_forward(observations, tracks, period_s)
    visited, runs = places.visited, places.runs
    headings = places.headings[visited]
    # From the place where it turns back it leaves the other way.
    turns = np.zeros(len(visited), dtype=np.bool_)
    opposed = (headings[1:] * headings[:-1]).sum(axis=1) < -SAME_WAY
    turns[:-1] = opposed & (runs[1:] == runs[:-1])
    votes = np.zeros(len(places))
    edges = [0, *(np.flatnonzero(np.diff(runs)) + 1).tolist(), len(runs)]
    # Which gear a stretch starts in is known from the longer ones that visited its places.
    for begin, end in sorted(itertools.pairwise(edges), key=lambda each: each[0] - each[1]):
        gears = 1.0 - 2.0 * (np.cumsum(turns[begin:end]) % 2)
        known = np.sign(votes[visited[begin:end]])
        np.add.at(votes, visited[begin:end], -gears if known @ gears < 0.0 else gears)
    reversing = np.where(votes < 0.0, -1.0, 1.0)
    if (reversing < 0.0).any():
        signs = []
        for segment, track in enumerate(tracks):
            visits = np.flatnonzero(places.segments == segment)
            visits = visits[np.argsort(places.times[visits], kind='stable')]
            newest = np.searchsorted(places.times[visits], np.arange(len(track)), side='right') - 1
            along = reversing[visited[visits]]
            signs.append(along[newest.clip(0)] if len(visits) else np.ones(len(track)))
        signed = learn_forward(observations, tracks, period_s, signs)
        if signed.explained > forward.explained:
            return signed, reversing
    return forward, np.ones(len(places))


def learn_forward(
    observations: Sequence[Floats],
    tracks: Sequence[Floats],
    period_s: float,
    signs: Sequence[Floats] | None = None,
) -> Forward:
    """
    Regress the accelerations of the training on the observations; zero if positions show none.

    With the forward acceleration the belief knows how far a vehicle gets that pulls away or brakes
    where no drive did. ``signs`` are those of the speed at each tick (T,), 1 if not given.
    """
    channels = observations[0].shape[1]
    signs = [np.ones(len(each)) for each in tracks] if signs is None else signs
    best = Forward(np.zeros(channels), 0.0, 0.0)
    # Ticks each way over which an acceleration is measured: positions are too noisy over a few,
    # accelerations last too short for many. The lag that observations explain best is taken.
    for lag in (2, 4, 8, 16):
        half, width = lag // 2, 2 * lag + 1
        designs, parts = [np.empty((0, channels + 1))], [np.empty(0)]
        for seen, track, sign in zip(observations, tracks, signs, strict=True):
            if len(seen) <= 4 * lag:
                continue
            speeds = np.full(len(track), np.nan)
            moved = np.linalg.norm(track[2 * half :] - track[: -2 * half], axis=1)
            speeds[half:-half] = sign[half:-half] * moved / (2 * half * period_s)
            gained = (speeds[2 * lag :] - speeds[: -2 * lag]) / (2 * lag * period_s)
            sums = np.cumsum(np.vstack([np.zeros(channels), seen]), axis=0)
            means = (sums[width:] - sums[:-width]) / width
            known = np.isfinite(gained)
            designs.append(np.column_stack([means[known], np.ones(known.sum())]))
            parts.append(gained[known])
        design, wanted = np.concatenate(designs), np.concatenate(parts)
        if len(wanted) <= channels + 1 or not wanted.var() > 0.0:
            continue
        # Ridge in variances of the channels, which are one: two of them may be the same.
        normal = design.T @ design + 1e-3 * len(design) * np.eye(design.shape[1])
        line = np.linalg.solve(normal, design.T @ wanted)
        explained = float(1.0 - np.var(wanted - design @ line) / wanted.var())
        if explained > best.explained:
            best = Forward(line[:-1], float(line[-1]), explained)
    return best


def _halts(places: Places, tracks: Sequence[Floats], period_s: float) -> tuple[Floats, Floats]:
    """Return for how many ticks the vehicle stood after each visit, see ``Passes``: (V,) each."""
    at_first = round(STANDS_S[0] / period_s)
    halts, starts = np.zeros(len(places.times)), np.zeros(len(places.times))
    for segment, still in enumerate(places.standing):
        unknown = np.isnan(tracks[segment].sum(axis=1))
        visits = np.flatnonzero(places.segments == segment)
        for begin, end in stretches_of(still):
            after = int(np.searchsorted(places.times[visits], 0.5 * (begin + end)))
            # Where a drive ends it is unknown for how long it would have stood.
            if after == len(visits):
                continue
            following = visits[after]
            # A run of known positions starts with a visit, also one that starts at rest.
            first = int(np.searchsorted(places.runs, places.runs[following]))
            if begin <= at_first and not unknown[: int(places.times[following])].any():
                starts[first] += end - begin
            elif following > first + 1:
                halts[following - 1] += end - begin
    return halts, starts


def around(places: Places) -> tuple[Ints, Ints]:
    """Return the first and last visit (V,) around each, of its run, `RATIO_PLACES` away."""
    each = np.arange(len(places.runs))
    begins = np.searchsorted(places.runs, places.runs)
    ends = np.searchsorted(places.runs, places.runs, 'right') - 1
    return np.maximum(each - RATIO_PLACES, begins), np.minimum(each + RATIO_PLACES, ends)


def quantiles(places: Ints, values: Floats, share: float) -> Floats:
    """Return what a share of the ``values`` (n,) at each of ``places`` (n,) is below: (P,)."""
    order = np.lexsort((values, places))
    counts = np.bincount(places)
    rank = np.cumsum(counts) - counts + share * (counts - 1)
    low, high = (each.astype(np.int64) for each in (np.floor(rank), np.ceil(rank)))
    part = rank - low
    return np.asarray((1.0 - part) * values[order[low]] + part * values[order[high]])


def near_stops(places: Places, period_s: float) -> list[Bools]:
    """Return at which ticks of segments, and after them, a vehicle stands some seconds away."""
    near = round(STANDS_S[-1] / period_s)
    width = np.ones(2 * near + 1)
    return [np.convolve(standing, width)[near:] > 0.5 for standing in places.standing]
