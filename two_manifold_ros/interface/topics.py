# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Topics of the nodes: names, types, qualities of service and frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from two_manifold_ros.model.head import ModelHead


Message: TypeAlias = dict[str, Any]
"""A message as a nested dict named like the ROS fields; leaves are whatever the type says."""


@dataclass(frozen=True)
class Frames:
    """
    Frame names after REP-105.

    Parameters
    ----------
    track
        Fixed frame of the positions. They are absolute and may jump, so it is a ``map``-like
        frame, never ``odom``.
    child
        Frame of the moving body; its x axis is taken to point along the course over ground.

    """

    track: str
    child: str


def choose_frames(model: ModelHead, track: str = 'map', child: str = '') -> Frames:
    """
    Return the named frames; an empty name means that of the training, if it had one.

    Where the positions were trained in another frame than they are published in, the two are
    taken to be the same place: nothing is transformed.
    """
    return Frames(
        track=track or model.frame_id or 'map', child=child or model.imu_frame_id or 'base_link'
    )


@dataclass(frozen=True)
class Topic:
    """
    One topic of a node.

    Parameters
    ----------
    name
        Relative name, so that remapping and namespaces work.
    msgtype
        Type such as ``nav_msgs/msg/Path``.
    depth
        Messages kept for a slow reader. The 200 of the estimates are four seconds at 50 Hz: after
        a stall the samples that were kept are answered within milliseconds, sooner than a reader
        acknowledges. With 10, a stall of a second lost 38 of 181.
    reliable
        Reliable, or best effort (what REP-2003 asks of readers of sensors).
    latched
        Transient local: a late subscriber gets the last message.

    """

    name: str
    msgtype: str
    depth: int = 200
    reliable: bool = True
    latched: bool = False


class Topics:
    """
    All topics with a fixed type.

    The IMU's depth is four seconds of samples at 1000 Hz, the longest stall that loses nothing:
    on a machine with six times its load, stalls of a second and more were measured. An old image
    is worth nothing. ``LEARNING`` is the updater's alone.
    """

    IMU = Topic('imu', 'sensor_msgs/msg/Imu', depth=4000, reliable=False)
    IMAGE = Topic('image', 'sensor_msgs/msg/Image', depth=1, reliable=False)
    POSITION = Topic('position', 'geometry_msgs/msg/PoseWithCovarianceStamped')
    ODOMETRY = Topic('odometry', 'nav_msgs/msg/Odometry')
    PREDICTED_PATH = Topic('predicted_path', 'nav_msgs/msg/Path')
    LATENT_STATE = Topic('latent_state', 'std_msgs/msg/Float64MultiArray')
    MARKERS = Topic('markers', 'visualization_msgs/msg/MarkerArray', depth=1, latched=True)
    PARTICLES = Topic('particles', 'sensor_msgs/msg/PointCloud2', depth=10)
    STATUS = Topic('status', 'std_msgs/msg/Float64MultiArray', depth=10)
    DIAGNOSTICS = Topic('diagnostics', 'diagnostic_msgs/msg/DiagnosticArray', depth=10)
    LEARNING = Topic('learning', 'std_msgs/msg/Float64MultiArray', depth=10)


ADAPTING = 'adapting/'
"""Prefix of the updater's topics and services: two publishers on one topic would be a trap."""

ESTIMATE_TOPICS = (
    Topics.POSITION,
    Topics.ODOMETRY,
    Topics.PREDICTED_PATH,
    Topics.LATENT_STATE,
    Topics.MARKERS,
)
"""Published once per valid estimate."""

PUBLISHED = {
    topic.name: topic
    for topic in (*ESTIMATE_TOPICS, Topics.PARTICLES, Topics.STATUS, Topics.DIAGNOSTICS)
}
"""Everything that the filter node publishes, by name."""
