# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The position now, as published."""

from dataclasses import replace
import math

import numpy as np
import pytest
from two_manifold_ros.interface.estimates import (
    position_message,
    UNIFORM_ANGLE_VARIANCE,
    UNKNOWN_VARIANCE,
)

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.interface.topics import Frames


def test_header_carries_the_exact_stamp_and_the_track_frame(
    estimate: Estimate, frames: Frames
) -> None:
    header = position_message(estimate, frames)['header']
    assert header == {'stamp': {'sec': 1_700_000_000, 'nanosec': 123_456_789}, 'frame_id': 'arena'}


def test_pose_faces_along_the_course(estimate: Estimate, frames: Frames) -> None:
    pose = position_message(estimate, frames)['pose']['pose']
    assert pose['position'] == {'x': 1.0, 'y': 2.0, 'z': 0.0}
    half = math.sqrt(0.5)
    assert pose['orientation'] == pytest.approx({'x': 0.0, 'y': 0.0, 'z': half, 'w': half})


def test_covariance_is_row_major_and_large_where_nothing_is_known(
    estimate: Estimate, frames: Frames
) -> None:
    covariance = position_message(estimate, frames)['pose']['covariance'].reshape(6, 6)
    np.testing.assert_array_equal(covariance[:2, :2], estimate.covariances[0])
    assert covariance[2, 2] == covariance[3, 3] == covariance[4, 4] == UNKNOWN_VARIANCE
    # Across a course along y only the x velocity matters: 0.16 / 2^2.
    assert covariance[5, 5] == pytest.approx(0.04)
    assert np.all(np.linalg.eigvalsh(covariance) > 0)


@pytest.mark.parametrize('speed', [0.0, 1e-200, 1e-3])
def test_standstill_has_the_variance_of_any_angle(
    estimate: Estimate, frames: Frames, speed: float
) -> None:
    slow = replace(estimate, velocity=np.array([speed, 0.0]))
    covariance = position_message(slow, frames)['pose']['covariance']
    assert covariance[35] == UNIFORM_ANGLE_VARIANCE
