# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What observations look like at no known place: standing, at a low pace, on any road."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros.acceleration import compiled, HAVE_NUMBA
from two_manifold_ros.route.route import Density
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from two_manifold_ros.route.passes import Passes
    from two_manifold_ros.route.route import Route
    from two_manifold_ros.typing import Bools


Stack: TypeAlias = tuple[Floats, Floats, Floats, Floats, Floats, Floats]
"""
Several densities of the same thing.

Slopes (n, d, m), offsets (n, d), roots (n, d, d), levels and tails (n,) as of ``Density``, and
room for differences (d,).
"""

Placeless: TypeAlias = tuple[Stack, Stack, Floats]
"""
All that is known of no place.

Densities of an observation: of a standing vehicle whatever its slow means and given them, of any
road, and of a low pace; densities of the slow means, standing and on any road; and chances (2,)
that drives of the training began rolling and standing.
"""

REST_ALONE, REST, OTHER, SLOW = range(4)
REST_MEANS, OTHER_MEANS = range(2)

MOST_APART = 100.0
"""Difference of two logarithms above which one of both is nothing, also as a power of e."""


def placeless_of(route: Route) -> Placeless:
    """Return what a route knows of no place."""
    hidden = route.means.shape[1] - route.channels
    return (
        _stack((route.rest_alone, route.rest, route.other, route.slow), hidden),
        _stack((route.rest_means, route.other_means), 0),
        route.beginnings.sum(axis=1),
    )


def _stack(densities: Sequence[Density], features: int) -> Stack:
    """Stack densities; one that does not look at the slow means has zero slopes."""
    channels = len(densities[0].offset)
    slopes = np.zeros((len(densities), channels, features))
    for each, density in zip(slopes, densities, strict=True):
        each[:, : density.slopes.shape[1]] = density.slopes
    return (
        slopes,
        np.array([each.offset for each in densities]),
        np.array([each.root for each in densities]),
        np.array([each.level for each in densities]),
        np.array([each.tail for each in densities]),
        np.zeros(channels),
    )


@compiled
def _squared_distance_loops(
    stack: Stack, which: int, observation: Floats, features: Floats
) -> float:
    slopes, offsets, roots, _, _, apart = stack
    square = 0.0
    for i in range(len(apart)):
        value = observation[i] - offsets[which, i]
        for k in range(len(features)):
            value -= slopes[which, i, k] * features[k]
        apart[i] = value
        whitened = 0.0
        for k in range(i + 1):
            whitened += roots[which, i, k] * apart[k]
        square += whitened * whitened
    return square


def _squared_distance_arrays(
    stack: Stack, which: int, observation: Floats, features: Floats
) -> float:
    slopes, offsets, roots = (each[which] for each in stack[:3])
    whitened = np.tril(roots) @ (observation - offsets - slopes @ features)
    return float(whitened @ whitened)


_squared_distance = _squared_distance_loops if HAVE_NUMBA else _squared_distance_arrays


@compiled
def log_density(stack: Stack, which: int, observation: Floats, features: Floats) -> float:
    """Return the logarithm of one density of a stack at an observation (d,) after others (m,)."""
    levels, tails = stack[3], stack[4]
    square = _squared_distance(stack, which, observation, features)
    freedom = tails[which] + len(observation)
    return float(levels[which] - 0.5 * freedom * math.log1p(square / tails[which]))


@compiled
def log_placeless(
    placeless: Placeless, observation: Floats, means: Floats, persistence: float, sharpness: float,
    first: bool,
) -> tuple[float, float, float, float]:  # fmt: skip
    """
    Return log-likelihoods of an observation at no known place.

    Parameters
    ----------
    placeless
        What is known of no place.
    observation : (d,), means : (m,)
        The observation after these slow means.
    persistence, sharpness
        See ``Route``.
    first
        Whether the slow means begin with this observation.

    Returns
    -------
    stands, anything
        Tempered: of a vehicle that stands; and of one that does anything, which is the largest
        of those of standing, of a low pace and of any road, at a start their mean.
    lasting
        Of the slow means of any road, weighed as what lasts.
    moves_by
        Logarithm by which moving is likelier than standing, which goes into the next prediction.

    """
    given, of_means, begins = placeless
    nothing = means[:0]
    lasting = persistence * log_density(of_means, OTHER_MEANS, means, nothing)
    stands = log_density(given, REST_ALONE, observation, means) + lasting
    # The first observation has no slow means: they begin with it.
    if not first:
        resting = persistence * log_density(of_means, REST_MEANS, means, nothing)
        stands = max(stands, log_density(given, REST, observation, means) + resting)
    slow = log_density(given, SLOW, observation, means) + lasting
    other = log_density(given, OTHER, observation, means) + lasting
    moves = max(slow, other)
    moves_by = moves - stands
    stands, moves = sharpness * stands, sharpness * moves
    anything = max(stands, moves)
    if first:
        # Wherever it is, it stands at a start as likely as drives of the training did.
        rolls = begins[0] * math.exp(moves - anything)
        anything += math.log(rolls + begins[1] * math.exp(stands - anything))
    return stands, anything, lasting, moves_by


TAIL = 5.0
"""
Degrees of freedom of the density of an observation.

With 30 the end of ipz10, where the car brakes hard, errs three times as much, others hardly.
"""

REST_PRIOR = 20.0
"""Ticks at rest that weigh as much as what is expected of a standing vehicle."""

REST_SPREAD, REST_CALM, REST_MEANS_CALM = 0.3, 0.5, 0.1
"""
What is expected: deviation of a standing vehicle from no motion, in standard deviations of the
channels, the same in an observation and its slow means; and the noise of its observations over
that at a place while driving, and of the slow means over that of the observations.
"""

OTHER_TAIL, OTHER_WIDTH = 2.0, 2.0
"""Degrees of freedom, and times the variance of training, of what was never seen."""

LOW_LOG_PACE = -0.6
"""Logarithm of the pace below which a visit tells what a vehicle sees at a low one: about half."""

MISTAKEN = 0.99
"""
Share of the driving of the training that looks no more like standing than `mistakable`.

Straights do, to a density that knows no place. Where it is not made allowance for, a vehicle that
accelerates on one is taken for standing: the starts of the simulated karts and cars err by up to
twice as much. With .995 f1tenth_ipz19 errs by .8 m where it stops (.7 m).
"""

MOST_LOOKS = 5000
"""Ticks of the training that are looked at for it."""

LEAST_VARIANCE = 1e-4
"""Of a density, in standard deviations squared, so that a channel that never moved has one."""


def learn_densities(passes: Passes, kept: Bools, whitening: Floats) -> dict[str, Density]:
    """
    Return the densities of a route that know no place, by the names of ``Route``.

    Their levels are relative to those of the places.

    Parameters
    ----------
    passes
        From `lay_out`.
    kept : (V,) bool
        Visits that count.
    whitening : (f, f)
        Of the features at the places.

    """
    hidden = whitening.shape[0] - passes.channels
    # Of the slow means, and of the observation given them.
    lasting, own = whitening[:hidden, :hidden], whitening[hidden:, hidden:]
    return _at_rest(passes, own, lasting) | _on_any_road(passes, kept, own, lasting)


def _at_rest(passes: Passes, own: Floats, lasting: Floats) -> dict[str, Density]:
    seen, channels, hidden = passes.rest, passes.channels, len(lasting)
    calm = np.linalg.inv(own.T @ own) * REST_CALM**2
    times = hidden // channels
    centre = np.tile(passes.at_rest, times + 1)
    noise = np.diag([*[REST_MEANS_CALM] * times, 1.0])
    spread = shared(np.full(channels, REST_SPREAD), times + 1) + np.kron(noise, calm)
    if len(seen):
        share = len(seen) / (len(seen) + REST_PRIOR)
        median = np.median(seen, axis=0)
        apart = seen - median
        centre = centre + share * (median - centre)
        spread = (1 - share) * spread + share * (apart.T @ apart / len(apart))
    spread += shared(passes.shifts, times + 1) + LEAST_VARIANCE * np.eye(len(spread))
    means, given = spread[:hidden, :hidden], spread[hidden:, :hidden]
    slopes = np.linalg.solve(means, given.T).T
    alone = spread[hidden:, hidden:]
    none, offset = np.zeros((channels, 0)), centre[hidden:]
    return {
        'rest': _density(
            slopes, offset - slopes @ centre[:hidden], alone - slopes @ given.T, own, TAIL
        ),
        'rest_alone': _density(none, offset, alone, own, TAIL),
        'rest_means': _density(np.zeros((hidden, 0)), centre[:hidden], means, lasting, TAIL),
    }


def _on_any_road(passes: Passes, kept: Bools, own: Floats, lasting: Floats) -> dict[str, Density]:
    seen, channels, hidden = passes.series, passes.channels, len(lasting)
    design = np.column_stack([seen[:, :hidden], np.ones(len(seen))])
    wanted = seen[:, hidden:]
    normal = design.T @ design + 1e-3 * len(design) * np.eye(hidden + 1)
    line = np.linalg.solve(normal, design.T @ wanted)
    apart = wanted - design @ line
    covariance = OTHER_WIDTH * apart.T @ apart / len(apart) + LEAST_VARIANCE * np.eye(channels)
    centre = np.median(seen[:, :hidden], axis=0)
    apart = seen[:, :hidden] - centre
    spread = OTHER_WIDTH * apart.T @ apart / len(apart) + LEAST_VARIANCE * np.eye(hidden)
    spread += shared(passes.shifts, hidden // channels)
    return {
        'other': _density(line[:-1].T, line[-1], covariance, own, OTHER_TAIL),
        'other_means': _density(np.zeros((hidden, 0)), centre, spread, lasting, OTHER_TAIL),
        'slow': _at_a_low_pace(passes, kept, line, covariance, own),
    }


def _at_a_low_pace(
    passes: Passes, kept: Bools, line: Floats, covariance: Floats, own: Floats
) -> Density:
    """Return the density of any road, drawn to what passes at a low pace saw."""
    seen = passes.features[kept & (passes.log_paces < LOW_LOG_PACE)]
    seen = seen[:, -passes.channels :]
    share = len(seen) / (len(seen) + REST_PRIOR)
    if len(seen):
        middle = np.median(seen, axis=0)
        apart = seen - middle
        line = (1.0 - share) * line
        line[-1] += share * middle
        covariance = (1.0 - share) * covariance + share * (apart.T @ apart / len(apart))
    covariance = covariance + np.diag(np.square(passes.shifts))
    return _density(line[:-1].T, line[-1], covariance, own, TAIL if len(seen) else OTHER_TAIL)


def mistakable(densities: Mapping[str, Density], passes: Passes, persistence: float) -> float:
    """
    Return by how much driving looks more like standing than like driving, now and then.

    Parameters
    ----------
    densities
        From `learn_densities`.
    passes
        From `lay_out`.
    persistence
        Weight of the slow means, see ``Route``.

    Returns
    -------
    float
        Difference of the logarithms, at least 0: `MISTAKEN` of the ticks that drive are below.

    """
    seen = passes.series[:: max(len(passes.series) // MOST_LOOKS, 1)]
    means, newest = seen[:, : -passes.channels], seen[:, -passes.channels :]
    nothing = means[:, :0]
    lasting = persistence * _logs(densities['other_means'], means, nothing)
    stands = np.maximum(
        _logs(densities['rest_alone'], newest, nothing) + lasting,
        _logs(densities['rest'], newest, means)
        + persistence * _logs(densities['rest_means'], means, nothing),
    )
    moves = np.maximum(
        _logs(densities['slow'], newest, means), _logs(densities['other'], newest, means)
    )
    return max(float(np.quantile(stands - moves - lasting, MISTAKEN)), 0.0)


def _logs(density: Density, observations: Floats, features: Floats) -> Floats:
    """Return the logarithms of a density at observations (n, d) after slow means (n, m)."""
    apart = observations - density.offset - features @ density.slopes.T
    squares = np.square(apart @ density.root.T).sum(axis=1)
    freedom = density.tail + len(density.offset)
    logs: Floats = density.level - 0.5 * freedom * np.log1p(squares / density.tail)
    return logs


def shared(shifts: Floats, times: int) -> Floats:
    """Return the covariance of features that a shift of each channel moves together."""
    return np.kron(np.ones((times, times)), np.diag(np.square(shifts)))


def _density(
    slopes: Floats, offset: Floats, covariance: Floats, own: Floats, tail: float
) -> Density:
    """Return a density whose level is relative to that of the places, of inverse root ``own``."""
    root = np.linalg.inv(np.linalg.cholesky(covariance))
    count = len(offset)
    level = float(np.log(np.diag(root)).sum() - np.log(np.diag(own)).sum())

    def constant(freedom: float) -> float:
        return (
            math.lgamma(0.5 * (freedom + count))
            - math.lgamma(0.5 * freedom)
            - 0.5 * count * math.log(freedom)
        )

    level += constant(tail) - constant(TAIL)
    return Density(np.ascontiguousarray(slopes), offset, root, level, tail)
