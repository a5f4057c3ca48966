# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the filter says at each tick."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

from two_manifold_ros.filtering.status import USABLE

if TYPE_CHECKING:
    from two_manifold_ros.filtering.status import Status
    from two_manifold_ros.typing import Floats


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
