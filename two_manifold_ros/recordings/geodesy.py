# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Latitude and longitude to metres in a plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.recordings.recording import GeodeticOrigin
    from two_manifold_ros.typing import Floats

# WGS84: equatorial radius in metres, and first eccentricity squared from the flattening.
_RADIUS_M = 6_378_137.0
_FLATTENING = 1 / 298.257223563
_ECCENTRICITY_2 = _FLATTENING * (2 - _FLATTENING)


def earth_centred(latitude_deg: Floats, longitude_deg: Floats, altitude_m: Floats) -> Floats:
    """
    Return earth-centred, earth-fixed coordinates.

    Parameters
    ----------
    latitude_deg, longitude_deg, altitude_m : (N,) float64
        On and above the WGS84 ellipsoid.

    Returns
    -------
    (N, 3) float64
        Metres.

    """
    latitude, longitude = np.radians(latitude_deg), np.radians(longitude_deg)
    normal = _RADIUS_M / np.sqrt(1 - _ECCENTRICITY_2 * np.sin(latitude) ** 2)
    across = (normal + altitude_m) * np.cos(latitude)
    up = (normal * (1 - _ECCENTRICITY_2) + altitude_m) * np.sin(latitude)
    return np.stack([across * np.cos(longitude), across * np.sin(longitude), up], axis=-1)


def east_north(
    latitude_deg: Floats,
    longitude_deg: Floats,
    altitude_m: Floats,
    origin: GeodeticOrigin,
) -> Floats:
    """
    Return positions in the plane tangent to the ellipsoid at the origin.

    Parameters
    ----------
    latitude_deg, longitude_deg, altitude_m : (N,) float64
        On and above the WGS84 ellipsoid.
    origin
        Where both coordinates are zero.

    Returns
    -------
    (N, 2) float64
        Metres east and north.

    """
    centre = earth_centred(
        np.array([origin.latitude_deg]),
        np.array([origin.longitude_deg]),
        np.array([origin.altitude_m]),
    )
    away = earth_centred(latitude_deg, longitude_deg, altitude_m) - centre
    latitude, longitude = np.radians([origin.latitude_deg, origin.longitude_deg])
    east = np.array([-np.sin(longitude), np.cos(longitude), 0.0])
    north = np.array(
        [
            -np.sin(latitude) * np.cos(longitude),
            -np.sin(latitude) * np.sin(longitude),
            np.cos(latitude),
        ]
    )
    projected: Floats = away @ np.stack([east, north], axis=1)
    return projected
