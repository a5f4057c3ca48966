# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Fixes of a satellite receiver: which are valid, and where they are in a plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
import math

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.recording import GeodeticOrigin, PositionStream
from two_manifold_ros.typing import Bools, Floats, Ints

# WGS84: equatorial radius in metres, and first eccentricity squared from the flattening.
_RADIUS_M = 6_378_137.0
_FLATTENING = 1 / 298.257223563
_ECCENTRICITY_2 = _FLATTENING * (2 - _FLATTENING)


def earth_centred(latitude_deg: Floats, longitude_deg: Floats, altitude_m: Floats) -> Floats:
    """Return earth-centred, earth-fixed coordinates (N, 3), metres, on WGS84."""
    latitude, longitude = np.radians(latitude_deg), np.radians(longitude_deg)
    normal = _RADIUS_M / np.sqrt(1 - _ECCENTRICITY_2 * np.sin(latitude) ** 2)
    across = (normal + altitude_m) * np.cos(latitude)
    up = (normal * (1 - _ECCENTRICITY_2) + altitude_m) * np.sin(latitude)
    return np.stack([across * np.cos(longitude), across * np.sin(longitude), up], axis=-1)


def east_north(
    latitude_deg: Floats, longitude_deg: Floats, altitude_m: Floats, origin: GeodeticOrigin
) -> Floats:
    """Return positions (N, 2), metres east and north, in the plane tangent at the origin."""
    centre = earth_centred(*(np.array([each]) for each in vars(origin).values()))
    away = earth_centred(latitude_deg, longitude_deg, altitude_m) - centre
    latitude, longitude = np.radians([origin.latitude_deg, origin.longitude_deg])
    east = np.array([-np.sin(longitude), np.cos(longitude), 0.0])
    south = np.array([np.cos(longitude), np.sin(longitude)]) * np.sin(latitude)
    north = np.append(-south, np.cos(latitude))
    projected: Floats = away @ np.stack([east, north], axis=1)
    return projected


def latitude_longitude(positions: Floats, origin: GeodeticOrigin) -> Floats:
    """Return degrees north and east (N, 2) of positions, at the height of the origin."""
    degrees = np.tile([origin.latitude_deg, origin.longitude_deg], (len(positions), 1))
    heights = np.full(len(positions), origin.altitude_m)
    metres_per_degree = math.radians(_RADIUS_M)
    scale = np.array([1.0, math.cos(math.radians(origin.latitude_deg))]) * metres_per_degree
    # Each step leaves less than a hundredth of what was missing, as the earth is nearly a sphere.
    for _ in range(6):
        missing = positions - east_north(degrees[:, 0], degrees[:, 1], heights, origin)
        degrees = degrees + missing[:, ::-1] / scale
    # Across the meridian of 180 degrees they go on from -180.
    over = np.abs(degrees[:, 1]) > 180.0
    degrees[over, 1] -= np.copysign(360.0, degrees[over, 1])
    return degrees


ORIGIN_REACH_M = 10_000.0
"""How far from the origin of a plane a vehicle may drive: distances shorten by one millionth."""

GEODETIC = 'sensor_msgs/msg/NavSatFix'
NO_FIX = -1
# The header names the antenna; the positions are in a plane fixed to the earth.
FRAME = 'map'


def mercator(positions: Floats, origin: GeodeticOrigin) -> Floats:
    """Return positions (N, 2) on the plane of Mercator, one for all bags, in metres there."""
    latitude, longitude = np.radians(latitude_longitude(positions, origin)).T
    plane: Floats = _RADIUS_M * np.column_stack([longitude, np.arcsinh(np.tan(latitude))])
    return plane


def in_plane(stream: PositionStream, origin: GeodeticOrigin) -> PositionStream:
    """Return positions of fixes about another origin; others as they are."""
    if stream.origin in {None, origin}:
        return stream
    degrees = latitude_longitude(stream.positions, stream.origin)
    heights = np.full(len(degrees), stream.origin.altitude_m)
    moved = east_north(degrees[:, 0], degrees[:, 1], heights, origin)
    return replace(stream, positions=moved, origin=origin)


def distance_m(one: GeodeticOrigin, other: GeodeticOrigin) -> float:
    """Return how far two origins are apart, straight through the earth, metres."""
    points = [
        earth_centred(*(np.array([each]) for each in (at.latitude_deg, at.longitude_deg, 0.0)))[0]
        for at in (one, other)
    ]
    return float(np.linalg.norm(points[0] - points[1]))


class NoFixError(InputError):
    """Not one message of a satellite receiver is a valid fix."""


def valid_fixes(latitude_deg: Floats, longitude_deg: Floats, status: Floats) -> Bools:
    """Return which fixes (N,) have a status of one, and are on earth, where none fills in 0, 0."""
    inside = (np.abs(latitude_deg) <= 90.0) & (np.abs(longitude_deg) <= 180.0)
    nowhere = (latitude_deg == 0.0) & (longitude_deg == 0.0)
    valid: Bools = inside & ~nowhere & (status != NO_FIX)
    return valid


def origin_at(latitude_deg: float, longitude_deg: float, altitude_m: float) -> GeodeticOrigin:
    """Return a fix as the origin of a plane; without an altitude it is on the ellipsoid."""
    height_m = altitude_m if math.isfinite(altitude_m) else 0.0
    return GeodeticOrigin(latitude_deg, longitude_deg, height_m)


def fixes_agree(one: Sequence[float], other: Sequence[float]) -> bool:
    """Return whether two fixes, latitude and longitude first, may share a plane's origin."""
    places = (GeodeticOrigin(each[0], each[1], 0.0) for each in (one, other))
    return distance_m(*places) <= ORIGIN_REACH_M


def choose_origin(
    latitude_deg: Floats, longitude_deg: Floats, altitude_m: Floats
) -> GeodeticOrigin:
    """Return the first of valid fixes (N,) near the median of all, or the nearest."""
    # Receivers report wrong places before they know better.
    points = earth_centred(latitude_deg, longitude_deg, np.zeros(len(latitude_deg)))
    away = np.linalg.norm(points - np.median(points, axis=0), axis=1)
    near = np.flatnonzero(away <= ORIGIN_REACH_M)
    index = int(near[0] if len(near) else np.argmin(away))
    fix = latitude_deg[index], longitude_deg[index], altitude_m[index]
    return origin_at(*map(float, fix))


def positions_of_fixes(
    fixes: Floats, name: str, place: str, stamps: Ints, origin: GeodeticOrigin | None
) -> tuple[PositionStream, list[str]]:
    """
    Project fixes (N, 4) to the tangent plane at the origin, by default from `choose_origin`.

    They are latitude, longitude, altitude and status of the topic ``name`` at a ``place``, each
    taken at the height of the origin, as heights jump. `NoFixError` says that none is valid.
    """
    latitude, longitude, altitude, status = fixes.T
    valid = valid_fixes(latitude, longitude, status)
    if not valid.any():
        raise NoFixError(
            f'{place} holds {len(valid)} messages but no valid fix: choose another recording or '
            f'another topic with --position-topic.'
        )
    if origin is None:
        origin = choose_origin(latitude[valid], longitude[valid], altitude[valid])
    heights = np.full(np.count_nonzero(valid), origin.altitude_m)
    stream = PositionStream(
        topic=name,
        frame_id=FRAME,
        msgtype=GEODETIC,
        stamps=stamps[valid],
        positions=east_north(latitude[valid], longitude[valid], heights, origin),
        origin=origin,
    )
    dropped = int((~valid).sum())
    if not dropped:
        return stream, []
    note = f'{dropped} of {len(valid)} messages on {name} are no valid fix and are left out.'
    return stream, [note]
