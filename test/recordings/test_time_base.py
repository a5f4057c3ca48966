# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Header stamps are the time base unless asked otherwise or there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from two_manifold_ros.recordings.bag_writer import BagWriter
from two_manifold_ros.recordings.reading import read_recording, ReadingOptions

pytest.importorskip('rosbags')

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.recordings.recording import Recording


def written(
    folder: Path, imu_stamps: list[int], pose_stamps: list[int], **options: bool
) -> Recording:
    with BagWriter(folder / 'bag') as bag:
        for index, stamp in enumerate(imu_stamps):
            message = {'header': {'stamp': {'nanosec': stamp}}}
            bag.write('/imu', 'sensor_msgs/msg/Imu', 1000 + index, message)
        for index, stamp in enumerate(pose_stamps):
            message = {'header': {'stamp': {'nanosec': stamp}}}
            bag.write('/pose', 'geometry_msgs/msg/PoseStamped', 2000 + index, message)
    return read_recording(folder / 'bag', ReadingOptions(**options))


def stamps_of(recording: Recording) -> tuple[list[int], list[int]]:
    assert recording.positions is not None
    return recording.imu.stamps.tolist(), recording.positions.stamps.tolist()


def test_header_stamps_are_taken_as_they_are(tmp_path: Path) -> None:
    recording = written(tmp_path, [5, 0, 4, 4], [7, 6])
    assert stamps_of(recording) == ([5, 0, 4, 4], [7, 6])
    assert recording.imu.receive_stamps.tolist() == [1000, 1001, 1002, 1003]
    assert recording.notes == ()


def test_receive_times_when_asked(tmp_path: Path) -> None:
    recording = written(tmp_path, [5, 6], [7], use_receive_time=True)
    assert stamps_of(recording) == ([1000, 1001], [2000])
    assert recording.notes == ('Receive times are used, as asked.',)


@pytest.mark.parametrize(
    ('imu', 'pose', 'named'),
    [([0, 0], [7], '/imu'), ([5, 6], [0], '/pose'), ([0, 0], [0], '/imu and /pose')],
)
def test_one_topic_without_stamps_puts_both_on_receive_times(
    tmp_path: Path, imu: list[int], pose: list[int], named: str
) -> None:
    recording = written(tmp_path, imu, pose)
    assert stamps_of(recording) == ([1000, 1001], [2000])
    (note,) = recording.notes
    assert f'all header stamps of {named} are zero' in note
