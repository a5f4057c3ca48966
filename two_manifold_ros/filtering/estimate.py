# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The estimate of a tick, the check of its numbers, and the modes of its position."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled
from two_manifold_ros.filtering.status import USABLE

if TYPE_CHECKING:
    from two_manifold_ros.filtering.status import Status
    from two_manifold_ros.typing import Bools, Floats


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
        Latent state after this tick's observation: the belief about the next tick,
        mathematics (6.1).
    positions : (H, 2)
        Position at each horizon of the model, metres; horizon 0 is the position at ``stamp_ns``.
    covariances : (H, 2, 2)
        Calibrated covariance of each position, m^2, positive definite.
    velocity : (2,), velocity_covariance : (2, 2)
        Velocity at ``stamp_ns``, m/s, and its covariance, (m/s)^2.
    evidence
        Share of the observation's weight that survives cancellation, in [-1, 1]; 1 is best
        (mathematics, section 6.5).
    familiarity
        Novelty score of the last windows, see ``Familiarity``: about 1 on the trained route, about
        2 on another and more where units or mounting are wrong; NaN until a window is full.
    ellipse_m
        Half the long axis of the 95 % ellipse of the position at ``stamp_ns``, metres; NaN if a
        number above is not finite or a covariance not positive definite.
    off_route
        Probability that the vehicle is off the trained route; NaN where the filter cannot tell.
    places : (m, 3), optional
        x, y and chance of the modes of the position, see `PositionModes`; only now and then, as
        the filter was asked, and only of a route belief.

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
        """Whether the estimate may be published; then every number of it is finite."""
        return self.status in USABLE


@compiled
def is_valid_gaussian(state: Floats, means: Floats, covariances: Floats) -> bool:
    """
    Return whether every number is finite and every covariance symmetric and positive definite.

    Parameters
    ----------
    state : (k,), means : (c, 2), covariances : (c, 2, 2)
        A latent state and what was read out of it.

    """
    largest = 1e150  # the product of two variances is finite then, and the root of one too
    for i in range(len(means)):
        a, b, c = covariances[i, 0, 0], covariances[i, 0, 1], covariances[i, 1, 1]
        if not (0.0 < a < largest and 0.0 < c < largest and b == covariances[i, 1, 0]):
            return False
        if not (abs(b) < largest and a * c > b * b):
            return False
    return bool(np.isfinite(means).all() and np.isfinite(state).all())


@compiled
def half_axis(covariance: Floats) -> float:
    """Return half the long axis of the 95 % ellipse of a (2, 2) covariance."""
    middle = 0.5 * (covariance[0, 0] + covariance[1, 1])
    apart = 0.5 * (covariance[0, 0] - covariance[1, 1])
    variance = middle + math.sqrt(apart * apart + covariance[0, 1] * covariance[0, 1])
    # The root of -2 log 0.05, the 95 % quantile of chi-square with two degrees of freedom.
    return 2.4477468306808166 * math.sqrt(max(variance, 0.0))


class PositionModes:
    """
    Modes of the belief about the place: nearby places of a route are summed in cells.

    Places lie half a tick apart, so the likeliest ones alone would all be beside one another.

    Parameters
    ----------
    positions : (N, 2)
        Positions of the places, metres, NaN where unknown.
    most
        Modes returned.
    faintest
        Chance below which a mode is left out.

    """

    def __init__(self, positions: Floats, most: int = 50, faintest: float = 1e-3) -> None:
        self._most, self._faintest = most, faintest
        known: Bools = np.asarray(np.isfinite(positions).all(axis=1))
        self._known = np.flatnonzero(known)
        self._positions = positions[self._known]
        corner = self._positions.min(axis=0)
        # A hundred cells along the longer side of the track.
        size = float(np.ptp(self._positions, axis=0).max()) / 100
        squares = np.rint((self._positions - corner) / (size or 1.0)).astype(np.int64)
        _, cells = np.unique(squares, axis=0, return_inverse=True)
        self._cells = cells.reshape(-1)

    def read(self, weights: Floats) -> Floats:
        """
        Return the modes (m, 3): x and y in metres and chance, the likeliest first.

        Parameters
        ----------
        weights : (N,)
            Chances of the places, summing to one.

        """
        own = weights[self._known]
        chances = np.bincount(self._cells, own)
        chosen = np.flatnonzero(chances >= self._faintest)
        chosen = chosen[np.argsort(-chances[chosen], kind='stable')][: self._most]
        sums = [np.bincount(self._cells, own * axis)[chosen] for axis in self._positions.T]
        return np.column_stack([*(each / chances[chosen] for each in sums), chances[chosen]])
