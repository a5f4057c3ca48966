# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What nodes are given and cannot use is refused in one sentence."""

import gc
import re

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from ros_talk import ros

from two_manifold_ros.errors import InputError
from two_manifold_ros.nodes import callbacks
from two_manifold_ros.nodes.callbacks import TRANSFORM_TYPE
from two_manifold_ros.nodes.filter_node import FilterNode
from two_manifold_ros.nodes.updater_node import UpdaterNode
from two_manifold_ros.recordings.ros_messages import message_class

MISSING, NO_TF = {'model': 'missing.npz'}, {'publish_tf': 'true', 'model': 'missing.npz'}
REFUSED = [
    (FilterNode, {}, 'No model is given'),
    (FilterNode, NO_TF, 'tf2_msgs'),
    (FilterNode, MISSING, 'missing.npz'),
    (FilterNode, MISSING | {'odometry_topic': 'odom'}, 'odometry_topic needs publish_tf'),
    (FilterNode, MISSING | {'mark_topic': '1line'}, 'mark_topic 1line is no name of a topic'),
    (FilterNode, {'start_line': 'pits'}, "start line 'pits': write X,Y in metres, or a share"),
    (FilterNode, {'sectors': '0.6 0.3'}, 'name where each sector after the first begins, in the'),
    (FilterNode, {'mark_topic': 'line', 'start_line': "'0.5'"}, 'both give the start line'),
    (FilterNode, {'mark_topic': 'line', 'sectors': '1.0,2.0'}, 'write them as shares of a lap'),
    (FilterNode, {'fix_topic': 'fix'}, 'fix_topic is for a model that knows laps and no'),
    (FilterNode, {'sensor_topics': '["compass"]'}, 'names 1 topics, but the model takes 0'),
    (UpdaterNode, NO_TF, 'tf2_msgs'),
    (UpdaterNode, MISSING, 'missing.npz'),
    (UpdaterNode, {'filter_node': 'f'}, 'set the parameter checkpoint_folder'),
]


@pytest.mark.parametrize(('kind', 'given', 'words'), REFUSED)
def test_what_makes_no_sense_is_refused(domain, model_path, monkeypatch, kind, given, words):
    """Missing transforms are noticed after a missing name and before a missing file."""

    def without_transforms(msgtype: str) -> type:
        if msgtype == TRANSFORM_TYPE:
            raise ImportError
        return message_class(msgtype)

    def make() -> None:
        node = kind()
        try:
            node.complete(node.prepare()())
        finally:
            # What it publishes would be there for the tests that follow.
            node.destroy_node()

    monkeypatch.setattr(callbacks, 'message_class', without_transforms)
    usual = {'model': model_path} if given and kind is FilterNode else {}
    with ros(domain, managed='true', **usual | given):
        with pytest.raises(InputError, match=re.escape(words)) as caught:
            make()
        # Of a node that was not made nothing is left but what the traceback holds.
        del caught
        gc.collect()
