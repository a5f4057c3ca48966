# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The position now with the velocity, for consumers such as Nav2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.outputs.course import course_of
from two_manifold_ros.outputs.header import header
from two_manifold_ros.outputs.pose import planar_covariance
from two_manifold_ros.outputs.position import pose_with_covariance

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.outputs.frames import Frames
    from two_manifold_ros.outputs.topics import Message


def odometry_message(estimate: Estimate, frames: Frames) -> Message:
    """
    Return ``nav_msgs/Odometry``.

    The pose is in the track frame, the twist in the child frame as REP-105 asks: the speed along
    x, nothing across it. The yaw rate is not estimated, which its variance says.
    """
    course = course_of(estimate)
    return {
        'header': header(estimate.stamp_ns, frames.track),
        'child_frame_id': frames.child,
        'pose': pose_with_covariance(estimate, course),
        'twist': {
            'twist': {
                'linear': {'x': course.speed, 'y': 0.0, 'z': 0.0},
                'angular': {'x': 0.0, 'y': 0.0, 'z': 0.0},
            },
            'covariance': planar_covariance(course.velocity_covariance),
        },
    }
