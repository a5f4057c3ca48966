# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Predict and measurement update of the belief on a route, compiled; nothing is allocated.

At each place there are the rows of ``PLACED``: a probability each, and mean and variance of the
speed ratio given that row and place. So the speed ratio is a Kalman filter in each cell of a grid
filter over places, and cells that meet are merged by their moments.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from two_manifold_ros.compilation import subroutine
from two_manifold_ros.route.route import (
    FREE,
    LIMITS,
    OFF,
    OFF_NEW,
    ON,
    ON_NEW,
    RouteGeometry,
    RouteMotion,
    RouteSwitching,
    ROWS,
    SLOW,
    STANDS,
)

if TYPE_CHECKING:
    from two_manifold_ros.route.arrays import Cells, Reach, Scratch, Usual
    from two_manifold_ros.typing import Bools, Floats, Indices


@subroutine
def _change(i: int, ratio: float, forward: float, resting: float, motion: RouteMotion) -> float:
    """Return by what the forward acceleration changes a speed ratio at a place in a tick."""
    square = ratio * ratio
    # Along a slope, or with a bias, the usual acceleration is as wrong as this one.
    pull = forward - square * motion.pulls[i] - max(1.0 - square, 0.0) * resting
    return float(pull * motion.tick_lengths[i])


@subroutine
def _next_ratio(
    h: int, ratio: float, variance: float, change: float, fastest: float, motion: RouteMotion,
    gained: float,
) -> tuple[float, float]:  # fmt: skip
    """Return mean and variance of a speed ratio after a tick, changed by the acceleration."""
    if h == FREE:
        after = min(ratio + change, fastest)
        variance += motion.ratio_noise
    else:
        kept, usual = motion.ratio_kept, motion.usual_change
        beyond = change - min(max(change, -usual), usual)
        follows = motion.trust * (change - beyond) + beyond
        if h == SLOW:
            after = ratio + follows
            variance += gained
        else:
            after = 1.0 + kept * (ratio - 1.0) + follows
            variance = kept * kept * variance + gained
    return min(max(after, 0.0), LIMITS.fastest), variance


@subroutine
def move(
    cells: Cells, reach: Reach, geometry: RouteGeometry, motion: RouteMotion, variances: Floats,
    moved: Floats, gained: float, forward: float, resting: float, count: int,
) -> int:  # fmt: skip
    """
    Predict: move every probability along the map, each at its speed ratio.

    Fills ``moved`` (P, 7, 3) at the places that are reached: probabilities, and weighted by them
    the sums of the speed ratios and of their squares. Returns how many places are reached.
    ``variances`` and ``gained`` as in `arrays.Known`; ``forward`` and ``resting`` are the forward
    acceleration now and what the sensor reads at rest, m/s^2.
    """
    chances, ratios, spreads = cells
    active, reached, order = reach
    begins, targets, steps, shares = geometry
    moves, rates, fastest = motion.moves, motion.rates, motion.fastest
    met, last = 0, len(moves) - 1
    for a in range(count):
        i = active[a]
        for way in range(begins[i], begins[i + 1]):
            target = targets[way]
            if not reached[target]:
                reached[target] = True
                order[met] = target
                met += 1
                moved[target] = 0.0
        for h in range(ROWS):
            chance = chances[i, h]
            if chance < LIMITS.nothing:
                continue
            if h == STANDS:
                moved[i, h, 0] += chance
                continue
            ratio = ratios[i, h]
            change = _change(i, ratio, forward, resting, motion)
            after, variance = _next_ratio(
                h, ratio, spreads[i, h], change, fastest[i], motion, gained
            )
            mean = 0.5 * rates[i] * (ratio + after)
            row = min(mean * motion.moves_a_row, last - 1e-9)
            low = int(row)
            high = row - low
            within = variances[low] * (1.0 - high) + variances[low + 1] * high
            within = max(within, LIMITS.least_step_variance)
            # A vehicle that got farther was faster.
            whole = rates[i] * rates[i] * variance + within
            gain, left = rates[i] * variance / whole, variance * within / whole
            for way in range(begins[i], begins[i + 1]):
                step = steps[way]
                part = moves[low, step] * (1.0 - high) + moves[low + 1, step] * high
                part *= shares[way]
                if part < LIMITS.least_move:
                    continue
                target = targets[way]
                here = after + gain * (step - mean)
                moved[target, h, 0] += chance * part
                moved[target, h, 1] += chance * part * here
                moved[target, h, 2] += chance * part * (here * here + left)
    return met


@subroutine
def _restart(
    scratch: Scratch, order: Indices, switching: RouteSwitching, moving: float, rolling: float,
    elsewhere: float, count: int,
) -> float:  # fmt: skip
    """Fill the probability that restarts at each place; return that of being at no place."""
    moved, sums, jumped = scratch.moved, scratch.sums, scratch.jumped
    exchanges, jumps = switching.exchanges, switching.jumps
    sums[:] = 0.0
    for a in range(count):
        for h in range(ROWS):
            sums[h] += moved[order[a], h, 0]
    sums[ROWS] = elsewhere
    for t in range(len(jumped)):
        jumped[t] = 0.0
        for h in range(ROWS + 1):
            part = rolling if h in (FREE, ROWS) else 1.0
            jumped[t] += part * sums[h] * jumps[h, t] / len(moved)
    elsewhere *= 1.0 - rolling * (1.0 - exchanges[ROWS, ROWS])
    for h in range(ROWS):
        elsewhere += sums[h] * exchanges[h, ROWS] * (moving if h in (SLOW, FREE) else 1.0)
    return elsewhere


@subroutine
def _above(least: float, mean: float, variance: float) -> tuple[float, float, float]:
    """Return the share of a normal density above a number, and mean and variance there."""
    spread = math.sqrt(variance)
    apart = (least - mean) / spread
    share = 0.5 * math.erfc(apart / math.sqrt(2.0))
    if share < LIMITS.nothing:
        return 0.0, least, 0.0
    hazard = math.exp(-0.5 * apart * apart) / math.sqrt(2.0 * math.pi) / share
    left = max(1.0 + apart * hazard - hazard * hazard, 0.0)
    return share, mean + spread * hazard, variance * left


@subroutine
def switch(  # noqa: C901, PLR0912, PLR0915 - split, it is compiled to other bits
    cells: Cells, order: Indices, scratch: Scratch, carry: Floats, switching: RouteSwitching,
    motion: RouteMotion, usual: Usual, forward: float, push: float, observed: bool,
    elsewhere: float, count: int,
) -> float:  # fmt: skip
    """
    Predict: switch between hypotheses; return the probability of being at no place.

    Fills the cells at the places reached, from what `move` moved there, and ``jumped`` (3,) with
    what restarts as each of ``JUMPED`` at each place; places that are not reached are left to
    `weigh`. ``push`` is the forward acceleration beyond that at rest, in spreads of what a
    standing vehicle reads: whoever accelerates by more pulls away, and does not stand.

    The ``carry`` (5,) of a belief: what the sensor reads at rest; probability that a vehicle in
    free motion stands because it looks so; that the vehicle moves, since a standing one leaves no
    road; that it may have its usual speed, since one that just stood is where it was; and a
    weight, 1 at first, that falls to 0 once in a memory the vehicle drove on the route as usual:
    until then what drives as on the route is rather on it than off it.
    """
    chances, ratios, spreads = cells
    moved, jumped = scratch.moved, scratch.jumped
    exchanges, jumps, stops = switching.exchanges, switching.jumps, switching.stops
    resting, halts, moving, rolling, unfound = carry
    # While nothing is observed, nothing says that a vehicle which stood still does.
    drives_on = moving if observed else 1.0
    spread = motion.ratio_spread
    elsewhere = _restart(scratch, order, switching, moving, rolling, elsewhere, count)
    fresh = 1.0 + spread * spread
    for a in range(count):
        i = order[a]
        for h in range(ROWS):
            chances[i, h] = ratios[i, h] = spreads[i, h] = 0.0
        for t, come in ((ON_NEW, jumped[0]), (OFF, jumped[1]), (OFF_NEW, jumped[2])):
            chances[i, t] = ratios[i, t] = come
            spreads[i, t] = come * fresh
        for h in range(ROWS):
            if not moved[i, h, 0] > 0.0:
                continue
            chance = moved[i, h, 0]
            ratio, variance = 0.0, 0.0
            if h != STANDS:
                ratio = max(moved[i, h, 1] / chance, 0.0)
                variance = max(moved[i, h, 2] / chance - ratio * ratio, LIMITS.least_variance)
            left = exchanges[h, h]
            if h in (SLOW, FREE):
                left += exchanges[h, ROWS] * (1.0 - moving)
            if h == FREE:
                left += jumps[h].sum() * (1.0 - rolling)
            if h == SLOW:
                # What is slower than any slow lap was another road all along. It goes as fast as
                # free motion at the usual speed does (`gather`), so that a lane is not followed.
                apart = max(LIMITS.slowest - ratio, 0.0)
                near = math.exp(-0.5 * apart * apart / (variance + spread * spread))
                gone = (1.0 - near) * exchanges[FREE, ON_NEW]
                elsewhere += chance * gone
                left -= gone
            elif h in (ON, ON_NEW):
                chances[i, STANDS] += chance * stops[0, i]
                left -= stops[0, i]
            elif h == STANDS:
                goes = drives_on * stops[1, i]
                chances[i, ON_NEW] += chance * goes
                ratios[i, ON_NEW] += chance * goes
                spreads[i, ON_NEW] += chance * goes * fresh
                left -= goes
            for t in range(ROWS):
                part = exchanges[h, t]
                if t == h or not part > 0.0:
                    continue
                if t == h - OFF:
                    found = unfound * max(switching.finds - part, 0.0)
                    left -= found
                    part += found
                if h == FREE and t == SLOW:
                    likely, own, rest = _above(usual.slow_from[i], ratio, variance)
                    apart = max(abs(ratio - 1.0) - 2.0 * spread, 0.0)
                    # What may be the usual speed is.
                    likely *= 1.0 - math.exp(-0.5 * apart * apart / (variance + spread * spread))
                    left += part * (1.0 - likely)
                    part *= likely
                    chances[i, t] += chance * part
                    ratios[i, t] += chance * part * own
                    spreads[i, t] += chance * part * (own * own + rest)
                    continue
                if (h == FREE and t in (ON_NEW, STANDS)) or (h == SLOW and t == ON_NEW):
                    apart = ratio if t == STANDS else max(abs(ratio - 1.0) - 2.0 * spread, 0.0)
                    near = math.exp(-0.5 * apart * apart / (variance + spread * spread))
                    likely = near
                    if h == FREE and t == ON_NEW:
                        change = _change(i, ratio, forward, resting, motion)
                        change /= max(motion.usual_change, LIMITS.least_change)
                        likely *= math.exp(-0.5 * change * change)
                    elif t == STANDS:
                        # Twice the probability that a standing vehicle reads as much or more.
                        along = push if motion.tick_lengths[i] >= 0.0 else -push
                        near *= min(math.erfc(along / math.sqrt(2.0)), 1.0)
                        # However sure it is to move: the acceleration may have been wrong.
                        likely = near + (1.0 - near) * min(halts / part, 1.0)
                    left += part * (1.0 - likely)
                    part *= likely
                chances[i, t] += chance * part
                # A standing vehicle that pulls away has a speed ratio of zero for certain.
                if STANDS not in (h, t):
                    ratios[i, t] += chance * part * ratio
                    spreads[i, t] += chance * part * (ratio * ratio + variance)
            chances[i, h] += chance * left
            ratios[i, h] += chance * left * ratio
            spreads[i, h] += chance * left * (ratio * ratio + variance)
        for h in range(ROWS):
            if chances[i, h] > 0.0:
                ratios[i, h] /= chances[i, h]
                own = spreads[i, h] / chances[i, h] - ratios[i, h] * ratios[i, h]
                spreads[i, h] = max(own, LIMITS.least_variance)
    return float(elsewhere)


@subroutine
def _measure_slow(
    cells: Cells, usual: Usual, newest: Floats, offset: float, i: int
) -> tuple[float, float]:
    """
    Update the cell of a slow lap at a place; return its log-likelihood, and the whole one.

    As in `measure` for a new vehicle, about a parabola in the speed ratio in place of a line.
    """
    chances, ratios, spreads = cells
    if not chances[i, SLOW] > 0.0:
        return 0.0, -math.inf
    channels, tail = len(newest), usual.tail
    scale = tail * usual.noise[i]
    ratio, variance = ratios[i, SLOW], spreads[i, SLOW]
    square, product, steepness = 0.0, 0.0, 0.0
    for k in range(channels):
        bend = usual.bends[i, k]
        first = usual.new_means[i, k] - usual.at_rest[k] - bend
        difference = newest[k] - usual.at_rest[k] - ratio * (first + ratio * bend)
        slope = first + 2.0 * ratio * bend
        square += difference * difference
        product += difference * slope
        steepness += slope * slope
    distance = min(square, LIMITS.farthest)
    weight = usual.sharpness * (tail + channels) / (scale + distance)
    shrunk = 1.0 + weight * variance * steepness
    left = variance / shrunk
    marginal = max(distance - product * product * weight * left, 0.0)
    value = channels * usual.levels[i] + offset
    value -= 0.5 * (tail + channels) * math.log(1.0 + marginal / scale)
    chances[i, SLOW] /= math.sqrt(shrunk)
    if distance < LIMITS.farthest:
        ratios[i, SLOW] = min(max(ratio + left * weight * product, 0.0), LIMITS.fastest)
        spreads[i, SLOW] = left
    log = usual.sharpness * value
    return log, log - 0.5 * math.log(shrunk)


@subroutine
def measure(
    cells: Cells, order: Indices, usual: Usual, whitened: Floats, newest: Floats, logs: Floats,
    offset: float, spread: float, stands: float, anything: float, count: int,
) -> float:  # fmt: skip
    """
    Fill tempered log-likelihoods (P, 7) at the places reached, and update the speed ratios there.

    Student-t densities of the whitened difference to what is usual at the place and speed ratio:
    of the observation given its slow means and, weighing less, of these (``whitened``, (f,)),
    where the vehicle is settled; and of the observation alone (``newest``, (d,)) where it is new.
    The speed ratio is marginalised, and updated as by a Kalman filter whose noise is that of a
    Student-t density at this distance. What a likelihood loses because the speed ratio is unknown
    is taken from the probability at once: a root costs less than a logarithm.

    ``logs`` are in the order of ``order``; ``offset`` is added to the log-likelihood of a new
    vehicle; ``stands`` and ``anything`` are tempered log-likelihoods of standing and of doing
    anything. Returns the largest of the whole log-likelihoods.
    """
    chances, ratios, spreads = cells
    means, slopes, squares = usual.means, usual.slopes, usual.squares
    new_means, new_slopes, new_squares = usual.new_means, usual.new_slopes, usual.new_squares
    tail, sharpness = usual.tail, usual.sharpness
    channels, features = len(newest), len(whitened)
    bound = LIMITS.usual_ratios * spread
    largest = max(stands, anything)
    for a in range(count):
        i = order[a]
        logs[a, FREE], logs[a, STANDS] = anything, stands
        scale = tail * usual.noise[i]
        inverse_scale = 1.0 / scale
        logs[a, SLOW], slow = _measure_slow(cells, usual, newest, offset, i)
        largest = max(largest, slow)
        for new in range(2):
            if not (chances[i, ON + new] > 0.0 or chances[i, OFF + new] > 0.0):
                continue
            square, product = 0.0, 0.0
            if new:
                for k in range(channels):
                    difference = newest[k] - new_means[i, k]
                    square += difference * difference
                    product += difference * new_slopes[i, k]
                steepness, degrees, level = new_squares[i], float(channels), offset
            else:
                for k in range(features):
                    difference = whitened[k] - means[i, k]
                    square += difference * difference
                    product += difference * slopes[i, k]
                steepness, degrees, level = squares[i], usual.freedom, 0.0
            for side in (ON, OFF):
                h = side + new
                apart, variance = ratios[i, h] - 1.0, spreads[i, h]
                inside = abs(apart) <= bound
                apart = min(max(apart, -bound), bound)
                distance = square + apart * (apart * steepness - 2.0 * product)
                distance = min(max(distance, 0.0), LIMITS.farthest)
                weight = sharpness * (tail + degrees) / (scale + distance)
                rest = product - apart * steepness
                shrunk = 1.0 + weight * variance * steepness
                left = variance / shrunk
                marginal = max(distance - rest * rest * weight * left, 0.0)
                value = degrees * usual.levels[i] + level
                value -= 0.5 * (tail + degrees) * math.log(1.0 + marginal * inverse_scale)
                logs[a, h] = sharpness * value
                chances[i, h] /= math.sqrt(shrunk)
                if logs[a, h] > largest:
                    largest = max(largest, logs[a, h] - 0.5 * math.log(shrunk))
                if inside and distance < LIMITS.farthest:
                    moved = ratios[i, h] + left * weight * rest
                    ratios[i, h] = min(max(moved, 0.0), LIMITS.fastest)
                    spreads[i, h] = left
    return float(largest)


@subroutine
def _weigh_unreached(
    cells: Cells, reached: Bools, usual: Usual, newest: Floats, scratch: Scratch, offset: float,
    spread: float, highest: float, shift: float, evidence: float,
) -> float:  # fmt: skip
    """Add probabilities that restart at places not reached, unless faint; return the evidence."""
    chances, ratios, spreads = cells
    jumped, distances = scratch.jumped, scratch.distances
    noise, heights, columns = usual.noise, usual.heights, usual.columns
    tail, sharpness = usual.tail, usual.sharpness
    channels, places = len(newest), len(chances)
    power = 0.5 * (tail + channels) * sharpness
    jump = jumped[0] + jumped[1] + jumped[2]
    distances[:] = 0.0
    for k in range(channels):
        value = newest[k]
        for i in range(places):
            difference = value - columns[k, i]
            distances[i] += difference * difference
    for i in range(places):
        if reached[i] or not jump > 0.0:
            continue
        scaled = 1.0 + min(distances[i], LIMITS.farthest) / (tail * noise[i])
        if not scaled < highest * heights[i]:
            continue
        restarted = math.exp(sharpness * offset - shift) * (heights[i] / scaled) ** power
        for t, come in ((ON_NEW, jumped[0]), (OFF_NEW, jumped[1] + jumped[2])):
            chances[i, t] = come * restarted
            ratios[i, t] = 1.0
            spreads[i, t] = spread * spread
            evidence += chances[i, t]
        reached[i] = True
    return evidence


@subroutine
def weigh(
    cells: Cells, reach: Reach, usual: Usual, newest: Floats, scratch: Scratch, totals: Floats,
    offset: float, spread: float, anything: float, shift: float, elsewhere: float, count: int,
) -> tuple[float, int]:  # fmt: skip
    """
    Multiply every probability by its likelihood and normalise.

    A place that was not reached is looked at only if what restarts there would not be dropped: its
    distance alone decides that. Active places become those that have more than ``LIMITS.faint``,
    or than what restarts there. ``elsewhere`` comes from `switch`, and the ``shift`` taken from
    each log-likelihood from `measure`; ``totals`` (8,) of ``HYPOTHESES`` are filled. Returns the
    mean likelihood, the shift left out, 0 if nothing is left; and the number of active places.
    """
    chances, logs, jumped = cells.chances, scratch.logs, scratch.jumped
    active, reached, order = reach
    sharpness = usual.sharpness
    power = 0.5 * (usual.tail + len(newest)) * sharpness
    elsewhere *= math.exp(anything - shift)
    evidence = elsewhere
    for a in range(count):
        i = order[a]
        for h in range(ROWS):
            if chances[i, h] > 0.0:
                chances[i, h] *= math.exp(logs[a, h] - shift)
                evidence += chances[i, h]
    jump = jumped[0] + jumped[1] + jumped[2]
    least = min(jump, LIMITS.faint)
    if evidence > 0.0 and jump > 0.0:
        faintest = math.log(least * evidence / jump) + shift
        highest = math.exp(min((sharpness * offset - faintest) / power, 700.0))
    else:
        faintest, highest = -1e300, math.inf
    evidence = _weigh_unreached(
        cells, reached, usual, newest, scratch, offset, spread, highest, shift, evidence
    )
    if not evidence > 0.0:
        return 0.0, count
    totals[ROWS] = elsewhere / evidence
    return evidence, _normalise(chances, reached, active, totals, evidence, least)


@subroutine
def _normalise(
    chances: Floats, reached: Bools, active: Indices, totals: Floats, evidence: float, least: float
) -> int:
    """Divide by the evidence, drop faint places and sum each row; return how many are left."""
    totals[:ROWS] = 0.0
    kept = 0
    for i in range(len(chances)):
        if not reached[i]:
            continue
        reached[i] = False
        total = 0.0
        for h in range(ROWS):
            chances[i, h] /= evidence
            total += chances[i, h]
        if not total > least:
            chances[i] = 0.0
            continue
        active[kept] = i
        kept += 1
        for h in range(ROWS):
            totals[h] += chances[i, h]
    return kept
