# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The positions that lie ahead."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from two_manifold_ros.outputs.course import course_of
from two_manifold_ros.outputs.header import header
from two_manifold_ros.outputs.pose import pose_fields

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.outputs.frames import Frames
    from two_manifold_ros.outputs.topics import Message


def predicted_path_message(estimate: Estimate, model: ModelHead, frames: Frames) -> Message:
    """
    Return ``nav_msgs/Path``: one pose per horizon, stamped when it will be reached.

    Each pose faces the next one, the last faces as the one before it, and a single one faces
    along the course.
    """
    stamps = [estimate.stamp_ns + horizon * model.period_ns for horizon in model.horizons]
    poses = [
        {'header': header(stamp, frames.track), 'pose': pose_fields(position, yaw)}
        for stamp, position, yaw in zip(stamps, estimate.positions, _yaws(estimate), strict=True)
    ]
    return {'header': header(estimate.stamp_ns, frames.track), 'poses': poses}


def _yaws(estimate: Estimate) -> list[float]:
    yaws = [course_of(estimate).yaw]
    for east, north in estimate.positions[1:] - estimate.positions[:-1]:
        # Positions that coincide have no direction between them.
        yaws.append(math.atan2(north, east) if east or north else yaws[-1])
    return [*yaws[1:], yaws[-1]]
