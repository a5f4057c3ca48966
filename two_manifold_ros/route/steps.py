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
    steps: Ints, shares: Floats, moves: Floats, changes: Floats, prior: Floats, rates: Floats,
    moved: Floats, moved_others: Floats, reached: Ints, order: Ints, jumped: Floats,
) -> int:  # fmt: skip
    leave, carried, enter, piece, settle = rates[0], rates[1], rates[2], rates[3], rates[4]
    stop, go, odd, odd_off, odd_ends, astray = (
        rates[5], rates[6], rates[7], rates[8], rates[9], rates[10],
    )  # fmt: skip
    places, _, paces = cells.shape
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
            for m in range(4):
                for r in range(paces):
                    moved[target, m, r] += cells[i, m, r] * moves[step, r] * share
            for m in range(2):
                for r in range(2):
                    moved_others[target, m, r] += others[i, m, r] * moves[step, paces + r] * share
    on, off, odd_on, gone = 0.0, 0.0, 0.0, 0.0
    for a in range(found):
        i = order[a]
        for r in range(paces):
            on += moved[i, 0, r]
            off += moved[i, 2, r] + moved[i, 3, r]
        odd_on += moved_others[i, 0, 1]
        gone += moved_others[i, 1, 1]
    put = (carried * (on + odd_on) + enter * gone) / places
    apart = (piece * off + 0.5 * odd_ends * gone) / places
    jumped[0], jumped[1] = put, apart
    for a in range(found):
        i = order[a]
        on, new, off, off_new = 0.0, 0.0, 0.0, 0.0
        for r in range(paces):
            on += moved[i, 0, r]
            new += moved[i, 1, r]
            off += moved[i, 2, r]
            off_new += moved[i, 3, r]
        rest, odd_on = moved_others[i, 0, 0], moved_others[i, 0, 1]
        rest_off, gone = moved_others[i, 1, 0], moved_others[i, 1, 1]
        start = put + 0.5 * (go * rest + odd_ends * odd_on)
        start_off = 0.5 * apart + 0.5 * go * rest_off
        for r in range(paces):
            kept, kept_new, kept_off, kept_off_new = 0.0, 0.0, 0.0, 0.0
            for q in range(max(r - 1, 0), min(r + 2, paces)):
                kept += moved[i, 0, q] * changes[q, r]
                kept_new += moved[i, 1, q] * changes[q, r]
                kept_off += moved[i, 2, q] * changes[q, r]
                kept_off_new += moved[i, 3, q] * changes[q, r]
            cells[i, 0, r] = (
                (1.0 - leave - carried - stop - odd) * kept + settle * kept_new + enter * kept_off
            )
            cells[i, 1, r] = (
                (1.0 - settle - stop - odd) * kept_new + enter * kept_off_new + prior[r] * start
            )
            cells[i, 2, r] = (
                (1.0 - enter - piece - stop - odd_off) * kept_off
                + 0.5 * leave * kept
                + settle * kept_off_new
                + 0.5 * prior[r] * apart
            )
            cells[i, 3, r] = (
                1.0 - settle - enter - piece - stop - odd_off
            ) * kept_off_new + prior[r] * start_off
        others[i, 0, 0] = (1.0 - go) * rest + stop * (on + new) + 0.5 * odd_ends * odd_on
        others[i, 1, 0] = (1.0 - go) * rest_off + stop * (off + off_new) + 0.5 * odd_ends * gone
        others[i, 0, 1] = (
            (1.0 - odd_ends - astray - carried) * odd_on + odd * (on + new) + 0.5 * go * rest
        )
        others[i, 1, 1] = (
            (1.0 - odd_ends - enter) * gone
            + odd_off * (off + off_new)
            + astray * odd_on
            + 0.5 * leave * on
            + 0.5 * go * rest_off
        )
        if on + new + off + off_new > PACED:
            reached[i] = PLAINLY
    return found


def _predict_arrays(
    cells: Floats, others: Floats, active: Ints, count: int, begins: Ints, targets: Ints,
    steps: Ints, shares: Floats, moves: Floats, changes: Floats, prior: Floats, rates: Floats,
    moved: Floats, moved_others: Floats, reached: Ints, order: Ints, jumped: Floats,
) -> int:  # fmt: skip
    leave, carried, enter, piece, settle, stop, go, odd, odd_off, odd_ends, astray = rates
    places, _, paces = cells.shape
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
    on, new, off, off_new = moved[here].sum(axis=2).T
    (rest, odd_on), (rest_off, gone) = moved_others[here].transpose(1, 2, 0)
    put = (carried * (on.sum() + odd_on.sum()) + enter * gone.sum()) / places
    apart = (piece * (off.sum() + off_new.sum()) + 0.5 * odd_ends * gone.sum()) / places
    jumped[:] = put, apart
    start = put + 0.5 * (go * rest + odd_ends * odd_on)
    start_off = 0.5 * apart + 0.5 * go * rest_off
    kept, kept_new, kept_off, kept_off_new = (moved[here] @ changes).transpose(1, 0, 2)
    cells[here, 0] = (1.0 - leave - carried - stop - odd) * kept
    cells[here, 0] += settle * kept_new + enter * kept_off
    cells[here, 1] = (1.0 - settle - stop - odd) * kept_new + enter * kept_off_new
    cells[here, 1] += start[:, None] * prior
    cells[here, 2] = (1.0 - enter - piece - stop - odd_off) * kept_off + 0.5 * leave * kept
    cells[here, 2] += settle * kept_off_new + 0.5 * apart * prior
    cells[here, 3] = (1.0 - settle - enter - piece - stop - odd_off) * kept_off_new
    cells[here, 3] += start_off[:, None] * prior
    others[here, 0, 0] = (1.0 - go) * rest + stop * (on + new) + 0.5 * odd_ends * odd_on
    others[here, 1, 0] = (1.0 - go) * rest_off + stop * (off + off_new) + 0.5 * odd_ends * gone
    others[here, 0, 1] = (1.0 - odd_ends - astray - carried) * odd_on + odd * (on + new)
    others[here, 0, 1] += 0.5 * go * rest
    others[here, 1, 1] = (1.0 - odd_ends - enter) * gone + odd_off * (off + off_new)
    others[here, 1, 1] += astray * odd_on + 0.5 * leave * on + 0.5 * go * rest_off
    reached[here[on + new + off + off_new > PACED]] = PLAINLY
    return len(here)


predict = _predict_loops if HAVE_NUMBA else _predict_arrays
"""
Move every probability along the map, each at its pace, and go over between hypotheses.

Parameters
----------
cells : (P, 4, r), others : (P, 2, 2)
    See ``RouteBelief``; filled at the places that are reached.
active : (P,) int64, count
    The first ``count`` are the places that have any probability.
begins : (P + 1,) int64, targets, steps : (L,) int64, shares : (L,)
    Of place i the ways ``begins[i]`` to ``begins[i + 1]``: where each leads in how many steps,
    and which share of the drives went there.
moves : (M + 1, r + 2)
    Chances to move by 0 to M steps in a tick: at each pace, standing, and unlike in training.
changes : (r, r), prior : (r,)
    Chances to go over to the next slower or faster pace, and paces of who starts to drive.
rates : (11,)
    From ``Rates.as_array``.
moved : (P, 4, r), moved_others : (P, 2, 2)
    Room for what has moved and has not gone over yet.
reached, order : (P,) int64
    Filled with how places are reached (not at all, faintly or plainly), and with those that are.
jumped : (2,)
    Filled with what jumps to each place, on the route and off it; places that are not reached
    are not filled with it.

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
    places, _, paces = cells.shape
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
        for m in range(2):
            for k in range(2):
                others[i, m, k] *= factors[k]
                evidence += others[i, m, k]
    jump = jumped[0] + jumped[1]
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
            for m in range(4):
                for r in range(paces):
                    cells[i, m, r] *= inverse
                    total += cells[i, m, r]
            for m in range(2):
                for k in range(2):
                    others[i, m, k] *= inverse
                    total += others[i, m, k]
            if not total > least:
                cells[i] = 0.0
                others[i] = 0.0
                continue
        else:
            mass = logs[i, 0, 0] * inverse
            if not mass > least:
                continue
            for r in range(paces):
                cells[i, 1, r] = mass * jumped[0] / jump * prior[r]
                cells[i, 3, r] = mass * jumped[1] / jump * prior[r]
        active[kept] = i
        kept += 1
        for r in range(paces):
            totals[0, 0] += cells[i, 0, r] + cells[i, 1, r]
            totals[0, 1] += cells[i, 2, r] + cells[i, 3, r]
        for m in range(2):
            for k in range(2):
                totals[1 + k, m] += others[i, m, k]
    return evidence, kept


def _weigh_arrays(
    cells: Floats, others: Floats, order: Ints, reached: Ints, count: int, jumped: Floats,
    prior: Floats, logs: Floats, shift: float, factors: Floats, active: Ints, totals: Floats,
) -> tuple[float, int]:  # fmt: skip
    here = order[:count]
    likelihoods = np.exp(logs[here] - shift)
    cells[here] *= likelihoods[:, [0, 1, 0, 1]]
    others[here] *= factors
    jump = float(jumped.sum())
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
        cells[new, 1] = (masses[new] * jumped[0] / jump)[:, None] * prior
        cells[new, 3] = (masses[new] * jumped[1] / jump)[:, None] * prior
    whole = cells.sum(axis=(1, 2)) + others.sum(axis=(1, 2))
    gone = ~(whole > least)
    cells[gone] = 0.0
    others[gone] = 0.0
    reached[:] = 0
    kept = np.flatnonzero(~gone)
    active[: len(kept)] = kept
    totals[0] = cells[:, :2].sum(), cells[:, 2:].sum()
    totals[1:] = others.sum(axis=0).T
    return evidence, len(kept)


weigh = _weigh_loops if HAVE_NUMBA else _weigh_arrays
"""
Multiply every probability by its likelihood and normalise.

Parameters
----------
cells : (P, 4, r), others : (P, 2, 2)
    Changed in place.
order, reached, count, jumped, prior
    From and as ``predict``; ``reached`` is cleared.
logs : (P, 2, r), shift
    From ``fill_logs``, and what is taken from each of them.
factors : (2,)
    Likelihoods of standing and of what training never saw, at any place.
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
