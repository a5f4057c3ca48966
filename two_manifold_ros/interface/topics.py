# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Topics, types, qualities of service and frames of what is published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from two_manifold_ros.model.head import ModelHead


USUAL_TRACK = 'map'
USUAL_CHILD = 'base_link'


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


def choose_frames(model: ModelHead, track: str = USUAL_TRACK, child: str = '') -> Frames:
    """
    Return the named frames; an empty name means that of the training, if it had one.

    Where the positions were trained in another frame than they are published in, the two are
    taken to be the same place: nothing is transformed.
    """
    return Frames(
        track=track or model.frame_id or USUAL_TRACK,
        child=child or model.imu_frame_id or USUAL_CHILD,
    )


Message: TypeAlias = dict[str, Any]
"""A message as a nested dict named like the ROS fields; leaves are whatever the type says."""


@dataclass(frozen=True)
class Topic:
    """
    One topic of the filter.

    Parameters
    ----------
    name
        Relative name, so that remapping and namespaces work.
    msgtype
        Such as ``nav_msgs/msg/Path``.
    depth
        Messages kept for a slow reader.
    reliable
        Reliable, or best effort (what REP-2003 asks of readers of sensors).
    latched
        Transient local: who subscribes late is given the last message.

    """

    name: str
    msgtype: str
    depth: int = 10
    reliable: bool = True
    latched: bool = False


# Four seconds of samples at 1000 Hz: the longest stall that loses nothing. On a machine with six
# times more to do than it can, stalls of a second and more were measured.
IMU = Topic('imu', 'sensor_msgs/msg/Imu', depth=4000, reliable=False)

# An old frame is worth nothing.
IMAGE = Topic('image', 'sensor_msgs/msg/Image', depth=1, reliable=False)

# Four seconds of estimates at 50 Hz: after a stall the samples that were kept are answered within
# milliseconds, sooner than a reader acknowledges. With 10, a stall of a second lost 38 of 181.
_ANSWERS = 200

POSITION = Topic('position', 'geometry_msgs/msg/PoseWithCovarianceStamped', depth=_ANSWERS)
ODOMETRY = Topic('odometry', 'nav_msgs/msg/Odometry', depth=_ANSWERS)
PREDICTED_PATH = Topic('predicted_path', 'nav_msgs/msg/Path', depth=_ANSWERS)
LATENT_STATE = Topic('latent_state', 'std_msgs/msg/Float64MultiArray', depth=_ANSWERS)
MARKERS = Topic('markers', 'visualization_msgs/msg/MarkerArray', depth=1, latched=True)
PARTICLES = Topic('particles', 'sensor_msgs/msg/PointCloud2')
STATUS = Topic('status', 'std_msgs/msg/Float64MultiArray')
DIAGNOSTICS = Topic('diagnostics', 'diagnostic_msgs/msg/DiagnosticArray')

# Of the updater, beside those of its estimates.
LEARNING = Topic('learning', 'std_msgs/msg/Float64MultiArray')
ADAPTING = 'adapting/'
"""What the updater's topics begin with: two publishers on one topic would be a trap."""

ESTIMATE_TOPICS = (POSITION, ODOMETRY, PREDICTED_PATH, LATENT_STATE, MARKERS)
"""Published once per valid estimate."""

TOPICS = {topic.name: topic for topic in (*ESTIMATE_TOPICS, PARTICLES, STATUS, DIAGNOSTICS)}
"""Everything that is published, by name."""
