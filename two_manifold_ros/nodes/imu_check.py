# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a look at one IMU message tells about its driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sensor_msgs.msg import Imu

    from two_manifold_ros.model.head import ModelHead

_NOT_MEASURED = -1.0


def imu_complaints(message: Imu, model: ModelHead, topic: str) -> dict[str, str]:
    """
    Return what does not fit the model, as sentences by cause.

    Parameters
    ----------
    message
        A ``sensor_msgs/Imu``.
    model
        The model in use.
    topic
        Where the message came from.

    """
    complaints = {}
    frame = message.header.frame_id
    if model.imu_frame_id and frame and frame != model.imu_frame_id:
        complaints['frame'] = (
            f'{topic} is in frame {frame!r} but training was in {model.imu_frame_id!r}: '
            f'estimates are wrong if the axes differ'
        )
    for part in ('linear_acceleration', 'angular_velocity'):
        used = any(channel.startswith(part) for channel in model.live_channels)
        # REP-145: -1 in the first entry says that the driver does not measure this.
        if used and getattr(message, f'{part}_covariance')[0] == _NOT_MEASURED:
            complaints[f'{part}_not_measured'] = (
                f'{topic} declares its {part} as not measured (covariance -1), but the model '
                f'needs it: check the driver'
            )
    return complaints
