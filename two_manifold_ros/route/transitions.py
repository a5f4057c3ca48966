# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Transitions of the belief: from place to place, and from one hypothesis to another."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.route.route import (
    HYPOTHESES,
    JUMPED,
    LIMITS,
    MEMORIES,
    PLACES_ALONG,
    RouteGeometry,
    SETTLED,
)
from two_manifold_ros.ticks.standing import SLOW_SHARE

if TYPE_CHECKING:
    from two_manifold_ros.route.merging import Places
    from two_manifold_ros.typing import Bools, Floats, Ints

    Ways = dict[int, list[tuple[int, float]]]


class Durations(NamedTuple):
    """
    Mean times between switches of hypotheses, in memories of the observations (`memory_of`).

    Observations outweigh the long ones: ten times as much costs or saves about three pieces of
    road. docs/notebook.md has what else was tried.
    """

    # Until a vehicle leaves the route, and until one that is off it is put down anywhere on it: a
    # quarter of an hour on a small track.
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
    # integrates to: an accelerometer is far off after a long way to a stop.
    halt: float = 4.0
    # Until a standing vehicle may be moving, and one of speed ratio zero that does not accelerate
    # standing: how far it got is known from the accelerometer only if it was believed to move from
    # the first ticks on.
    pull_away: float = 0.35
    # After pulling away until a vehicle may be at its usual speed, and thus anywhere.
    roll: float = 4.0
    # Until a vehicle that has not driven on the route as usual since the belief started is on it,
    # where it drives as on it, in place of ``enter``: nothing speaks for another road yet.
    find: float = 12.0
    # That a piece of another road lasts: as long as the longer slow mean. The longer, the fewer
    # other roads pass for the route, and the later a return to it is recognised.
    piece: float = MEMORIES[-1]
    # Until a vehicle in free motion that is fast enough is taken to drive a slow lap.
    slow: float = 6.0


DURATIONS = Durations()


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
        # A visit that skips a place, or slips back to it by noise, is still on the same way.
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


def reach(ways: Ways, count: int, most: int) -> RouteGeometry:
    """Return where each of ``count`` places leads in up to ``most`` steps."""
    begins: list[int] = [0]
    targets: list[int] = []
    steps: list[int] = []
    shares: list[float] = []
    # The next place if all go the same way, itself at a dead end, and -1 at a fork.
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
            front = {place: 1.0}
            for step in range(most + 1):
                if step:
                    beyond: dict[int, float] = defaultdict(float)
                    for a, share in front.items():
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


def chances_to_move(most: float) -> Floats:
    """
    Return the probabilities to move by 0, 1, ... places: normal, tilted until the mean is right.

    Row j of (J, M + 1) has the mean j / ``LIMITS.rows_a_place``, the last one at least ``most``.
    """
    moves: Floats = _moves(math.ceil(most * LIMITS.rows_a_place)).copy()
    return moves


# Each row takes a hundred iterations, and folds and later trainings mostly ask for as many rows.
@lru_cache(maxsize=8)
def _moves(last: int) -> Floats:
    """Return `chances_to_move` up to row ``last``."""
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
