# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The transforms that are published: of the vehicle, or of the frame of an odometry (REP-105)."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
import math
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.interface.messages import course_of, header, Message, pose_fields, Scene
from two_manifold_ros.names import frame_name

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.recordings.recording import GeodeticOrigin


SURE_YAW = 0.2
"""Standard deviation of the course, radians, above which it does not turn the frame."""

LONGEST_S = 0.5
"""Time without a pose that is bridged, seconds: at 1 m/s^2 a vehicle is off by 0.12 m then."""


def yaw_of(x: float, y: float, z: float, w: float) -> float:
    """Return the yaw of a quaternion, radians."""
    # A power of a number that is too large would raise.
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


class Pose(NamedTuple):
    """A pose of the vehicle in the frame of the odometry: metres and radians."""

    stamp_ns: int
    x: float
    y: float
    yaw: float
    # Forwards, m/s, and about the vertical axis, rad/s.
    speed: float
    turning: float


class OdometryFrame:
    """Where an odometry of the vehicle's frame ``child`` lies in the frame of the estimates."""

    def __init__(self, track: str, child: str) -> None:
        self._track, self._child = track, child
        self._plane: tuple[str, GeodeticOrigin | None] | None = None
        self._poses: deque[Pose] = deque()
        # Of the odometry; empty until there is one that can be used.
        self.frame = ''
        # What is wrong with the newest message, and why the newest estimate did not locate it.
        self._refused, self._missed = 'no odometry came yet', ''
        self._start()

    @property
    def trouble(self) -> str:
        """Why the frame cannot be located, without a full stop; empty if it can."""
        return self._refused or self._missed

    def _start(self) -> None:
        self._poses.clear()
        # Yaw of the frame of the odometry in that of the estimates, its variance, and when.
        self._turn, self._variance, self._turned_ns = math.nan, math.inf, 0
        self._reverses = False

    def take(self, message: Any) -> None:  # noqa: ANN401 - a generated class
        """Take a ``nav_msgs/Odometry``; where its stamps step back it starts again."""
        frame = frame_name(message.header.frame_id)
        child = frame_name(message.child_frame_id)
        pose, twist = message.pose.pose, message.twist.twist
        yaw = yaw_of(*(getattr(pose.orientation, axis) for axis in 'xyzw'))
        stamp = message.header.stamp
        stamp_ns = stamp.sec * 10**9 + stamp.nanosec
        newest = Pose(
            stamp_ns, pose.position.x, pose.position.y, yaw, twist.linear.x, twist.angular.z
        )
        self._refused = ''
        if child != self._child:
            self._refused = f'the odometry is of {child!r}, the estimates are of {self._child!r}'
        elif frame == self._track:
            self._refused = (
                f'the odometry is in {frame!r} as the estimates are: set track_frame to another '
                'one, such as map, or take an odometry that drifts'
            )
        elif not (frame and stamp_ns > 0 and all(map(math.isfinite, newest))):
            self._refused = 'the odometry has no frame, no stamp or a number that is not finite'
        if self._refused:
            return
        late_s = (self._poses[-1].stamp_ns - newest.stamp_ns) * 1e-9 if self._poses else 0.0
        if frame == self.frame and 0.0 < late_s <= LONGEST_S:
            return
        if frame != self.frame or late_s > 0.0:
            self._start()
        self.frame = frame
        self._poses.append(newest)
        # Estimates are late by ``reorder_s``, .4 s at most, and by a tick.
        while newest.stamp_ns - self._poses[0].stamp_ns > 1e9 * 2.0:
            self._poses.popleft()

    def enter(self, track: str, origin: GeodeticOrigin | None) -> None:
        """Take estimates in that frame from now on, where the odometry is turned otherwise."""
        if self._plane != (track, origin):
            self._track, self._plane = track, (track, origin)
            self._turn, self._variance = math.nan, math.inf

    def locate(self, estimate: Estimate) -> tuple[float, float, float] | None:
        """
        Return x, y in metres and yaw of the frame of the odometry in that of the estimates.

        The vehicle is then where the estimate has it, and faces along its course, or against it
        if it reverses. ``None`` without a pose at that time, and until the course was sure once.
        """
        if not self._poses:
            return None
        if self.frame == self._track:
            self._missed = f'the odometry is in {self.frame!r} as the estimates on this route are'
            return None
        pose = self._pose_at(estimate.stamp_ns)
        if pose is None:
            self._missed = (
                'it has no pose for the time of the estimates: compare its stamps with the stamps '
                'of the IMU, and look whether it still comes'
            )
            return None
        self._follow_course(estimate, pose)
        if math.isnan(self._turn):
            self._missed = 'the course was not sure yet since it came: drive on'
            return None
        self._missed = ''
        cosine, sine = math.cos(self._turn), math.sin(self._turn)
        east, north = estimate.positions[0].tolist()
        return (
            east - cosine * pose.x + sine * pose.y,
            north - sine * pose.x - cosine * pose.y,
            self._turn,
        )

    def _follow_course(self, estimate: Estimate, pose: Pose) -> None:
        """Turn the frame by the course, as a Kalman filter of one angle does."""
        course = course_of(estimate)
        if course.yaw_variance > SURE_YAW**2:
            return
        # Wheels that are blocked or slip may turn backwards a little.
        if abs(pose.speed) > 0.5 * course.speed:
            self._reverses = pose.speed < 0.0
        found = course.yaw + (math.pi if self._reverses else 0.0) - pose.yaw
        if math.isnan(self._turn):
            self._turn, self._variance = math.remainder(found, math.tau), course.yaw_variance
        else:
            passed_s = max(estimate.stamp_ns - self._turned_ns, 0) * 1e-9
            # The odometry's yaw drifts by a degree in a minute, as a gyroscope.
            self._variance += math.radians(1.0) ** 2 / 60.0 * passed_s
            gain = self._variance / (self._variance + course.yaw_variance)
            off = math.remainder(found - self._turn, math.tau)
            self._turn = math.remainder(self._turn + gain * off, math.tau)
            self._variance *= 1.0 - gain
        self._turned_ns = estimate.stamp_ns

    def _pose_at(self, stamp_ns: int) -> Pose | None:
        """Return the pose at a time between two of them, or soon after the newest."""
        poses, newest = self._poses, self._poses[-1]
        late_s = (stamp_ns - newest.stamp_ns) * 1e-9
        if late_s >= 0.0:
            # On at the same speed and turning.
            yaw = newest.yaw + 0.5 * late_s * newest.turning
            moved = newest._replace(
                x=newest.x + late_s * newest.speed * math.cos(yaw),
                y=newest.y + late_s * newest.speed * math.sin(yaw),
                yaw=newest.yaw + late_s * newest.turning,
            )
            return moved if late_s <= LONGEST_S else None
        after = bisect_left(poses, stamp_ns, key=lambda pose: pose.stamp_ns)
        one, other = poses[max(after - 1, 0)], poses[after]
        if stamp_ns < one.stamp_ns or other.stamp_ns - one.stamp_ns > 1e9 * LONGEST_S:
            return None
        share = (stamp_ns - one.stamp_ns) / max(other.stamp_ns - one.stamp_ns, 1)
        # The yaw along the shorter arc.
        turned = math.remainder(other.yaw - one.yaw, math.tau)
        return one._replace(
            x=one.x + share * (other.x - one.x),
            y=one.y + share * (other.y - one.y),
            yaw=one.yaw + share * turned,
            speed=one.speed + share * (other.speed - one.speed),
        )


def transform_message(
    estimate: Estimate, scene: Scene, odometry: OdometryFrame | None = None
) -> Message | None:
    """Return ``tf2_msgs/TFMessage`` from the track frame, ``None`` where it is not known."""
    if odometry is None:
        east, north = estimate.positions[0].tolist()
        child, located = scene.child, (east, north, course_of(estimate).yaw)
    else:
        odometry.enter(scene.track, scene.model.origin)
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
