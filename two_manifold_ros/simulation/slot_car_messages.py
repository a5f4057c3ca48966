# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the simulated sensors publish, as nested dicts with the field names of ROS."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

IMU_TOPIC, IMU_TYPE, IMU_FRAME = '/imu', 'sensor_msgs/msg/Imu', 'imu_link'
REFERENCE_TOPIC, REFERENCE_TYPE = '/reference', 'geometry_msgs/msg/PoseStamped'
TRACK_FRAME = 'map'

_NO_ORIENTATION = np.array([-1.0] + [0.0] * 8)


def imu_message(stamp_ns: int, imu: Floats, variances: Floats) -> dict[str, Any]:
    """
    Return one ``sensor_msgs/msg/Imu``.

    Parameters
    ----------
    stamp_ns
        Nanoseconds.
    imu : (6,)
        Specific force in m/s^2, then angular rate in rad/s.
    variances : (6,)
        Of the same; all zero is "unknown" to ROS.

    """
    return {
        'header': _header(stamp_ns, IMU_FRAME),
        'orientation_covariance': _NO_ORIENTATION,
        'angular_velocity': _vector(imu[3:]),
        'angular_velocity_covariance': np.diag(variances[3:]),
        'linear_acceleration': _vector(imu[:3]),
        'linear_acceleration_covariance': np.diag(variances[:3]),
    }


def reference_message(stamp_ns: int, position: Floats, quaternion: Floats) -> dict[str, Any]:
    """
    Return one ``geometry_msgs/msg/PoseStamped``.

    Parameters
    ----------
    stamp_ns
        Nanoseconds.
    position : (3,)
        Metres in the track frame.
    quaternion : (4,)
        x, y, z, w of the car's axes in the track frame.

    """
    orientation = dict(zip('xyzw', quaternion.tolist(), strict=True))
    return {
        'header': _header(stamp_ns, TRACK_FRAME),
        'pose': {'position': _vector(position), 'orientation': orientation},
    }


def _header(stamp_ns: int, frame: str) -> dict[str, Any]:
    sec, nanosec = divmod(stamp_ns, 1_000_000_000)
    return {'stamp': {'sec': sec, 'nanosec': nanosec}, 'frame_id': frame}


def _vector(values: Floats) -> dict[str, float]:
    return dict(zip('xyz', values.tolist(), strict=True))
