# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Estimates on a node without a lifecycle, under a prefix, and of one model after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from nav_msgs.msg import Path as PathMessage
import numpy as np

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.interface.topics import choose_frames
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.nodes.publishing import EstimatePublishers

if TYPE_CHECKING:
    from pathlib import Path

    from ros_talk import Talk


def test_a_plain_node_publishes_under_a_prefix(talk: Talk, model_path: Path) -> None:
    model = load_model(model_path)
    publishers = EstimatePublishers(
        talk.node, model, choose_frames(model), transform=False, prefix='adapting/'
    )
    assert publishers.topics['odometry'] == '/adapting/odometry'
    paths = talk.listen(PathMessage, 'adapting/predicted_path')
    talk.until(lambda: talk.node.count_subscribers('adapting/predicted_path'), 'a match')
    numbers = np.zeros((3, 2)), np.stack([np.eye(2)] * 3)
    estimate = Estimate(
        10**9, 0, Status.TRACKING, '', 'tracking', np.ones(1), *numbers, np.ones(2), np.eye(2),
        1.0, 1.0, 0.1
    )  # fmt: skip

    def heard(poses: int) -> bool:
        publishers.publish(estimate)
        return bool(paths) and len(paths[-1].poses) == poses

    talk.until(lambda: heard(3), 'a path')
    publishers.follow(replace(model, horizons=(0, 5)))
    estimate = replace(estimate, positions=numbers[0][:2], covariances=numbers[1][:2])
    talk.until(lambda: heard(2), 'a path of the other model')
    publishers.destroy()
    talk.until(lambda: not talk.node.count_publishers('adapting/predicted_path'), 'the end')
