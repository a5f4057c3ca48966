# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stretches of a recording."""

from dataclasses import replace

from ellipse import drive
import numpy as np
import pytest

from two_manifold_ros.recordings.recording import median_interval_ns


def test_a_stretch_includes_its_start_and_not_its_end():
    """And seconds count from the first stamp that is not zero."""
    recording = drive()
    part = recording.between(2.0, 3.0)
    first = recording.imu.stamps[0]
    assert (part.imu.stamps[0] - first, part.imu.stamps[-1] - first) == (2 * 10**9, 299 * 10**7)
    assert (len(part.imu.samples), len(part.positions.positions)) == (100, 25)
    # Open ends and adjoining parts lose nothing.
    parts = [recording.between(None, 20.0), recording.between(20.0, None)]
    stamps = np.concatenate([part.imu.stamps for part in parts])
    np.testing.assert_array_equal(stamps, recording.imu.stamps)
    assert replace(recording.imu, stamps=np.zeros(4800, dtype=np.int64)).first_stamp == 0


def test_positions_are_made_earlier_and_it_is_remembered():
    recording = drive(4.0)
    moved = recording.with_positions_earlier(0.25).with_positions_earlier(-0.05)
    assert set((recording.positions.stamps - moved.positions.stamps).tolist()) == {200_000_000}
    assert moved.positions.earlier_s == 0.2
    none = replace(recording, positions=None)
    assert none.with_positions_earlier(1.0) == none


@pytest.mark.parametrize('wild', [5 * 10**9, -86_400 * 10**9, 86_400 * 10**9, 50 * 10**7])
@pytest.mark.parametrize('index', [0, -1])
def test_seconds_are_not_counted_from_a_wild_stamp_nor_to_one(wild, index):
    recording = drive()
    stamps = recording.imu.stamps.copy()
    stamps[index] = wild if wild == 5 * 10**9 else stamps[index] + wild
    recording = replace(recording, imu=replace(recording.imu, stamps=stamps))
    first, last = stamps[1 if index == 0 else 0], stamps[-2 if index else -1]
    assert (recording.imu.first_stamp, recording.imu.last_stamp) == (first, last)
    assert len(recording.between(None, 9.0).imu.stamps) in {900, 901}
    assert len(recording.between(9.0, None).imu.stamps) in {3898, 3899, 3900}


def test_a_stream_that_is_slowed_down_lasts_to_its_end_and_duplicates_count_for_no_interval():
    assert median_interval_ns(np.array([5, 5, 15, 25, 3, 13])) == 10
    assert median_interval_ns(np.array([5, 5])) == 0
    assert median_interval_ns(np.array([], dtype=np.int64)) == 0
    stamps = drive(4.0).imu.stamps
    slow = stamps[-1] + 10**9 * np.arange(1, 60)
    wild = slow[-1] + 3600 * 10**9
    imu = replace(drive(4.0).imu, stamps=np.concatenate([stamps, slow, [wild]]))
    assert (imu.first_stamp, imu.last_stamp) == (stamps[0], slow[-1])
