# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The position now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.outputs.course import course_of
from two_manifold_ros.outputs.header import header
from two_manifold_ros.outputs.pose import planar_covariance, pose_fields

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.outputs.course import Course
    from two_manifold_ros.outputs.frames import Frames
    from two_manifold_ros.outputs.topics import Message


def position_message(estimate: Estimate, frames: Frames) -> Message:
    """Return ``geometry_msgs/PoseWithCovarianceStamped``: horizon 0, facing along the course."""
    return {
        'header': header(estimate.stamp_ns, frames.track),
        'pose': pose_with_covariance(estimate, course_of(estimate)),
    }


def pose_with_covariance(estimate: Estimate, course: Course) -> Message:
    """Return the fields of ``geometry_msgs/PoseWithCovariance`` in the track frame."""
    return {
        'pose': pose_fields(estimate.positions[0], course.yaw),
        'covariance': planar_covariance(estimate.covariances[0], course.yaw_variance),
    }
