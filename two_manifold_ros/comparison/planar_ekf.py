# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""An extended Kalman filter of a vehicle in the plane that is driven by an IMU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.typing import Floats

X, Y, HEADING, FORWARD, LEFT = range(5)
BIASES = slice(5, 8)
SIZE = 8


class PlanarEkf:
    """
    Position, heading, velocity in the vehicle's axes, and the biases of the three inputs.

    The inputs are the yaw rate and the forward and leftward acceleration, each the mean of a tick.

    Parameters
    ----------
    state : (8,)
        x and y (m), heading (rad), forward and leftward velocity (m/s), then the biases of the
        yaw rate (rad/s) and of the two accelerations (m/s^2).
    deviations : (8,)
        Standard deviations of the state.
    densities : (3,)
        Of the white noise of the inputs: variance times seconds.
    fastest_m_s
        Largest forward speed that is believed.

    """

    def __init__(
        self, state: Floats, deviations: Floats, densities: Floats, fastest_m_s: float
    ) -> None:
        self.state = state.copy()
        self.covariance = np.diag(np.square(deviations))
        self._densities = densities
        self._fastest = fastest_m_s
        self.rate = 0.0

    def predict(self, inputs: Floats, period_s: float) -> None:
        """Move on by one tick."""
        rate, ahead, aside = (inputs - self.state[BIASES]).tolist()
        heading, forward, left = self.state[HEADING : LEFT + 1].tolist()
        middle = heading + rate * period_s / 2.0
        cosine, sine = np.cos(middle), np.sin(middle)
        # Rates of change of x and y, and of their changes with the heading.
        over, up = forward * cosine - left * sine, forward * sine + left * cosine
        self.state[: LEFT + 1] += period_s * np.array(
            [over, up, rate, ahead + rate * left, aside - rate * forward]
        )
        self._limit_speed()
        self.rate = rate
        change = np.eye(SIZE)
        change[X, [HEADING, FORWARD, LEFT, 5]] += period_s * np.array(
            [-up, cosine, -sine, up * period_s / 2.0]
        )
        change[Y, [HEADING, FORWARD, LEFT, 5]] += period_s * np.array(
            [over, sine, cosine, -over * period_s / 2.0]
        )
        change[HEADING, 5] = -period_s
        change[FORWARD, [LEFT, 5, 6]] = period_s * np.array([rate, -left, -1.0])
        change[LEFT, [FORWARD, 5, 7]] = period_s * np.array([-rate, forward, -1.0])
        self._spread(change, period_s)

    def _spread(self, change: Floats, period_s: float) -> None:
        # Noise of an input acts on everything but the biases as its bias does.
        noise = change[:, BIASES].copy()
        noise[BIASES] = 0.0
        grown = change @ self.covariance @ change.T
        grown += (noise * self._densities / period_s) @ noise.T
        self.covariance = (grown + grown.T) / 2.0

    def correct(self, places: Sequence[int], measured: Floats, deviation: float) -> None:
        """Take in measurements of some coordinates of the state, one after the other."""
        for place, value in zip(places, measured.tolist(), strict=True):
            column = self.covariance[:, place]
            gain = column / (column[place] + deviation**2)
            kept = np.eye(SIZE)
            kept[:, place] -= gain
            self.state += gain * (value - self.state[place])
            # Joseph's form stays positive whatever the rounding.
            mended = kept @ self.covariance @ kept.T + deviation**2 * np.outer(gain, gain)
            self.covariance = (mended + mended.T) / 2.0
        self._limit_speed()

    def _limit_speed(self) -> None:
        self.state[FORWARD] = np.clip(self.state[FORWARD], -self._fastest, self._fastest)

    def ahead(self, seconds: Floats) -> Floats:
        """Return the (H, 2) positions after (H,) seconds at the present speed and yaw rate."""
        half = self.rate * seconds / 2.0
        chord = self.state[FORWARD] * seconds * np.sinc(half / np.pi)
        course = self.state[HEADING] + half
        along = np.stack([np.cos(course), np.sin(course)], axis=1)
        return np.asarray(self.state[: Y + 1] + chord[:, None] * along)
