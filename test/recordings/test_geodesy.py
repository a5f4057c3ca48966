# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The tangent plane against published points of WGS84 and against its own inverse."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from two_manifold_ros.recordings.recording import GeodeticOrigin
from two_manifold_ros.recordings.satellite_fixes import earth_centred, east_north

RADIUS = 6_378_137.0
POLAR_RADIUS = 6_356_752.314245
FLATTENING = 1 / 298.257223563


@pytest.mark.parametrize(
    ('latitude', 'longitude', 'altitude', 'expected'),
    [
        (0.0, 0.0, 0.0, (RADIUS, 0.0, 0.0)),
        (0.0, 90.0, 10.0, (0.0, RADIUS + 10.0, 0.0)),
        (90.0, 0.0, 0.0, (0.0, 0.0, POLAR_RADIUS)),
        (-90.0, 45.0, 5.0, (0.0, 0.0, -POLAR_RADIUS - 5.0)),
        # Closed form at 45 degrees: normal = a / sqrt(1 - e^2 / 2).
        (45.0, 0.0, 0.0, (4_517_590.878849, 0.0, 4_487_348.408866)),
    ],
)
def test_known_points(
    latitude: float, longitude: float, altitude: float, expected: tuple[float, ...]
) -> None:
    point = earth_centred(np.array([latitude]), np.array([longitude]), np.array([altitude]))
    np.testing.assert_allclose(point[0], expected, atol=1e-5)


def test_the_origin_is_zero_and_axes_point_east_and_north() -> None:
    origin = GeodeticOrigin(48.0, 11.0, 500.0)
    latitude = np.array([48.0, 48.0, 48.001])
    longitude = np.array([11.0, 11.001, 11.0])
    plane = east_north(latitude, longitude, np.full(3, 500.0), origin)
    np.testing.assert_allclose(plane[0], 0.0, atol=1e-8)
    # One thousandth of a degree, from the radii of curvature at this latitude.
    sine = np.sin(np.radians(48.0))
    squared = FLATTENING * (2 - FLATTENING)
    normal = RADIUS / np.sqrt(1 - squared * sine**2)
    meridian = normal * (1 - squared) / (1 - squared * sine**2)
    east = np.radians(0.001) * (normal + 500.0) * np.cos(np.radians(48.0))
    north = np.radians(0.001) * (meridian + 500.0)
    np.testing.assert_allclose(plane[1], [east, 0.0], atol=2e-3)
    np.testing.assert_allclose(plane[2], [0.0, north], atol=2e-3)


@given(
    st.floats(-80, 80),
    st.floats(-180, 180),
    st.floats(-100, 3000),
    st.floats(-5000, 5000),
    st.floats(-5000, 5000),
)
def test_round_trip(
    latitude: float, longitude: float, altitude: float, east: float, north: float
) -> None:
    origin = GeodeticOrigin(latitude, longitude, altitude)
    there = inverse(origin, east, north)
    back = east_north(*(np.array([value]) for value in there), origin)
    np.testing.assert_allclose(back[0], [east, north], atol=1e-4)


def inverse(origin: GeodeticOrigin, east: float, north: float) -> tuple[float, float, float]:
    """Return latitude, longitude and altitude of a point of the plane, by iteration."""
    phi, lam = np.radians([origin.latitude_deg, origin.longitude_deg])
    start = earth_centred(
        np.array([origin.latitude_deg]),
        np.array([origin.longitude_deg]),
        np.array([origin.altitude_m]),
    )[0]
    east_axis = np.array([-np.sin(lam), np.cos(lam), 0.0])
    up_axis = np.array([np.cos(phi) * np.cos(lam), np.cos(phi) * np.sin(lam), np.sin(phi)])
    x, y, z = start + east * east_axis + north * np.cross(up_axis, east_axis)
    across = np.hypot(x, y)
    squared = FLATTENING * (2 - FLATTENING)
    latitude, altitude = np.arctan2(z, across), 0.0
    for _ in range(50):
        normal = RADIUS / np.sqrt(1 - squared * np.sin(latitude) ** 2)
        altitude = across / np.cos(latitude) - normal
        latitude = np.arctan2(z, across * (1 - squared * normal / (normal + altitude)))
    return np.degrees(latitude), np.degrees(np.arctan2(y, x)), altitude
