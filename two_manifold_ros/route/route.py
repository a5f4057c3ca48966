# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The map of a route: what is usual at each place, and how a belief moves along it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.route.passes import MEMORIES, SETTLED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from two_manifold_ros.route.merging import Places
    from two_manifold_ros.typing import Bools, Floats, Ints

    Ways = dict[int, list[tuple[int, float]]]


PLACED = ('on', 'on new', 'own pace', 'stands', 'off', 'off new')
"""
What a vehicle does at a place: drives on the route, settled or new there, at its own pace there,
or stands there; drives a road of the same pieces off it, settled or new.
"""

HYPOTHESES = (*PLACED, 'elsewhere')
"""All that it does; off the route on no road that is known, it is at no place."""

JUMPED = ('on new', 'off', 'off new')
"""What it may do at any place from one tick to the next."""


@dataclass(frozen=True)
class Density:
    """
    A Student-t density of observations that does not know the place.

    Parameters
    ----------
    slopes : (d, m), offset : (d,)
        The expected observation is linear in the slow means; zero slopes for a constant.
    root : (d, d)
        Inverse of the Cholesky root of the covariance around it, lower triangular.
    level
        Logarithm of the density at its centre, less that of the route's own at usual noise.
    tail
        Degrees of freedom.

    """

    slopes: Floats
    offset: Floats
    root: Floats
    level: float
    tail: float


@dataclass(frozen=True)
class Route:
    """
    The places of a route.

    Parameters
    ----------
    channels
        Of an observation, d.
    gains : (m,)
        Of the slow means among the features.
    whitening : (f, f)
        Lower triangular; multiplied to the left of features. The last d whitened features are
        those of the observation given its slow means.
    means, slopes : (P, f)
        Whitened features that are usual at a place, and what they gain per unit of log-pace.
    new_whitening : (d, d), new_means, new_slopes : (P, d)
        The same of the observation alone, whatever the slow means.
    new_level
        Logarithm of the density of the observation alone at its centre, less that of the
        observation given its slow means.
    noise : (P,)
        Variance of the features at a place over the usual one.
    begins : (P + 1,), targets_of, steps_of : (L,) int64, shares_of : (L,)
        Where each place leads, see ``move``.
    moves : (J, M + 1), moves_a_row
        Chances to move by so many places in a tick, each row farther in the mean than the one
        before; and how many rows belong to a place more.
    pace_spread, pace_kept, pace_noise
        Standard deviation of the pace, which is the speed over the usual one of the place; what is
        left of its difference from one after a tick; and the variance that a pace of its own gains
        in a tick.
    trust, usual_change
        Share of the change of pace in a tick that the acceleration tells which is borne out by the
        positions, and the largest change for which it is taken: beyond it all is.
    fastest : (P,)
        Largest pace of its own.
    halts, mistakable
        Chance per tick that a vehicle at a pace of its own which looks like standing does stand;
        and the logarithm by which a hundredth of the driving of the training looks more like
        standing than like driving, which is no sign of it.
    rates, tick_lengths, pulls : (P,)
        Places in a tick at the usual pace, ticks in seconds over the usual speed in m/s, and the
        usual forward acceleration, m/s^2.
    forward : (d,), forward_offset
        Forward acceleration, linear in the observation, m/s^2.
    sharpness, persistence
        Exponent of the likelihood of an observation, and weight in it of what lasts: of the
        slow means beside the observation.
    tail
        Degrees of freedom of that likelihood.
    rest, other
        Densities of an observation given its slow means, standing and on any road.
    rest_alone
        Density of an observation of a standing vehicle, whatever its slow means.
    rest_means, other_means
        Densities of the slow means, standing and on any road.
    slow
        Density of an observation at a low pace, wherever that is.
    exchanges : (7, 7), jumps : (7, 3)
        Chances per tick to go over from one of ``HYPOTHESES`` to another at the same place, and to
        one of ``JUMPED`` at any place; together they sum to one. Of who drives at a pace of its
        own, those to the usual pace and to a standstill are for one whose pace is just that.
    targets, drifts : (P, H + 1, 2)
        Positions at the horizons and the velocity, metres and m/s, and what they gain per unit
        of log-pace.
    covariances : (P, H + 1, 2, 2)
        Of the passes around them.
    factors : (H + 1,)
        Calibration of the covariances.
    states : (P, k)
        Mean two-manifold state at each place, the constant first.
    beginnings : (2, P)
        Chances that a drive begins at each place, rolling and standing; all sum to one.
    shifts : (d,)
        What an observation may be off from one day to another, standard deviation; 0 where nothing
        is known of that.
    stops : (2, P)
        Chances per tick that a vehicle which drives as usual stops at each place, as drives of the
        training did on their way, and that one which stands there drives on.

    """

    channels: int
    gains: Floats
    whitening: Floats
    means: Floats
    slopes: Floats
    new_whitening: Floats
    new_means: Floats
    new_slopes: Floats
    new_level: float
    noise: Floats
    begins: Ints
    targets_of: Ints
    steps_of: Ints
    shares_of: Floats
    moves: Floats
    moves_a_row: float
    pace_spread: float
    pace_kept: float
    pace_noise: float
    trust: float
    usual_change: float
    fastest: Floats
    halts: float
    mistakable: float
    rates: Floats
    tick_lengths: Floats
    pulls: Floats
    forward: Floats
    forward_offset: float
    sharpness: float
    persistence: float
    tail: float
    rest: Density
    rest_alone: Density
    rest_means: Density
    other: Density
    other_means: Density
    slow: Density
    exchanges: Floats
    jumps: Floats
    targets: Floats
    drifts: Floats
    covariances: Floats
    factors: Floats
    states: Floats
    beginnings: Floats
    shifts: Floats
    stops: Floats


UNSTEADY = 0.36
"""Variance of the move in a tick, places: of the grid itself, and of what one tick differs."""

MOVES_A_ROW = 8
"""Rows of `chances_to_move` to a place more in the mean; those between are interpolated."""

LEAVE, CARRIED, ENTER, PUT_DOWN = 2000.0, 300.0, 300.0, 2000.0
"""
Memories of the observations, see `memory_of`, until a vehicle leaves the route, until it is put
down elsewhere on it, until it is back from off the route where it is, and anywhere.

A quarter of an hour and two minutes on a small track. Observations outweigh all of it: ten times
as much costs or saves about three pieces of road. Where the third is 1,000, other roads pass for
the route half as often, and a vehicle that is back on it is told so a second later.
"""

OWN, OWN_LASTS, ELSEWHERE_LASTS = 60.0, 6.0, 20.0
"""
Memories until a vehicle takes a pace of its own (it brakes, stops, slides, is pushed), until one
that has is off the route, and that one is off it on no road that is made of the same pieces.

Where the second is 20, a pit lane passes for the route: the slot car's on 94 % of its ticks, the
figure of eight's on 76 %.
"""

GATHER = 1.0
"""
Memories after which a vehicle whose pace is the usual one drives as usual.

With half and twice the stop of ipz19 errs by .36 and .57 m (.42), the start of ridge_car by 25 and
16 m (18), others by up to 12 % more.
"""

HALT = 4.0
"""
Memories for which a vehicle looks like standing until it is taken for one that stands.

However fast its acceleration says that it is: after a long way to a stop an accelerometer is off
by much. Without it the stop at the end of f1tenth_ipz19 is missed (2.9 m instead of .43).
"""

PULL_AWAY = 0.25
"""
Chance per tick that a standing vehicle may be moving, and one whose pace is nought standing.

What it did meanwhile is known from the accelerometer only if it was believed to move from the
first tick on. With .1 and .5 the stop of ipz19 errs by .50 and .37 m (.42), the simulated kart at
25 Hz by 3.8 and 7.8 m (3.5), all others tried by up to 15 % more or less.
"""

PIECE = 1.5
"""
Memories that a piece of another road lasts.

The longer, the fewer other roads pass for the route, and the later a vehicle that is back on it is
told so: docs/experiments.md has both.
"""


LEAST_SHARE = 1e-4
"""
Share of the drives that went a way together, below which it is left out.

With .01 no error of the three drives tried changes by more than 5 %.
"""


def ways_of(places: Places, kept: Bools) -> Ways:
    """Return where the kept visits (V,) bool went on to from each place, and in which shares."""
    counts: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    runs, visited = places.runs, places.visited
    going = np.flatnonzero((runs[1:] == runs[:-1]) & (visited[1:] != visited[:-1]))
    going = going[kept[going] & kept[going + 1]]
    for a, b in zip(visited[going].tolist(), visited[going + 1].tolist(), strict=True):
        counts[a][b] += 1.0
    main = {a: max(to, key=lambda b: (to[b] + 0.5 * (b == a + 1), -b)) for a, to in counts.items()}

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


def main_ways(ways: Ways, count: int) -> Ints:
    """Return the place that most drives went on to from each: (P,), itself at a dead end."""
    after = np.arange(count)
    for a, to in ways.items():
        after[a] = max(to, key=lambda each: each[1])[0]
    return after


def reach(ways: Ways, count: int, most: int) -> tuple[Ints, Ints, Ints, Floats]:
    """Return where each place leads in up to ``most`` steps, see ``Route``."""
    begins: list[int] = [0]
    targets: list[int] = []
    steps: list[int] = []
    shares: list[float] = []
    # Where a place leads if all go the same way, itself at a dead end, and -1 where ways part.
    only = list(range(count))
    for a, to in ways.items():
        only[a] = to[0][0] if len(to) == 1 else -1
    for place in range(count):
        chain = [place]
        while len(chain) <= most and only[chain[-1]] >= 0:
            chain.append(only[chain[-1]])
        if len(chain) > most:
            targets += chain
            steps += range(most + 1)
            shares += [1.0] * (most + 1)
        else:
            for step, front in enumerate(_fronts(place, ways, most)):
                targets += [b for b, _ in front]
                steps += [step] * len(front)
                shares += [share for _, share in front]
        begins.append(len(targets))
    return (
        np.array(begins, dtype=np.int64),
        np.array(targets, dtype=np.int64),
        np.array(steps, dtype=np.int64),
        np.array(shares),
    )


def _fronts(place: int, ways: Ways, most: int) -> Iterator[list[tuple[int, float]]]:
    """Yield where a place leads in 0, 1, ... steps, in order, and which share of the drives."""
    front = {place: 1.0}
    for step in range(most + 1):
        if step:
            beyond: dict[int, float] = defaultdict(float)
            for a, share in front.items():
                for b, part in ways.get(a, [(a, 1.0)]):
                    if share * part > LEAST_SHARE:
                        beyond[b] += share * part
            front = beyond
        yield sorted(front.items())


def chances_to_move(most: float) -> Floats:
    """
    Return the chances to move by 0, 1, ... places: normal, tilted until the mean is right.

    Parameters
    ----------
    most
        Places in a tick, in the mean, of the last row.

    Returns
    -------
    (J, M + 1)
        Row j is of the mean j / ``MOVES_A_ROW``.

    """
    # Folds and later trainings mostly ask for as many rows; whoever gets them may write.
    moves: Floats = _moves(math.ceil(most * MOVES_A_ROW)).copy()
    return moves


@lru_cache(maxsize=8)
def _moves(last: int) -> Floats:
    """Return `chances_to_move` up to row ``last``, which takes a hundred steps for each row."""
    wanted = np.arange(last + 1) / MOVES_A_ROW
    steps = np.arange(math.ceil(wanted[-1] + 3.0 * UNSTEADY**0.5) + 1)
    moves = np.zeros((len(wanted), len(steps)))
    moves[0, 0] = 1.0
    for row, mean in zip(moves[1:], wanted[1:], strict=True):
        # Slow vehicles are as unsteady as the grid makes them, and no more.
        between = mean % 1.0
        variance = max(UNSTEADY * min(mean, 1.0), between * (1.0 - between) + 0.02)
        logs = -0.5 * np.square(steps - mean) / variance
        for _ in range(100):
            chances = np.exp(logs - logs.max())
            chances /= chances.sum()
            logs += (mean - chances @ steps) / variance * steps
        row[:] = chances
    return moves


def exchanges_for(period_s: float, memory_s: float) -> tuple[Floats, Floats]:
    """
    Return the chances per tick to go over from one hypothesis to another.

    Returns
    -------
    exchanges, jumps
        At the same place, and to any place, see ``Route``.

    """

    def once(seconds: float) -> float:
        return -math.expm1(-period_s / max(seconds, 2.0 * period_s))

    leave, carried = once(LEAVE * memory_s), once(CARRIED * memory_s)
    enter, put_down = once(ENTER * memory_s), once(PUT_DOWN * memory_s)
    settle, piece = once(SETTLED * MEMORIES[-1] * memory_s), once(PIECE * memory_s)
    own, lasts = once(OWN * memory_s), once(ELSEWHERE_LASTS * memory_s)
    here = {
        ('on', 'off'): 0.5 * leave,
        ('on', 'elsewhere'): 0.5 * leave,
        ('on', 'own pace'): own,
        ('on new', 'on'): settle,
        ('on new', 'own pace'): own,
        ('own pace', 'on new'): once(GATHER * memory_s),
        ('own pace', 'stands'): PULL_AWAY,
        ('own pace', 'elsewhere'): once(OWN_LASTS * memory_s),
        ('stands', 'own pace'): PULL_AWAY,
        ('off', 'on'): enter,
        ('off', 'elsewhere'): lasts,
        ('off new', 'on new'): enter,
        ('off new', 'off'): settle,
        ('off new', 'elsewhere'): lasts,
    }
    anywhere = {
        ('on', 'on new'): carried,
        ('own pace', 'on new'): carried,
        ('off', 'off'): 0.5 * piece,
        ('off', 'off new'): 0.5 * piece,
        ('off new', 'off'): 0.5 * piece,
        ('off new', 'off new'): 0.5 * piece,
        ('elsewhere', 'on new'): put_down,
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
