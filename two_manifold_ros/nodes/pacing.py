# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How many samples a simulated sensor has to send by now; knows nothing of ROS."""

from __future__ import annotations

MOST_AT_ONCE = 200
"""Samples sent in one go after a stall; what is older than that is caught up with later."""

BEHIND_S = 1.0
"""By how much the stamps may be late before that is worth a warning."""


class Pacing:
    """
    Keeps samples at the pace of a clock.

    Parameters
    ----------
    period_ns
        Between two samples, in their stamps.
    speed
        How many times faster than the clock.

    Attributes
    ----------
    sent
        Samples until now.

    """

    def __init__(self, period_ns: int, speed: float) -> None:
        self._period = period_ns
        self._speed = speed
        self.sent = 0

    def due(self, elapsed_ns: int) -> int:
        """Return how many to send now, after so many nanoseconds of the clock."""
        return min(int(elapsed_ns * self._speed / self._period) - self.sent, MOST_AT_ONCE)

    def troubles(self, elapsed_ns: int) -> dict[str, str]:
        """Return a sentence by cause if it is far behind."""
        behind_s = (elapsed_ns * self._speed - self.sent * self._period) / 1e9
        if behind_s <= BEHIND_S:
            return {}
        return {
            'behind': (
                'The simulated car cannot keep pace with the clock: its stamps are late; lower '
                'speed or imu_rate_hz, or give it more of the computer'
            )
        }
