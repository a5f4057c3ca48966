# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether the numbers of an estimate may be used, and how far its ellipse reaches."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled, HAVE_NUMBA

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

ROOT_CHI_SQUARE_95 = math.sqrt(-2.0 * math.log(0.05))
"""Standard deviations that the 95 % ellipse of two dimensions reaches."""

LARGEST = 1e150
"""No variance is above this: the product of two of them is still finite."""


@compiled
def half_axis(covariance: Floats) -> float:
    """Return half the long axis of the 95 % ellipse of a (2, 2) covariance."""
    middle = 0.5 * (covariance[0, 0] + covariance[1, 1])
    apart = 0.5 * (covariance[0, 0] - covariance[1, 1])
    variance = middle + math.sqrt(apart * apart + covariance[0, 1] * covariance[0, 1])
    return ROOT_CHI_SQUARE_95 * math.sqrt(max(variance, 0.0))


@compiled
def all_finite(
    state: Floats,
    positions: Floats,
    covariances: Floats,
    velocity: Floats,
    velocity_covariance: Floats,
) -> bool:
    """
    Return whether every number of an estimate is finite.

    Parameters
    ----------
    state : (k,), positions : (H, 2), covariances : (H, 2, 2)
        A latent state, positions and their covariances.
    velocity : (2,), velocity_covariance : (2, 2)
        And the velocity with its covariance.

    """
    of_positions = np.isfinite(positions).all() and np.isfinite(covariances).all()
    of_velocity = np.isfinite(velocity).all() and np.isfinite(velocity_covariance).all()
    return bool(np.isfinite(state).all() and of_positions and of_velocity)


@compiled
def _sound_loops(state: Floats, means: Floats, covariances: Floats) -> bool:
    for i in range(state.size):
        if not np.isfinite(state[i]):
            return False
    for i in range(len(means)):
        a, b, c = covariances[i, 0, 0], covariances[i, 0, 1], covariances[i, 1, 1]
        if not (np.isfinite(means[i, 0]) and np.isfinite(means[i, 1])):
            return False
        if not (0.0 < a < LARGEST and 0.0 < c < LARGEST and b == covariances[i, 1, 0]):
            return False
        if not a * c > b * b:
            return False
    return True


def _sound_arrays(state: Floats, means: Floats, covariances: Floats) -> bool:
    a, b, c = covariances[:, 0, 0], covariances[:, 0, 1], covariances[:, 1, 1]
    with np.errstate(invalid='ignore', over='ignore'):
        sound = (a > 0.0) & (a < LARGEST) & (c > 0.0) & (c < LARGEST) & (a * c > b * b)
    sound &= (b == covariances[:, 1, 0]) & np.isfinite(means).all(axis=1)
    return bool(sound.all() and np.isfinite(state).all())


sound = _sound_loops if HAVE_NUMBA else _sound_arrays
"""
Return whether every number is finite and every covariance symmetric and positive definite.

Parameters
----------
state : (k,)
    A latent state.
means : (c, 2), covariances : (c, 2, 2)
    What was read out.

"""
