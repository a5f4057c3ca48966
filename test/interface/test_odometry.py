# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Odometry as published."""

import numpy as np
import pytest
from two_manifold_ros.interface.estimates import odometry_message, position_message

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.interface.topics import Frames


def test_pose_is_that_of_the_position_topic(estimate: Estimate, frames: Frames) -> None:
    message = odometry_message(estimate, frames)
    position = position_message(estimate, frames)
    assert message['header'] == position['header']
    assert message['child_frame_id'] == 'imu_link'
    assert message['pose']['pose'] == position['pose']['pose']
    np.testing.assert_array_equal(message['pose']['covariance'], position['pose']['covariance'])


def test_twist_is_in_the_child_frame(estimate: Estimate, frames: Frames) -> None:
    twist = odometry_message(estimate, frames)['twist']
    assert twist['twist']['linear'] == {'x': 2.0, 'y': 0.0, 'z': 0.0}
    covariance = twist['covariance'].reshape(6, 6)
    # The body faces along y: its x is the track's y, its y the track's -x.
    assert covariance[0, 0] == pytest.approx(0.25)
    assert covariance[1, 1] == pytest.approx(0.16)
    assert np.all(np.linalg.eigvalsh(covariance) > 0)
