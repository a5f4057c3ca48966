# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Topics of the nodes, and the messages of an estimate as plain dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
import math
from typing import Any, NamedTuple, TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros.model.path_ahead import Ahead, PathAhead
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.model import ModelHead


Message: TypeAlias = dict[str, Any]
"""A message as a nested dict named like the ROS fields; leaves are whatever the type says."""


BASE_FRAME = 'base_link'
"""Frame of the vehicle itself, x ahead (REP-105)."""


class DrawnTrack:
    """``runs`` of a track, (n, 2) in metres with NaN between them, thinned; its ``size`` in m."""

    def __init__(self, track: Floats, most_points: int = 4000) -> None:
        known = np.isfinite(track).all(axis=1)
        finite = track[known]
        self.size = 1.0 if len(finite) == 0 else max(float(np.ptp(finite, axis=0).max()), 1e-3)
        edges = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]])))
        runs = [track[start:end] for start, end in edges.reshape(-1, 2) if end - start > 1]
        lengths = [
            np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(run, axis=0).T))]) for run in runs
        ]
        total = sum(float(length[-1]) for length in lengths)
        spacing = total / most_points or self.size
        self.runs: list[Floats] = []
        for run, length in zip(runs, lengths, strict=True):
            keep = np.diff(np.floor(length / spacing), prepend=-1.0) > 0
            keep[-1] = True
            self.runs.append(run[keep])


@dataclass(frozen=True)
class Scene:
    """Model and frames of the estimates that are published; frames are named after REP-105."""

    model: ModelHead
    # Fixed frame of the positions: absolute, and they may jump, so it is map-like, never odom.
    track: str
    # Frame of the moving body; its x axis is taken to point along the course over ground.
    child: str
    # By name, the routes of an atlas, each of which has its own model and frame.
    routes: Mapping[str, Scene] = field(default_factory=dict, compare=False, repr=False)

    def of(self, estimate: Estimate) -> Scene:
        """Return the model and frames of the route that an estimate is of."""
        return self.routes.get(estimate.route, self)

    @cached_property
    def drawn(self) -> DrawnTrack:
        """The track of the model, thinned for drawing once."""
        return DrawnTrack(self.model.track)

    @cached_property
    def paths(self) -> PathAhead | None:
        """Paths along the map of the model; ``None`` where it has none."""
        route = self.model.route_model
        return None if route is None else PathAhead(route)

    def ahead(self, estimate: Estimate) -> Ahead:
        """Return the path ahead of an estimate along the route."""
        if estimate.ahead is not None:
            return estimate.ahead()
        return self.along(estimate.path, estimate.path_name)

    def along(self, positions: Floats, name: str) -> Ahead:
        """Return the path through positions at the horizons on a line, or route, of a name."""
        first = name.partition('+')[0]
        # Another way that may be driven can be on another route.
        known = (each for each in self.routes.values() if first in each.model.route_names)
        scene = self.routes.get(first) or next(known, self)
        if scene.paths is None:
            return Ahead(np.array(scene.model.horizons, dtype=np.float64), positions)
        return scene.paths.along(positions, first)


def choose_scene(model: ModelHead, track: str = '', child: str = '') -> Scene:
    """Return the named frames; empty names mean those of the training, and base_link."""
    routes: dict[str, Scene] = {}

    def scene_of(one: ModelHead) -> Scene:
        return Scene(one, track or one.frame_id or 'map', child or BASE_FRAME, routes)

    routes |= {name: scene_of(each) for name, each in model.routes.items() if name}
    return scene_of(model)


@dataclass(frozen=True)
class Topic:
    """One topic of a node; its name is relative, so that remapping and namespaces work."""

    name: str
    msgtype: str
    # Messages kept for a slow reader: 200 are four seconds at 50 Hz.
    depth: int = 200
    # Or best effort, which REP-2003 asks of readers of sensors.
    reliable: bool = True
    # Transient local: a late subscriber gets the last message.
    latched: bool = False
    # Whether it has the same full name in every namespace.
    is_global: bool = False

    @property
    def address(self) -> str:
        """The name that it is published by."""
        return f'/{self.name}' if self.is_global else self.name


class Topics:
    """
    All topics with a fixed type.

    The depth of the IMU is four seconds of samples at 8 kHz, for stalls of a busy machine.
    Aggregators hear /diagnostics alone: diagnostic_updater publishes there from any namespace.
    """

    IMU = Topic('imu', 'sensor_msgs/msg/Imu', depth=32_000, reliable=False)
    INITIAL_POSE = Topic('initialpose', 'geometry_msgs/msg/PoseWithCovarianceStamped', depth=1000)
    POSITION = Topic('position', 'geometry_msgs/msg/PoseWithCovarianceStamped')
    ODOMETRY = Topic('odometry', 'nav_msgs/msg/Odometry')
    PREDICTED_PATH = Topic('predicted_path', 'nav_msgs/msg/Path')
    LATENT_STATE = Topic('latent_state', 'std_msgs/msg/Float64MultiArray')
    MARKERS = Topic('markers', 'visualization_msgs/msg/MarkerArray', depth=1, latched=True)
    PARTICLES = Topic('particles', 'sensor_msgs/msg/PointCloud2', depth=10)
    LAPS = Topic('laps', 'std_msgs/msg/Float64MultiArray', depth=10)
    ROUTES = Topic('routes', 'std_msgs/msg/Float64MultiArray', depth=10)
    BRANCHES = Topic('branches', 'std_msgs/msg/Float64MultiArray')
    STATUS = Topic('status', 'std_msgs/msg/Float64MultiArray', depth=10)
    DIAGNOSTICS = Topic(
        'diagnostics', 'diagnostic_msgs/msg/DiagnosticArray', depth=10, is_global=True
    )


ADAPTING = 'adapting/'
"""Prefix of the updater's topics: two publishers on one topic would be a trap."""

UNIFORM_ANGLE_VARIANCE = math.pi**2 / 3
"""Variance of an angle about which nothing is known, rad^2."""

UNKNOWN_VARIANCE = 1e6
"""Variance where nothing is known (m^2, rad^2 and per second): large, or some believe the 0."""


def stamp_fields(stamp_ns: int) -> Message:
    """Return the fields of ``builtin_interfaces/Time`` or ``Duration`` for nanoseconds."""
    seconds, nanoseconds = divmod(int(stamp_ns), 10**9)
    return {'sec': seconds, 'nanosec': nanoseconds}


def header(stamp_ns: int, frame: str) -> Message:
    """Return the fields of ``std_msgs/Header``."""
    return {'stamp': stamp_fields(stamp_ns), 'frame_id': frame}


def labelled_array(stamp_ns: int, numbers: Mapping[str, float]) -> Message:
    """Return ``std_msgs/Float64MultiArray``: stamp and numbers, all named by the label."""
    stamp = stamp_fields(stamp_ns)
    data = [float(stamp['sec']), float(stamp['nanosec']), *map(float, numbers.values())]
    label = ','.join(['sec', 'nanosec', *numbers])
    dimension = {'label': label, 'size': len(data), 'stride': len(data)}
    return {'layout': {'dim': [dimension], 'data_offset': 0}, 'data': data}


def ellipse95(covariance: Floats) -> tuple[float, float, float]:
    """Return the full lengths of both axes of the 95 % ellipse, m, and the yaw of the long one."""
    variances, axes = np.linalg.eigh(covariance)
    # The 95 % quantile of the chi-square distribution with two degrees of freedom.
    short, long = 2.0 * np.sqrt(-2.0 * math.log(0.05) * np.maximum(variances, 0.0))
    return float(long), float(short), math.atan2(axes[1, 1], axes[0, 1])


class CourseOverGround(NamedTuple):
    """Direction and speed of travel; at a standstill the variance is of a uniform angle."""

    # In the track frame, radians from x towards y.
    yaw: float
    yaw_variance: float
    # Along the course, m/s, and (2, 2), along and across it, (m/s)^2.
    speed: float
    velocity_covariance: Floats


def course_of(estimate: Estimate) -> CourseOverGround:
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
    return CourseOverGround(yaw, variance, speed, covariance)


def pose_fields(position: Floats | list[float], yaw: float) -> Message:
    """Return the fields of ``geometry_msgs/Pose`` for a (2,) position in metres and a yaw."""
    return {
        'position': {'x': float(position[0]), 'y': float(position[1]), 'z': 0.0},
        'orientation': {'x': 0.0, 'y': 0.0, 'z': math.sin(yaw / 2), 'w': math.cos(yaw / 2)},
    }


def planar_covariance(plane: Floats, yaw_variance: float = UNKNOWN_VARIANCE) -> Floats:
    """Return (36,), the covariance over x, y, z and the rotations about them, row by row."""
    covariance = np.zeros(36)
    covariance[14:29:7] = UNKNOWN_VARIANCE
    covariance[35] = yaw_variance
    covariance[0:2], covariance[6:8] = plane
    return covariance


def position_message(estimate: Estimate, scene: Scene) -> Message:
    """Return ``geometry_msgs/PoseWithCovarianceStamped``: horizon 0, facing along the course."""
    course = course_of(estimate)
    pose = {
        'pose': pose_fields(estimate.positions[0], course.yaw),
        'covariance': planar_covariance(estimate.covariances[0], course.yaw_variance),
    }
    return {'header': header(estimate.stamp_ns, scene.track), 'pose': pose}


def odometry_message(estimate: Estimate, scene: Scene) -> Message:
    """Return ``nav_msgs/Odometry``; the yaw rate is not estimated, which its variance says."""
    course = course_of(estimate)
    return {
        **position_message(estimate, scene),
        'child_frame_id': scene.child,
        'twist': {
            'twist': {
                'linear': {'x': course.speed, 'y': 0.0, 'z': 0.0},
                'angular': {'x': 0.0, 'y': 0.0, 'z': 0.0},
            },
            'covariance': planar_covariance(course.velocity_covariance),
        },
    }


def predicted_path_message(estimate: Estimate, scene: Scene) -> Message:
    """
    Return ``nav_msgs/Path`` along the likeliest way, each pose stamped when it will be reached.

    Each faces the next one. A model without a map has poses at its horizons alone.
    """
    ahead = scene.ahead(estimate)
    yaws = [course_of(estimate).yaw]
    for east, north in np.diff(ahead.positions, axis=0).tolist():
        # Positions that coincide have no direction between them.
        yaws.append(math.atan2(north, east) if east or north else yaws[-1])
    stamps = estimate.stamp_ns + np.rint(ahead.ticks * scene.model.period_ns).astype(np.int64)
    poses = [
        {'header': header(stamp, scene.track), 'pose': pose_fields(position, yaw)}
        for stamp, position, yaw in zip(
            stamps.tolist(), ahead.positions.tolist(), [*yaws[1:], yaws[-1]], strict=True
        )
    ]
    return {'header': header(estimate.stamp_ns, scene.track), 'poses': poses}


def latent_state_message(estimate: Estimate, _: Scene) -> Message:
    """Return ``std_msgs/Float64MultiArray``, see `labelled_array`: the stamp, then the state."""
    state = {f'state_{index}': value for index, value in enumerate(estimate.state.tolist())}
    return labelled_array(estimate.stamp_ns, state)


def particles_message(estimate: Estimate, scene: Scene) -> Message | None:
    """Return ``sensor_msgs/PointCloud2``, the likeliest place first; they have a lower rate."""
    places = estimate.places
    if places is None:
        return None
    rows: Floats = np.column_stack([places[:, :2], np.zeros(len(places)), places[:, 2]])
    return {
        'header': header(estimate.stamp_ns, scene.track),
        'height': 1,
        'width': len(places),
        # Each is a FLOAT32, number 7 in sensor_msgs/PointField, of four bytes.
        'fields': [
            {'name': name, 'offset': 4 * index, 'datatype': 7, 'count': 1}
            for index, name in enumerate(('x', 'y', 'z', 'weight'))
        ],
        'is_bigendian': False,
        'point_step': 16,
        'row_step': 16 * len(places),
        'data': list(rows.astype('<f4').tobytes()),
        'is_dense': True,
    }


def branches_message(estimate: Estimate, scene: Scene) -> Message | None:
    """
    Return ``std_msgs/Float64MultiArray``: chance and path of each branch, the likeliest first.

    Entries are ``NAME.chance``, ``NAME.x_1.5`` and ``NAME.y_1.5`` of the position 1.5 s ahead and
    so on; lines that go the same way have names joined by ``+``. ``None`` without a name.
    """
    if not estimate.name:
        return None
    model = scene.model
    ahead_s = tuple(each * model.period_ns / 1e9 for each in model.horizons)
    alone = estimate.name, estimate.chances[estimate.name], ahead_s, estimate.positions
    numbers: dict[str, float] = {}
    for name, chance, times_s, positions in estimate.branches or (alone,):
        numbers[f'{name}.chance'] = chance
        for seconds, (x, y) in zip(times_s, positions.tolist(), strict=True):
            numbers |= {f'{name}.x_{seconds:g}': x, f'{name}.y_{seconds:g}': y}
    return labelled_array(estimate.stamp_ns, numbers)


MARKER_TYPES = {'sphere': 2, 'cylinder': 3, 'line_strip': 4, 'sphere_list': 7, 'text': 9}
"""Numbers of the shapes in ``visualization_msgs/Marker``."""


def markers_message(estimate: Estimate, scene: Scene) -> Message:
    """
    Return the ``visualization_msgs/MarkerArray`` that rviz draws.

    Where lines part there is no ellipse, which would be of a mixture. The track comes about once
    a second, so that a late viewer sees it. All of it vanishes when nothing comes any more.
    """
    width = scene.drawn.size / 250
    lifetime = max(10**9, 3 * scene.model.period_ns)
    ball = pose_fields(estimate.positions[0], 0.0)
    red = 0.9, 0.15, 0.1, 1.0
    markers = [_marker('position', 0, 'sphere', (4 * width,) * 3, red, pose=ball)]
    count = len(estimate.positions)
    # A strip of one point is an error to rviz.
    if count > 1:
        ahead = scene.ahead(estimate)
        # Straight lines between horizons alone would leave the road.
        shape = 'line_strip' if len(ahead.ticks) > count else 'sphere_list'
        blue, points = (0.1, 0.5, 0.95, 0.9), _points(ahead.positions)
        markers.append(_marker('predicted_path', 0, shape, (width,) * 3, blue, points=points))
    for index, alpha in enumerate(np.linspace(0.35, 0.1, count).tolist()[: estimate.fork]):
        long, short, yaw = ellipse95(estimate.covariances[index])
        flat = width / 10
        size, colour = (max(long, flat), max(short, flat), flat), (0.95, 0.6, 0.1, alpha)
        pose = pose_fields(estimate.positions[index], yaw)
        markers.append(_marker('ellipse', index, 'cylinder', size, colour, pose=pose))
    if estimate.name:
        text = f'{estimate.name} {estimate.chances[estimate.name]:.0%}'
        # Above the ball, where its lines are not drawn through.
        pose = pose_fields(estimate.positions[0] + np.array([0.0, 8 * width]), 0.0)
        size, black = (0.0, 0.0, 8 * width), (0.2, 0.2, 0.25, 1.0)
        markers.append(_marker('route', 0, 'text', size, black, text=text, pose=pose))
    # The first branch is the predicted path.
    for index, branch in enumerate(estimate.branches[1:]):
        colour = (0.6, 0.2, 0.8, branch.chance)
        way = scene.along(branch.positions, branch.name).positions
        # A strip of one point is an error to rviz.
        points, size = _points(np.vstack([way[:1], way])), (width, 0.0, 0.0)
        markers.append(_marker('branch', index, 'line_strip', size, colour, points=points))
    if estimate.tick % max(1, round(scene.model.rate_hz)) == 0:
        for index, run in enumerate(scene.drawn.runs):
            thin, grey = (width / 2, 0.0, 0.0), (0.55, 0.55, 0.6, 0.8)
            line = _marker('track', index, 'line_strip', thin, grey, points=_points(run))
            markers.append({**line, 'lifetime': stamp_fields(3 * lifetime)})
    base = {'header': header(estimate.stamp_ns, scene.track), 'action': 0}
    usual = {'lifetime': stamp_fields(lifetime)}
    return {'markers': [{**usual, **marker, **base} for marker in markers]}


def _marker(
    namespace: str,
    index: int,
    shape: str,
    scale: tuple[float, ...],
    colour: tuple[float, ...],
    **more: object,
) -> Message:
    return {
        'ns': namespace,
        'id': index,
        'type': MARKER_TYPES[shape],
        'pose': pose_fields(np.zeros(2), 0.0),
        'scale': dict(zip('xyz', scale, strict=True)),
        'color': dict(zip('rgba', colour, strict=True)),
        **more,
    }


def _points(positions: Floats) -> list[Message]:
    """Return (n, 2) positions as the fields of ``geometry_msgs/Point``, at height zero."""
    return [{'x': east, 'y': north, 'z': 0.0} for east, north in positions.tolist()]


_Builder: TypeAlias = 'Callable[[Estimate, Scene], Message | None]'

BUILDERS: dict[Topic, _Builder] = {
    Topics.POSITION: position_message,
    Topics.ODOMETRY: odometry_message,
    Topics.PREDICTED_PATH: predicted_path_message,
    Topics.LATENT_STATE: latent_state_message,
    Topics.MARKERS: markers_message,
    Topics.PARTICLES: particles_message,
    Topics.BRANCHES: branches_message,
}
"""Topics of valid estimates, and what makes their messages."""

PLACED = (Topics.POSITION, Topics.ODOMETRY, Topics.PREDICTED_PATH)
"""Topics of positions that a model of laps alone has as well once fixes place its laps."""

ROUTED = (Topics.ROUTES, Topics.BRANCHES)
"""Topics that are there where several routes are known."""


def builders_of(model: ModelHead) -> dict[Topic, _Builder]:
    """Return what makes messages of estimates: without positions if a model knows laps alone."""
    alone: dict[Topic, _Builder] = {Topics.LATENT_STATE: latent_state_message}
    return alone if model.frame_id == LAP_FRAME else BUILDERS


PUBLISHED = {
    topic.name: topic
    for topic in (*BUILDERS, Topics.LAPS, Topics.ROUTES, Topics.STATUS, Topics.DIAGNOSTICS)
}
"""Everything that the filter node publishes, by name."""


def messages_of(estimate: Estimate, scene: Scene) -> Iterator[tuple[str, str, Message]]:
    """Yield topic name, message type and message for everything published for an estimate."""
    if not estimate.valid:
        return
    for topic, build in builders_of(scene.model).items():
        message = build(estimate, scene.of(estimate))
        if message is not None:
            yield topic.name, topic.msgtype, message
