# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Messages of an estimate, as plain dictionaries named like the ROS fields."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.interface.topics import Frames, Message
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.typing import Floats


NANOSECONDS = 1_000_000_000


def stamp_fields(stamp_ns: int) -> Message:
    """Return the fields of ``builtin_interfaces/Time`` or ``Duration`` for nanoseconds."""
    seconds, nanoseconds = divmod(int(stamp_ns), NANOSECONDS)
    return {'sec': seconds, 'nanosec': nanoseconds}


def header(stamp_ns: int, frame: str) -> Message:
    """Return the fields of ``std_msgs/Header``."""
    return {'stamp': stamp_fields(stamp_ns), 'frame_id': frame}


def labelled_array(stamp_ns: int, numbers: Mapping[str, float]) -> Message:
    """
    Return ``std_msgs/Float64MultiArray``: seconds, nanoseconds, then the numbers.

    The message has no header, so the stamp leads the data as two numbers, each of which a float64
    holds exactly. The label of the only dimension names every entry, separated by commas.

    Parameters
    ----------
    stamp_ns
        Nanoseconds.
    numbers
        By name, in the order to tell them.

    """
    stamp = stamp_fields(stamp_ns)
    data = [float(stamp['sec']), float(stamp['nanosec']), *map(float, numbers.values())]
    label = ','.join(['sec', 'nanosec', *numbers])
    dimension = {'label': label, 'size': len(data), 'stride': len(data)}
    return {'layout': {'dim': [dimension], 'data_offset': 0}, 'data': data}


CHI_SQUARE_95 = -2.0 * math.log(0.05)
"""95 % quantile of the chi-square distribution with two degrees of freedom."""


def ellipse95(covariance: Floats) -> tuple[float, float, float]:
    """
    Return the full lengths of the long and the short axis (metres) and the long axis' yaw.

    The ellipse of a (2, 2) covariance that holds a normal variable with probability 0.95.
    """
    variances, axes = np.linalg.eigh(covariance)
    short, long = 2.0 * np.sqrt(CHI_SQUARE_95 * np.maximum(variances, 0.0))
    return float(long), float(short), math.atan2(axes[1, 1], axes[0, 1])


UNIFORM_ANGLE_VARIANCE = math.pi**2 / 3
"""Variance of an angle about which nothing is known, rad^2."""


@dataclass(frozen=True)
class Course:
    """
    Direction and speed of travel.

    Parameters
    ----------
    yaw
        Direction of the velocity in the track frame, radians from x towards y.
    yaw_variance
        Its variance, rad^2; never above that of a uniform angle, which a standstill has.
    speed
        Along the course, m/s; the velocity across it is zero by definition.
    velocity_covariance : (2, 2)
        Of the velocity along and across the course, (m/s)^2.

    """

    yaw: float
    yaw_variance: float
    speed: float
    velocity_covariance: Floats


def course_of(estimate: Estimate) -> Course:
    """Return the course over ground of an estimate."""
    east, north = estimate.velocity.tolist()
    yaw, speed = math.atan2(north, east), math.hypot(east, north)
    cosine, sine = math.cos(yaw), math.sin(yaw)
    (xx, xy), (_, yy) = estimate.velocity_covariance.tolist()
    along = cosine**2 * xx + 2 * cosine * sine * xy + sine**2 * yy
    across = sine**2 * xx - 2 * cosine * sine * xy + cosine**2 * yy
    mixed = cosine * sine * (yy - xx) + (cosine**2 - sine**2) * xy
    covariance = np.array([[along, mixed], [mixed, across]])
    # Comparing before dividing keeps a standstill finite.
    known = across < UNIFORM_ANGLE_VARIANCE * speed**2
    variance = across / speed**2 if known else UNIFORM_ANGLE_VARIANCE
    return Course(yaw, variance, speed, covariance)


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


PARTICLES_HZ = 5.0
"""How often they are published by default: for people to look at."""

FIELDS = ('x', 'y', 'z', 'weight')
_FLOAT32, _BYTES = 7, 4
"""As in ``sensor_msgs/PointField``."""


def particles_message(estimate: Estimate, frames: Frames) -> Message:
    """Return ``sensor_msgs/PointCloud2``: the likeliest place first, the chance as weight."""
    places = np.zeros((0, 3)) if estimate.places is None else estimate.places
    rows: Floats = np.column_stack([places[:, :2], np.zeros(len(places)), places[:, 2]])
    step = _BYTES * len(FIELDS)
    return {
        'header': header(estimate.stamp_ns, frames.track),
        'height': 1,
        'width': len(places),
        'fields': [
            {'name': name, 'offset': _BYTES * index, 'datatype': _FLOAT32, 'count': 1}
            for index, name in enumerate(FIELDS)
        ],
        'is_bigendian': False,
        'point_step': step,
        'row_step': step * len(places),
        'data': list(rows.astype('<f4').tobytes()),
        'is_dense': True,
    }


def latent_state_message(estimate: Estimate) -> Message:
    """Return ``std_msgs/Float64MultiArray``, see `labelled_array`: the stamp, then the state."""
    state = {f'state_{index}': value for index, value in enumerate(estimate.state.tolist())}
    return labelled_array(estimate.stamp_ns, state)


def adaptation_message(stamp_ns: int, numbers: Mapping[str, float]) -> Message | None:
    """
    Return ``std_msgs/Float64MultiArray``, see `labelled_array`.

    Parameters
    ----------
    stamp_ns
        Nanoseconds.
    numbers
        By name, in the order to tell them.

    Returns
    -------
    Message, optional
        ``None`` if not every number is finite.

    """
    entries = {name: float(number) for name, number in numbers.items()}
    finite = all(map(math.isfinite, entries.values()))
    return labelled_array(stamp_ns, entries) if finite else None
