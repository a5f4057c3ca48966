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
