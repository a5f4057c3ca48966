# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the filter says at each tick."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


class Status(Enum):
    """Whether an estimate may be used, and if not, why."""

    FILLING = 'filling the first window'
    TRACKING = 'tracking'
    RECOVERING = 'tracking again after a gap, the window not yet full'
    UNFAMILIAR = 'the input is unlike that of training: compare units, mounting and route'
    LOST = 'lost: one observation after the other contradicts the model'


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
        Why the estimate may or may not be used.
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
        (section 6.5). Of a TPSR see ``TpsrBelief``.
    familiarity
        Of the last windows, see ``Familiarity``: about 1 on the trained route, about 2 on another
        and more where units or mounting are wrong; NaN until a whole window was seen. Of a TPSR
        see ``SpanFamiliarity``.
    places : (m, 3), optional
        x, y and chance of the places where the vehicle may be, see ``Places``; only now and then,
        as the filter was asked, and only of a route belief.

    """

    stamp_ns: int
    tick: int
    status: Status
    state: Floats
    positions: Floats
    covariances: Floats
    velocity: Floats
    velocity_covariance: Floats
    evidence: float
    familiarity: float
    places: Floats | None = None

    @property
    def valid(self) -> bool:
        """Whether the estimate may be published."""
        return self.status in {Status.TRACKING, Status.RECOVERING}
