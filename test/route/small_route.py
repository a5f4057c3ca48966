# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A route of a few places with a fork, every number of it drawn at random."""

from dataclasses import fields
from inspect import signature
from typing import Any, get_type_hints

import numpy as np
import pytest

from two_manifold_ros.route import belief, steps
from two_manifold_ros.route.route import Density, HYPOTHESES, JUMPED, Route

PLACES, FORK, SHORTCUT = 9, 3, 7
CHANNELS, HORIZONS = 2, 2


def leads_to() -> np.ndarray:
    """Chances (P, P) of the next place: a circle, and from one place also farther on."""
    ways = np.roll(np.eye(PLACES), 1, axis=1)
    ways[FORK] *= 0.7
    ways[FORK, SHORTCUT] = 0.3
    return ways


def small_route(*, spread: float = 1.0, sharpness: float = 0.3, seed: int = 0) -> Route:
    """Return the route; with a small spread its places look alike."""
    rng = np.random.default_rng(seed)
    gains = np.array([0.4, 0.1])
    features = CHANNELS * (1 + len(gains))
    hidden = features - CHANNELS
    # Any table will do: the filter takes means and variances from it.
    moves = rng.random((12, 4)) + 0.1
    moves /= moves.sum(axis=1, keepdims=True)
    powers = np.array([np.linalg.matrix_power(leads_to(), step) for step in range(4)])
    places, steps, targets = np.nonzero(powers.transpose(1, 0, 2))

    def density(size: int, given: int, tail: float) -> Density:
        root = np.tril(rng.normal(size=(size, size)) * 0.2 + np.eye(size))
        slopes = 0.3 * rng.normal(size=(size, given))
        return Density(slopes, rng.normal(size=size), root, -0.5, tail)

    # Any hypothesis may go over to any other, on the spot and at any place.
    count = len(HYPOTHESES)
    width = count + len(JUMPED)
    together = 0.05 * rng.random((count, width)) + np.eye(count, width)
    # From elsewhere there is no place to stay at.
    together[-1, : count - 1] = 0.0
    together /= together.sum(axis=1, keepdims=True)
    columns = HORIZONS + 1
    roots = rng.normal(size=(PLACES, columns, 2, 2))
    states = rng.normal(size=(PLACES, 4))
    states[:, 0] = 1.0
    numbers = {
        'gains': gains,
        'whitening': np.tril(0.2 * rng.normal(size=(features, features)) + np.eye(features)),
        'means': spread * rng.normal(size=(PLACES, features)),
        'slopes': spread * rng.normal(size=(PLACES, features)),
        'new_whitening': np.tril(0.2 * rng.normal(size=(CHANNELS, CHANNELS)) + np.eye(CHANNELS)),
        'new_means': spread * rng.normal(size=(PLACES, CHANNELS)),
        'new_slopes': spread * rng.normal(size=(PLACES, CHANNELS)),
        'new_level': -0.3,
        'noise': 0.5 + rng.random(PLACES),
        'begins': np.searchsorted(places, np.arange(PLACES + 1)),
        'targets_of': targets,
        'steps_of': steps,
        'shares_of': powers[steps, places, targets],
        'moves': moves,
        'moves_a_row': 2.0,
        'ratio_spread': 0.1,
        'ratio_kept': 0.8,
        'ratio_noise': 0.002,
        'trust': 0.6,
        'usual_change': 0.1,
        'fastest': np.linspace(1.05, 1.3, PLACES),
        'halts': 0.01,
        'rolls': 0.1,
        'finds': 0.05,
        'mistakable': 2.0,
        'rates': 0.5 + rng.random(PLACES),
        'tick_lengths': 0.05 + 0.1 * rng.random(PLACES),
        'pulls': rng.normal(size=PLACES),
        'forward': rng.normal(size=CHANNELS),
        'forward_offset': 0.3,
        'sharpness': sharpness,
        'persistence': 0.4,
        'tail': 5.0,
        'rest': density(CHANNELS, hidden, 5.0),
        'rest_alone': density(CHANNELS, 0, 5.0),
        'rest_means': density(hidden, 0, 5.0),
        'other': density(CHANNELS, hidden, 2.0),
        'other_means': density(hidden, 0, 2.0),
        'slow': density(CHANNELS, hidden, 4.0),
        'exchanges': together[:, :count],
        'jumps': together[:, count:],
        'targets': rng.normal(size=(PLACES, columns, 2)),
        'drifts': rng.normal(size=(PLACES, columns, 2)),
        'covariances': roots @ roots.transpose(0, 1, 3, 2) + 0.1 * np.eye(2),
        'factors': np.array([1.0, 2.0, 3.0]),
        'states': states,
        'beginnings': np.array([0.7 * np.eye(PLACES)[2], 0.3 * np.eye(PLACES)[5]]),
        'shifts': np.zeros(CHANNELS),
        'exponents': np.arange(CHANNELS, 0.0, -1.0),
        'stops': 0.1 * rng.random((2, PLACES)) * (np.arange(PLACES) % 3 == 1),
    }
    return grouped(numbers)


def observations(ticks: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(ticks, CHANNELS))


def changed(route: Route, **numbers: object) -> Route:
    """Return a route with other numbers, of any group."""
    return grouped(numbers_of(route) | numbers)


def numbers_of(route: Route) -> dict[str, Any]:
    groups = [getattr(route, each.name) for each in fields(Route)]
    return {
        name: getattr(group, name)
        for group in groups
        for name in signature(type(group)).parameters
    }


def grouped(numbers: dict[str, Any]) -> Route:
    return Route(
        **{
            name: kind(**{each: numbers[each] for each in signature(kind).parameters})
            for name, kind in get_type_hints(Route).items()
        }
    )


def interpret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run what is compiled as its source says."""
    for home in (steps, belief):
        for name, found in list(vars(home).items()):
            monkeypatch.setattr(home, name, getattr(found, 'py_func', found))
