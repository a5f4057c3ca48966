# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an IMU in the car feels, and how badly a cheap one tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.simulation.motion import GRAVITY

if TYPE_CHECKING:
    from two_manifold_ros.simulation.slot_car_settings import SlotCarSettings
    from two_manifold_ros.simulation.track import SpaceCurve
    from two_manifold_ros.typing import Floats

TYPICAL_SPEED = 1.5
"""Speed at which the stated variances hold, m/s."""

# Accelerometer (m/s^2), then gyroscope (rad/s), at noise 1: the constant bias, the density of the
# white noise (per root hertz), and the vibration per m/s of speed.
_BIAS = np.repeat([0.2, 0.02], 3)
_DENSITY = np.repeat([4e-3, 2e-4], 3)
_VIBRATION = np.repeat([0.3, 0.03], 3)


def true_imu(track: SpaceCurve, distance: Floats, speed: Floats, acceleration: Floats) -> Floats:
    """
    Return the (..., 6) specific force (m/s^2) and angular rate (rad/s) in the car's axes.

    The axes are x forward, y left, z up; at rest on a level track z reads +9.81 m/s^2 (REP-145).

    Parameters
    ----------
    track
        Where the car drives.
    distance, speed, acceleration : (...,)
        Along the track: m, m/s, m/s^2.

    """
    frame = track.frame(distance)
    force = acceleration[..., None] * frame[..., 0]
    force += np.square(speed)[..., None] * track.curvature(distance)
    force[..., 2] += GRAVITY
    specific_force = np.einsum('...ij,...i->...j', frame, force)
    return np.concatenate([specific_force, speed[..., None] * track.turning(distance)], axis=-1)


class ImuNoise:
    """
    The errors of one IMU: a bias drawn once, white noise, and vibration that grows with speed.

    Parameters
    ----------
    settings
        Seed, rate (a quicker IMU is noisier per sample) and ``noise``.

    """

    def __init__(self, settings: SlotCarSettings) -> None:
        self._random = settings.generator('imu')
        self.bias = settings.noise * _BIAS * settings.generator('bias').standard_normal(6)
        self._white = settings.noise * _DENSITY * np.sqrt(settings.rate_hz / 2.0)
        self._vibration = settings.noise * _VIBRATION

    def disturb(self, values: Floats, speed: Floats) -> Floats:
        """Return the (n, 6) true values with errors, given the (n,) speeds in m/s."""
        shape = np.sqrt(self.variances(speed))
        return values + self.bias + shape * self._random.standard_normal(values.shape)

    def variances(self, speed: Floats | float = TYPICAL_SPEED) -> Floats:
        """Return the (..., 6) variances without the bias, (m/s^2)^2 and (rad/s)^2."""
        vibration = np.multiply.outer(speed, self._vibration)
        return np.asarray(self._white**2 + vibration**2)
