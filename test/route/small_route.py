# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A route of a few places with a fork, every number of it drawn at random."""

from __future__ import annotations

import numpy as np

from two_manifold_ros.route.route import Density, ELSE, HYPOTHESES, Route

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
    log_paces = np.array([-0.2, 0.0, 0.3])
    moves = rng.random((len(log_paces) + len(ELSE), 4)) + 0.1
    moves[3] = [1.0, 0.0, 0.0, 0.0]
    moves /= moves.sum(axis=1, keepdims=True)
    changes = np.array([[0.8, 0.2, 0.0], [0.1, 0.7, 0.2], [0.0, 0.4, 0.6]])
    begins, targets, steps, shares = [0], [], [], []
    powers = [np.linalg.matrix_power(leads_to(), step) for step in range(4)]
    for place in range(PLACES):
        for step, power in enumerate(powers):
            for there in np.flatnonzero(power[place]):
                targets.append(there)
                steps.append(step)
                shares.append(power[place, there])
        begins.append(len(targets))

    def density(size: int, given: int, tail: float) -> Density:
        root = np.tril(rng.normal(size=(size, size)) * 0.2 + np.eye(size))
        slopes = 0.3 * rng.normal(size=(size, given))
        return Density(slopes, rng.normal(size=size), root, -0.5, tail)

    # Any hypothesis may go over to any other, on the spot and elsewhere.
    count = len(HYPOTHESES)
    together = 0.05 * rng.random((count, count + 4)) + np.eye(count, count + 4)
    together /= together.sum(axis=1, keepdims=True)
    columns = HORIZONS + 1
    roots = rng.normal(size=(PLACES, columns, 2, 2))
    states = rng.normal(size=(PLACES, 4))
    states[:, 0] = 1.0
    return Route(
        channels=CHANNELS,
        gains=gains,
        whitening=np.tril(0.2 * rng.normal(size=(features, features)) + np.eye(features)),
        means=spread * rng.normal(size=(PLACES, features)),
        slopes=spread * rng.normal(size=(PLACES, features)),
        new_whitening=np.tril(0.2 * rng.normal(size=(CHANNELS, CHANNELS)) + np.eye(CHANNELS)),
        new_means=spread * rng.normal(size=(PLACES, CHANNELS)),
        new_slopes=spread * rng.normal(size=(PLACES, CHANNELS)),
        new_level=-0.3,
        noise=0.5 + rng.random(PLACES),
        begins=np.array(begins),
        targets_of=np.array(targets),
        steps_of=np.array(steps),
        shares_of=np.array(shares),
        log_paces=log_paces,
        moves=moves,
        pace_changes=changes,
        pace_prior=np.array([0.3, 0.5, 0.2]),
        sharpness=sharpness,
        persistence=0.4,
        tail=5.0,
        rest=density(CHANNELS, hidden, 5.0),
        rest_means=density(hidden, 0, 5.0),
        other=density(CHANNELS, hidden, 2.0),
        other_means=density(hidden, 0, 2.0),
        slow=density(CHANNELS, hidden, 4.0),
        exchanges=together[:, :-4],
        jumps=together[:, -4:],
        targets=rng.normal(size=(PLACES, columns, 2)),
        drifts=rng.normal(size=(PLACES, columns, 2)),
        covariances=roots @ roots.transpose(0, 1, 3, 2) + 0.1 * np.eye(2),
        factors=np.array([1.0, 2.0, 3.0]),
        states=states,
        beginnings=np.eye(PLACES)[2] * 0.75 + np.eye(PLACES)[5] * 0.25,
    )
