# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The places as a point cloud."""

from dataclasses import replace
import struct

import numpy as np
import pytest
from two_manifold_ros.interface.estimates import particles_message

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.interface.topics import Frames


def test_points_and_their_weights(estimate: Estimate, frames: Frames) -> None:
    message = particles_message(estimate, frames)
    assert message['header']['frame_id'] == 'arena'
    assert message['header']['stamp'] == {'sec': 1_700_000_000, 'nanosec': 123_456_789}
    assert (message['height'], message['width']) == (1, 2)
    step = message['point_step']
    assert message['row_step'] == len(message['data']) == 2 * step
    offsets = {each['name']: each['offset'] for each in message['fields']}
    assert list(offsets) == ['x', 'y', 'z', 'weight']
    data = bytes(message['data'])
    rows = [
        [struct.unpack_from('<f', data, index * step + offset)[0] for offset in offsets.values()]
        for index in range(message['width'])
    ]
    assert rows == [[1.0, 2.0, 0.0, 0.75], [-3.5, 0.25, 0.0, 0.125]]
    assert not message['is_bigendian']


def test_no_place_is_an_empty_cloud(estimate: Estimate, frames: Frames) -> None:
    message = particles_message(replace(estimate, places=np.zeros((0, 3))), frames)
    assert message['width'] == message['row_step'] == len(message['data']) == 0


def test_rclpy_takes_it(estimate: Estimate, frames: Frames) -> None:
    pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    from rclpy.serialization import deserialize_message, serialize_message  # noqa: PLC0415 - ROS

    from two_manifold_ros.nodes.publishing import message_class, to_message  # noqa: PLC0415 - ROS

    fields = particles_message(estimate, frames)
    kind = 'sensor_msgs/msg/PointCloud2'
    heard = deserialize_message(serialize_message(to_message(kind, fields)), message_class(kind))
    assert list(heard.data) == fields['data']
    constants = message_class('sensor_msgs/msg/PointField')
    assert {each.datatype for each in heard.fields} == {constants.FLOAT32}
