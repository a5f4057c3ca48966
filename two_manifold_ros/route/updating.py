# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Predict, update and read a belief on a route, each as one compiled function.

Called one by one from Python, the steps cost as much for their calls as for what they do.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from two_manifold_ros.compilation import compiled, shared, subroutine
from two_manifold_ros.route.arrays import (
    Buffers,
    Cells,
    Features,
    Known,
    Placeless,
    Prepared,
    Reach,
    Scratch,
    Usual,
)
from two_manifold_ros.route.route import (
    Density,
    FREE,
    LIMITS,
    OFF,
    ON,
    ON_NEW,
    RouteGeometry,
    RouteMotion,
    RouteSwitching,
    SLOW,
    STANDS,
)
from two_manifold_ros.route.steps import measure, move, switch, weigh

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Indices


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
    observation: Floats, chances: Floats, ratios: Floats, active: Indices, usual: Floats,
    slopes: Floats, numbers: Floats, shifts: Floats, expected: Floats, offsets: Floats,
    applied: Floats,
) -> None:  # fmt: skip
    """
    Update ``offsets`` (d,) with an observation of a settled vehicle, as it came.

    ``usual`` and ``slopes`` (P, d) are usual observations and what they gain per unit of speed
    ratio; ``numbers`` the share of a new residual in the mean, and the largest difference of a
    speed ratio from one. ``applied`` (d,) is filled with what to subtract from the next
    observation.
    """
    gain, bound = numbers
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


@subroutine
def _sum_all(targets: Floats, covariances: Floats, means: Floats, sums: Floats) -> float:
    """Sum over all places alike: certainly off the route, all that is known is the route."""
    for i in range(len(targets)):
        for c in range(targets.shape[1]):
            x, y = targets[i, c, 0], targets[i, c, 1]
            means[c, 0] += x
            means[c, 1] += y
            sums[c, 0, 0] += x * x + covariances[i, c, 0, 0]
            sums[c, 0, 1] += x * y + covariances[i, c, 0, 1]
            sums[c, 1, 1] += y * y + covariances[i, c, 1, 1]
    return float(len(targets))


@compiled
def sum_targets(  # noqa: C901 - split, it is compiled to other bits
    cells: Cells, active: Indices, spread: float, targets: Floats, drifts: Floats,
    covariances: Floats, least: Floats, means: Floats, sums: Floats,
) -> None:  # fmt: skip
    """
    Fill means (H + 1, 2) and covariances of positions ahead, and of the velocity, under a belief.

    Positions ahead are those of a usual speed. All places count alike if nothing is left of the
    route. No variance is below the ``least`` (H + 1,).
    """
    chances, ratios, spreads = cells
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
        total = _sum_all(targets, covariances, means, sums)
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
def log_placeless(
    placeless: Placeless, observation: Floats, means: Floats, persistence: float, sharpness: float,
    first: bool,
) -> tuple[float, float, float, float]:  # fmt: skip
    """
    Return log-likelihoods of an observation (d,) after slow means (m,) at no known place.

    Tempered: of a vehicle that stands; and of one that does anything, the largest of standing, a
    low speed and any road, at a start their mean. Then of the slow means on any road, times the
    persistence; and the log-likelihood ratio of moving over standing, for the next prediction.
    """
    rest, alone, rest_means, other, other_means, slow, starts, apart = placeless
    lasting = persistence * log_density(other_means, means, means, apart)
    stands = log_density(alone, observation, means, apart) + lasting
    # The first observation has no slow means: they start with it.
    if not first:
        resting = log_density(rest, observation, means, apart)
        stands = max(stands, resting + persistence * log_density(rest_means, means, means, apart))
    moves = log_density(slow, observation, means, apart)
    moves = max(moves, log_density(other, observation, means, apart)) + lasting
    moves_by = moves - stands
    stands, moves = sharpness * stands, sharpness * moves
    anything = max(stands, moves)
    if first:
        # Wherever it is, it stands at a start as likely as drives of the training did.
        rolls = starts[0] * math.exp(moves - anything)
        anything += math.log(rolls + starts[1] * math.exp(stands - anything))
    return stands, anything, lasting, moves_by


@subroutine
def see(
    observation: Floats, first: bool, likelihood: Prepared, cells: Cells, order: Indices,
    logs: Floats, spread: float, count: int,
) -> tuple[float, float, float, float]:  # fmt: skip
    """
    Fill log-likelihoods (P, 7) of an observation (d,) at places, see `measure`.

    Returns the log-likelihood of doing anything, what is added for a new vehicle, the
    log-likelihood ratio of moving over standing, and the largest of all log-likelihoods.
    """
    placeless, usual = Placeless(*likelihood[0]), Usual(*likelihood[1])
    stream = Features(*likelihood[2])
    take_features(observation, stream.gains, stream.means, stream.features, first)
    means = stream.features[: len(stream.features) - len(observation)]
    stands, anything, lasting, moves_by = log_placeless(
        placeless, observation, means, usual.persistence, usual.sharpness, first
    )
    offset = lasting + usual.new_level
    whiten(stream.whitening, stream.features, stream.whitened)
    whiten(stream.new_whitening, observation, stream.newest)
    shift = measure(
        cells, order, usual, stream.whitened, stream.newest, logs, offset, spread, stands,
        anything, count,
    )  # fmt: skip
    return anything, offset, moves_by, shift


@compiled
def step(
    observation: Floats, observed: bool, first: bool, buffers: Buffers, known: Known, count: int,
    elsewhere: float,
) -> tuple[float, int, float]:  # fmt: skip
    """
    Predict by a tick and, if it was ``observed``, update with its observation (d,).

    One function for both: compiled on its own, the prediction takes half a second more. ``first``
    is whether the observation is the first of a drive, ``count`` the number of active places.

    Returned are the mean likelihood over the largest of all, 0 if nothing is left, and the arrays
    are no belief any more, and of a tick that was not observed; the active places, or those that a
    prediction reaches; and the predicted probability of being elsewhere.
    """
    cells, reach, scratch = Cells(*buffers[0]), Reach(*buffers[1]), Scratch(*buffers[2])
    carry, totals, state = buffers[3:]
    usual, geometry = Usual(*known[0][1]), RouteGeometry(*known[1])
    motion, switching = RouteMotion(*known[2]), RouteSwitching(*known[3])
    variances, gained, states = known[4:]
    resting, _, _, rolling, unfound = carry
    forward, push = 0.0, 0.0
    if observed:
        forward = motion.forward_offset
        for k in range(len(observation)):
            forward += motion.forward[k] * observation[k]
        if not abs(forward) <= LIMITS.largest_pull:
            forward = resting
        push = (forward - resting) / usual.calm
    count = move(
        cells, reach, geometry, motion, variances, scratch.moved, gained, forward, resting, count
    )
    elsewhere = switch(
        cells, reach.order, scratch, carry, switching, motion, usual, forward, push, observed,
        elsewhere, count,
    )  # fmt: skip
    if not observed:
        return 0.0, count, elsewhere
    spread = motion.ratio_spread
    anything, offset, moves_by, shift = see(
        observation, first, known[0], cells, reach.order, scratch.logs, spread, count
    )
    likeliest = LIMITS.most_apart
    carry[1] = switching.halts / (1.0 + math.exp(min(moves_by + switching.mistakable, likeliest)))
    carry[2] = 1.0 / (1.0 + math.exp(min(-moves_by, likeliest)))
    carry[3] = min(carry[2], rolling + switching.rolls * (1.0 - rolling))
    evidence, count = weigh(
        cells, reach, usual, Features(*known[0][2]).newest, scratch, totals, offset, spread,
        anything, shift, elsewhere, count,
    )  # fmt: skip
    # As long as it stands, the sensor shows what it reads at rest on this day and slope.
    resting += totals[STANDS] * usual.persistence * (forward - resting)
    carry[0] = resting
    driving = min(totals[ON] + totals[ON_NEW], 1.0)
    carry[4] = unfound * (1.0 - driving) ** usual.persistence
    mean_state(cells.chances, reach.active[:count], states, state)
    return evidence, count, elsewhere
