# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Estimates in files for viewers."""

import csv
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.track_files import check_track_path, Track, write_track
from two_manifold_ros.recordings.recording import GeodeticOrigin
from two_manifold_ros.recordings.satellite_fixes import east_north, latitude_longitude

ORIGIN = GeodeticOrigin(38.16, -122.45, 30.0)
COUNT = 40
GPX = '{http://www.topografix.com/GPX/1/1}'


@pytest.fixture
def track() -> Track:
    """Return estimates on a spiral, the first three and one further not published."""
    angle = np.arange(COUNT) * 0.1
    positions = np.stack([100 * angle * np.cos(angle), 100 * angle * np.sin(angle)], axis=1)
    published = np.arange(COUNT) >= 3
    published[20] = False
    deviations = np.full((COUNT, 2), 3.0)
    deviations[0] = np.nan
    return Track(
        # From two seconds before midnight on.
        stamps=1_772_927_998 * 10**9 + np.arange(COUNT) * 100_000_000,
        positions=positions,
        deviations=deviations,
        # To the east, which is a heading of 90 degrees.
        velocities=np.tile([10.0, 0.0], (COUNT, 1)),
        published=published,
        statuses=['tracking' if each else 'lost' for each in published],
        origin=ORIGIN,
    )


def degrees_of(track: Track) -> np.ndarray:
    """Return latitude and longitude of the published ticks."""
    return latitude_longitude(track.positions, ORIGIN)[track.published]


@pytest.mark.parametrize('latitude', [-77.0, -33.0, 0.0, 51.5, 85.0])
def test_latitude_and_longitude_are_the_inverse_of_the_plane(latitude):
    origin = GeodeticOrigin(latitude, 179.99, 250.0)
    positions = np.random.default_rng(0).uniform(-9000.0, 9000.0, (50, 2))
    found = latitude_longitude(positions, origin)
    assert (np.abs(found[:, 1]) <= 180.0).all()
    back = east_north(*found.T, np.full(50, 250.0), origin)
    np.testing.assert_allclose(back, positions, atol=1e-4)


def test_gpx_has_published_ticks_in_utc_and_parts(track, tmp_path):
    path = tmp_path / 'a.gpx'
    assert write_track(str(path), track) == COUNT - 4
    root = ET.parse(path).getroot()  # noqa: S314 - as above
    parts = [list(each) for each in root.iter(f'{GPX}trkseg')]
    assert [len(each) for each in parts] == [17, 19]
    points = [point for part in parts for point in part]
    found = [[float(point.get(name)) for name in ('lat', 'lon')] for point in points]
    np.testing.assert_allclose(found, degrees_of(track), rtol=0, atol=1e-8)
    times = [point.find(f'{GPX}time').text for point in points]
    assert times[0] == '2026-03-07T23:59:58.300Z'
    assert times[-1] == '2026-03-08T00:00:01.900Z'
    nothing = replace(track, published=np.zeros(COUNT, dtype=bool))
    assert write_track(str(path), nothing) == 0
    assert not list(ET.parse(path).getroot().iter(f'{GPX}trkpt'))  # noqa: S314 - as above


def test_csv_has_every_tick_and_what_cannot_be_written_is_refused(track, tmp_path):
    path = tmp_path / 'a.csv'
    assert write_track(str(path), track) == COUNT
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert [int(row['published']) for row in rows] == track.published.astype(int).tolist()
    assert rows[0]['deviation_x_m'] == ''
    assert {row['status'] for row in rows} == {'tracking', 'lost'}
    found = [[float(row['x_m']), float(row['y_m'])] for row in rows]
    np.testing.assert_allclose(found, track.positions, atol=1e-4)
    assert float(rows[3]['longitude_deg']) == pytest.approx(degrees_of(track)[0, 1], abs=1e-8)
    check_track_path(str(path), None, 'model.npz')
    write_track(str(path), replace(track, origin=None))
    assert 'latitude' not in path.read_text()
    with pytest.raises(InputError, match=r'model\.npz'):
        check_track_path('A.GPX', None, 'model.npz')
    with pytest.raises(InputError, match=r'a\.kml'):
        check_track_path('a.kml', ORIGIN, 'model.npz')
    with pytest.raises(InputError, match='none'):
        check_track_path(str(Path(tmp_path, 'none', 'a.csv')), ORIGIN, 'model.npz')
    with pytest.raises(InputError, match='cannot be written'):
        write_track(str(Path(tmp_path, 'none', 'a.csv')), track)
