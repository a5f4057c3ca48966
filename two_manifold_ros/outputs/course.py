# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The course over ground: all that positions alone can say about orientation."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.typing import Floats

UNIFORM_ANGLE_VARIANCE = math.pi**2 / 3
"""Variance of an angle about which nothing is known, rad^2."""


@dataclass(frozen=True)
class Course:
    """
    Direction and speed of travel.

    Parameters
    ----------
    yaw
        Direction of the velocity in the track frame, radians from x towards y.
    yaw_variance
        Its variance, rad^2; never above that of a uniform angle, which a standstill has.
    speed
        Along the course, m/s; the velocity across it is zero by definition.
    velocity_covariance : (2, 2)
        Of the velocity along and across the course, (m/s)^2.

    """

    yaw: float
    yaw_variance: float
    speed: float
    velocity_covariance: Floats


def course_of(estimate: Estimate) -> Course:
    """Return the course over ground of an estimate."""
    east, north = estimate.velocity.tolist()
    yaw, speed = math.atan2(north, east), math.hypot(east, north)
    cosine, sine = math.cos(yaw), math.sin(yaw)
    (xx, xy), (_, yy) = estimate.velocity_covariance.tolist()
    along = cosine**2 * xx + 2 * cosine * sine * xy + sine**2 * yy
    across = sine**2 * xx - 2 * cosine * sine * xy + cosine**2 * yy
    mixed = cosine * sine * (yy - xx) + (cosine**2 - sine**2) * xy
    covariance = np.array([[along, mixed], [mixed, across]])
    # Comparing before dividing keeps a standstill finite.
    known = across < UNIFORM_ANGLE_VARIANCE * speed**2
    variance = across / speed**2 if known else UNIFORM_ANGLE_VARIANCE
    return Course(yaw, variance, speed, covariance)
