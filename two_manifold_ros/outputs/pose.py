# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Poses of a body that moves in a plane, and their 6 x 6 covariances after REP-103."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.outputs.topics import Message
    from two_manifold_ros.typing import Floats

UNKNOWN_VARIANCE = 1e6
"""
Variance on the axes about which the filter knows nothing (m^2, rad^2 and per second).

Large and not zero, so that a consumer which inverts the matrix neither fails nor believes the 0
that stands in these fields.
"""


def pose_fields(position: Floats, yaw: float) -> Message:
    """Return the fields of ``geometry_msgs/Pose`` for a (2,) position in metres and a yaw."""
    return {
        'position': {'x': float(position[0]), 'y': float(position[1]), 'z': 0.0},
        'orientation': yaw_quaternion(yaw),
    }


def yaw_quaternion(yaw: float) -> Message:
    """Return the fields of the quaternion that turns by ``yaw`` radians about z."""
    return {'x': 0.0, 'y': 0.0, 'z': math.sin(yaw / 2), 'w': math.cos(yaw / 2)}


def planar_covariance(plane: Floats, yaw_variance: float = UNKNOWN_VARIANCE) -> Floats:
    """
    Return the row-major (36,) covariance over x, y, z and the rotations about x, y, z.

    Parameters
    ----------
    plane : (2, 2)
        Covariance of x and y.
    yaw_variance
        Variance about z; the three other axes get `UNKNOWN_VARIANCE`.

    """
    covariance = np.zeros(36)
    covariance[14:29:7] = UNKNOWN_VARIANCE
    covariance[35] = yaw_variance
    covariance[0:2], covariance[6:8] = plane
    return covariance
