# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A network of a few places with a fork, every number of it drawn at random."""

import numpy as np
from small_route import changed, numbers_of, PLACES, small_route

from two_manifold_ros.network.belief import Network
from two_manifold_ros.route.learning import chances_to_move, exchanges_for, reach
from two_manifold_ros.route.route import Route

TRUNK, BRANCH = 10, 10
COUNT = TRUNK + 2 * BRANCH
"""Places: of a straight trunk, and of two branches that lead back to where it begins."""

PERIOD_S, MEMORY_S = 0.1, 0.8
FORK, LEFT, RIGHT = TRUNK - 1, TRUNK, TRUNK + BRANCH
TURN = 2.0 * np.pi / BRANCH
"""From a place to the next on a branch, to the left on the first one; rad."""


def leads_to() -> np.ndarray:
    """Chances (P, P) of the next place."""
    ways = np.eye(COUNT, k=1)
    ways[FORK], ways[RIGHT - 1], ways[-1] = 0.0, 0.0, 0.0
    ways[FORK, [LEFT, RIGHT]] = 0.6, 0.4
    ways[[RIGHT - 1, -1], 0] = 1.0
    return ways


def branching_route(seed: int = 0) -> Route:
    rng, route = np.random.default_rng(seed), small_route(seed=seed)
    # As many places as there are here, and none of what is at them is the same.
    arrays = {
        name: np.resize(array, (COUNT, *array.shape[1:]))
        for name, array in numbers_of(route).items()
        if isinstance(array, np.ndarray) and array.shape[:1] == (PLACES,)
    }
    moves = chances_to_move(24)
    ways = {
        a: [(int(b), float(row[b])) for b in np.flatnonzero(row)]
        for a, row in enumerate(leads_to())
    }
    geometry = reach(ways, COUNT, moves.shape[1] - 1)._asdict()
    exchanges, jumps = exchanges_for(PERIOD_S, MEMORY_S)
    beginnings = rng.random((2, COUNT))
    # At some no drive starts, but for what is dropped at once.
    beginnings[:, ::7] *= 1e-8
    numbers = arrays | geometry | {
        'moves': moves, 'moves_a_row': 8.0, 'rates': 0.5 + rng.random(COUNT),
        'exchanges': exchanges, 'jumps': jumps, 'beginnings': beginnings / beginnings.sum(),
        'stops': np.zeros((2, COUNT)), 'persistence': PERIOD_S / MEMORY_S,
    }  # fmt: skip
    return changed(route, **numbers)


def network_of(channels: int, places: int, courses: np.ndarray, seed: int = 0) -> Network:
    """Return a network of any numbers that a model may hold, with these ``courses`` (P,)."""
    rng = np.random.default_rng(seed)
    return Network(
        courses=courses,
        usual_mps=rng.uniform(1.0, 2.0, places),
        turning=rng.normal(size=channels),
        turning_offset=-0.05,
        turning_spread=0.15,
        turns=np.linspace(-2.0, 2.0, 33),
        chances=rng.uniform(0.05, 0.5, 33),
        speeds=np.array([0.0, 0.5, 2.0]),
        # Logarithms of spreads, which at rest are below one.
        shakes=np.array([-3.0, -0.5, 0.5])[:, None] + 0.2 * rng.normal(size=(3, channels)),
        scales=rng.uniform(0.3, 1.0, (3, channels)),
        largest_misfit=1.0,
    )


def branching_network(seed: int = 0) -> Network:
    along = np.zeros(COUNT)
    along[LEFT:RIGHT] = TURN * (1.0 + np.arange(BRANCH))
    along[RIGHT:] = -TURN * (1.0 + np.arange(BRANCH))
    courses = along + 0.05 * np.random.default_rng(seed).normal(size=COUNT)
    return network_of(2, COUNT, courses, seed)
