# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Predict and measurement update of the belief on a route, compiled."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled, HAVE_NUMBA

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

FAINT = 1e-6
"""
Probability of a place below which it is dropped, at the most.

Twice a tenth of it changes no error; at ten times as much a moved vehicle is found on half of the
occasions only.
"""

PACED = 1e-4
"""Probability of a place below which all paces share the likelihood of the usual one."""

FAINTLY, PLAINLY = 1, 2
"""How a place is reached: with less probability than that, or with more."""

FARTHEST = 1e4
"""Squared whitened distance beyond which an observation fits no worse."""


@compiled
def _predict_loops(  # noqa: C901, PLR0912 - one loop for numba
    cells: Floats, others: Floats, active: Ints, count: int, begins: Ints, targets: Ints,
    steps: Ints, shares: Floats, moves: Floats, changes: Floats, prior: Floats, exchanges: Floats,
    jumps: Floats, moved: Floats, moved_others: Floats, reached: Ints, order: Ints,
    jumped: Floats, sums: Floats,
) -> int:  # fmt: skip
    places, driving, paces = cells.shape
    kinds = others.shape[2]
    found = 0
    for a in range(count):
        i = active[a]
        for way in range(begins[i], begins[i + 1]):
            target, step, share = targets[way], steps[way], shares[way]
            if not reached[target]:
                reached[target] = FAINTLY
                order[found] = target
                found += 1
                moved[target] = 0.0
                moved_others[target] = 0.0
            for m in range(driving):
                for r in range(paces):
                    moved[target, m, r] += cells[i, m, r] * moves[step, r] * share
            for side in range(2):
                for k in range(kinds):
                    chance = moves[step, paces + k] * share
                    moved_others[target, side, k] += others[i, side, k] * chance
    sums[:] = 0.0
    for a in range(found):
        i = order[a]
        for m in range(driving):
            for r in range(paces):
                sums[m] += moved[i, m, r]
        for k in range(kinds):
            sums[driving + k] += moved_others[i, 0, k]
            sums[driving + kinds + k] += moved_others[i, 1, k]
    for t in range(driving):
        jumped[t] = 0.0
        for h in range(len(sums)):
            jumped[t] += sums[h] * jumps[h, t] / places
    for a in range(found):
        i = order[a]
        drives = 0.0
        for m in range(driving):
            sums[m] = 0.0
            for r in range(paces):
                sums[m] += moved[i, m, r]
            drives += sums[m]
        for k in range(kinds):
            sums[driving + k] = moved_others[i, 0, k]
            sums[driving + kinds + k] = moved_others[i, 1, k]
        for t in range(driving):
            come = jumped[t]
            for h in range(driving, len(sums)):
                come += sums[h] * exchanges[h, t]
            for r in range(paces):
                cells[i, t, r] = come * prior[r]
        for m in range(driving):
            for r in range(paces):
                kept = 0.0
                for q in range(max(r - 1, 0), min(r + 2, paces)):
                    kept += moved[i, m, q] * changes[q, r]
                for t in range(driving):
                    cells[i, t, r] += kept * exchanges[m, t]
        for side in range(2):
            for k in range(kinds):
                come = 0.0
                for h in range(len(sums)):
                    come += sums[h] * exchanges[h, driving + side * kinds + k]
                others[i, side, k] = come
        if drives > PACED:
            reached[i] = PLAINLY
    return found


def _predict_arrays(
    cells: Floats, others: Floats, active: Ints, count: int, begins: Ints, targets: Ints,
    steps: Ints, shares: Floats, moves: Floats, changes: Floats, prior: Floats, exchanges: Floats,
    jumps: Floats, moved: Floats, moved_others: Floats, reached: Ints, order: Ints,
    jumped: Floats, sums: Floats,
) -> int:  # fmt: skip
    places, driving, paces = cells.shape
    moved[:] = 0.0
    moved_others[:] = 0.0
    sources = np.repeat(np.arange(places), np.diff(begins))
    ways = np.flatnonzero(np.isin(sources, active[:count]))
    chances = moves[steps[ways]] * shares[ways, None]
    np.add.at(moved, targets[ways], cells[sources[ways]] * chances[:, None, :paces])
    np.add.at(moved_others, targets[ways], others[sources[ways]] * chances[:, None, paces:])
    reached[targets[ways]] = FAINTLY
    here = np.flatnonzero(reached)
    order[: len(here)] = here
    drive = moved[here].sum(axis=2)
    whole = np.concatenate([drive, moved_others[here].reshape(len(here), -1)], axis=1)
    sums[:] = whole.sum(axis=0)
    jumped[:] = sums @ jumps / places
    come = jumped + whole[:, driving:] @ exchanges[driving:, :driving]
    kept = moved[here] @ changes
    cells[here] = np.einsum('imr,mt->itr', kept, exchanges[:driving, :driving])
    cells[here] += come[:, :, None] * prior
    others[here] = (whole @ exchanges[:, driving:]).reshape(len(here), 2, -1)
    reached[here[drive.sum(axis=1) > PACED]] = PLAINLY
    return len(here)


predict = _predict_loops if HAVE_NUMBA else _predict_arrays
"""
Move every probability along the map, each at its pace, and go over between hypotheses.

Parameters
----------
cells : (P, 4, r), others : (P, 2, K)
    See ``RouteBelief``; filled at the places that are reached.
active : (P,) int64, count
    The first ``count`` are the places that have any probability.
begins : (P + 1,) int64, targets, steps : (L,) int64, shares : (L,)
    Of place i the ways ``begins[i]`` to ``begins[i + 1]``: where each leads in how many steps,
    and which share of the drives went there.
moves : (M + 1, r + K)
    Chances to move by 0 to M steps in a tick: at each pace, and whatever else a vehicle does.
changes : (r, r), prior : (r,)
    Chances to go over to the next slower or faster pace, and paces of who starts to drive.
exchanges : (4 + 2 K, 4 + 2 K), jumps : (4 + 2 K, 4)
    Chances to go over to another hypothesis, see ``Route``.
moved : (P, 4, r), moved_others : (P, 2, K)
    Room for what has moved and has not gone over yet.
reached, order : (P,) int64
    Filled with how places are reached (not at all, faintly or plainly), and with those that are.
jumped : (4,)
    Filled with what jumps to each way of driving at each place; places that are not reached are
    not filled with it.
sums : (4 + 2 K,)
    Room for sums.

Returns
-------
int
    How many places are reached.

"""


@compiled
def _fill_logs_loops(
    whitened: Floats, means: Floats, slopes: Floats, squares: Floats, newest: Floats,
    new_means: Floats, new_slopes: Floats, new_squares: Floats, noise: Floats, levels: Floats,
    log_paces: Floats, reached: Ints, numbers: Floats, logs: Floats,
) -> float:  # fmt: skip
    tail, freedom, offset, sharpness = numbers[0], numbers[1], numbers[2], numbers[3]
    channels, features, paces = len(newest), len(whitened), len(log_paces)
    power, new_power = 0.5 * (tail + freedom) * sharpness, 0.5 * (tail + channels) * sharpness
    largest = -1e300
    for i in range(len(means)):
        inverse = 1.0 / (tail * noise[i])
        square, product = 0.0, 0.0
        for k in range(channels):
            difference = newest[k] - new_means[i, k]
            square += difference * difference
            product += difference * new_slopes[i, k]
        level = sharpness * (channels * levels[i] + offset)
        value = level - new_power * math.log(1.0 + min(square, FARTHEST) * inverse)
        logs[i, 1, 0] = value
        largest = max(largest, value)
        if not reached[i]:
            continue
        if reached[i] == PLAINLY:
            for r in range(paces):
                pace = log_paces[r]
                here = square + pace * (pace * new_squares[i] - 2.0 * product)
                here = min(max(here, 0.0), FARTHEST)
                value = level - new_power * math.log(1.0 + here * inverse)
                logs[i, 1, r] = value
                largest = max(largest, value)
        square, product = 0.0, 0.0
        for k in range(features):
            difference = whitened[k] - means[i, k]
            square += difference * difference
            product += difference * slopes[i, k]
        level = sharpness * freedom * levels[i]
        if reached[i] == PLAINLY:
            for r in range(paces):
                pace = log_paces[r]
                here = square + pace * (pace * squares[i] - 2.0 * product)
                here = min(max(here, 0.0), FARTHEST)
                value = level - power * math.log(1.0 + here * inverse)
                logs[i, 0, r] = value
                largest = max(largest, value)
        else:
            value = level - power * math.log(1.0 + min(square, FARTHEST) * inverse)
            logs[i, 0, 0] = value
            largest = max(largest, value)
    return largest


def _fill_logs_arrays(
    whitened: Floats, means: Floats, slopes: Floats, squares: Floats, newest: Floats,
    new_means: Floats, new_slopes: Floats, new_squares: Floats, noise: Floats, levels: Floats,
    log_paces: Floats, reached: Ints, numbers: Floats, logs: Floats,
) -> float:  # fmt: skip
    tail, freedom, offset, sharpness = numbers
    inverse = 1.0 / (tail * noise[:, None])
    kinds = (
        (whitened, means, slopes, squares, freedom, 0.0),
        (newest, new_means, new_slopes, new_squares, float(len(newest)), offset),
    )
    for kind, (seen, mean, slope, own, count, more) in enumerate(kinds):
        apart = seen - mean
        square = np.square(apart).sum(axis=1)[:, None]
        product = (apart * slope).sum(axis=1)[:, None]
        here = np.maximum(square - 2.0 * log_paces * product + log_paces**2 * own[:, None], 0.0)
        here = np.where((reached == PLAINLY)[:, None], here, square)
        value = np.log(1.0 + np.minimum(here, FARTHEST) * inverse)
        value = count * levels[:, None] - 0.5 * (tail + count) * value
        logs[:, kind] = sharpness * (value + more)
    return max(float(logs[:, 1].max()), float(logs[reached > 0].max(initial=-1e300)))


fill_logs = _fill_logs_loops if HAVE_NUMBA else _fill_logs_arrays
"""
Fill the tempered log-likelihoods of an observation at each place and pace.

Student-t densities of the whitened difference to what is usual at the place and pace: of the
observation given its slow means and, weighing less, of these, where the vehicle is settled; and
of the observation alone where it is new.

Parameters
----------
whitened : (f,), newest : (d,)
    Features of the tick, and the observation alone.
means, slopes : (P, f), squares : (P,)
    Usual features, what they gain per unit of log-pace, and the squared norm of the latter.
new_means, new_slopes : (P, d), new_squares : (P,)
    The same for the observation alone.
noise, levels : (P,)
    Variance at each place over the usual one, and minus half its logarithm.
log_paces : (r,)
reached : (P,) int64
    From ``predict``; where it is faint only the likelihoods at the usual pace are filled, and
    where it is none only that of who is new there.
numbers : (4,)
    Degrees of freedom of the densities; number of features that count of who is settled; what is
    added of who is new; exponent of the likelihood.
logs : (P, 2, r)
    Settled, and new.

Returns
-------
float
    The largest.

"""


@compiled
def _weigh_loops(  # noqa: C901, PLR0912 - one loop for numba
    cells: Floats, others: Floats, order: Ints, reached: Ints, count: int, jumped: Floats,
    prior: Floats, logs: Floats, shift: float, factors: Floats, active: Ints, totals: Floats,
) -> tuple[float, int]:  # fmt: skip
    places, driving, paces = cells.shape
    kinds = others.shape[2]
    evidence = 0.0
    for a in range(count):
        i = order[a]
        settled, new = math.exp(logs[i, 0, 0] - shift), math.exp(logs[i, 1, 0] - shift)
        for r in range(paces):
            if r > 0 and reached[i] == PLAINLY:
                settled, new = math.exp(logs[i, 0, r] - shift), math.exp(logs[i, 1, r] - shift)
            cells[i, 0, r] *= settled
            cells[i, 1, r] *= new
            cells[i, 2, r] *= settled
            cells[i, 3, r] *= new
            evidence += cells[i, 0, r] + cells[i, 1, r] + cells[i, 2, r] + cells[i, 3, r]
        for side in range(2):
            for k in range(kinds):
                others[i, side, k] *= factors[k]
                evidence += others[i, side, k]
    on, off = jumped[0] + jumped[1], jumped[2] + jumped[3]
    jump = on + off
    for i in range(places):
        if not reached[i]:
            logs[i, 0, 0] = jump * math.exp(logs[i, 1, 0] - shift)
            evidence += logs[i, 0, 0]
    if not evidence > 0.0:
        return 0.0, count
    inverse = 1.0 / evidence
    least = min(jump, FAINT)
    totals[:] = 0.0
    kept = 0
    for i in range(places):
        if reached[i]:
            reached[i] = 0
            total = 0.0
            for m in range(driving):
                for r in range(paces):
                    cells[i, m, r] *= inverse
                    total += cells[i, m, r]
            for side in range(2):
                for k in range(kinds):
                    others[i, side, k] *= inverse
                    total += others[i, side, k]
            if not total > least:
                cells[i] = 0.0
                others[i] = 0.0
                continue
        else:
            mass = logs[i, 0, 0] * inverse
            if not mass > least:
                continue
            for r in range(paces):
                cells[i, 1, r] = mass * on / jump * prior[r]
                cells[i, 3, r] = mass * off / jump * prior[r]
        active[kept] = i
        kept += 1
        for r in range(paces):
            totals[0, 0] += cells[i, 0, r] + cells[i, 1, r]
            totals[0, 1] += cells[i, 2, r] + cells[i, 3, r]
        for side in range(2):
            totals[1, side] += others[i, side, 0]
            for k in range(1, kinds):
                totals[2, side] += others[i, side, k]
    return evidence, kept


def _weigh_arrays(
    cells: Floats, others: Floats, order: Ints, reached: Ints, count: int, jumped: Floats,
    prior: Floats, logs: Floats, shift: float, factors: Floats, active: Ints, totals: Floats,
) -> tuple[float, int]:  # fmt: skip
    here = order[:count]
    likelihoods = np.exp(logs[here] - shift)
    cells[here] *= likelihoods[:, [0, 1, 0, 1]]
    others[here] *= factors
    on, off = float(jumped[:2].sum()), float(jumped[2:].sum())
    jump = on + off
    masses = np.where(reached > 0, 0.0, jump * np.exp(logs[:, 1, 0] - shift))
    evidence = float(cells.sum() + others.sum() + masses.sum())
    if not evidence > 0.0:
        return 0.0, count
    cells /= evidence
    others /= evidence
    masses /= evidence
    least = min(jump, FAINT)
    new = np.flatnonzero(masses > least)
    if len(new):
        cells[new, 1] = (masses[new] * on / jump)[:, None] * prior
        cells[new, 3] = (masses[new] * off / jump)[:, None] * prior
    whole = cells.sum(axis=(1, 2)) + others.sum(axis=(1, 2))
    gone = ~(whole > least)
    cells[gone] = 0.0
    others[gone] = 0.0
    reached[:] = 0
    kept = np.flatnonzero(~gone)
    active[: len(kept)] = kept
    totals[0] = cells[:, :2].sum(), cells[:, 2:].sum()
    totals[1] = others[:, :, 0].sum(axis=0)
    totals[2] = others[:, :, 1:].sum(axis=(0, 2))
    return evidence, len(kept)


weigh = _weigh_loops if HAVE_NUMBA else _weigh_arrays
"""
Multiply every probability by its likelihood and normalise.

Parameters
----------
cells : (P, 4, r), others : (P, 2, K)
    Changed in place.
order, reached, count, jumped, prior
    From and as ``predict``; ``reached`` is cleared.
logs : (P, 2, r), shift
    From ``fill_logs``, and what is taken from each of them.
factors : (K,)
    Likelihoods of what else a vehicle does, at any place; the first is that of standing.
active : (P,) int64
    Filled with the places that have more than ``FAINT``, or than what jumped there; all others
    are dropped.
totals : (3, 2)
    Filled with the probabilities of driving, standing and what training never saw, on the route
    and off it.

Returns
-------
evidence : float
    Mean likelihood, the shift left out; 0 where nothing is left.
count : int
    Of the active places.

"""
