# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Fixes of a satellite receiver become positions in a plane, held to published points of WGS84."""

from collections.abc import Callable
from pathlib import Path

from ellipse import IMU, stamped, write_messages
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.reading import read_recording, read_recordings, ReadingOptions
from two_manifold_ros.recordings.recording import GeodeticOrigin, Recording
from two_manifold_ros.recordings.satellite_fixes import (
    earth_centred,
    east_north,
    latitude_longitude,
)

pytest.importorskip('rosbags')
NAN = float('nan')
RADIUS = 6_378_137.0
POLAR_RADIUS = 6_356_752.314245
FLATTENING = 1 / 298.257223563
HERE = (48.0, 11.0, 500.0, 0)
ORIGIN = GeodeticOrigin(*HERE[:3])


Fix = tuple[float, float, float, int]


def written(path: Path, fixes: list[Fix]) -> Path:
    """Write latitudes, longitudes, altitudes and status, a fix a second."""
    rows = [('/imu', IMU, 1, stamped(10**9))]
    for second, (latitude, longitude, altitude, status) in enumerate(fixes, start=1):
        place = {'latitude': latitude, 'longitude': longitude, 'altitude': altitude}
        message = stamped(second * 10**9, 'antenna') | {'status': {'status': status}} | place
        rows.append(('/fix', 'sensor_msgs/msg/NavSatFix', second, message))
    return write_messages(path, *rows)


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Recording]:
    """Return a function that writes fixes and reads them."""

    def recording(*fixes: Fix, **options: object) -> Recording:
        path = written(tmp_path / str(len(list(tmp_path.iterdir()))), list(fixes))
        return read_recording(path, ReadingOptions(**options))

    return recording


def test_the_first_valid_fix_is_the_origin_and_bad_ones_are_counted(read):
    bad = [(10.0, 10.0, -1), (NAN, 11.0, 0), (0.0, 0.0, 0), (-90.5, 11.0, 2), (48.0, 180.5, 1)]
    late = (48.0, float('inf'), 0.0, 2), (48.001, 11.0, 500.0, 2)
    recording = read(*((north, east, 0.0, status) for north, east, status in bad), HERE, *late)
    positions = recording.positions
    assert positions.origin == ORIGIN
    assert positions.frame_id == 'map'
    assert positions.stamps.tolist() == [6_000_000_000, 8_000_000_000]
    np.testing.assert_allclose(positions.positions, [[0, 0], [0, 111.2]], atol=0.1)
    assert recording.notes == ('6 of 8 messages on /fix are no valid fix and are left out.',)


def test_bags_of_one_city_share_the_origin_of_the_first_and_others_one_of_their_own(tmp_path):
    near = (48.0001, 11.0, 500.0, 0)
    there, on = (52.0, 13.0, 30.0, 0), (52.01, 13.0, 30.0, 0)
    places = {'a': [HERE, near], 'b': [there, on], 'c': [near, HERE], 'd': [on, there]}
    bags = [written(tmp_path / name, fixes) for name, fixes in places.items()]
    rows = ('/imu', IMU, 1, {}), ('/fix', 'geometry_msgs/msg/PointStamped', 1, {})
    indoors = write_messages(tmp_path / 'indoors', *rows)
    found = [each.positions for each in read_recordings([bags[0], indoors, *bags[1:]])]
    other = GeodeticOrigin(*there[:3])
    assert [each.origin for each in found] == [ORIGIN, None, other, ORIGIN, other]
    np.testing.assert_allclose(found[3].positions, [[0, 11.12], [0, 0]], atol=0.01)
    # A plane that is asked for is that of all.
    origin = GeodeticOrigin(47.9991, 11.0, 500.0)
    asked = [*read_recordings(bags, ReadingOptions(origin=origin))]
    assert {each.positions.origin for each in asked} == {origin}
    np.testing.assert_allclose(asked[0].positions.positions, [[0, 100.1], [0, 111.2]], atol=0.1)


def test_no_valid_fix_is_refused_and_noted_where_no_positions_are_needed(read):
    none = [(48.0, 11.0, 0.0, -1)] * 3
    with pytest.raises(InputError, match=r'/fix in .* holds 3 messages but no valid fix'):
        read(*none)
    recording = read(*none, need_positions=False)
    assert recording.positions is None
    assert 'holds 3 messages but no valid fix' in recording.notes[0]


@pytest.mark.parametrize('place', [(0.0, 1e-7), (48.0, 11.2)])
@pytest.mark.parametrize('count', [1, 4])
def test_the_origin_is_the_first_fix_near_most_others(read, place, count):
    path = [(48.0 + 1e-4 * step, 11.0, NAN if step % 2 else 500.0, 0) for step in range(10)]
    positions = read(*[(*place, 0.0, 0)] * count, *path).positions
    assert positions.origin == ORIGIN
    north = positions.positions[count:, 1]
    np.testing.assert_allclose(north, 11.119 * np.arange(10), atol=0.01)


def test_a_route_across_the_date_line_and_one_of_many_kilometres(read):
    line = [(10.0, longitude, 0.0, 0) for longitude in (179.999, -179.999, -179.998)]
    assert read(*line).positions.origin == GeodeticOrigin(10.0, 179.999, 0.0)
    # From 40 km south to 40 km north of the median: the plane is tangent near the middle.
    long = [(48.0 + 0.04 * step, 11.0, 0.0, 0) for step in range(-9, 10)]
    assert abs(read(*long).positions.origin.latitude_deg - 48.0) < 0.1
    # A ring without a fix near its middle.
    ring = [(48.0 + a, 11.0 + b, 0.0, 0) for a, b in ((0, 0), (0.4, 0), (0.4, 0.6), (0, 0.6))]
    assert read(*ring).positions.origin.latitude_deg in {48.0, 48.4}


@pytest.mark.parametrize('altitude', [NAN, -300.0, 9_000.0, 1e6])
def test_heights_do_not_matter(read, altitude):
    """A fix without one is at the height of the origin, also if it is the first."""
    assert np.isfinite(read((48.0, 11.0, altitude, 0), HERE).positions.positions).all()
    right, wrong = (
        read(HERE, (48.03, 11.04, height, 0)).positions.positions for height in (500.0, altitude)
    )
    assert len(right) == 2
    assert np.linalg.norm(right[1]) > 4e3
    np.testing.assert_array_equal(right, wrong)


def test_known_points_and_the_origin_is_zero_and_axes_point_east_and_north():
    for latitude, longitude, altitude, expected in (
        (0.0, 0.0, 0.0, (RADIUS, 0.0, 0.0)),
        (0.0, 90.0, 10.0, (0.0, RADIUS + 10.0, 0.0)),
        (90.0, 0.0, 0.0, (0.0, 0.0, POLAR_RADIUS)),
        (-90.0, 45.0, 5.0, (0.0, 0.0, -POLAR_RADIUS - 5.0)),
        # Closed form at 45 degrees: normal = a / sqrt(1 - e^2 / 2).
        (45.0, 0.0, 0.0, (4_517_590.878849, 0.0, 4_487_348.408866)),
    ):
        point = earth_centred(np.array([latitude]), np.array([longitude]), np.array([altitude]))
        np.testing.assert_allclose(point[0], expected, atol=1e-5)
    latitude = np.array([48.0, 48.0, 48.001])
    longitude = np.array([11.0, 11.001, 11.0])
    plane = east_north(latitude, longitude, np.full(3, 500.0), ORIGIN)
    np.testing.assert_allclose(plane[0], 0.0, atol=1e-8)
    # One thousandth of a degree, from the radii of curvature at this latitude.
    sine = np.sin(np.radians(48.0))
    squared = FLATTENING * (2 - FLATTENING)
    normal = RADIUS / np.sqrt(1 - squared * sine**2)
    meridian = normal * (1 - squared) / (1 - squared * sine**2)
    east = np.radians(0.001) * (normal + 500.0) * np.cos(np.radians(48.0))
    north = np.radians(0.001) * (meridian + 500.0)
    np.testing.assert_allclose(plane[1:], [[east, 0.0], [0.0, north]], atol=2e-3)


@pytest.mark.parametrize('latitude', [-77.0, 0.0, 51.5])
def test_latitude_and_longitude_are_the_inverse_of_the_plane(latitude):
    origin = GeodeticOrigin(latitude, 179.99, 250.0)
    positions = np.random.default_rng(0).uniform(-9000.0, 9000.0, (50, 2))
    found = latitude_longitude(positions, origin)
    assert (np.abs(found[:, 1]) <= 180.0).all()
    back = east_north(*found.T, np.full(50, 250.0), origin)
    np.testing.assert_allclose(back, positions, atol=1e-4)
