# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Predict and measurement update of the belief on a route, compiled.

At each place there are the rows of ``PLACED``: a probability each, and mean and variance of the
pace, given that row and place. So the pace is a Kalman filter in each cell of a grid filter over
places, and cells that meet are merged by their moments.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from two_manifold_ros.acceleration import compiled
from two_manifold_ros.route.route import PLACED

if TYPE_CHECKING:
    from two_manifold_ros.typing import Bools, Floats, Indices

FAINT = 1e-6
"""
Probability of a place below which it is dropped, at the most.

Twice a tenth of it changes no error; at ten times as much a moved vehicle is found on half of the
occasions only.
"""

NOTHING = 1e-12
"""Probability below which a row moves nowhere."""

LEAST_CHANCE = 1e-5
"""Of a move: what is less likely is left out."""

FARTHEST = 1e4
"""Squared whitened distance beyond which an observation fits no worse."""

FASTEST = 3.0
"""Largest pace."""

LEAST_VARIANCE, LEAST_STEP_VARIANCE = 1e-6, 1e-2
"""Of a pace, and of a move in places: both are divided by."""

USUAL_PACES = 3.0
"""Spreads of the usual paces within which what a place looks like is linear in the pace."""

FARTHEST_OFF = 1.0
"""
Standard deviations of a channel beyond which a difference counts no more.

Who brakes differs from what is usual for a second, and that is no offset. With 3 the vehicle that
stands for a minute in a test is told to be half a metre farther; with .5 half of the improvement
on the figure of eight is lost.
"""

ROWS = len(PLACED)
ON, ON_NEW, OWN_PACE, STANDS, OFF, OFF_NEW = range(ROWS)


@compiled
def move(
    chances: Floats, paces: Floats, spreads: Floats, active: Indices, count: int,
    begins: Indices, targets: Indices, steps: Indices, shares: Floats, moves: Floats,
    variances: Floats, rates: Floats, tick_lengths: Floats, pulls: Floats, fastest: Floats,
    motion: Floats, moved: Floats, reached: Bools, order: Indices,
) -> int:  # fmt: skip
    """
    Predict: move every probability along the map, each at its pace.

    Parameters
    ----------
    chances, paces, spreads : (P, 6)
        Of the rows at each place: probabilities, and mean and variance of the pace.
    active : (P,) uint32, count
        The first ``count`` are the places that have any probability.
    begins : (P + 1,) uint32, targets, steps : (L,) uint32, shares : (L,)
        Of place i the ways ``begins[i]`` to ``begins[i + 1]``: where each leads in how many steps,
        and which share of the drives went there.
    moves : (J, M + 1), variances : (J,)
        Chances to move by 0 to M places, each row farther in the mean, and their variances.
    rates, tick_lengths, pulls, fastest : (P,)
        See ``Route``.
    motion : (11,)
        Rows of ``moves`` to a place; forward acceleration now, and what the same sensor tells at
        rest, m/s^2; spread of the pace, what is kept of it, the variance that it gains while it is
        usual, and while it is its own; how much of a change that the acceleration tells is taken
        for one of a usual pace, and up to which change; chance that who is at a pace of
        its own stands, whatever that pace, for it looks so; and how likely the vehicle moves:
        who stands leaves no road.
    moved : (P, 6, 3)
        Filled at the places that are reached: probabilities, and with them as weights the sums of
        the paces and of their squares.
    reached : (P,) bool, order : (P,) uint32
        Filled with whether places are reached, and with those that are.

    Returns
    -------
    int
        How many places are reached.

    """
    each, forward, resting, _, kept, gained, own_gained = motion[:7]
    trust, usual_change = motion[7:9]
    found, last = 0, len(moves) - 1
    for a in range(count):
        i = active[a]
        for way in range(begins[i], begins[i + 1]):
            target = targets[way]
            if not reached[target]:
                reached[target] = True
                order[found] = target
                found += 1
                moved[target] = 0.0
        for h in range(ROWS):
            chance = chances[i, h]
            if chance < NOTHING:
                continue
            if h == STANDS:
                moved[i, h, 0] += chance
                continue
            pace, variance = paces[i, h], spreads[i, h]
            # Along a slope, or with a bias, the usual acceleration is as wrong as this one.
            pull = forward - pace * pace * pulls[i] - max(1.0 - pace * pace, 0.0) * resting
            change = pull * tick_lengths[i]
            if h == OWN_PACE:
                after = min(pace + change, fastest[i])
                variance += own_gained
            else:
                beyond = change - min(max(change, -usual_change), usual_change)
                after = 1.0 + kept * (pace - 1.0) + trust * (change - beyond) + beyond
                variance = kept * kept * variance + gained
            after = min(max(after, 0.0), FASTEST)
            mean = 0.5 * rates[i] * (pace + after)
            row = min(mean * each, last - 1e-9)
            low = int(row)
            high = row - low
            within = variances[low] * (1.0 - high) + variances[low + 1] * high
            within = max(within, LEAST_STEP_VARIANCE)
            # Who got farther was faster.
            whole = rates[i] * rates[i] * variance + within
            gain, left = rates[i] * variance / whole, variance * within / whole
            for way in range(begins[i], begins[i + 1]):
                step = steps[way]
                part = moves[low, step] * (1.0 - high) + moves[low + 1, step] * high
                part *= shares[way]
                if part < LEAST_CHANCE:
                    continue
                target = targets[way]
                here = after + gain * (step - mean)
                moved[target, h, 0] += chance * part
                moved[target, h, 1] += chance * part * here
                moved[target, h, 2] += chance * part * (here * here + left)
    return found


@compiled
def go_over(  # noqa: C901, PLR0912, PLR0915 - one loop for numba
    chances: Floats, paces: Floats, spreads: Floats, moved: Floats, order: Indices, count: int,
    motion: Floats, exchanges: Floats, jumps: Floats, stops: Floats, elsewhere: float,
    jumped: Floats, sums: Floats,
) -> float:  # fmt: skip
    """
    Predict: go over from one hypothesis to another.

    Parameters
    ----------
    chances, paces, spreads : (P, 6)
        Filled at the places that are reached, as for ``move``.
    moved, order, count, motion
        From and as for ``move``.
    exchanges : (7, 7), jumps : (7, 3), stops : (2, P)
        See ``Route``.
    elsewhere
        Probability of being at no place.
    jumped : (3,)
        Filled with what jumps to each of ``JUMPED`` at each place; places that are not reached are
        not filled with it.
    sums : (7,)
        Room for sums.

    Returns
    -------
    float
        Probability of being at no place.

    """
    spread, halts, moving = motion[3], motion[9], motion[10]
    sums[:] = 0.0
    for a in range(count):
        for h in range(ROWS):
            sums[h] += moved[order[a], h, 0]
    sums[ROWS] = elsewhere
    for t in range(len(jumped)):
        jumped[t] = 0.0
        for h in range(ROWS + 1):
            jumped[t] += sums[h] * jumps[h, t] * (moving if h == ROWS else 1.0) / len(chances)
    elsewhere *= 1.0 - moving * (1.0 - exchanges[ROWS, ROWS])
    for h in range(ROWS):
        elsewhere += sums[h] * exchanges[h, ROWS] * (moving if h == OWN_PACE else 1.0)
    usual = 1.0 + spread * spread
    for a in range(count):
        i = order[a]
        for h in range(ROWS):
            chances[i, h] = paces[i, h] = spreads[i, h] = 0.0
        for t, come in ((ON_NEW, jumped[0]), (OFF, jumped[1]), (OFF_NEW, jumped[2])):
            chances[i, t] = paces[i, t] = come
            spreads[i, t] = come * usual
        for h in range(ROWS):
            chance = moved[i, h, 0]
            if not chance > 0.0:
                continue
            pace, variance = 0.0, 0.0
            if h != STANDS:
                pace = max(moved[i, h, 1] / chance, 0.0)
                variance = max(moved[i, h, 2] / chance - pace * pace, LEAST_VARIANCE)
            left = exchanges[h, h]
            if h == OWN_PACE:
                left += exchanges[h, ROWS] * (1.0 - moving)
            elif h in (ON, ON_NEW):
                chances[i, STANDS] += chance * stops[0, i]
                left -= stops[0, i]
            elif h == STANDS:
                goes = chance * stops[1, i]
                chances[i, ON_NEW] += goes
                paces[i, ON_NEW] += goes
                spreads[i, ON_NEW] += goes * usual
                left -= stops[1, i]
            for t in range(ROWS):
                part = exchanges[h, t]
                if t == h or not part > 0.0:
                    continue
                if h == OWN_PACE and t in (ON_NEW, STANDS):
                    apart = pace if t == STANDS else max(abs(pace - 1.0) - 2.0 * spread, 0.0)
                    near = math.exp(-0.5 * apart * apart / (variance + spread * spread))
                    likely = near
                    if t == STANDS:
                        # However sure it is to move: the acceleration may have told wrongly.
                        likely = near + (1.0 - near) * min(halts / part, 1.0)
                    left += part * (1.0 - likely)
                    part *= likely
                chances[i, t] += chance * part
                if h == STANDS:
                    spreads[i, t] += chance * part * spread * spread
                elif t != STANDS:
                    paces[i, t] += chance * part * pace
                    spreads[i, t] += chance * part * (pace * pace + variance)
            chances[i, h] += chance * left
            paces[i, h] += chance * left * pace
            spreads[i, h] += chance * left * (pace * pace + variance)
        for h in range(ROWS):
            if chances[i, h] > 0.0:
                paces[i, h] /= chances[i, h]
                own = spreads[i, h] / chances[i, h] - paces[i, h] * paces[i, h]
                spreads[i, h] = max(own, LEAST_VARIANCE)
    return float(elsewhere)


@compiled
def measure(
    chances: Floats, paces: Floats, spreads: Floats, order: Indices, count: int, whitened: Floats,
    means: Floats, slopes: Floats, squares: Floats, newest: Floats, new_means: Floats,
    new_slopes: Floats, new_squares: Floats, noise: Floats, levels: Floats, numbers: Floats,
    logs: Floats,
) -> float:  # fmt: skip
    """
    Fill the tempered log-likelihoods of an observation at the places reached; update the paces.

    What a likelihood loses because the pace is not known is taken from the probability at once,
    for a root is cheaper than a logarithm.

    Student-t densities of the whitened difference to what is usual at the place and pace: of the
    observation given its slow means and, weighing less, of these, where the vehicle is settled;
    and of the observation alone where it is new. The pace is marginalised, and updated as by a
    Kalman filter whose noise is that of a Student-t density at this distance.

    Parameters
    ----------
    chances, paces, spreads : (P, 6)
        From ``go_over``; updated.
    order, count
        From ``move``.
    whitened : (f,), newest : (d,)
        Features of the tick, and the observation alone.
    means, slopes : (P, f), squares : (P,)
        Usual features, what they gain per unit of pace, and the squared norm of the latter.
    new_means, new_slopes : (P, d), new_squares : (P,)
        The same for the observation alone.
    noise, levels : (P,)
        Variance at each place over the usual one, and minus half its logarithm.
    numbers : (7,)
        Degrees of freedom of the densities; number of features that count of who is settled; what
        is added of who is new; exponent of the likelihood; spread of the pace; log-likelihoods of
        a vehicle that stands, and of one that does anything.
    logs : (P, 6)
        Filled, in the order of ``order``, with what is left to be multiplied.

    Returns
    -------
    float
        The largest of the whole log-likelihoods.

    """
    tail, freedom, offset, sharpness, spread, stands, anything = numbers
    channels, features = len(newest), len(whitened)
    bound = USUAL_PACES * spread
    largest = max(stands, anything)
    for a in range(count):
        i = order[a]
        logs[a, OWN_PACE], logs[a, STANDS] = anything, stands
        scale = tail * noise[i]
        inverse_scale = 1.0 / scale
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
                steepness, degrees, level = squares[i], freedom, 0.0
            for side in (ON, OFF):
                h = side + new
                apart, variance = paces[i, h] - 1.0, spreads[i, h]
                inside = abs(apart) <= bound
                apart = min(max(apart, -bound), bound)
                distance = square + apart * (apart * steepness - 2.0 * product)
                distance = min(max(distance, 0.0), FARTHEST)
                weight = sharpness * (tail + degrees) / (scale + distance)
                rest = product - apart * steepness
                shrunk = 1.0 + weight * variance * steepness
                left = variance / shrunk
                marginal = max(distance - rest * rest * weight * left, 0.0)
                value = degrees * levels[i] + level
                value -= 0.5 * (tail + degrees) * math.log(1.0 + marginal * inverse_scale)
                logs[a, h] = sharpness * value
                chances[i, h] /= math.sqrt(shrunk)
                if logs[a, h] > largest:
                    largest = max(largest, logs[a, h] - 0.5 * math.log(shrunk))
                if inside and distance < FARTHEST:
                    paces[i, h] = min(max(paces[i, h] + left * weight * rest, 0.0), FASTEST)
                    spreads[i, h] = left
    return float(largest)


@compiled
def weigh(  # noqa: C901, PLR0912 - one loop for numba
    chances: Floats, paces: Floats, spreads: Floats, order: Indices, reached: Bools, count: int,
    jumped: Floats, newest: Floats, columns: Floats, noise: Floats, heights: Floats,
    numbers: Floats, logs: Floats, shift: float, elsewhere: float, distances: Floats,
    active: Indices, totals: Floats,
) -> tuple[float, int]:  # fmt: skip
    """
    Multiply every probability by its likelihood and normalise.

    A place that was not reached is looked at only where what jumped there would not be dropped:
    its distance alone tells, no logarithm is needed.

    Parameters
    ----------
    chances, paces, spreads : (P, 6)
        Changed in place.
    order, reached, count, jumped
        From ``move`` and ``go_over``; ``reached`` is cleared.
    newest : (d,), columns : (d, P), noise : (P,)
        As in ``measure``, the usual observations the other way round.
    heights : (P,)
        Of the densities of who is new: one over the noise, to the power with which it enters.
    numbers : (7,)
        As in ``measure``.
    logs : (P, 6), shift
        From ``measure``, and what is taken from each of them.
    elsewhere
        Probability of being at no place.
    distances : (P,)
        Room.
    active : (P,) uint32
        Filled with the places that have more than ``FAINT``, or than what jumped there; all others
        are dropped.
    totals : (7,)
        Filled with the probabilities of ``HYPOTHESES``.

    Returns
    -------
    evidence : float
        Mean likelihood, the shift left out; 0 where nothing is left.
    count : int
        Of the active places.

    """
    tail, _, offset, sharpness, spread, _, anything = numbers
    channels, places = len(newest), len(chances)
    power = 0.5 * (tail + channels) * sharpness
    elsewhere *= math.exp(anything - shift)
    evidence = elsewhere
    for a in range(count):
        i = order[a]
        for h in range(ROWS):
            if chances[i, h] > 0.0:
                chances[i, h] *= math.exp(logs[a, h] - shift)
                evidence += chances[i, h]
    jump = jumped[0] + jumped[1] + jumped[2]
    least = min(jump, FAINT)
    if evidence > 0.0 and jump > 0.0:
        faintest = math.log(least * evidence / jump) + shift
        highest = math.exp(min((sharpness * offset - faintest) / power, 700.0))
    else:
        faintest, highest = -1e300, math.inf
    distances[:] = 0.0
    for k in range(channels):
        value = newest[k]
        for i in range(places):
            difference = value - columns[k, i]
            distances[i] += difference * difference
    for i in range(places):
        if reached[i] or not jump > 0.0:
            continue
        scaled = 1.0 + min(distances[i], FARTHEST) / (tail * noise[i])
        if not scaled < highest * heights[i]:
            continue
        likelihood = math.exp(sharpness * offset - shift) * (heights[i] / scaled) ** power
        for t, come in ((ON_NEW, jumped[0]), (OFF_NEW, jumped[1] + jumped[2])):
            chances[i, t] = come * likelihood
            paces[i, t] = 1.0
            spreads[i, t] = spread * spread
            evidence += chances[i, t]
        reached[i] = True
    if not evidence > 0.0:
        return 0.0, count
    totals[:] = 0.0
    totals[ROWS] = elsewhere / evidence
    kept = 0
    for i in range(places):
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
