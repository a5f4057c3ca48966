# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What rviz draws: the learned track, the position with its ellipse, the path ahead."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.estimate import all_finite
from two_manifold_ros.interface.estimates import (
    ellipse95,
    header,
    latent_state_message,
    NANOSECONDS,
    odometry_message,
    particles_message,
    pose_fields,
    position_message,
    predicted_path_message,
    stamp_fields,
)
from two_manifold_ros.interface.topics import (
    ESTIMATE_TOPICS,
    LATENT_STATE,
    MARKERS,
    ODOMETRY,
    PARTICLES,
    POSITION,
    PREDICTED_PATH,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.interface.topics import Frames, Message, Topic
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.typing import Bools, Floats

    Builder = Callable[[Estimate, ModelHead, Frames], Message]


MOST_POINTS = 4000
"""About how many points a drawn track has at most: a message of 100 kB once a second."""
FINEST = 1 / 500
"""Points nearer to each other than this share of the track's size add nothing to see."""


class DrawnTrack(NamedTuple):
    """
    What there is to draw of a track.

    Parameters
    ----------
    size
        As of `track_size`.
    runs
        As of `track_runs`.

    """

    size: float
    runs: list[Floats]


class _SameArray(NamedTuple):
    """An array as a key: the same object, not the same numbers."""

    array: Floats

    def __hash__(self) -> int:
        return id(self.array)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SameArray) and self.array is other.array


def drawn_track(track: Floats) -> DrawnTrack:
    """
    Return what to draw of (n, 2) positions with NaN rows, found once for each array.

    The array must not be changed afterwards; those of models are not.
    """
    return _drawn_track(_SameArray(track))


# As many as models are in use at once, in a process that compares two.
@lru_cache(maxsize=2)
def _drawn_track(track: _SameArray) -> DrawnTrack:
    return DrawnTrack(track_size(track.array), track_runs(track.array))


def track_size(track: Floats) -> float:
    """Return the longer side, in metres, of the box around (n, 2) positions with NaN rows."""
    finite = track[np.isfinite(track).all(axis=1)]
    if len(finite) == 0:
        return 1.0
    return max(float(np.ptp(finite, axis=0).max()), 1e-3)


def track_runs(track: Floats) -> list[Floats]:
    """
    Split (n, 2) positions at NaN rows into runs of at least two points, thinned for drawing.

    Every run keeps its ends; between them points are taken at even distances along it.
    """
    known = np.isfinite(track).all(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]])))
    runs = [track[start:end] for start, end in edges.reshape(-1, 2) if end - start > 1]
    lengths = [_arc_length(run) for run in runs]
    total = sum(float(length[-1]) for length in lengths)
    spacing = max(track_size(track) * FINEST, total / MOST_POINTS)
    return [run[_every(length, spacing)] for run, length in zip(runs, lengths, strict=True)]


def _arc_length(run: Floats) -> Floats:
    steps = np.hypot(*np.diff(run, axis=0).T)
    return np.concatenate([[0.0], np.cumsum(steps)])


def _every(length: Floats, spacing: float) -> Bools:
    cell = np.floor(length / spacing)
    keep = np.diff(cell, prepend=-1.0) > 0
    keep[-1] = True
    return keep


SPHERE, CYLINDER, LINE_STRIP = 2, 3, 4
"""Shapes, numbered as in ``visualization_msgs/Marker``."""

TRACK_COLOUR = (0.55, 0.55, 0.6, 0.8)
PATH_COLOUR = (0.1, 0.5, 0.95, 0.9)
ELLIPSE_COLOUR = (0.95, 0.6, 0.1, 0.35)
POSITION_COLOUR = (0.9, 0.15, 0.1, 1.0)

_ORIGIN = np.zeros(2)
_FAR_ALPHA = 0.1


def markers_message(estimate: Estimate, model: ModelHead, frames: Frames) -> Message:
    """
    Return ``visualization_msgs/MarkerArray``.

    Namespaces are ``track`` (one id per run), ``position``, ``predicted_path`` and ``ellipse``
    (one id per horizon). The track is in the message about once a second, so that a late viewer
    sees it without carrying it always. Lifetimes make all of it vanish when nothing comes any
    more.
    """
    base = {'header': header(estimate.stamp_ns, frames.track), 'action': 0}
    drawn = drawn_track(model.track)
    width = drawn.size / 250
    markers = _position_markers(estimate, width)
    lifetime = max(NANOSECONDS, 3 * model.period_ns)
    if estimate.tick % ticks_per_second(model) == 0:
        markers += _track_markers(drawn.runs, width, 3 * lifetime)
    for marker in markers:
        marker.update(base)
        marker.setdefault('lifetime', stamp_fields(lifetime))
    return {'markers': markers}


def ticks_per_second(model: ModelHead) -> int:
    """Return how many ticks make a second, at least one."""
    return max(1, round(model.rate_hz))


def _position_markers(estimate: Estimate, width: float) -> list[Message]:
    count = len(estimate.positions)
    fading = np.linspace(ELLIPSE_COLOUR[3], _FAR_ALPHA, count)
    path = _marker('predicted_path', 0, LINE_STRIP, (width, 0.0, 0.0), PATH_COLOUR)
    path['points'] = points(estimate.positions)
    ball = _marker('position', 0, SPHERE, (4 * width,) * 3, POSITION_COLOUR)
    ball['pose'] = pose_fields(estimate.positions[0], 0.0)
    ellipses = [
        _ellipse_marker(index, estimate, (*ELLIPSE_COLOUR[:3], float(fading[index])), width)
        for index in range(count)
    ]
    # A strip of one point is an error to rviz.
    return [ball, *([path] if count > 1 else []), *ellipses]


def _ellipse_marker(
    index: int, estimate: Estimate, colour: tuple[float, ...], width: float
) -> Message:
    long, short, yaw = ellipse95(estimate.covariances[index])
    flat = width / 10
    marker = _marker('ellipse', index, CYLINDER, (max(long, flat), max(short, flat), flat), colour)
    marker['pose'] = pose_fields(estimate.positions[index], yaw)
    return marker


def _track_markers(runs: list[Floats], width: float, lifetime: int) -> list[Message]:
    markers = []
    for index, run in enumerate(runs):
        marker = _marker('track', index, LINE_STRIP, (width / 2, 0.0, 0.0), TRACK_COLOUR)
        marker['points'] = points(run)
        marker['lifetime'] = stamp_fields(lifetime)
        markers.append(marker)
    return markers


def _marker(
    namespace: str, index: int, shape: int, scale: tuple[float, ...], colour: tuple[float, ...]
) -> Message:
    return {
        'ns': namespace,
        'id': index,
        'type': shape,
        'pose': pose_fields(_ORIGIN, 0.0),
        'scale': dict(zip('xyz', scale, strict=True)),
        'color': dict(zip('rgba', colour, strict=True)),
    }


def points(positions: Floats) -> list[Message]:
    """Return (n, 2) positions as the fields of ``geometry_msgs/Point``, at height zero."""
    return [{'x': east, 'y': north, 'z': 0.0} for east, north in positions.tolist()]


BUILDERS: dict[str, Builder] = {
    POSITION.name: lambda estimate, _, frames: position_message(estimate, frames),
    ODOMETRY.name: lambda estimate, _, frames: odometry_message(estimate, frames),
    PREDICTED_PATH.name: predicted_path_message,
    LATENT_STATE.name: lambda estimate, _, __: latent_state_message(estimate),
    MARKERS.name: markers_message,
    PARTICLES.name: lambda estimate, _, frames: particles_message(estimate, frames),
}
"""How the message of each topic is made, by the topic's name."""


def publishable(estimate: Estimate) -> bool:
    """Return whether an estimate is valid and every number in it is finite."""
    return estimate.valid and all_finite(
        estimate.state,
        estimate.positions,
        estimate.covariances,
        estimate.velocity,
        estimate.velocity_covariance,
    )


def topics_of(estimate: Estimate) -> tuple[Topic, ...]:
    """Return the topics that an estimate has messages for."""
    return ESTIMATE_TOPICS if estimate.places is None else (*ESTIMATE_TOPICS, PARTICLES)


def messages_of(
    estimate: Estimate, model: ModelHead, frames: Frames
) -> Iterator[tuple[str, str, Message]]:
    """
    Yield topic name, message type and message for everything published for an estimate.

    Nothing is yielded for an estimate that may not be published.
    """
    if not publishable(estimate):
        return
    for topic in topics_of(estimate):
        yield topic.name, topic.msgtype, BUILDERS[topic.name](estimate, model, frames)
