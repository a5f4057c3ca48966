# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which known route a recording is of, by its positions, and how well a filter names it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.recordings.recording import PositionStream, Recording
    from two_manifold_ros.typing import Bools, Floats

MOST_POINTS = 2_000
"""Points along a drive that are looked up on each track; a lap has some hundred bends at most."""


def recordings_by_route(
    model: ModelHead, recordings: Sequence[Recording]
) -> dict[str, list[Recording]]:
    """
    Return recordings by the known route that their positions follow best, the way it goes.

    A model of one route has all of them, under no name.

    Raises
    ------
    InputError
        If a recording has no positions, or none that move in the frame and plane of a route.

    """
    if '' in model.routes:
        return {'': list(recordings)}
    lines = {name: _line(each.track) for name, each in model.routes.items()}
    found: dict[str, list[Recording]] = {}
    for recording in recordings:
        stream = recording.positions
        fits = [
            name
            for name, each in model.routes.items()
            if stream is not None and _same_plane(stream, each) and len(lines[name])
        ]
        driven = _line(stream.positions[~stream.left_out]) if stream is not None else np.empty(0)
        if not fits or not len(driven):
            msg = (
                f'{recording.name}: it has no positions along a route that the model knows '
                f'({", ".join(model.routes)}), so the right one is not known: evaluate on '
                'recordings with positions in the frames of the training'
            )
            raise InputError(msg)
        driven = driven[:: max(len(driven) // MOST_POINTS, 1)]
        apart_m = {name: _apart_m(driven, lines[name]) for name in fits}
        found.setdefault(min(fits, key=apart_m.__getitem__), []).append(recording)
    return {name: found[name] for name in model.routes if name in found}


def _same_plane(stream: PositionStream, model: ModelHead) -> bool:
    frames = {stream.frame_id, model.frame_id} - {''}
    return len(frames) < 2 and stream.origin == model.origin


def _line(track: Floats) -> Floats:
    """Return positions and directions (n, 4) along a track (T, 2), NaN between runs."""
    steps = np.diff(track, axis=0)
    lengths = np.hypot(*steps.T)
    # Where it stands there is no direction.
    moves = np.isfinite(lengths) & (lengths > 1e-9)
    return np.hstack([track[:-1][moves], steps[moves] / lengths[moves, None]])


def _apart_m(driven: Floats, line: Floats) -> float:
    """Return how far a drive is from a line; the other direction counts as a tenth of its size."""
    size = float(np.ptp(line[:, :2], axis=0).max())
    scale = np.array([1.0, 1.0, 0.05 * size, 0.05 * size])
    distances, _ = cKDTree(line * scale).query(driven * scale)
    # Of a drive that leaves its route for a while.
    return float(np.median(distances))


@dataclass(frozen=True)
class RouteNaming:
    """
    How often the right route was named, after one and a half windows of each recording.

    Parameters
    ----------
    ticks
        Ticks after that.
    right
        Share of them at which the route that is named is the right one.
    wrong_published, wrong_tracking
        Share of those with a published position, and of those tracking, at which it is another
        one; NaN where there are none.

    """

    ticks: int
    right: float
    wrong_published: float
    wrong_tracking: float

    def to_json(self) -> dict[str, float | None]:
        """Return the numbers as JSON values; none is NaN."""
        return {name: None if math.isnan(value) else value for name, value in asdict(self).items()}


def score_naming(
    right: Sequence[bool], late: Bools, published: Bools, tracking: Bools
) -> RouteNaming:
    """Score at which ticks (T,) the name was ``right``; those not ``late`` do not count."""
    is_right = np.array(right, dtype=np.bool_)

    def share(chosen: Bools) -> float:
        return float(np.mean(chosen)) if len(chosen) else math.nan

    return RouteNaming(
        int(late.sum()),
        share(is_right[late]),
        share(~is_right[late & published]),
        share(~is_right[late & tracking]),
    )
