# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How a belief moves: where places lead, how far in a tick, and between hypotheses."""

from __future__ import annotations

from collections import defaultdict
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.route.merging import FINENESS
from two_manifold_ros.route.passes import MEMORIES, SETTLED
from two_manifold_ros.route.route import DRIVING, HYPOTHESES

if TYPE_CHECKING:
    from two_manifold_ros.route.merging import Places
    from two_manifold_ros.typing import Bools, Floats, Ints

    Ways = dict[int, list[tuple[int, float]]]

UNSTEADY = 0.36
"""Variance of the move in a tick, places: of the grid itself, and of what one tick differs."""

ELSE_PACES, ELSE_UNSTEADY = (0.0, 0.25, 0.5, 0.9), (0.0, 0.5, 1.0, 2.0)
"""
Mean pace, and variance in places, of what else a vehicle does, in the order of ``ELSE``.

A vehicle that pulls away is at a quarter and at half of its pace for a while: taken for one at the
usual pace it would be ahead of itself afterwards.
"""

LEAVE, CARRIED, ENTER, PUT_DOWN = 2000.0, 300.0, 300.0, 2000.0
"""
Memories of the observations, see `memory_of`, until a vehicle leaves the route, until it is put
down elsewhere on it, until it is back from off the route where it is, and anywhere.

A quarter of an hour and two minutes on a small track. Observations outweigh all of it: ten times
as much costs or saves about three pieces of road. Where the third is 1,000, other roads pass for
the route half as often, and a vehicle that is back on it is told so a second later.
"""

STOP_S, GO_S = 100.0, 10.0
"""Between two stops, and how long one lasts: what is observed soon outweighs them."""

GATHER = 2.0
"""Memories that a vehicle that pulls away takes to double its pace."""

UNLIKE_S = 200.0
"""Between two times at which the vehicle does on the route what training never saw."""

PIECE, UNLIKE_LASTS = 1.5, 6.0
"""
Memories that a piece of another road lasts, and anything unseen; off the route it is as rare.

The longer, the fewer other roads pass for the route, and the later a vehicle that is back on it is
told so: docs/experiments.md has both.
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
    begins, targets, steps, shares = [0], [], [], []
    for place in range(count):
        front = {place: 1.0}
        for step in range(most + 1):
            if step:
                beyond: dict[int, float] = defaultdict(float)
                for a, share in front.items():
                    for b, part in ways.get(a, [(a, 1.0)]):
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


def chances_to_move(log_paces: Floats) -> Floats:
    """Return the chances to move by 0, 1, ... places: normal, tilted until the mean is right."""
    wanted = FINENESS * np.concatenate([np.exp(log_paces), ELSE_PACES[1:]])
    variances = np.concatenate([np.full(len(log_paces), UNSTEADY), ELSE_UNSTEADY[1:]])
    steps = np.arange(math.ceil(wanted.max() + 3.0 * UNSTEADY**0.5) + 1)
    moves = np.zeros((len(wanted), len(steps)))
    for row, mean, variance in zip(moves, wanted, variances, strict=True):
        logs = -0.5 * np.square(steps - mean) / variance
        for _ in range(100):
            chances = np.exp(logs - logs.max())
            chances /= chances.sum()
            logs += (mean - chances @ steps) / variance * steps
        row[:] = chances
    paces = len(log_paces)
    return np.concatenate([moves[:paces], np.eye(len(steps))[:1], moves[paces:]])


def pace_changes(log_paces: Floats, spread: float, memory: float) -> Floats:
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
    gather, lasts = once(GATHER * memory_s), once(UNLIKE_LASTS * memory_s)
    stop, go = once(STOP_S), once(GO_S)
    here = {
        ('on', 'off'): 0.5 * leave,
        ('on', 'unlike off'): 0.5 * leave,
        ('on new', 'on'): settle,
        ('off new', 'off'): settle,
        ('off', 'on'): enter,
        ('off new', 'on new'): enter,
        ('unlike on', 'unlike off'): lasts,
        ('unlike on', 'on new'): 0.5 * lasts,
    }
    for side, unlike in (('on', once(UNLIKE_S)), ('off', lasts)):
        for drives in (side, f'{side} new'):
            here[drives, f'stands {side}'] = stop
            here[drives, f'unlike {side}'] = unlike
        for drives, other, chance in (
            ('stands', f'{side} new', 0.5 * go),
            ('stands', f'creeps {side}', 0.5 * go),
            ('creeps', f'slow {side}', gather),
            ('slow', f'{side} new', 0.5 * gather),
            ('slow', f'unlike {side}', 0.5 * gather),
            ('unlike', f'stands {side}', 0.5 * lasts),
        ):
            here[f'{drives} {side}', other] = chance
    anywhere = {
        ('on', 'on new'): carried,
        ('unlike on', 'on new'): carried,
        ('unlike off', 'on new'): put_down,
        ('unlike off', 'off'): 0.25 * lasts,
        ('unlike off', 'off new'): 0.25 * lasts,
    }
    for drives in ('off', 'off new'):
        anywhere[drives, 'off'] = anywhere[drives, 'off new'] = 0.5 * piece
    count = len(HYPOTHESES)
    exchanges, jumps = np.zeros((count, count)), np.zeros((count, len(DRIVING)))
    for table, chances in ((exchanges, here), (jumps, anywhere)):
        for (before, after), chance in chances.items():
            table[HYPOTHESES.index(before), HYPOTHESES.index(after)] = chance
    exchanges += np.diag(1.0 - exchanges.sum(axis=1) - jumps.sum(axis=1))
    return exchanges, jumps
