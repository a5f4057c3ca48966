# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The path ahead as published."""

from dataclasses import replace
import math
from types import SimpleNamespace

import numpy as np
from two_manifold_ros.interface.estimates import predicted_path_message

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.interface.topics import Frames, Message


def yaw(pose: Message) -> float:
    turn = pose['pose']['orientation']
    return 2 * math.atan2(turn['z'], turn['w'])


def test_stamps_lie_in_the_future_by_the_horizons(
    estimate: Estimate, model: SimpleNamespace, frames: Frames
) -> None:
    message = predicted_path_message(estimate, model, frames)
    stamps = [pose['header']['stamp'] for pose in message['poses']]
    elapsed = [stamp['sec'] * 10**9 + stamp['nanosec'] - estimate.stamp_ns for stamp in stamps]
    assert elapsed == [0, 500_000_000, 2_500_000_000]
    assert {pose['header']['frame_id'] for pose in message['poses']} == {'arena'}


def test_poses_face_the_next_one(
    estimate: Estimate, model: SimpleNamespace, frames: Frames
) -> None:
    poses = predicted_path_message(estimate, model, frames)['poses']
    np.testing.assert_allclose([yaw(pose) for pose in poses], [math.pi / 2, math.pi, math.pi])


def test_positions_that_coincide_keep_the_direction(
    estimate: Estimate, model: SimpleNamespace, frames: Frames
) -> None:
    still = replace(estimate, positions=np.ones((3, 2)))
    poses = predicted_path_message(still, model, frames)['poses']
    np.testing.assert_allclose([yaw(pose) for pose in poses], [math.pi / 2] * 3)
