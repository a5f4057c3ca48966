# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Every compiled function of the belief once more as NumPy, for machines without a compiler.

Documented where the compiled ones are: `steps` and `updating`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.readout import FLOOR
from two_manifold_ros.route.route import LIMITS, OFF, OFF_NEW, ON, ON_NEW, OWN_PACE, ROWS, STANDS

if TYPE_CHECKING:
    from two_manifold_ros.route.steps import (
        Cells,
        Changes,
        Dynamics,
        Found,
        Likelihood,
        Looks,
        Ways,
    )
    from two_manifold_ros.typing import Floats, Indices


def take_features(
    observation: Floats, gains: Floats, means: Floats, features: Floats, first: bool
) -> None:
    """Fill the features of an observation, then update the slow means."""
    if first:
        means[:] = observation
    features[: means.size] = means.ravel()
    features[means.size :] = observation
    means += gains[:, None] * (observation - means)


def whiten(root: Floats, features: Floats, whitened: Floats) -> None:
    """Fill whitened features."""
    whitened[:] = root @ features


def squared_distance(
    stack: tuple[Floats, ...], which: int, observation: Floats, features: Floats
) -> float:
    """Return the squared whitened distance to the centre of one density of a stack."""
    slopes, offsets, roots = (each[which] for each in stack[:3])
    whitened = np.tril(roots) @ (observation - offsets - slopes @ features)
    return float(whitened @ whitened)


def follow_offsets(
    observation: Floats, chances: Floats, paces: Floats, active: Indices, usual: Floats,
    slopes: Floats, numbers: Floats, shifts: Floats, expected: Floats, offsets: Floats,
    applied: Floats,
) -> None:  # fmt: skip
    """Update the offsets, see ``updating.follow_offsets_loops``."""
    gain, bound = numbers
    settled = np.where(chances[active, ON] > LIMITS.nothing, chances[active, ON], 0.0)
    total = float(settled.sum())
    change = -max(1.0 - total - float(chances[active, STANDS].sum()), 0.0) * offsets
    if total > LIMITS.nothing:
        paced = settled * np.clip(paces[active, ON] - 1.0, -bound, bound)
        expected[:] = settled @ usual[active] + paced @ slopes[active]
        apart = np.clip(observation - expected / total, -LIMITS.farthest_off, LIMITS.farthest_off)
        change += total * (apart - offsets)
    offsets += gain * change
    counts = (np.abs(offsets) > shifts) & (shifts > 0.0)
    ratios = np.divide(shifts, offsets, out=np.ones_like(offsets), where=counts)
    applied[:] = np.where(counts, (1.0 - np.square(ratios)) * offsets, 0.0)


def move(
    cells: Cells, found: Found, ways: Ways, tick_lengths: Floats, dynamics: Dynamics,
    moved: Floats, count: int,
) -> int:  # fmt: skip
    """Predict: move every probability along the map."""
    active, reached, order = found
    begins, targets, steps, shares, moves, variances, rates, pulls, fastest = ways
    each, kept, gained, own_gained, trust, usual_change, forward, resting = dynamics
    here = active[:count]
    chances, paces, spreads = (table[here] for table in cells)
    rate = rates[here, None]
    pull = forward - paces**2 * pulls[here, None] - np.maximum(1.0 - paces**2, 0.0) * resting
    change = pull * tick_lengths[here, None]
    usual = np.clip(change, -usual_change, usual_change)
    after = 1.0 + kept * (paces - 1.0) + trust * usual + (change - usual)
    after[:, OWN_PACE] = np.minimum(paces[:, OWN_PACE] + change[:, OWN_PACE], fastest[here])
    variance = kept**2 * spreads + gained
    variance[:, OWN_PACE] = spreads[:, OWN_PACE] + own_gained
    after = np.clip(after, 0.0, LIMITS.fastest)
    mean = 0.5 * rate * (paces + after)
    row = np.minimum(mean * each, len(moves) - 1 - 1e-9)
    low = row.astype(np.int64)
    high = row - low
    within = variances[low] * (1.0 - high) + variances[low + 1] * high
    within = np.maximum(within, LIMITS.least_step_variance)
    whole = rate**2 * variance + within
    gain, left = rate * variance / whole, variance * within / whole
    first, end = (begins[place].astype(np.int64) for place in (here, here + 1))
    counts = end - first
    # The ways that begin there, one place after another.
    leads = np.arange(counts.sum()) + np.repeat(first - (np.cumsum(counts) - counts), counts)
    sources = np.repeat(np.arange(count), counts)
    step = steps[leads, None]
    part = moves[low[sources], step] * (1.0 - high[sources])
    part += moves[low[sources] + 1, step] * high[sources]
    part *= shares[leads, None]
    part[part < LIMITS.least_move] = 0.0
    part[:, STANDS] = 0.0
    mass = np.where(chances < LIMITS.nothing, 0.0, chances)
    weights = mass[sources] * part
    come = after[sources] + gain[sources] * (step - mean[sources])
    into = targets[leads, None] * ROWS + np.arange(ROWS)
    for moment, value in enumerate((1.0, come, come**2 + left[sources])):
        summed = np.bincount(into.ravel(), (weights * value).ravel(), moved[:, :, 0].size)
        moved[:, :, moment] = summed.reshape(-1, ROWS)
    moved[here, STANDS, 0] += mass[:, STANDS]
    reached[targets[leads]] = True
    met = np.flatnonzero(reached)
    order[: len(met)] = met
    return len(met)


def switch(
    cells: Cells, order: Indices, moved: Floats, changes: Changes, sums: Floats, jumped: Floats,
    spread: float, halts: float, moving: float, elsewhere: float, count: int,
) -> float:  # fmt: skip
    """Predict: switch between hypotheses."""
    chances, paces, spreads = cells
    exchanges, jumps, stops = changes
    found = order[:count]
    mass = moved[found, :, 0]
    sums[:ROWS], sums[ROWS] = mass.sum(axis=0), elsewhere
    leaving = np.ones(ROWS + 1)
    leaving[ROWS] = moving
    jumped[:] = (sums * leaving) @ jumps / len(chances)
    leaving[ROWS], leaving[OWN_PACE] = 0.0, moving
    elsewhere *= 1.0 - moving * (1.0 - exchanges[ROWS, ROWS])
    elsewhere += float((sums * leaving) @ exchanges[:, ROWS])
    known = mass > 0.0
    pace = np.divide(moved[found, :, 1], mass, out=np.zeros_like(mass), where=known)
    pace = np.maximum(pace, 0.0)
    square = np.divide(moved[found, :, 2], mass, out=np.zeros_like(mass), where=known)
    variance = np.maximum(square - pace**2, LIMITS.least_variance)
    pace[:, STANDS] = variance[:, STANDS] = 0.0
    parts = _parts(pace[:, OWN_PACE], variance[:, OWN_PACE], spread, halts, moving, exchanges)
    for row, other, chances_to in ((ON, STANDS, 0), (ON_NEW, STANDS, 0), (STANDS, ON_NEW, 1)):
        parts[:, row, other] += stops[chances_to, found]
        parts[:, row, row] -= stops[chances_to, found]
    flows = mass[:, :, None] * parts
    first = flows * pace[:, :, None]
    second = flows * (pace**2 + variance)[:, :, None]
    second[:, STANDS] = flows[:, STANDS] * spread**2
    # Who drives on from a usual stop does so at the usual pace.
    first[:, STANDS, ON_NEW] = goes_on = mass[:, STANDS] * stops[1, found]
    second[:, STANDS, ON_NEW] += goes_on
    first[:, :, STANDS] = second[:, :, STANDS] = 0.0
    tables = [each.sum(axis=1) for each in (flows, first, second)]
    for row, come in ((ON_NEW, jumped[0]), (OFF, jumped[1]), (OFF_NEW, jumped[2])):
        for table, moment in zip(tables, (1.0, 1.0, 1.0 + spread**2), strict=True):
            table[:, row] += come * moment
    whole = tables[0]
    some = whole > 0.0
    means, squares = (
        np.divide(table, whole, out=np.zeros_like(whole), where=some) for table in tables[1:]
    )
    chances[found], paces[found] = whole, means
    spreads[found] = np.where(some, np.maximum(squares - means**2, LIMITS.least_variance), 0.0)
    return elsewhere


def _parts(
    pace: Floats, variance: Floats, spread: float, halts: float, moving: float, exchanges: Floats
) -> Floats:
    """Return the chances (n, 6, 6) of switching at a place, own paces (n,) being as they are."""
    parts = np.tile(exchanges[:ROWS, :ROWS], (len(pace), 1, 1))
    for row in (ON_NEW, STANDS):
        apart = np.maximum(np.abs(pace - 1.0) - 2.0 * spread, 0.0) if row == ON_NEW else pace
        likely = np.exp(-0.5 * apart**2 / (variance + spread**2))
        part = exchanges[OWN_PACE, row]
        if row == STANDS and part > 0.0:
            likely += (1.0 - likely) * min(halts / part, 1.0)
        parts[:, OWN_PACE, row] *= likely
        parts[:, OWN_PACE, OWN_PACE] += part * (1.0 - likely)
    parts[:, OWN_PACE, OWN_PACE] += exchanges[OWN_PACE, ROWS] * (1.0 - moving)
    return parts


def measure(
    cells: Cells, order: Indices, looks: Looks, whitened: Floats, newest: Floats,
    likelihood: Likelihood, logs: Floats, count: int,
) -> float:  # fmt: skip
    """Fill the tempered log-likelihoods and update the paces."""
    chances, paces, spreads = cells
    means, slopes, squares, new_means, new_slopes, new_squares, noise, levels, _, _ = looks
    tail, freedom, offset, sharpness, spread, stands, anything = likelihood
    here = order[:count]
    bound = LIMITS.usual_paces * spread
    scale = tail * noise[here]
    logs[:count, OWN_PACE], logs[:count, STANDS] = anything, stands
    largest = max(stands, anything)
    kinds = (
        (ON, whitened - means[here], slopes[here], squares[here], freedom, 0.0),
        (
            ON_NEW, newest - new_means[here], new_slopes[here], new_squares[here],
            float(len(newest)), offset,
        ),
    )  # fmt: skip
    for row, difference, slope, steepness, degrees, level in kinds:
        some = (chances[here, row] > 0.0) | (chances[here, row + OFF] > 0.0)
        square, product = (difference**2).sum(axis=1), (difference * slope).sum(axis=1)
        for h in (row, row + OFF):
            apart, variance = paces[here, h] - 1.0, spreads[here, h]
            inside = np.abs(apart) <= bound
            apart = np.clip(apart, -bound, bound)
            distance = square + apart * (apart * steepness - 2.0 * product)
            distance = np.minimum(np.maximum(distance, 0.0), LIMITS.farthest)
            weight = sharpness * (tail + degrees) / (scale + distance)
            rest = product - apart * steepness
            shrunk = 1.0 + weight * variance * steepness
            marginal = np.maximum(distance - rest**2 * weight * variance / shrunk, 0.0)
            value = degrees * levels[here] + level
            value -= 0.5 * (tail + degrees) * np.log(1.0 + marginal / scale)
            value *= sharpness
            logs[:count, h] = np.where(some, value, logs[:count, h])
            chances[here, h] /= np.where(some, np.sqrt(shrunk), 1.0)
            if some.any():
                largest = max(largest, float((value - 0.5 * np.log(shrunk))[some].max()))
            moved = some & inside & (distance < LIMITS.farthest)
            pace = paces[here, h] + variance / shrunk * weight * rest
            paces[here, h] = np.where(moved, np.clip(pace, 0.0, LIMITS.fastest), paces[here, h])
            spreads[here, h] = np.where(moved, variance / shrunk, variance)
    return float(largest)


def weigh(
    cells: Cells, found: Found, looks: Looks, newest: Floats, likelihood: Likelihood,
    logs: Floats, jumped: Floats, distances: Floats, totals: Floats, shift: float,
    elsewhere: float, count: int,
) -> tuple[float, int]:  # fmt: skip
    """Multiply every probability by its likelihood and normalise."""
    chances, paces, spreads = cells
    active, reached, order = found
    noise, heights, columns = looks[6], looks[8], looks[9]
    tail, _, offset, sharpness, spread, _, anything = likelihood
    power = 0.5 * (tail + len(newest)) * sharpness
    elsewhere *= math.exp(anything - shift)
    here = order[:count]
    some = chances[here] > 0.0
    chances[here] *= np.exp(np.where(some, logs[:count], shift) - shift)
    evidence = elsewhere + float(chances[here].sum())
    jump = float(jumped.sum())
    least = min(jump, LIMITS.faint)
    highest = math.inf
    if evidence > 0.0 and jump > 0.0:
        faintest = math.log(least * evidence / jump) + shift
        highest = math.exp(min((sharpness * offset - faintest) / power, 700.0))
    distances[:] = ((newest[:, None] - columns) ** 2).sum(axis=0)
    scaled = 1.0 + np.minimum(distances, LIMITS.farthest) / (tail * noise)
    new = np.flatnonzero(~reached & (scaled < highest * heights) & (jump > 0.0))
    restarted = math.exp(sharpness * offset - shift) * (heights[new] / scaled[new]) ** power
    for row, come in ((ON_NEW, jumped[0]), (OFF_NEW, jumped[1] + jumped[2])):
        chances[new, row], paces[new, row], spreads[new, row] = come * restarted, 1.0, spread**2
    evidence += jump * float(restarted.sum())
    if not evidence > 0.0:
        return 0.0, count
    here = np.concatenate([here, new])
    chances[here] /= evidence
    gone = here[~(chances[here].sum(axis=1) > least)]
    chances[gone] = 0.0
    reached[:] = False
    left = np.flatnonzero(chances.any(axis=1))
    active[: len(left)] = left
    totals[:ROWS], totals[ROWS] = chances[left].sum(axis=0), elsewhere / evidence
    return evidence, len(left)


def mean_state(chances: Floats, active: Indices, states: Floats, state: Floats) -> None:
    """Fill the mean state under a belief on the route."""
    weights = chances[active, :OFF].sum(axis=1)
    chosen = weights > LIMITS.least_share
    total = float(weights[chosen].sum())
    state[:] = weights[chosen] @ states[active[chosen]] / total if total > 0.0 else 0.0
    state[0] = 1.0


def sum_targets(
    cells: Cells, active: Indices, spread: float, targets: Floats, drifts: Floats,
    covariances: Floats, means: Floats, sums: Floats,
) -> None:  # fmt: skip
    """Fill means and covariances of what is ahead."""
    chances, paces, spreads = cells
    rows = chances[active, :OFF]
    weights = rows.sum(axis=1)
    chosen = (weights >= LIMITS.least_share * weights.max(initial=0.0)) & (weights > 0.0)
    here, rows, weights = active[chosen], rows[chosen], weights[chosen]
    pace = within = speed = speeds = np.zeros(len(targets))
    if len(here):
        rows = rows / weights[:, None]
        bound = LIMITS.usual_paces * spread
        apart = np.clip(paces[here, :OFF] - 1.0, -bound, bound)
        own = np.minimum(spreads[here, :OFF], bound**2)
        apart[:, STANDS] = own[:, STANDS] = 0.0
        shares = np.ones_like(rows)
        for row in (OWN_PACE, STANDS):
            shares[:, row] = paces[here, row]
        pace, speed = (rows * apart).sum(axis=1), (rows * shares).sum(axis=1)
        within = np.maximum((rows * (apart**2 + own)).sum(axis=1) - pace**2, 0.0)
        speeds = np.maximum((rows * shares**2).sum(axis=1) - speed**2, 0.0)
    else:
        here, weights, speed = np.arange(len(targets)), np.ones(len(targets)), pace + 1.0
    weights = weights / weights.sum()
    ahead = targets[here] + pace[:, None, None] * drifts[here]
    whole = covariances[here] + within[:, None, None, None] * _outer(drifts[here])
    whole[:, -1] += speeds[:, None, None] * _outer(ahead[:, -1])
    ahead[:, -1] *= speed[:, None]
    means[:] = np.einsum('i,ick->ck', weights, ahead)
    sums[:] = np.einsum('i,ickl->ckl', weights, whole + _outer(ahead)) - _outer(means)
    for k in range(2):
        sums[:, k, k] = np.maximum(sums[:, k, k], FLOOR)


def _outer(vectors: Floats) -> Floats:
    products: Floats = vectors[..., :, None] * vectors[..., None, :]
    return products
