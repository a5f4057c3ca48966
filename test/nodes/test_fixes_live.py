# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Position fixes over DDS: of a person, a sensor and a satellite receiver."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from rclpy.publisher import Publisher
from ros_talk import numbers_of, Talk
from std_msgs.msg import Float64MultiArray

from two_manifold_ros.interface.messages import header, planar_covariance, pose_fields, Topics
from two_manifold_ros.recordings.ros_messages import to_message
from two_manifold_ros.simulation.slot_car_run import SlotCarRun, TRACK_FRAME

SURE = planar_covariance(0.01 * np.eye(2), 0.01)


def click(
    publisher: Publisher, drive: SlotCarRun, sample: int, frame: str = '', **spoiled: object
) -> None:
    """Say where the car is at a sample, as rviz does: by a clock that is not that of the IMU."""
    east, north = (drive.positions[sample + 1] - drive.positions[sample])[:2]
    pose = {
        'pose': pose_fields(drive.positions[sample], np.arctan2(north, east)),
        'covariance': SURE,
        **spoiled,
    }
    fields = {'header': header(10**18, frame), 'pose': pose}
    publisher.publish(to_message(Topics.INITIAL_POSE.msgtype, fields))


def test_a_click_makes_a_car_tracked_at_once_and_garbage_nothing(
    talk: Talk, follow, model_path: Path, drive: SlotCarRun
) -> None:
    health, feed = follow(model_path)
    clicks = talk.publisher(PoseWithCovarianceStamped, 'initialpose')
    status = talk.listen(Float64MultiArray, 'status')
    feed.send(30)
    health.until('filling')
    far, odd = pose_fields([np.nan, 0.0], 0.0), -SURE
    click(clicks, drive, feed.sent, pose=far)
    click(clicks, drive, feed.sent, covariance=odd)
    click(clicks, drive, feed.sent, 'elsewhere')
    health.until_value('fixes_other_frame', '1')
    health.until_value('fixes_refused', '2')
    assert 'fixes_agreeing' not in health.values
    click(clicks, drive, feed.sent, TRACK_FRAME)
    feed.send(20)
    health.until_value('fixes_agreeing', '1')
    assert health.values['status'] == 'tracking'
