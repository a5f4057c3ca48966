# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Fixes of a satellite receiver become positions in a plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.bag_writer import BagWriter
from two_manifold_ros.recordings.reading import read_recording, read_recordings, ReadingOptions
from two_manifold_ros.recordings.recording import GeodeticOrigin

pytest.importorskip('rosbags')

if TYPE_CHECKING:
    from pathlib import Path

NAN = float('nan')
HERE = (48.0, 11.0, 500.0, 0)


def written(path: Path, fixes: list[tuple[float, float, float, int]]) -> Path:
    with BagWriter(path) as bag:
        bag.write('/imu', 'sensor_msgs/msg/Imu', 1, {'header': {'stamp': {'sec': 1}}})
        for index, (latitude, longitude, altitude, status) in enumerate(fixes):
            message = {
                'header': {'stamp': {'sec': 1 + index}, 'frame_id': 'antenna'},
                'status': {'status': status},
                'latitude': latitude,
                'longitude': longitude,
                'altitude': altitude,
            }
            bag.write('/fix', 'sensor_msgs/msg/NavSatFix', 1 + index, message)
    return path


def test_the_first_valid_fix_is_the_origin_and_bad_ones_are_counted(tmp_path: Path) -> None:
    fixes = [
        (10.0, 10.0, 0.0, -1),
        (NAN, 11.0, 0.0, 0),
        HERE,
        (48.0, float('inf'), 0.0, 2),
        (48.001, 11.0, 500.0, 2),
    ]
    recording = read_recording(written(tmp_path / 'bag', fixes))
    positions = recording.positions
    assert positions is not None
    assert positions.origin == GeodeticOrigin(48.0, 11.0, 500.0)
    assert positions.frame_id == 'map'
    assert positions.stamps.tolist() == [3_000_000_000, 5_000_000_000]
    np.testing.assert_allclose(positions.positions, [[0, 0], [0, 111.2]], atol=0.1)
    assert recording.notes == ('3 of 5 messages on /fix are no valid fix and are left out.',)


def test_a_given_origin_is_kept(tmp_path: Path) -> None:
    origin = GeodeticOrigin(47.999, 11.0, 500.0)
    recording = read_recording(written(tmp_path / 'bag', [HERE]), ReadingOptions(origin=origin))
    assert recording.positions is not None
    assert recording.positions.origin == origin
    np.testing.assert_allclose(recording.positions.positions, [[0, 111.2]], atol=0.1)


def test_several_recordings_share_the_origin_of_the_first(tmp_path: Path) -> None:
    bags = [
        written(tmp_path / 'a', [HERE]),
        tmp_path / 'indoors',
        written(tmp_path / 'b', [(48.001, 11.0, 500.0, 0)]),
    ]
    with BagWriter(bags[1]) as bag:
        bag.write('/imu', 'sensor_msgs/msg/Imu', 1, {})
        bag.write('/fix', 'geometry_msgs/msg/PointStamped', 1, {})
    first, _, second = read_recordings(bags)
    assert first.positions is not None
    assert second.positions is not None
    assert second.positions.origin == first.positions.origin
    np.testing.assert_allclose(second.positions.positions, [[0, 111.2]], atol=0.1)


@pytest.mark.parametrize('fixes', [[HERE, (48.001, 11.0, NAN, 0)], [(48.0, 11.0, NAN, 0), HERE]])
def test_a_fix_without_altitude_is_at_the_height_of_the_origin(
    tmp_path: Path, fixes: list[tuple[float, float, float, int]]
) -> None:
    positions = read_recording(written(tmp_path / 'bag', fixes)).positions
    assert positions is not None
    assert np.isfinite(positions.positions).all()
    assert len(positions.positions) == 2


def test_no_valid_fix_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / 'bag', [(48.0, 11.0, 0.0, -1)] * 3)
    with pytest.raises(InputError, match=r'/fix in .*bag holds 3 messages but no valid fix'):
        read_recording(path)


def test_no_valid_fix_is_noted_where_no_positions_are_needed(tmp_path: Path) -> None:
    path = written(tmp_path / 'bag', [(48.0, 11.0, 0.0, -1)] * 3)
    recording = read_recording(path, ReadingOptions(need_positions=False))
    assert recording.positions is None
    assert len(recording.imu.stamps) == 1
    (note,) = recording.notes
    assert 'holds 3 messages but no valid fix' in note


@pytest.mark.parametrize(
    'wrong',
    [
        [(0.0, 0.0, 0.0, 0)] * 3,
        [(123.0, 11.0, 500.0, 0)],
        [(-90.5, 11.0, 500.0, 2)],
        [(48.0, 180.5, 500.0, 1)],
    ],
)
def test_an_impossible_first_fix_is_left_out(
    tmp_path: Path, wrong: list[tuple[float, float, float, int]]
) -> None:
    recording = read_recording(written(tmp_path / 'bag', [*wrong, HERE, HERE]))
    assert recording.positions is not None
    assert recording.positions.origin == GeodeticOrigin(*HERE[:3])
    assert len(recording.positions.positions) == 2
    assert f'{len(wrong)} of {len(wrong) + 2} messages' in recording.notes[0]


@pytest.mark.parametrize('place', [(0.0, 1e-7), (1.0, 1.0), (48.0, 11.2), (-48.0, -169.0)])
@pytest.mark.parametrize('count', [1, 4])
def test_the_origin_is_the_first_fix_near_most_others(
    tmp_path: Path, place: tuple[float, float], count: int
) -> None:
    path = [(48.0 + 1e-4 * step, 11.0, NAN if step % 2 else 500.0, 0) for step in range(10)]
    wrong = [(*place, 0.0, 0)] * count
    positions = read_recording(written(tmp_path / 'bag', [*wrong, *path])).positions
    assert positions is not None
    assert positions.origin == GeodeticOrigin(48.0, 11.0, 500.0)
    north = positions.positions[count:, 1]
    np.testing.assert_allclose(north, 11.119 * np.arange(10), atol=0.01)


def test_a_route_across_the_date_line_and_one_of_many_kilometres(tmp_path: Path) -> None:
    path = [(10.0, longitude, 0.0, 0) for longitude in (179.999, -179.999, -179.998)]
    positions = read_recording(written(tmp_path / 'line', path)).positions
    assert positions is not None
    assert positions.origin == GeodeticOrigin(10.0, 179.999, 0.0)
    # From 40 km south to 40 km north of the median: the plane is tangent near the middle.
    long = [(48.0 + 0.04 * step, 11.0, 0.0, 0) for step in range(-9, 10)]
    positions = read_recording(written(tmp_path / 'long', long)).positions
    assert positions is not None
    assert positions.origin is not None
    assert abs(positions.origin.latitude_deg - 48.0) < 0.1
    # A ring without a fix near its middle.
    ring = [(48.0 + a, 11.0 + b, 0.0, 0) for a, b in ((0, 0), (0.4, 0), (0.4, 0.6), (0, 0.6))]
    positions = read_recording(written(tmp_path / 'ring', ring)).positions
    assert positions is not None
    assert positions.origin is not None
    assert positions.origin.latitude_deg in {48.0, 48.4}


@pytest.mark.parametrize('altitude', [NAN, -300.0, 9_000.0, 1e6])
def test_heights_do_not_matter(tmp_path: Path, altitude: float) -> None:
    there = (48.03, 11.04)
    read = [
        read_recording(written(tmp_path / name, [HERE, (*there, height, 0)])).positions
        for name, height in (('right', 500.0), ('wrong', altitude))
    ]
    assert read[0] is not None
    assert read[1] is not None
    assert np.linalg.norm(read[0].positions[1]) > 4e3
    np.testing.assert_array_equal(read[0].positions, read[1].positions)
