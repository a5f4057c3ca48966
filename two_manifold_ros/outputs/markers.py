# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What rviz draws: the learned track, the position with its ellipse, the path ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.outputs.ellipse import ellipse95
from two_manifold_ros.outputs.header import header, NANOSECONDS, stamp_fields
from two_manifold_ros.outputs.pose import pose_fields
from two_manifold_ros.outputs.track import drawn_track

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.outputs.frames import Frames
    from two_manifold_ros.outputs.topics import Message
    from two_manifold_ros.typing import Floats

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
