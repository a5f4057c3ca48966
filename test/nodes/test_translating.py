# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From dicts to rclpy messages."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from rclpy.serialization import deserialize_message, serialize_message

from two_manifold_ros.nodes.publishing import message_class, to_message


def wire(msgtype: str, fields: dict[str, object]) -> object:
    return deserialize_message(
        serialize_message(to_message(msgtype, fields)), message_class(msgtype)
    )


def test_nested_fields_arrays_and_bytes() -> None:
    values = [{'key': 'a', 'value': 'b'}]
    status = {'level': 2, 'name': 'x', 'values': values}
    message = wire('diagnostic_msgs/msg/DiagnosticArray', {'status': [status]})
    assert message.status[0].level == b'\x02'
    assert message.status[0].values[0].value == 'b'
    pose = wire(
        'geometry_msgs/msg/PoseWithCovarianceStamped',
        {'header': {'stamp': {'sec': 3}}, 'pose': {'covariance': np.arange(36.0)}},
    )
    assert pose.header.stamp.sec == 3
    np.testing.assert_array_equal(pose.pose.covariance, np.arange(36.0))
    assert pose.pose.pose.orientation.w == 1.0


def test_sequences_of_numbers() -> None:
    message = wire('std_msgs/msg/Float64MultiArray', {'data': [1.0, 2.0]})
    assert list(message.data) == [1.0, 2.0]


def test_a_field_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError):
        to_message('geometry_msgs/msg/Point', {'w': 1.0})
