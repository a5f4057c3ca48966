# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The arithmetic of one step of the belief, compiled and in NumPy, with the same numbers.

The belief is laid out (r, N), a row for each pace and a column for each step of the map, so that
every inner loop runs along memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled, HAVE_NUMBA

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

FAINT = 1e-6
"""
Chances below this do not hop.

There are many of them, what jumped there in the last ticks; to hop with all of them would take
most of the time of a step, and together they are next to nothing.
"""

SLIGHT = 1e-7
"""Weights below this do not count in the state."""


@compiled
def _move_loops(belief: Floats, moves: Floats, since_begin: Ints, moved: Floats) -> None:
    # The whole rows first, as if there were no seams, so that the loops become vector code; then
    # the few ticks behind each seam again.
    rows, ticks = belief.shape
    steps = moves.shape[1]
    moved[:] = 0.0
    for r in range(rows):
        for step in range(steps):
            chance = moves[r, step]
            source, target = belief[r, : ticks - step], moved[r, step:]
            if chance > 0.0:
                for i in range(target.size):
                    target[i] += chance * source[i]
    for i in range(ticks):
        if since_begin[i] < steps - 1:
            for r in range(rows):
                total = 0.0
                for step in range(since_begin[i] + 1):
                    total += moves[r, step] * belief[r, i - step]
                moved[r, i] = total


def _move_arrays(belief: Floats, moves: Floats, since_begin: Ints, moved: Floats) -> None:
    moved[:] = 0.0
    for step in range(min(moves.shape[1], belief.shape[1])):
        inside = since_begin[step:] >= step
        stayed = belief[:, : belief.shape[1] - step] * inside
        moved[:, step:] += moves[:, step, None] * stayed


move = _move_loops if HAVE_NUMBA else _move_arrays
"""
Move every chance along the map, each row at its pace; nothing crosses the seam of a segment.

Parameters
----------
belief : (r, N)
moves : (r, steps)
    Chances to move by 0, 1, ... steps of the map.
since_begin : (N,) int64
    Steps of the map since the beginning of the segment.
moved : (r, N)
    Filled.

"""


@compiled
def _change_loops(moved: Floats, changes: Floats, belief: Floats) -> None:
    belief[:] = 0.0
    for before in range(changes.shape[0]):
        for after in range(changes.shape[1]):
            chance = changes[before, after]
            if chance > 0.0:
                for i in range(belief.shape[1]):
                    belief[after, i] += chance * moved[before, i]


def _change_arrays(moved: Floats, changes: Floats, belief: Floats) -> None:
    np.matmul(changes.T, moved, out=belief)


change_pace = _change_loops if HAVE_NUMBA else _change_arrays
"""
Change paces.

Parameters
----------
moved : (r, N)
changes : (r, r)
    Chances to go over from one pace (row) to another.
belief : (r, N)
    Filled.

"""


@compiled
def _hop_loops(belief: Floats, passes: Ints, shifts: Ints, chance: float, before: Floats) -> None:
    rows, ticks = belief.shape
    totals = np.zeros(ticks)
    for r in range(rows):
        for i in range(ticks):
            # One by one: numba takes a second longer to compile the assignment of an array.
            before[r, i] = belief[r, i]
            totals[i] += belief[r, i]
    for i in range(ticks):
        if totals[i] <= FAINT or passes[i, 0] < 0:
            continue
        count = 0
        for p in range(passes.shape[1]):
            count += passes[i, p] >= 0
        for r in range(rows):
            leaving = chance * before[r, i]
            belief[r, i] -= leaving
            share = leaving / count
            for p in range(count):
                belief[min(max(r + shifts[i, p], 0), rows - 1), passes[i, p]] += share


def _hop_arrays(belief: Floats, passes: Ints, shifts: Ints, chance: float, before: Floats) -> None:
    before[:] = belief
    last = belief.shape[0] - 1
    ticks = np.flatnonzero((before.sum(axis=0) > FAINT) & (passes[:, 0] >= 0))
    counts = np.count_nonzero(passes[ticks] >= 0, axis=1)
    for r in range(last + 1):
        share = chance * before[r, ticks]
        belief[r, ticks] -= share
        for p in range(passes.shape[1]):
            there = counts > p
            paces = np.clip(r + shifts[ticks[there], p], 0, last)
            np.add.at(belief, (paces, passes[ticks[there], p]), (share / counts)[there])


hop = _hop_loops if HAVE_NUMBA else _hop_arrays
"""
Go over to other passes of the same place.

Parameters
----------
belief : (r, N)
    Changed in place.
passes, shifts : (N, p) int64
    From ``find_passes`` and ``pace_shifts``; each row's passes come before its -1.
chance
    To go over.
before : (r, N)
    Scratch.

"""


@compiled
def _weigh_loops(
    belief: Floats, prior: Floats, jump: float, factors: Floats, weights: Floats
) -> float:
    rows, ticks = belief.shape
    total = belief.sum()
    if not total > 0.0:
        jump = 1.0
        total = 1.0
    stay = (1.0 - jump) / total
    evidence = 0.0
    weights[:] = 0.0
    for r in range(rows):
        anywhere = jump * prior[r] / ticks
        for i in range(ticks):
            value = (stay * belief[r, i] + anywhere) * factors[i]
            belief[r, i] = value
            weights[i] += value
    for i in range(ticks):
        evidence += weights[i]
    for r in range(rows):
        for i in range(ticks):
            belief[r, i] /= evidence
    for i in range(ticks):
        weights[i] /= evidence
    return evidence


def _weigh_arrays(
    belief: Floats, prior: Floats, jump: float, factors: Floats, weights: Floats
) -> float:
    total = float(belief.sum())
    if not total > 0.0:
        jump, total = 1.0, 1.0
    belief *= (1.0 - jump) / total
    belief += (jump * prior / belief.shape[1])[:, None]
    belief *= factors
    belief.sum(axis=0, out=weights)
    evidence = float(weights.sum())
    belief /= evidence
    weights /= evidence
    return evidence


weigh = _weigh_loops if HAVE_NUMBA else _weigh_arrays
"""
Normalise, let a small share jump anywhere, and multiply by the likelihood of an observation.

Parameters
----------
belief : (r, N)
    Changed in place; sums to one afterwards.
prior : (r,)
    Paces after a jump.
jump
    Share that jumps.
factors : (N,)
    Likelihoods, one of them positive.
weights : (N,)
    Filled with the belief summed over the paces.

Returns
-------
float
    Mean likelihood under the belief before the observation.

"""


@compiled
def _expected_state_loops(weights: Floats, states: Floats, state: Floats) -> None:
    state[:] = 0.0
    for i in range(weights.size):
        weight = weights[i]
        if weight > SLIGHT:
            for k in range(state.size):
                state[k] += weight * states[i, k]
    for k in range(1, state.size):
        state[k] /= state[0]
    state[0] = 1.0


def _expected_state_arrays(weights: Floats, states: Floats, state: Floats) -> None:
    chosen = np.flatnonzero(weights > SLIGHT)
    np.matmul(weights[chosen], states[chosen], out=state)
    state /= state[0]


expected_state = _expected_state_loops if HAVE_NUMBA else _expected_state_arrays
"""
Mean of the states under the weights.

Parameters
----------
weights : (N,)
    Summing to one.
states : (N, k)
    The first column is 1.
state : (k,)
    Filled.

"""
