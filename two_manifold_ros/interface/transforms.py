# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The transforms that are published: of the vehicle, or of the frame of an odometry.

An odometry moves smoothly and drifts, estimates neither drift nor are smooth. Where ``odom`` lies
in ``map`` (REP-105) is what Nav2 takes from AMCL: the vehicle is at its estimate then, and its
frame has one parent.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
import math
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.interface.messages import course_of, header, pose_fields

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.interface.messages import Message, Scene


SURE_YAW = 0.2
"""
Standard deviation of the course, radians, above which it does not turn the frame.

Where the vehicle is slow the course says little, and odometry is surer of its heading: it turns by
degrees in minutes, and an error of .2 rad shows a metre wrong at five.
"""

LONGEST_S = 0.5
"""Time after the newest pose for which it may go on as it moved: a stall of a busy machine."""

KEPT = 400
"""Poses that are kept: four seconds at 100 Hz, as estimates may be late by ``reorder_s``."""


class Pose(NamedTuple):
    """
    A pose of the vehicle in the frame of the odometry.

    Parameters
    ----------
    stamp_ns, x, y, yaw
        Nanoseconds, metres and radians.
    speed, turning
        Forwards, m/s, and about the vertical axis, rad/s.

    """

    stamp_ns: int
    x: float
    y: float
    yaw: float
    speed: float
    turning: float

    def moved(self, seconds: float) -> Pose:
        """Return the pose some seconds later, at the same speed and turning."""
        yaw = self.yaw + 0.5 * seconds * self.turning
        return self._replace(
            stamp_ns=self.stamp_ns + round(1e9 * seconds),
            x=self.x + seconds * self.speed * math.cos(yaw),
            y=self.y + seconds * self.speed * math.sin(yaw),
            yaw=self.yaw + seconds * self.turning,
        )


def between(before: Pose, after: Pose, stamp_ns: int) -> Pose:
    """Interpolate two poses linearly, the yaw along the shorter arc."""
    share = (stamp_ns - before.stamp_ns) / max(after.stamp_ns - before.stamp_ns, 1)
    turned = math.remainder(after.yaw - before.yaw, math.tau)
    return before._replace(
        stamp_ns=stamp_ns,
        x=before.x + share * (after.x - before.x),
        y=before.y + share * (after.y - before.y),
        yaw=before.yaw + share * turned,
        speed=before.speed + share * (after.speed - before.speed),
    )


class OdometryFrame:
    """
    Where the frame of an odometry lies in that of the estimates.

    Parameters
    ----------
    child
        Frame of the vehicle, of which both have to be.

    Attributes
    ----------
    frame
        Frame of the odometry; empty until there is one that can be used.

    """

    def __init__(self, child: str) -> None:
        self._child = child
        self._poses: deque[Pose] = deque(maxlen=KEPT)
        # Yaw of the frame of the odometry in that of the estimates.
        self._turn = math.nan
        self.frame = ''
        self._refused = 'no odometry came yet'
        self._unmatched = False

    @property
    def trouble(self) -> str:
        """Why the frame cannot be located, without a full stop; empty if it can."""
        if self._refused or not self._unmatched:
            return self._refused
        return (
            'it has no pose for the time of the estimates: compare its stamps with those of the '
            'IMU, and look whether it still comes'
        )

    def take(self, message: Any) -> None:  # noqa: ANN401 - a generated class
        """Take a ``nav_msgs/Odometry``; where its stamps step back it starts again."""
        frame, child = message.header.frame_id, message.child_frame_id
        pose, twist = message.pose.pose, message.twist.twist
        turn = pose.orientation
        yaw = math.atan2(
            2.0 * (turn.w * turn.z + turn.x * turn.y), 1.0 - 2.0 * (turn.y**2 + turn.z**2)
        )
        stamp = message.header.stamp
        stamp_ns = stamp.sec * 10**9 + stamp.nanosec
        newest = Pose(
            stamp_ns, pose.position.x, pose.position.y, yaw, twist.linear.x, twist.angular.z
        )
        if child != self._child:
            self._refused = f'the odometry is of {child!r}, the estimates are of {self._child!r}'
        elif not (frame and stamp_ns > 0 and all(map(math.isfinite, newest))):
            self._refused = 'the odometry has no frame, no stamp or a number that is not finite'
        else:
            if frame != self.frame or (self._poses and stamp_ns < self._poses[-1].stamp_ns):
                self._poses.clear()
                self._turn = math.nan
            self.frame, self._refused = frame, ''
            self._poses.append(newest)

    def locate(self, estimate: Estimate) -> tuple[float, float, float] | None:
        """
        Return x, y in metres and yaw of the frame of the odometry in that of the estimates.

        The vehicle is then where the estimate has it. It faces along its course, or against it
        where the odometry says that it reverses; while the course is not sure (`SURE_YAW`) the
        frame keeps its yaw. ``None`` where there is no pose for the time of the estimate, and
        until the course was sure once.
        """
        pose = self._pose_at(estimate.stamp_ns)
        self._unmatched = pose is None
        if pose is None:
            return None
        course = course_of(estimate)
        if course.yaw_variance <= SURE_YAW**2:
            yaw = course.yaw + (math.pi if pose.speed < 0.0 else 0.0)
            self._turn = math.remainder(yaw - pose.yaw, math.tau)
        if math.isnan(self._turn):
            return None
        cosine, sine = math.cos(self._turn), math.sin(self._turn)
        east, north = estimate.positions[0].tolist()
        return (
            east - cosine * pose.x + sine * pose.y,
            north - sine * pose.x - cosine * pose.y,
            self._turn,
        )

    def _pose_at(self, stamp_ns: int) -> Pose | None:
        poses = self._poses
        if not poses or stamp_ns < poses[0].stamp_ns:
            return None
        newest = poses[-1]
        late_s = (stamp_ns - newest.stamp_ns) * 1e-9
        if late_s >= 0.0:
            return newest.moved(late_s) if late_s <= LONGEST_S else None
        after = bisect_left(poses, stamp_ns, key=lambda pose: pose.stamp_ns)
        return between(poses[max(after - 1, 0)], poses[after], stamp_ns)


def transform_message(
    estimate: Estimate, scene: Scene, odometry: OdometryFrame | None = None
) -> Message | None:
    """
    Return ``tf2_msgs/TFMessage``: the track frame to the vehicle, or to the frame of an odometry.

    ``None`` where it is not known where that frame lies, see `OdometryFrame.locate`.
    """
    if odometry is None:
        east, north = estimate.positions[0].tolist()
        child, located = scene.child, (east, north, course_of(estimate).yaw)
    else:
        found = odometry.locate(estimate)
        if found is None:
            return None
        child, located = odometry.frame, found
    pose = pose_fields(np.array(located[:2]), located[2])
    transform = {
        'header': header(estimate.stamp_ns, scene.track),
        'child_frame_id': child,
        'transform': {'translation': pose['position'], 'rotation': pose['orientation']},
    }
    return {'transforms': [transform]}
