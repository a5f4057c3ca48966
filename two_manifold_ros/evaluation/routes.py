# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which known route a recording is of, by its positions, and how well a filter names it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import KDTree

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.shared_places import positions_apart, SHARED, shared_places
from two_manifold_ros.recordings.satellite_fixes import distance_m, in_plane

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.model import ModelHead, RouteModel
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Bools, Floats


def in_plane_of(model: ModelHead, recording: Recording) -> Recording:
    """Return a recording in the tangent plane of the nearest route of a model, if it has fixes."""
    stream = recording.positions
    origins = [each.origin for each in model.routes.values() if each.origin is not None]
    if stream is None or stream.origin is None or not origins:
        return recording
    own = stream.origin
    nearest = min(origins, key=lambda each: distance_m(each, own))
    return replace(recording, positions=in_plane(stream, nearest))


def recordings_by_route(
    model: ModelHead, recordings: Sequence[Recording]
) -> dict[str, list[Recording]]:
    """Return recordings by the route that they drive most; ``InputError`` if none."""
    if '' in model.routes:
        return {'': list(recordings)}
    found: dict[str, list[Recording]] = {}
    for recording in recordings:
        found.setdefault(_route_of(recording, model), []).append(recording)
    return {name: found[name] for name in model.routes if name in found}


def _route_of(recording: Recording, model: ModelHead) -> str:
    """Return the name of the route at whose places a recording drives most."""
    shares, stream = {}, recording.positions
    for name, each in model.routes.items():
        if stream is None or stream.origin != each.origin:
            continue
        if len({stream.frame_id, each.frame_id} - {''}) < 2:
            period_s = 1.0 / each.rate_hz
            tracks = [positions_apart(recording, period_s), each.track]
            shares[name] = float(shared_places(tracks, period_s)[0, 1])
    names = ', '.join(model.routes)
    if not shares:
        msg = (
            f'{recording.name}: it has no positions in the frame of a route that the model knows '
            f'({names}), so the right one is not known: evaluate on recordings with positions in '
            'the frames of the training'
        )
        raise InputError(msg)
    best = max(shares, key=shares.__getitem__)
    if shares[best] < SHARED:
        msg = (
            f'{recording.name}: next to none of its places are on a route that the model knows '
            f'({names}), driven in the same direction, so no estimate could be right: '
            'two-manifold replay shows whether the filter stays lost there'
        )
        raise InputError(msg)
    return best


def read_on(model: ModelHead, route: str, estimates: Sequence[Estimate]) -> tuple[Floats, Floats]:
    """
    Return positions (T, H, 2) and covariances of estimates at the horizons of a ``route``.

    An estimate of another route has none (NaN), unless it is at a place of this one, in one frame
    and up to its ellipse: then the place is known and only the name is not.
    """
    routes, head = model.routes, model.routes[route]
    positions = np.full((len(estimates), len(head.horizons), 2), np.nan)
    covariances = np.full((*positions.shape, 2), np.nan)
    others = []
    for row, each in enumerate(estimates):
        own = routes[each.route]
        if own is head:
            positions[row], covariances[row] = each.positions, each.covariances
        elif (own.frame_id, own.origin) == (head.frame_id, head.origin):
            others.append(row)
    at_place = _are_at_places([estimates[row] for row in others], head)
    for row in np.array(others, dtype=np.int64)[at_place].tolist():
        each = estimates[row]
        own = routes[each.route]
        ahead_ns = [horizon * own.period_ns for horizon in own.horizons]
        for index, horizon in enumerate(head.horizons):
            if horizon * head.period_ns in ahead_ns:
                column = ahead_ns.index(horizon * head.period_ns)
                positions[row, index] = each.positions[column]
                covariances[row, index] = each.covariances[column]
    return positions, covariances


def _are_at_places(estimates: Sequence[Estimate], model: ModelHead) -> Bools:
    """Return whether estimates (T,) in the frame of a route are at places of it."""
    here = np.array([each.positions[0] for each in estimates]).reshape(-1, 2)
    found: Bools = np.isfinite(here).all(axis=1)
    if found.any():
        track = model.track
        # Places of a drive are a stride apart.
        stride_m = np.nanmedian(np.linalg.norm(np.diff(track, axis=0), axis=1))
        reach_m = np.fmax([each.ellipse_m for each in estimates], stride_m)[found]
        places = KDTree(track[np.isfinite(track).all(axis=1)])
        found[found] = places.query(here[found])[0] <= reach_m
    return found


@dataclass(frozen=True)
class RouteNaming:
    """How often the right route was named, one and a half windows after each start."""

    ticks: int
    right: float  # share of the ticks after that
    wrong_published: float  # of those with a published position, NaN without any
    wrong_tracking: float  # of those tracking, NaN without any

    def to_json(self) -> dict[str, float | None]:
        """Return the numbers as JSON values; none is NaN."""
        return {name: None if math.isnan(value) else value for name, value in asdict(self).items()}


def are_passing(model: RouteModel, names: Sequence[str], positions: Floats) -> tuple[Bools, Bools]:
    """Return whether the named lines pass true positions, and where that is known: (T,)."""
    lines = model.lines
    if lines is None:
        msg = 'a map without lines has none that could pass'
        raise TypeError(msg)
    known: Bools = np.asarray(np.isfinite(positions).all(axis=1))
    named, passing = np.array(names, dtype=np.str_), np.zeros(len(names), dtype=np.bool_)
    for name, passes in zip(lines.names, lines.passes.T, strict=True):
        asked = known & np.equal(named, name)
        there = model.route.readout.targets[passes > 0.0, 0]
        if asked.any():
            passing[asked] = KDTree(there).query(positions[asked])[0] <= lines.apart_m
    return passing, known


def score_naming(right: Bools, late: Bools, published: Bools, tracking: Bools) -> RouteNaming:
    """Score at which ticks (T,) the name was ``right``; those not ``late`` do not count."""

    def share(chosen: Bools) -> float:
        return float(np.mean(chosen)) if len(chosen) else math.nan

    return RouteNaming(
        int(late.sum()),
        share(right[late]),
        share(~right[late & published]),
        share(~right[late & tracking]),
    )
