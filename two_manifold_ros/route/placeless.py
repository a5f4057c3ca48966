# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How likely an observation is at no known place: of a vehicle that stands, or does anything."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros.acceleration import compiled, HAVE_NUMBA
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.route.route import Density, Route

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
