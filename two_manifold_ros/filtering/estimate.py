# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the filter says at each tick, and whether its numbers are valid."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled, HAVE_NUMBA
from two_manifold_ros.filtering.status import USABLE

if TYPE_CHECKING:
    from two_manifold_ros.filtering.status import Status
    from two_manifold_ros.typing import Bools, Floats


MOST_PLACES = 50

CELLS_ACROSS = 100
"""Cells along the longer side of the track: what is in one cell is told as one."""

FAINTEST = 1e-3
"""Chance below which a place is not worth telling."""


class Places:
    """
    Gather the weights of the places of a route by where these are.

    They lie half a tick apart, so the likeliest alone would all be beside one another.

    Parameters
    ----------
    positions : (N, 2)
        Of the places, metres, NaN where unknown.

    """

    def __init__(self, positions: Floats) -> None:
        known: Bools = np.asarray(np.isfinite(positions).all(axis=1))
        self._known = np.flatnonzero(known)
        self._positions = positions[self._known]
        corner = self._positions.min(axis=0)
        size = float(np.ptp(self._positions, axis=0).max()) / CELLS_ACROSS
        squares = np.rint((self._positions - corner) / (size or 1.0)).astype(np.int64)
        _, cells = np.unique(squares, axis=0, return_inverse=True)
        self._cells = cells.reshape(-1)

    def read(self, weights: Floats) -> Floats:
        """
        Return the likeliest places.

        Parameters
        ----------
        weights : (N,)
            Chances of the places, summing to one.

        Returns
        -------
        (m, 3)
            x and y in metres and chance, the likeliest first; at most ``MOST_PLACES``, none
            below ``FAINTEST``.

        """
        own = weights[self._known]
        chances = np.bincount(self._cells, own)
        chosen = np.flatnonzero(chances >= FAINTEST)
        chosen = chosen[np.argsort(-chances[chosen], kind='stable')][:MOST_PLACES]
        sums = [np.bincount(self._cells, own * axis)[chosen] for axis in self._positions.T]
        return np.column_stack([*(each / chances[chosen] for each in sums), chances[chosen]])


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


@dataclass(frozen=True)
class Estimate:
    """
    The filter's answer at one tick.

    Parameters
    ----------
    stamp_ns
        End of the tick, nanoseconds; every observation used is older.
    tick
        Ticks since the filter was last reset, those without observations included, from 0.
    status
        Whether the estimate may be used.
    cause, why
        Why it is so, see ``Verdict``: a short key, empty if all is well, and one sentence.
    state : (k,)
        Latent state after this tick's observation: the belief about the next one, eq. (6.1).
    positions : (H, 2)
        Position at each horizon of the model, metres; horizon 0 is the position at ``stamp_ns``.
    covariances : (H, 2, 2)
        Calibrated covariance of each position, m^2, positive definite.
    velocity : (2,)
        Velocity at ``stamp_ns``, m/s.
    velocity_covariance : (2, 2)
        Its covariance, (m/s)^2.
    evidence
        Share of the observation's weight that survives cancellation, in [-1, 1]; 1 is best
        (section 6.5).
    familiarity
        Of the last windows, see ``Familiarity``: about 1 on the trained route, about 2 on another
        and more where units or mounting are wrong; NaN until a whole window was seen.
    off_route
        Probability that the vehicle is off the trained route; NaN where the filter cannot tell.
    ellipse_m
        Half the long axis of the 95 % ellipse of the position at ``stamp_ns``, metres; NaN if a
        number above is not finite or a covariance not positive definite.
    places : (m, 3), optional
        x, y and chance of the places where the vehicle may be, see ``Places``; only now and then,
        as the filter was asked, and only of a route belief.

    """

    stamp_ns: int
    tick: int
    status: Status
    cause: str
    why: str
    state: Floats
    positions: Floats
    covariances: Floats
    velocity: Floats
    velocity_covariance: Floats
    evidence: float
    familiarity: float
    ellipse_m: float
    off_route: float = math.nan
    places: Floats | None = None

    @property
    def valid(self) -> bool:
        """Whether the estimate may be published; then all that is told is finite."""
        return self.status in USABLE
