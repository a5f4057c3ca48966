# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The hand on the throttle and the voltage behind it."""

from __future__ import annotations

from itertools import accumulate
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from two_manifold_ros.simulation.slot_car_settings import SlotCarSettings

MEAN_THROTTLE = 0.48
"""Share of the full voltage that the driver holds, no unit."""

# Standard deviation (share of the mean throttle) and time constant (seconds) at speed_wander 1.
_HAND = (0.06, 3.0)
_SUPPLY = (0.025, 60.0)


class Throttle:
    """
    A constant throttle on which two slow Ornstein-Uhlenbeck processes ride.

    The quicker one is the hand of the driver, the slower one the supply or battery.

    Parameters
    ----------
    settings
        Seed and ``speed_wander``.
    step_s
        Distance between two values, seconds.

    """

    def __init__(self, settings: SlotCarSettings, step_s: float) -> None:
        self._random = settings.generator('throttle')
        self._hand = _Wander(self._random.standard_normal(), *_HAND, settings, step_s)
        self._supply = _Wander(self._random.standard_normal(), *_SUPPLY, settings, step_s)

    def take(self, count: int) -> list[float]:
        """Return the next ``count`` values, 0 (shorted) to 1 (full voltage)."""
        shocks = self._random.standard_normal((count, 2)).T.tolist()
        pairs = zip(self._hand.take(shocks[0]), self._supply.take(shocks[1]), strict=True)
        return [
            min(max(MEAN_THROTTLE * (1.0 + hand) * (1.0 + supply), 0.0), 1.0)
            for hand, supply in pairs
        ]


class _Wander:
    """A stationary Ornstein-Uhlenbeck process, advanced exactly whatever the step."""

    def __init__(
        self, start: float, spread: float, time_s: float, settings: SlotCarSettings, step_s: float
    ) -> None:
        self._memory = math.exp(-step_s / time_s)
        spread *= settings.speed_wander
        self._shock = spread * math.sqrt(1.0 - self._memory**2)
        self._value = spread * start

    def take(self, shocks: list[float]) -> list[float]:
        """Return one value per standard normal shock."""
        memory, scale = self._memory, self._shock
        values = list(
            accumulate(
                shocks, lambda value, shock: memory * value + scale * shock, initial=self._value
            )
        )
        self._value = values.pop()
        return values
