# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Predict, update and read a belief on a route, compiled; nothing is allocated.

At each place there are the rows of ``PLACED``: a probability each, and mean and variance of the
speed ratio given that row and place. So the speed ratio is a Kalman filter in each cell of a grid
filter over places, and cells that meet are merged by their moments.

Python hands arrays over in plain tuples: named ones cost a third of a tick.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TYPE_CHECKING

from two_manifold_ros.compilation import compiled, shared, subroutine
from two_manifold_ros.route.route import (
    Density,
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
    from two_manifold_ros.typing import Bools, Floats, Indices


class Buffers(NamedTuple):
    """
    Arrays of a belief, all changed by a tick.

    Of each row at each place (P, 7): probability, and mean and variance of the speed ratio. The
    first ``count`` of ``active`` (P,) are the places with any probability, before a prediction and
    after an update; in between ``reached`` (P,) says which a prediction reaches, the first
    ``count`` of ``order`` (P,). Scratch are ``moved`` (P, 7, 3), ``logs`` (P, 7), ``distances``
    (P,), the restarts ``jumped`` (3,) and ``sums`` (8,).

    ``carry`` (5,) is for the next tick: the forward acceleration that the sensor reads at rest,
    m/s^2, the chances to halt, to move and to roll, and the weight ``unfound`` of `switch`.
    ``totals`` (8,) are the probabilities of ``HYPOTHESES``, ``state`` (k,) is the mean state.
    """

    chances: Floats
    ratios: Floats
    spreads: Floats
    active: Indices
    reached: Bools
    order: Indices
    moved: Floats
    logs: Floats
    distances: Floats
    jumped: Floats
    sums: Floats
    carry: Floats
    totals: Floats
    state: Floats


class Prepared(NamedTuple):
    """
    A `RouteLikelihood` laid out: what follows of its numbers, and the stream that it looks at.

    ``means`` and ``slopes`` (P, f) are weighted features at the usual speed and what they gain by
    the speed ratio, ``squares`` (P,) the squared norms of the slopes; ``new_...`` the same of the
    observation alone, and ``columns`` (d, P) its means transposed. ``levels`` are minus half the
    logarithm of the ``noise`` (P,); ``heights`` (P,) those of the densities of a new vehicle: one
    over the noise to the power with which it enters.

    On a slow lap ``bends`` (P, f) are half the second derivatives of the means by the speed
    ratio, and ``at_rest`` (f,) the weighted features of a standing vehicle. ``freedom`` is the
    number of features that count for a settled vehicle, ``calm`` the spread of the forward
    acceleration that a standing vehicle reads, m/s^2. ``starts`` (2,) are the chances that drives
    of the training started rolling and standing.

    Of the stream, ``gains`` (m,) are the shares of an observation in the ``slow_means`` (m, d);
    its ``features`` (f,) are ``whitened`` by ``whitening`` (f, f), and the observation alone, to
    ``newest`` (d,), by its own; ``apart`` (f,) is scratch.
    """

    rest: Density
    rest_alone: Density
    rest_means: Density
    other: Density
    other_means: Density
    slow: Density
    starts: Floats
    means: Floats
    slopes: Floats
    squares: Floats
    new_means: Floats
    new_slopes: Floats
    new_squares: Floats
    noise: Floats
    levels: Floats
    heights: Floats
    columns: Floats
    bends: Floats
    at_rest: Floats
    tail: float
    sharpness: float
    persistence: float
    new_level: float
    freedom: float
    calm: float
    gains: Floats
    slow_means: Floats
    features: Floats
    whitening: Floats
    whitened: Floats
    new_whitening: Floats
    newest: Floats
    apart: Floats


class Known(NamedTuple):
    """
    Groups of the ``Route``, the indices of the geometry unsigned, and what follows of them.

    ``variances`` (J,) are of the moves, ``gained`` what a tick adds to that of a speed ratio.
    """

    likelihood: Prepared
    geometry: RouteGeometry
    motion: RouteMotion
    switching: RouteSwitching
    variances: Floats
    gained: float
    states: Floats


class Nowhere(NamedTuple):
    """
    Log-likelihoods of an observation at no place, tempered but for the last two.

    Of a vehicle that ``stands``; of one that does ``anything``, the largest of standing, a low
    speed and any road, at a start their mean; ``offset`` is added to that of a new vehicle, and
    ``moves_by`` is the log-likelihood ratio of moving over standing.
    """

    stands: float
    anything: float
    offset: float
    moves_by: float


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
def move(buffers: Buffers, known: Known, forward: float, resting: float, count: int) -> int:
    """
    Predict: move every probability along the map, each at its speed ratio.

    Fills ``moved`` (P, 7, 3) at the places that are reached: probabilities, and weighted by them
    the sums of the speed ratios and of their squares. Returns how many places are reached.
    ``forward`` and ``resting`` are the forward acceleration now and at rest, m/s^2.
    """
    chances, ratios, spreads = buffers.chances, buffers.ratios, buffers.spreads
    active, reached, order = buffers.active, buffers.reached, buffers.order
    moved, motion = buffers.moved, known.motion
    begins, targets, steps, shares = known.geometry
    variances, gained = known.variances, known.gained
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
    buffers: Buffers, switching: RouteSwitching, moving: float, rolling: float, elsewhere: float,
    count: int,
) -> float:  # fmt: skip
    """Fill the probability that restarts at each place; return that of being at no place."""
    order, moved, sums, jumped = buffers.order, buffers.moved, buffers.sums, buffers.jumped
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
def switch(  # noqa: C901, PLR0912, PLR0915 - split, it is compiled to other bits
    buffers: Buffers, known: Known, forward: float, push: float, observed: bool, elsewhere: float,
    count: int,
) -> float:  # fmt: skip
    """
    Predict: switch between hypotheses; return the probability of being at no place.

    Fills the cells at the places reached, from what `move` moved there, and ``jumped`` (3,) with
    what restarts as each of ``JUMPED`` at each place. ``push`` is the forward acceleration beyond
    that at rest, in spreads of what a standing vehicle reads: whoever accelerates by more does not
    stand.

    The ``carry`` (5,) of a belief: what the sensor reads at rest; probability that a vehicle in
    free motion stands because it looks so; that the vehicle moves, since a standing one leaves no
    road; that it may have its usual speed, since one that just stood is where it was; and a
    weight, 1 at first, that falls to 0 once the vehicle drove on the route as usual: until then
    what drives as on the route is rather on it than off it.
    """
    chances, ratios, spreads = buffers.chances, buffers.ratios, buffers.spreads
    order, moved, jumped = buffers.order, buffers.moved, buffers.jumped
    motion, switching = known.motion, known.switching
    exchanges, jumps, stops = switching.exchanges, switching.jumps, switching.stops
    resting, halts, moving, rolling, unfound = buffers.carry
    # While nothing is observed, nothing says that a vehicle which stood still does.
    drives_on = moving if observed else 1.0
    spread = motion.ratio_spread
    elsewhere = _restart(buffers, switching, moving, rolling, elsewhere, count)
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
                if (h == FREE and t in (ON_NEW, SLOW, STANDS)) or (h == SLOW and t == ON_NEW):
                    apart = ratio if t == STANDS else max(abs(ratio - 1.0) - 2.0 * spread, 0.0)
                    if t == SLOW:
                        apart = max(LIMITS.slowest - ratio, 0.0)
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
def _measure_slow(buffers: Buffers, usual: Prepared, i: int) -> tuple[float, float]:
    """
    Update the cell of a slow lap at a place; return its log-likelihood, and the whole one.

    As in `measure` for a settled vehicle, about a parabola in the speed ratio in place of a line.
    """
    chances, ratios, spreads = buffers.chances, buffers.ratios, buffers.spreads
    whitened = usual.whitened
    if not chances[i, SLOW] > 0.0:
        return 0.0, -math.inf
    degrees, tail = usual.freedom, usual.tail
    scale = tail * usual.noise[i]
    ratio, variance = ratios[i, SLOW], spreads[i, SLOW]
    square, product, steepness = 0.0, 0.0, 0.0
    for k in range(len(whitened)):
        bend = usual.bends[i, k]
        first = usual.means[i, k] - usual.at_rest[k] - bend
        difference = whitened[k] - usual.at_rest[k] - ratio * (first + ratio * bend)
        slope = first + 2.0 * ratio * bend
        square += difference * difference
        product += difference * slope
        steepness += slope * slope
    distance = min(square, LIMITS.farthest)
    weight = usual.sharpness * (tail + degrees) / (scale + distance)
    shrunk = 1.0 + weight * variance * steepness
    left = variance / shrunk
    marginal = max(distance - product * product * weight * left, 0.0)
    value = degrees * usual.levels[i]
    value -= 0.5 * (tail + degrees) * math.log(1.0 + marginal / scale)
    chances[i, SLOW] /= math.sqrt(shrunk)
    if distance < LIMITS.farthest:
        ratios[i, SLOW] = min(max(ratio + left * weight * product, 0.0), LIMITS.fastest)
        spreads[i, SLOW] = left
    log = usual.sharpness * value
    return log, log - 0.5 * math.log(shrunk)


@subroutine
def measure(
    buffers: Buffers, order: Indices, usual: Prepared, nowhere: Nowhere, spread: float, count: int,
) -> float:  # fmt: skip
    """
    Fill tempered log-likelihoods (P, 7) at the places reached, and update the speed ratios there.

    Student-t densities of the whitened difference to what is usual at the place and speed ratio:
    of the observation given its slow means and, weighing less, of these where the vehicle is
    settled; and of the observation alone where it is new. The speed ratio is marginalised, and
    updated as by a Kalman filter whose noise is that of the density at this distance. What is lost
    because the speed ratio is unknown is taken from the probability at once: a root costs less
    than a logarithm. ``logs`` are in the order of ``order``. Returns the largest log-likelihood.
    """
    chances, ratios, spreads = buffers.chances, buffers.ratios, buffers.spreads
    logs, whitened, newest = buffers.logs, usual.whitened, usual.newest
    means, slopes, squares = usual.means, usual.slopes, usual.squares
    new_means, new_slopes, new_squares = usual.new_means, usual.new_slopes, usual.new_squares
    tail, sharpness, offset = usual.tail, usual.sharpness, nowhere.offset
    channels, features = len(newest), len(whitened)
    bound = LIMITS.usual_ratios * spread
    largest = max(nowhere.stands, nowhere.anything)
    for a in range(count):
        i = order[a]
        logs[a, FREE], logs[a, STANDS] = nowhere.anything, nowhere.stands
        scale = tail * usual.noise[i]
        inverse_scale = 1.0 / scale
        logs[a, SLOW], slow = _measure_slow(buffers, usual, i)
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
def weigh(  # noqa: C901, PLR0912 - split, it is compiled to other bits
    buffers: Buffers, usual: Prepared, nowhere: Nowhere, spread: float, shift: float,
    elsewhere: float, count: int,
) -> tuple[float, int]:  # fmt: skip
    """
    Multiply every probability by its likelihood and normalise.

    A place that was not reached is looked at only if what restarts there would not be dropped.
    Active places become those that have more than ``LIMITS.faint``, or than what restarts there.
    ``elsewhere`` comes from `switch`, and the ``shift`` taken from each log-likelihood from
    `measure`; ``totals`` (8,) of ``HYPOTHESES`` are filled. Returns the mean likelihood, the shift
    left out, 0 if nothing is left; and the number of active places.
    """
    chances, logs, jumped, totals = buffers.chances, buffers.logs, buffers.jumped, buffers.totals
    active, reached, order = buffers.active, buffers.reached, buffers.order
    offset, sharpness = nowhere.offset, usual.sharpness
    power = 0.5 * (usual.tail + len(usual.newest)) * sharpness
    elsewhere *= math.exp(nowhere.anything - shift)
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
    # What restarts at places that were not reached, unless it is faint.
    newest, distances = usual.newest, buffers.distances
    distances[:] = 0.0
    for k in range(len(newest)):
        value = newest[k]
        for i in range(len(chances)):
            difference = value - usual.columns[k, i]
            distances[i] += difference * difference
    for i in range(len(chances)):
        if reached[i] or not jump > 0.0:
            continue
        scaled = 1.0 + min(distances[i], LIMITS.farthest) / (usual.tail * usual.noise[i])
        if not scaled < highest * usual.heights[i]:
            continue
        restarted = math.exp(sharpness * offset - shift) * (usual.heights[i] / scaled) ** power
        for t, come in ((ON_NEW, jumped[0]), (OFF_NEW, jumped[1] + jumped[2])):
            chances[i, t] = come * restarted
            buffers.ratios[i, t] = 1.0
            buffers.spreads[i, t] = spread * spread
            evidence += chances[i, t]
        reached[i] = True
    if not evidence > 0.0:
        return 0.0, count
    totals[ROWS] = elsewhere / evidence
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
    return evidence, kept


@shared
def take_features(
    observation: Floats, gains: Floats, means: Floats, features: Floats, first: bool
) -> None:
    """
    Fill features (d (1 + m),) of an observation (d,), then update the slow means (m, d) with it.

    ``gains`` (m,) are its share in each mean. At the ``first`` one every mean starts there.
    """
    channels = len(observation)
    for m in range(len(gains)):
        for k in range(channels):
            mean = observation[k] if first else means[m, k]
            features[m * channels + k] = mean
            means[m, k] = mean + gains[m] * (observation[k] - mean)
    for k in range(channels):
        features[len(gains) * channels + k] = observation[k]


@subroutine
def whiten(root: Floats, features: Floats, whitened: Floats) -> None:
    """Fill the product (f,) of the inverse root (f, f) of a covariance and features (f,)."""
    for i in range(len(whitened)):
        value = 0.0
        for k in range(len(features)):
            value += root[i, k] * features[k]
        whitened[i] = value


@shared
def mean_state(chances: Floats, active: Indices, states: Floats, state: Floats) -> None:
    """Fill the mean (k,) of states (P, k), the constant first, over active places on the route."""
    state[:] = 0.0
    total = 0.0
    for i in active:
        weight = 0.0
        for h in range(OFF):
            weight += chances[i, h]
        if weight > LIMITS.least_share:
            total += weight
            for k in range(len(state)):
                state[k] += weight * states[i, k]
    for k in range(1, len(state)):
        state[k] = state[k] / total if total > 0.0 else 0.0
    state[0] = 1.0


@compiled
def follow_offsets(
    observation: Floats, chances: Floats, ratios: Floats, active: Indices, known: Any,  # noqa: ANN401
) -> None:  # fmt: skip
    """
    Update offsets of a sensor, see `SensorOffsets`, with an observation (d,) as it came.

    ``known`` are ``usual`` observations and what they gain by the speed ratio, ``slopes`` (P, d),
    the ``shifts`` (d,) of the `RouteLikelihood`, the share ``gain`` of a new residual in the mean,
    and the largest difference ``bound`` of a speed ratio from one; the ``offsets`` (d,), and what
    is ``applied`` of them, are filled; ``expected`` (d,) is scratch.
    """
    usual, slopes, shifts, gain, bound, expected, offsets, applied = known
    expected[:] = 0.0
    total, standing = 0.0, 0.0
    for i in active:
        chance = chances[i, ON]
        standing += chances[i, STANDS]
        if chance > LIMITS.nothing:
            total += chance
            ratio = min(max(ratios[i, ON] - 1.0, -bound), bound)
            for k in range(len(expected)):
                expected[k] += chance * (usual[i, k] + ratio * slopes[i, k])
    for k in range(len(expected)):
        # Off the route offsets fade as slowly as they were learned; standing keeps them.
        change = -max(1.0 - total - standing, 0.0) * offsets[k]
        if total > LIMITS.nothing:
            apart = observation[k] - expected[k] / total
            clipped = min(max(apart, -LIMITS.farthest_off), LIMITS.farthest_off)
            change += total * (clipped - offsets[k])
        offsets[k] += gain * change
        beyond = 0.0
        if abs(offsets[k]) > shifts[k] > 0.0:
            # Shrunk as by James and Stein: all of it where it is many times what is usual.
            beyond = 1.0 - (shifts[k] / offsets[k]) ** 2
        applied[k] = beyond * offsets[k]


@compiled
def sum_targets(  # noqa: C901, PLR0915 - split, it is compiled to other bits
    cells: Any, active: Indices, spread: float, readout: Any, means: Floats, sums: Floats,  # noqa: ANN401
) -> None:  # fmt: skip
    """
    Fill means (H + 1, 2) and covariances of positions ahead, and of the velocity, under a belief.

    Positions ahead are those of a usual speed. All places count alike if nothing is left of the
    route. ``cells`` are the first three of `Buffers`; ``readout`` are targets about their centre,
    drifts and covariances of `RouteReadout`, and ``least`` (H + 1,), which no variance is below.
    """
    chances, ratios, spreads = cells
    targets, drifts, covariances, least = readout
    count = targets.shape[1]
    bound = LIMITS.usual_ratios * spread
    means[:] = 0.0
    sums[:] = 0.0
    largest, total = 0.0, 0.0
    for i in active:
        weight = 0.0
        for h in range(OFF):
            weight += chances[i, h]
        largest = max(largest, weight)
    for i in active:
        weight, ratio, square, speed, speeds = 0.0, 0.0, 0.0, 0.0, 0.0
        for h in range(OFF):
            weight += chances[i, h]
        if weight < LIMITS.least_share * largest or not weight > 0.0:
            continue
        for h in range(OFF):
            lowest = -1.0 if h == SLOW else -bound
            here = 0.0 if h == STANDS else min(max(ratios[i, h] - 1.0, lowest), bound)
            own = 0.0 if h == STANDS else min(spreads[i, h], bound * bound)
            ratio += chances[i, h] * here
            square += chances[i, h] * (here * here + own)
            # A vehicle on a slow lap, in free motion or standing is as fast as that.
            share = ratios[i, h] if h in (SLOW, FREE, STANDS) else 1.0
            speed += chances[i, h] * share
            speeds += chances[i, h] * share * share
        ratio /= weight
        speed /= weight
        within = max(square / weight - ratio * ratio, 0.0)
        speeds = max(speeds / weight - speed * speed, 0.0)
        total += weight
        for c in range(count):
            dx, dy = drifts[i, c, 0], drifts[i, c, 1]
            x, y = targets[i, c, 0] + ratio * dx, targets[i, c, 1] + ratio * dy
            a, b, d = covariances[i, c, 0, 0], covariances[i, c, 0, 1], covariances[i, c, 1, 1]
            if c == count - 1:
                a, b, d = a + speeds * x * x, b + speeds * x * y, d + speeds * y * y
                x, y = speed * x, speed * y
            means[c, 0] += weight * x
            means[c, 1] += weight * y
            sums[c, 0, 0] += weight * (x * x + within * dx * dx + a)
            sums[c, 0, 1] += weight * (x * y + within * dx * dy + b)
            sums[c, 1, 1] += weight * (y * y + within * dy * dy + d)
    if not total > 0.0:
        # Certainly off the route, all that is known is the route.
        total = float(len(targets))
        for i in range(len(targets)):
            for c in range(count):
                x, y = targets[i, c, 0], targets[i, c, 1]
                means[c, 0] += x
                means[c, 1] += y
                sums[c, 0, 0] += x * x + covariances[i, c, 0, 0]
                sums[c, 0, 1] += x * y + covariances[i, c, 0, 1]
                sums[c, 1, 1] += y * y + covariances[i, c, 1, 1]
    for c in range(count):
        x, y = means[c, 0] / total, means[c, 1] / total
        means[c, 0] = x
        means[c, 1] = y
        sums[c, 0, 0] = max(sums[c, 0, 0] / total - x * x, least[c])
        sums[c, 1, 1] = max(sums[c, 1, 1] / total - y * y, least[c])
        sums[c, 0, 1] = sums[c, 0, 1] / total - x * y
        sums[c, 1, 0] = sums[c, 0, 1]


@subroutine
def log_density(density: Density, observation: Floats, features: Floats, apart: Floats) -> float:
    """Return the log-density at an observation (d,) after slow means; ``apart`` is scratch."""
    slopes, offset, root, level, tail = density
    square = 0.0
    for i in range(len(observation)):
        value = observation[i] - offset[i]
        for k in range(slopes.shape[1]):
            value -= slopes[i, k] * features[k]
        apart[i] = value
        whitened = 0.0
        for k in range(i + 1):
            whitened += root[i, k] * apart[k]
        square += whitened * whitened
    return float(level - 0.5 * (tail + len(observation)) * math.log1p(square / tail))


@subroutine
def see(
    observation: Floats, first: bool, likelihood: Prepared, buffers: Buffers, order: Indices,
    spread: float, count: int,
) -> tuple[Nowhere, float]:  # fmt: skip
    """
    Fill log-likelihoods (P, 7) of an observation (d,) at places, see `measure`.

    Returns those at no known place, and the largest of all.
    """
    features, apart = likelihood.features, likelihood.apart
    take_features(observation, likelihood.gains, likelihood.slow_means, features, first)
    means = features[: len(features) - len(observation)]
    persistence, sharpness = likelihood.persistence, likelihood.sharpness
    lasting = persistence * log_density(likelihood.other_means, means, means, apart)
    stands = log_density(likelihood.rest_alone, observation, means, apart) + lasting
    # The first observation has no slow means: they start with it.
    if not first:
        settled = persistence * log_density(likelihood.rest_means, means, means, apart)
        stands = max(stands, log_density(likelihood.rest, observation, means, apart) + settled)
    moves = log_density(likelihood.slow, observation, means, apart)
    moves = max(moves, log_density(likelihood.other, observation, means, apart)) + lasting
    moves_by = moves - stands
    stands, moves = sharpness * stands, sharpness * moves
    anything = max(stands, moves)
    if first:
        # Wherever it is, it stands at a start as likely as drives of the training did.
        rolls = likelihood.starts[0] * math.exp(moves - anything)
        anything += math.log(rolls + likelihood.starts[1] * math.exp(stands - anything))
    nowhere = Nowhere(stands, anything, lasting + likelihood.new_level, moves_by)
    whiten(likelihood.whitening, features, likelihood.whitened)
    whiten(likelihood.new_whitening, observation, likelihood.newest)
    return nowhere, measure(buffers, order, likelihood, nowhere, spread, count)


@compiled
def step(
    observation: Floats, observed: bool, first: bool, arrays: Buffers, route: Known, count: int,
    elsewhere: float,
) -> tuple[float, int, float]:  # fmt: skip
    """
    Predict by a tick and, if it was ``observed``, update with its observation (d,).

    ``first`` is whether the observation is the first of a drive, ``count`` the number of active
    places; `Buffers` and `Known` are plain tuples. Returned are the mean likelihood over the
    largest of all, 0 if nothing is left, and the arrays are no belief any more, and of a tick that
    was not observed; the active places, or those that a prediction reaches; and the predicted
    probability of being elsewhere.
    """
    buffers, likelihood = Buffers(*arrays), Prepared(*route[0])
    carry, totals = buffers.carry, buffers.totals
    motion, switching = RouteMotion(*route[2]), RouteSwitching(*route[3])
    variances, gained, states = route[4:]
    known = Known(
        likelihood, RouteGeometry(*route[1]), motion, switching, variances, gained, states
    )
    resting, _, _, rolling, unfound = carry
    forward, push = 0.0, 0.0
    if observed:
        forward = motion.forward_offset
        for k in range(len(observation)):
            forward += motion.forward[k] * observation[k]
        if not abs(forward) <= LIMITS.largest_pull:
            forward = resting
        push = (forward - resting) / likelihood.calm
    count = move(buffers, known, forward, resting, count)
    elsewhere = switch(buffers, known, forward, push, observed, elsewhere, count)
    if not observed:
        return 0.0, count, elsewhere
    spread = motion.ratio_spread
    nowhere, shift = see(observation, first, likelihood, buffers, buffers.order, spread, count)
    moves_by, likeliest = nowhere.moves_by, LIMITS.most_apart
    carry[1] = switching.halts / (1.0 + math.exp(min(moves_by + switching.mistakable, likeliest)))
    carry[2] = 1.0 / (1.0 + math.exp(min(-moves_by, likeliest)))
    carry[3] = min(carry[2], rolling + switching.rolls * (1.0 - rolling))
    evidence, count = weigh(buffers, likelihood, nowhere, spread, shift, elsewhere, count)
    # As long as it stands, the sensor shows what it reads at rest on this day and slope.
    resting += totals[STANDS] * likelihood.persistence * (forward - resting)
    carry[0] = resting
    driving = min(totals[ON] + totals[ON_NEW], 1.0)
    carry[4] = unfound * (1.0 - driving) ** likelihood.persistence
    mean_state(buffers.chances, buffers.active[:count], states, buffers.state)
    return evidence, count, elsewhere
